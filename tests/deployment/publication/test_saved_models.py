"""A fit that was saved and read again predicts the same; what no fit leaves, or was changed, is refused by its key."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import partywise as pw
from partywise.core.documents import digest_of, encode_json
from partywise.core.errors import ModelError
from partywise.deployment.session.outcome import estimate_places
from partywise.federation.estimators.estimator import Estimator
from partywise.federation.estimators.saved_model import plain, value_of_type
from partywise.federation.place_checks import PlacedRun
from partywise.methods.trees.model import LEAF, Ensemble, StepFunction, Tree
from partywise.models.intervals import REASONS

RNG = np.random.default_rng(20240601)
X = RNG.uniform(-1, 1, size=(160, 4))
NUMBER = X[:, 0] + X[:, 3] + RNG.normal(size=160) / 4
CURVES = RNG.normal(size=(120, 2, 3)) / 5
EDGES = [np.linspace(-0.8, 0.8, 5)] * 4
GLM = {"location": 0.0, "scale": 1.0, "statistic": (-3, 3)}

# Every protocol of every estimator, as small as it comes.
FITS: dict[str, tuple[type[Estimator], dict, str]] = {
    "tables": (pw.VerticalBoosting, {"epsilon": 2.0, "public_edges": EDGES, "cipher": "sized"}, "labels"),
    "tables of numbers": (
        pw.VerticalBoosting,
        {"epsilon": 2.0, "public_edges": EDGES, "cipher": "sized", "loss": "RegressionMSELoss", "residual_bound": 3.0},
        "numbers",
    ),
    "three classes": (pw.VerticalBoosting, {"epsilon": 2.0, "public_edges": EDGES, "cipher": "sized"}, "three"),
    "local_tables": (pw.VerticalBoosting, {"epsilon": 2.0, "public_edges": EDGES}, "labels"),
    "feature_gathering": (pw.VerticalBoosting, {}, "labels"),
    "label_scattering": (pw.VerticalBoosting, {"cipher": "sized"}, "labels"),
    "pooled": (pw.VerticalBoosting, {"algo": "rf"}, "words"),
    "active_only": (pw.VerticalBoosting, {}, "labels"),
    "joint": (pw.VerticalGLM, {}, "numbers"),
    "bcd": (pw.VerticalGLM, {}, "numbers"),
    "reference": (pw.VerticalGLM, {}, "numbers"),
    "moments": (pw.VerticalGLM, {"epsilon": 5.0, "cipher": "sized", **GLM}, "numbers"),
    "noisy_newton": (pw.VerticalGLM, {"epsilon": 5.0, "eta_start": 0.0, **GLM}, "numbers"),
    "noisy_gradient": (pw.VerticalGLM, {"epsilon": 5.0, "eta_start": 0.0, **GLM}, "numbers"),
    "noisy_predictor": (pw.VerticalGLM, {"epsilon": 5.0, "eta_start": 0.0, "cipher": "sized", **GLM}, "numbers"),
    "certified": (pw.SlicedInverseRegression, {"epsilon": 2.0, "edges": (-0.5, 0.5)}, "numbers"),
    "whitened": (pw.SlicedInverseRegression, {"epsilon": 2.0, "edges": (-0.5, 0.5)}, "numbers"),
    "published": (pw.SlicedInverseRegression, {"epsilon": 2.0, "edges": (-0.5, 0.5)}, "numbers"),
    "reference of slices": (pw.SlicedInverseRegression, {"classes": ["no", "yes"]}, "words"),
    "walr": (pw.LabelPrivateLogisticRegression, {"epsilon": 2.0}, "words"),
    "non_private": (pw.LabelPrivateLogisticRegression, {}, "labels"),
    "certified sums": (pw.VerticalLinear, {"bounds": 1.0, "cipher": "sized"}, "labels"),
    "published rows": (pw.VerticalLinear, {}, "labels"),
    "pooled steps": (pw.VerticalLinear, {}, "labels"),
    "exact": (pw.VerticalLinear, {"model": "linear"}, "numbers"),
    "boosting": (pw.FunctionalBoosting, {"s": 0.3, "radius_value": 1.0}, "curves"),
    "baseline": (pw.FunctionalBoosting, {}, "curves"),
    "correlation": (pw.VerticalPCA, {}, "none"),
}
PROTOCOL = {
    "tables of numbers": "tables",
    "three classes": "tables",
    "reference of slices": "reference",
    "certified sums": "certified",
    "published rows": "published",
    "pooled steps": "pooled",
}
RESPONSES = {
    "labels": (NUMBER > 0).astype(float),
    "words": np.where(NUMBER > 0, "yes", "no"),
    "three": np.array(["high", "low", "middle"])[np.digitize(NUMBER, [-0.4, 0.4])],
    "numbers": NUMBER,
    "curves": CURVES[:, 0],
    "none": None,
}
# Nobody has all of these: the place that has most of trees cannot route a record by columns of others.
IN_PARTS = ("feature_gathering", "label_scattering", "certified sums", "correlation")


def features(kind: type[Estimator]) -> np.ndarray:
    if kind is pw.LabelPrivateLogisticRegression:
        return (X + 1) / 2
    return CURVES if kind is pw.FunctionalBoosting else X


@cache
def fitted(name: str) -> Estimator:
    kind, options, response = FITS[name]
    parties = {} if kind is pw.LabelPrivateLogisticRegression else {"parties": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = kind(protocol=PROTOCOL.get(name, name), **options)
        return made.fit(features(kind), RESPONSES[response], rng=7, **parties)


def answers(model: Estimator, records: np.ndarray) -> list[np.ndarray]:
    """Whatever it says of records."""
    names = ("predict", "transform", "decision_function", "predict_proba", "linear_predictor")
    return [getattr(model, name)(records) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("name", [name for name in FITS if name not in IN_PARTS])
def test_a_saved_model_predicts_the_same_to_the_last_bit(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.json"
    model.save(path)
    again, records = pw.load(path), features(type(model))
    assert answers(model, records) and type(again) is type(model)
    for before, after in zip(answers(model, records), answers(again, records), strict=True):
        np.testing.assert_array_equal(before, after)
    assert again.privacy_.to_row() == pytest.approx(model.privacy_.to_row(), nan_ok=True)
    assert again.ledger_.digest == model.ledger_.digest
    assert again.summary().replace(", not verified", "", 1) == model.summary()
    # The rows are the word of a file that nobody signed.
    assert "not verified" in repr(again.privacy_) and "not verified" not in repr(model.privacy_)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", [name for name in FITS if name not in IN_PARTS])
def test_it_is_of_a_place_that_has_the_whole_estimate(name, tmp_path, monkeypatch):
    """The program itself says who has it in the end, followed with the place of every value checked."""
    found = []

    def followed(fit: Callable, run) -> object:
        value = fit(PlacedRun(run, whole=False))
        found.append(estimate_places(value)[0])
        raise InterruptedError

    monkeypatch.setattr("partywise.federation.estimators.estimator.simulate", followed)
    fitted.cache_clear()
    with pytest.raises(InterruptedError):
        fitted(name)
    monkeypatch.undo()
    fitted(name).save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["held_by"] in found[0]


@pytest.mark.parametrize("name", IN_PARTS)
def test_a_model_that_nobody_has_is_not_written(name, tmp_path):
    with pytest.raises(ModelError, match="no place has the whole"):
        fitted(name).save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_coefficients_in_shares_and_formulas_are_not_written(tmp_path):
    model = pw.VerticalGLM("binomial", "joint", link="shared", solver="lbfgs", ridge=0.1)
    model.fit(X, RESPONSES["labels"], parties=2, rng=7)
    with pytest.raises(ModelError, match="link='shared'"):
        model.save(tmp_path / "model.json")
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    pytest.importorskip("formulaic")
    model = pw.VerticalGLM("gaussian", formula="a + b * b + c").fit(
        frame, NUMBER, parties=[["a", "b"], ["c", "d"]], rng=7
    )
    with pytest.raises(ModelError, match="formula"):
        model.save(tmp_path / "model.json")


def test_no_record_no_seed_and_no_division_is_in_the_file(tmp_path):
    """A model of random records holds none of their numbers but the cuts of the party whose file it is."""
    model = pw.VerticalBoosting(
        "tables", epsilon=2.0, public_edges=EDGES, cipher="sized", parties=[[0, 1], [2, 3]], random_state=24061
    ).fit(X, RESPONSES["labels"])
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert "24061" not in text and "random_state" not in text
    assert not [one for one in X[:, :2].ravel().tolist() if repr(one) in text]
    slices = pw.SlicedInverseRegression(epsilon=8.0, edges=(-0.5, 0.5), parties=3, random_state=24061).fit(X, NUMBER)
    slices.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert not [one for one in [*X.ravel().tolist(), *NUMBER.tolist()] if repr(one) in text]


def test_the_statement_says_what_of_the_holder_is_unprotected(tmp_path):
    for name, unprotected in (
        ("tables", ["label of active", "features of active"]),
        ("moments", []),
        ("certified", []),
    ):
        fitted(name).save(tmp_path / "model.json")
        told = json.loads((tmp_path / "model.json").read_text())["privacy"]
        assert told["unprotected_units"] == unprotected
        assert told["epsilon_certified"] == fitted(name).privacy_.epsilon_certified < 6


def test_names_of_columns_are_kept(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    model = pw.VerticalBoosting("active_only").fit(frame, RESPONSES["words"], parties=2, rng=7)
    model.save(tmp_path / "model.json")
    again = pw.load(tmp_path / "model.json")
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match=r"in this order"):
        again.predict(frame[list("badc")])


def changed(path: Path, change: Callable[[dict], None], *, signed: bool = True) -> Path:
    """The file with another content, whose digest is right."""
    found = json.loads(path.read_text())
    change(found)
    if signed:
        found["digest"] = digest_of(encode_json({key: one for key, one in found.items() if key != "digest"}))
    path.write_bytes(encode_json(found))
    return path


def at(path: str, value: object) -> Callable[[dict], None]:
    """A change of one entry."""

    def change(found: dict) -> None:
        *way, last = [int(one) if one.isdigit() else one for one in path.split("/")]
        for one in way:
            found = found[one]
        found[last] = value

    return change


TREE = "model/ensemble/trees/0"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (at("format", "partywise model 7"), "format is 'partywise model 7'"),
        (at("format", 1), "not a saved model"),
        (at("more", 1), "more is unknown"),
        (lambda found: found.pop("ledger"), "ledger is missing"),
        (at("estimator", "Ledger"), "estimator is 'Ledger'"),
        (at("estimator", "os.system"), "estimator is 'os.system'"),
        (at("estimator", "federation.Estimator"), "estimator is 'federation.Estimator'"),
        (at("estimator", "trees.Predictor"), "estimator is 'trees.Predictor'"),
        (at("settings/eta", "much"), "settings cannot"),
        (at("settings/random", 7), "settings cannot"),
        (at("settings", []), "settings is not a mapping"),
        (at("held_by", "server"), "held_by is 'server'"),
        (at("parties", []), "parties is not a list"),
        (at("parties/0/columns", [0.5]), r"parties\[0\].columns\[0\]"),
        (at("columns/count", 2), "model cannot"),
        (at("columns/count", True), "columns.count is 'True'"),
        (at("columns/names", ["a"]), "columns.names has 1 entries for 4"),
        (at("attributes/coef_", 1), "attributes.coef_ is unknown"),
        (at("attributes", {}), "classes_"),
        (at("model/scores", []), "model.scores is unknown"),
        (lambda found: found["model"].pop("ensemble"), "model.ensemble is missing"),
        (at("model/ensemble/weight", "nan"), "not finite"),
        (at("model/ensemble/averaged", 1), "model.ensemble.averaged is '1'"),
        (at(f"{TREE}/feature/values", [9, 1, 1, -1, -1, -1, -1]), "columns or nodes that are not there"),
        (at(f"{TREE}/left/values", [0, 3, 5, -1, -1, -1, -1]), "columns or nodes that are not there"),
        (at(f"{TREE}/threshold/values/0", "inf"), "not finite"),
        (at(f"{TREE}/threshold/values/0", "1.5"), r"threshold.values\[0\] is '1.5'"),
        (at(f"{TREE}/threshold/values", [0.5]), "are not as many as shape"),
        (at(f"{TREE}/threshold/dtype", "object"), "dtype is 'object'"),
        (at(f"{TREE}/threshold/shape", [-7, -1]), "are not as many as shape"),
        (at("model/ensemble/tables/0/edges/values/1", -2.0), "not increasing"),
        (at("privacy/epsilon_certified", 0.1), "privacy.epsilon_certified is 0.1 where the ledger has"),
        (at("privacy/unprotected_units", []), "privacy.unprotected_units"),
        (at("ledger/0/mu", "little"), "ledger is none"),
        (at("ledger", [7]), "ledger is none"),
    ],
)
def test_what_no_fit_leaves_is_refused_with_its_key(change, words, tmp_path):
    """Also where somebody made the digest anew: it is no signature."""
    path = tmp_path / "model.json"
    fitted("tables").save(path)
    with pytest.raises(ModelError, match=words) as told:
        pw.load(changed(path, change))
    assert str(path) in str(told.value)


@pytest.mark.parametrize("name", ["reference", "tables", "walr", "certified"])
def test_a_ledger_without_the_rows_of_an_owner_is_refused(name, tmp_path):
    """Somebody emptied it, made the cost that follows from it and the digest anew: it would be epsilon 0."""
    path = tmp_path / "model.json"
    fitted(name).save(path)

    def empty(found: dict) -> None:
        found["ledger"] = []
        found["privacy"] |= {"epsilon_certified": 0.0, "view": "public", "trust": "nobody"}

    with pytest.raises(ModelError, match=r"ledger has no row of '[\w ]+', whose data protocol '\w+' needs"):
        pw.load(changed(path, empty))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_file_that_was_cut_off_or_changed_is_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("changed") / "model.json"
    fitted("exact").save(path)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 2))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:place])
    else:
        byte = data.draw(st.integers(0, 255).filter(lambda one: one != whole[place]))
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
    try:
        found = pw.load(path)
    except ModelError:
        return
    # White space between the entries says nothing.
    assert json.loads(path.read_bytes()) == json.loads(whole)
    np.testing.assert_array_equal(found.predict(X), fitted("exact").predict(X))


def test_a_file_that_is_not_there_or_none_of_ours_is_told(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        pw.load(tmp_path / "absent.json")
    for text in ("", "[]", "{}", "\x00", '{"format": 1}', "[" * 100_000):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(ModelError, match=r"other\.json"):
            pw.load(tmp_path / "other.json")


def refuse(key: str, why: str):
    raise ModelError(f"{key} {why}")


FLOATS = st.floats(allow_nan=False, width=64)


@given(
    arrays.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    ),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_an_array_comes_back_to_the_last_bit_and_in_its_order(array, turned):
    array = array.T if turned else array
    form = json.loads(encode_json(plain(array)))
    again = value_of_type(form, np.ndarray, "array", refuse)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.flags.f_contiguous == array.flags.f_contiguous or array.size < 2
    same = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
    assert np.all(same | (again == array))
    if array.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(again[~same]), np.signbit(array[~same]))


@st.composite
def ensembles(draw) -> Ensemble:
    """Trees of one split and tables, of any numbers."""
    trees = []
    for _ in range(draw(st.integers(0, 3))):
        threshold, low, high = draw(FLOATS), draw(FLOATS), draw(FLOATS)
        trees.append(
            Tree(
                np.array([draw(st.integers(0, 3)), LEAF, LEAF]),
                np.array([0, 0, 0]),
                np.array([threshold, np.nan, np.nan]),
                np.array([1, LEAF, LEAF]),
                np.array([2, LEAF, LEAF]),
                np.array([0.0, low, high]),
            )
        )
    edges = np.array(sorted(draw(st.sets(FLOATS, min_size=1, max_size=4))))
    values = np.array(draw(st.lists(FLOATS, min_size=len(edges) + 1, max_size=len(edges) + 1)))
    noise = draw(st.sampled_from([None, np.ones(len(edges) + 1)]))
    return Ensemble(
        tuple(trees), draw(FLOATS), draw(FLOATS), (StepFunction(1, edges, values, noise),), draw(st.booleans())
    )


@given(ensembles())
@settings(max_examples=200, deadline=None)
def test_an_ensemble_of_any_numbers_scores_the_same_after_a_round_trip(ensemble):
    again = value_of_type(json.loads(encode_json(plain(ensemble))), Ensemble, "ensemble", refuse)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(again.scores(X), ensemble.scores(X))
    assert encode_json(plain(again)) == encode_json(plain(ensemble))


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("not computed for this protocol", "not computed: not computed for this protocol"),
        ("the same noise chose them", "not computed: the same noise chose them"),
        (REASONS["not at an optimum"], f"not at an optimum: {REASONS['not at an optimum']}"),
    ],
)
def test_a_file_whose_missing_intervals_have_a_sentence_alone_loads(tmp_path, sentence, reason):
    """Files of earlier versions, which a release was paid for, have no short name of a reason."""
    given = {"eta_start": 0.0, "epsilon": 5.0, "parties": 2, "random_state": 7, **GLM}
    pw.VerticalGLM(protocol="noisy_newton", **given).fit(X, NUMBER).save(tmp_path / "new.json")
    older = json.loads((tmp_path / "new.json").read_text())
    older["model"]["intervals"] = {"centre": None, "standard_errors": None, "reason": sentence}
    rest = {name: value for name, value in older.items() if name != "digest"}
    (tmp_path / "older.json").write_bytes(encode_json({**rest, "digest": digest_of(encode_json(rest))}))
    assert pw.load(tmp_path / "older.json").estimate_.intervals.reason == reason


@pytest.mark.filterwarnings("ignore:the fit is not_converged")
def test_a_file_with_the_reason_among_the_numbers_loads_with_its_verdict(tmp_path):
    model = pw.VerticalGLM("poisson", max_iter=2, parties=2, random_state=7).fit(X, np.round(np.exp(NUMBER)))
    model.save(tmp_path / "new.json")
    older = json.loads((tmp_path / "new.json").read_text())
    assert older["model"]["reason"] == "max_iter=2 evaluations" and "reason" not in older["model"]["numbers"]
    older["model"]["numbers"]["reason"] = older["model"].pop("reason")
    rest = {name: one for name, one in older.items() if name != "digest"}
    (tmp_path / "older.json").write_bytes(encode_json({**rest, "digest": digest_of(encode_json(rest))}))
    for name in ("new", "older"):
        loaded = pw.load(tmp_path / f"{name}.json")
        assert (loaded.status_, loaded.status_reason_) == ("not_converged", "max_iter=2 evaluations")
        assert "reason" not in loaded.estimate_.numbers


@pytest.mark.filterwarnings("ignore:the fit is not_converged")
@pytest.mark.parametrize(
    "model",
    [
        pw.LabelPrivateLogisticRegression("non_private", random_state=7),
        pw.VerticalLinear("exact", parties=2, random_state=7),
    ],
)
def test_a_verdict_of_newton_steps_is_saved(model, tmp_path):
    """It stands in fields of the estimate: among ``numbers``, which these files do not have, it was lost."""
    model.fit(X, RESPONSES["labels"])
    model.estimate_ = replace(model.estimate_, status="not_converged", reason="give a ridge")
    model.save(tmp_path / "model.json")
    loaded = pw.load(tmp_path / "model.json")
    assert (loaded.status_, loaded.status_reason_) == ("not_converged", "give a ridge")
