"""The estimator is the protocol: the bytes of the pipeline's cell, scikit-learn's ways, named errors."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import partywise as pw
from linear_driver import rows
from partywise.audits.contract import same
from partywise.core.errors import CertificationError
from partywise.core.randomness import Streams
from partywise.experiment import cells
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams
from pipeline import ROOT

X, LABELS, NUMBERS = rows(90, 4)
SIZED = {"cipher": "sized", "batch_size": 20, "total_round_num": 9, "bounds": 2.0}


@pytest.mark.parametrize(
    ("protocol", "options", "own"),
    [
        ("certified", {"cipher": "sized", "total_round_num": 3}, {"bounds": 3.0}),
        ("published", {"total_round_num": 3}, {}),
        ("pooled", {"ridge": 0.1}, {}),
        ("exact", {"intercept": False}, {}),
    ],
)
def test_the_estimator_is_the_cell(protocol, options, own):
    grid = {"methods": ["m"], "replicates": 1, "folds": 1, "parties": [3], "epsilon": [1.0]}
    case = {"source": "generated", "settings": {"n": 60, "d": 5, "test_share": 0}, "grid": grid}
    block = {"spec": {}, "methods": {"m": {"protocol": protocol} | options}, "cases": {"c": case}, "figures": []}
    made = plan("vertical_linear", block, 7)
    data = generate(made, "c", [0], ROOT / "resources")
    (cell,) = cells.run(made, "c", "m", 3, [0], [0], data)
    estimate = simulate(made.methods["m"].protocol.fit, execution(made, "c", "m", data[0]))
    fitted = pw.VerticalLinear(protocol, **options, **own)
    fitted.fit(data[0].X, data[0].y, parties=3, rng=Streams(7, "vertical_linear", "c", "noise", 0))
    assert same(fitted.estimate_, estimate)
    assert fitted.ledger_.digest == cell.scalars["ledger_sha256"] and fitted.transcript_ == cell.wire
    assert fitted.privacy_.epsilon_certified == cell.scalars["epsilon_certified"] == math.inf
    assert np.array_equal(fitted.decision_function(data[0].X), data[0].X @ fitted.coef_ + fitted.intercept_)


def test_linear_regression_of_three_parties_is_that_of_scikit_learn():
    model = pw.VerticalLinear(
        model="linear", cipher="sized", bounds=[2.0] * 4, label_bound=8.0, batch_size=None, ridge=0.3
    )
    model.set_params(learning_rate=0.11, total_round_num=400).fit(X, NUMBERS, parties=[[0], [2, 1], [3]], rng=1)
    oracle = Ridge(alpha=90 * 0.3).fit(X, NUMBERS)
    assert np.allclose([model.intercept_, *model.coef_], [oracle.intercept_, *oracle.coef_], rtol=0, atol=1e-8)
    assert model.score(X, NUMBERS) == pytest.approx(oracle.score(X, NUMBERS), abs=1e-7)
    assert not hasattr(model, "classes_")
    with pytest.raises(AttributeError, match="of a model of labels"):
        model.predict_proba(X)
    assert model.ledger_.total("server", "row", 1e-5).epsilon_certified == 0


def test_labels_are_predicted():
    model = pw.VerticalLinear(**SIZED).fit(X, LABELS, rng=1)
    assert model.classes_.tolist() == [0, 1] and model.n_features_in_ == 4
    ones = model.predict_proba(X)[:, 1]
    assert np.array_equal(model.predict(X), (ones > 0.5).astype(int)) and model.score(X, LABELS) > 0.75
    assert {row["sender"] for row in model.transcript_} == {"active", "passive 1", "server"}
    again, other = (pw.VerticalLinear(**SIZED).fit(X, LABELS, rng=seed) for seed in (1, 2))
    assert same(again.estimate_, model.estimate_) and not same(other.estimate_.coefficients, model.coef_)


def test_secrets_come_from_the_system_and_move_no_number(monkeypatch):
    """Keys, exponents and masks of two runs differ; batches are those of the seed, sums are exact."""
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)
    options = SIZED | {"cipher": "paillier", "key_size": 512, "total_round_num": 3}
    plain = pw.VerticalLinear(**options).fit(X, LABELS, rng=7).estimate_
    one, other = (pw.VerticalLinear(**options).fit(X, LABELS, rng=SecureStreams(7)).estimate_ for _ in range(2))
    assert same(one.coefficients, plain.coefficients) and same(one.batches, plain.batches)
    assert not np.any(one.key_holder_view == other.key_holder_view) and not np.any(
        one.key_holder_view == plain.key_holder_view
    )


def test_parameters_in_scikit_learns_way():
    for protocol, method in pw.VerticalLinear.methods.items():
        made = pw.VerticalLinear(protocol, delta=1e-6)
        names = {one.name for one in fields(method.options)}
        own = set(inspect.signature(pw.VerticalLinear.__init__).parameters) - {"self", "options"}
        assert set(made.get_params()) == names | own
        assert made.get_params() == clone(made).get_params() and clone(made).protocol == protocol
    with pytest.raises(TypeError, match="'model' is not a parameter of VerticalLinear with protocol='published'"):
        pw.VerticalLinear("published", model="linear")
    with pytest.raises(ValueError, match="not fitted yet"):
        pw.VerticalLinear().predict(X)


@pytest.mark.parametrize(
    ("changes", "given", "error", "words"),
    [
        ({"bounds": None}, {}, CertificationError, "bounds is None"),
        ({"bounds": 1.0}, {}, ValueError, "column 'x0' has a value beyond its declared bound 1"),
        ({"bounds": [1.0, 2.0]}, {}, ValueError, "give a number of at least 0, or 4, one a feature"),
        ({"bounds": -1.0}, {}, ValueError, r"bounds=-1\.0: give a number"),
        ({"label_bound": 1.0}, {}, ValueError, "label_bound=1.0 is read by protocol='certified' with a linear model"),
        ({"model": "linear", "label_bound": 0.0}, {}, ValueError, "label_bound is 0.0"),
        ({"learning_rate": -1.0}, {}, ValueError, "learning_rate is -1.0"),
        ({}, {"y": NUMBERS}, ValueError, "Unknown label type: continuous"),
        ({}, {"y": LABELS[:5]}, ValueError, "y has 5 entries for 90 rows"),
        ({}, {"X": np.full((90, 4), np.nan)}, ValueError, "X holds values that are not finite"),
        ({}, {"parties": 5}, ValueError, "parties=5"),
        ({}, {"parties": 1}, ValueError, "parties has 1 active and 0 passive"),
        ({}, {"parties": [[0, 1], [1, 2, 3]]}, ValueError, "not a partition"),
        ({}, {"rng": 1.5}, TypeError, "rng="),
    ],
)
def test_what_is_wrong_is_named(changes, given, error, words):
    arguments = {"X": X, "y": LABELS, "parties": 2, "rng": 1} | given
    with pytest.raises(error, match=words):
        pw.VerticalLinear(**SIZED | changes).fit(
            arguments["X"], arguments["y"], parties=arguments["parties"], rng=arguments["rng"]
        )


def test_bounds_that_nothing_reads_are_refused():
    with pytest.raises(ValueError, match=r"bounds=2\.0 is read by protocol='certified' only"):
        pw.VerticalLinear("pooled", bounds=2.0).fit(X, LABELS, rng=1)


def test_the_exact_fit_bears_shifts_and_scales_of_columns():
    """Least squares explain the same share in whatever units, and slopes change by the units alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 4))
    y = x @ [1.0, -1.0, 0.5, 2.0] + 0.6 * rng.normal(size=400)

    def fit(columns, **options):
        model = pw.VerticalLinear("exact", model="linear", parties=2, random_state=1, **options)
        return model.fit(columns, y)

    plain, units = fit(x), np.array([1e8, 1.0, 1e-6, 1.0])
    slopes = np.linalg.lstsq(np.column_stack([np.ones(400), x]), y, rcond=None)[0]
    np.testing.assert_allclose(np.r_[plain.intercept_, plain.coef_], slopes, rtol=1e-12)
    assert plain.score(x, y) == pytest.approx(0.9395, abs=1e-4)
    for columns, factor in ((x + 1e4, 1.0), (x * units, units), (x * units + 1e4 * units, units)):
        fitted = fit(columns)
        assert fitted.score(columns, y) == pytest.approx(plain.score(x, y), abs=1e-9)
        np.testing.assert_allclose(fitted.coef_ * factor, plain.coef_, rtol=1e-8)
    ridge = fit(x, ridge=0.5)
    np.testing.assert_allclose(fit(x + 1e4, ridge=0.5).coef_, ridge.coef_, rtol=1e-8)
    np.testing.assert_allclose(
        ridge.coef_,
        np.linalg.solve(np.cov(x.T, bias=True) + 0.5 * np.eye(4), np.cov(x.T, y, bias=True)[:4, 4]),
        rtol=1e-10,
    )
