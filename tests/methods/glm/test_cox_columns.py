"""Cox regression across columns: equal to PHReg for any parties, what crosses, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import datasets
from lifelines.utils import concordance_index
from statsmodels.duration.hazard_regression import PHReg

import partywise as pw
from block_attacks import binary_column
from forked import in_all_ways
from glm_driver import start
from partywise.audits.attacks.linear_images import attack_space, column_space
from partywise.core.randomness import stream
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.glm.options import JointOptions
from partywise.methods.glm.protocols import joint
from partywise.methods.glm.protocols.opened_sums import cox as protocol


def follow_up(n=600, p=6, seed=1, ties=True):
    """Columns with equal correlations, times on a grid where tied, status, and three strata."""
    rng = stream(seed, "follow-up")
    X = 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    strata = rng.integers(3, size=n)
    hazard = 0.1 * (1 + strata) * np.exp(X @ np.linspace(0.6, -0.4, p))
    event, censored = rng.exponential(1 / hazard), rng.exponential(10, size=n)
    times = np.minimum(event, censored)
    return X, np.ceil(4 * times) / 4 if ties else times, (event <= censored).astype(float), strata


def phreg(X, times, status, ties, strata=None, offset=None):
    """The fit of statsmodels."""
    model = PHReg(times, X, status=status, ties=ties, strata=strata, offset=offset)
    return model.fit(maxiter=100, tol=1e-14, disp=False)


def cox(ties=None, **options):
    return pw.VerticalGLM("cox", solver="lbfgs", ties=ties, tolerance=1e-9, random_state=1, **options)


@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("parties", [2, 3])
def test_any_parties_have_the_fit_of_statsmodels(parties, ties, strata):
    X, times, status, groups = follow_up()
    given = groups if strata else None
    fit = cox(ties, parties=parties).fit(X, times, status=status, strata=given)
    expected = phreg(X, times, status, ties, given)
    np.testing.assert_allclose(fit.coef_, expected.params, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.asarray(fit.bse), expected.bse, rtol=1e-6)
    assert fit.llf == pytest.approx(expected.llf, rel=1e-10)
    np.testing.assert_allclose(np.asarray(fit.pvalues), expected.pvalues, rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(fit.hazard_ratios_, np.exp(expected.params), rtol=1e-7)
    assert fit.status_ == "ok" and list(fit.params.keys()) == list(fit.names_)


def tables():
    """Columns, times and status of five tables that lifelines ships."""
    rossi = datasets.load_rossi()
    yield "rossi", rossi.drop(columns=["week", "arrest"]), rossi["week"], rossi["arrest"]
    gbsg = datasets.load_gbsg2()
    columns = gbsg.drop(columns=["time", "cens"]).replace({"horTh": {"yes": 1, "no": 0}})
    columns = columns.replace({"menostat": {"Post": 1, "Pre": 0}, "tgrade": {"I": 1, "II": 2, "III": 3}})
    yield "gbsg2", columns, gbsg["time"], gbsg["cens"]
    lung = datasets.load_lung().drop(columns="inst", errors="ignore").dropna()
    yield "lung", lung.drop(columns=["time", "status"]), lung["time"], lung["status"]
    nodes = datasets.load_lymph_node().dropna()
    names = ["age", "menopause", "hormone", "size", "grade", "nodes", "prog_recp", "estrg_recp"]
    yield "lymph_node", nodes[names], nodes["survtime"], nodes["censdead"]
    trial = pd.read_csv(Path(datasets.__file__).parent / "ACTG175.csv")
    names = ["age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30", "preanti", "race", "gender", "symptom"]
    yield "actg175", trial[[*names, "treat", "cd40", "cd80"]], trial["days"], trial["cens"]


TABLES = {name: tuple(np.asarray(part, dtype=float) for part in parts) for name, *parts in tables()}


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("name", TABLES)
def test_five_tables_are_fitted_as_by_statsmodels_and_no_column_is_opened(name, parties):
    X, times, status = TABLES[name]
    fit = cox("efron", parties=parties).fit(X, times, status=status)
    expected = phreg((X - X.mean(axis=0)) / X.std(axis=0), times, status, "efron")
    np.testing.assert_allclose(fit.coef_ * X.std(axis=0), expected.params, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.asarray(fit.bse) * X.std(axis=0), expected.bse, rtol=1e-6)
    others = X[:, len(np.array_split(np.arange(X.shape[1]), parties)[0]) :]
    (opened,) = fit.estimate_.views.values()
    assert opened.shape == (len(X), fit.estimate_.numbers["record_openings"])
    correlations = np.corrcoef(opened.T, others.T)[: opened.shape[1], opened.shape[1] :]
    assert np.abs(correlations).max() <= 0.999
    # The vectors span the columns all the same, as those of any fit of so many steps do.
    assert attack_space(opened, others) == pytest.approx(1.0, abs=1e-6) or parties > 2


def test_differences_along_unit_vectors_would_open_a_column(monkeypatch):
    """Why directions are random: in the unit of the direction the opened vector is the column itself."""
    X, times, status, _ = follow_up(200)

    def unit_vectors(products, own, rng_for):
        return np.eye(len(products) - 1)

    monkeypatch.setattr(protocol, "analyst_directions", unit_vectors)
    fit = cox(parties=2).fit(X, times, status=status)
    (opened,) = fit.estimate_.views.values()
    column = (X[:, 3] - X[:, 3].mean()) / X[:, 3].std()
    assert np.abs(opened[:, -3] - column).max() < 1e-10


def test_directions_are_orthogonal_and_resemble_no_column():
    """Two columns of others: of 400 draws a guard keeps all vectors off them; without it some come near."""
    near, rng = 0, stream(5, "draws")
    products = np.diag([100.0] * 5)
    for _ in range(400):
        Q = protocol.analyst_directions(products, 2, lambda *_: rng)
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
        part = Q[2:] / np.linalg.norm(Q[2:], axis=0)
        assert np.abs(part).max() <= 0.999
        free = np.linalg.qr(rng.standard_normal((4, 4)))[0][2:]
        near += np.abs(free / np.linalg.norm(free, axis=0)).max() > 0.999
    assert near > 20


def test_baseline_hazard_and_concordance_are_those_of_other_programs():
    X, times, status, strata = follow_up()
    fit = cox("breslow", parties=2).fit(X, times, status=status)
    ((moments, hazard, _),) = phreg(X, times, status, "breslow").baseline_cumulative_hazard
    known, ours = fit.baseline_cumulative_hazard_["0"]
    # Of statsmodels before each time and at columns of 0, here after it and at their means.
    expected = hazard[np.searchsorted(moments, known)] * np.exp(X.mean(axis=0) @ fit.coef_)
    np.testing.assert_allclose(ours[:-1], expected[1:], rtol=1e-7)
    risk = fit.predict(X)
    assert fit.concordance_ == pytest.approx(concordance_index(times, -risk, status), abs=1e-12)
    stratified = cox(parties=2).fit(X, times, status=status, strata=strata)
    assert set(stratified.baseline_cumulative_hazard_) == {"0", "1", "2"}
    assert "concordance" in stratified.summary() and "exp(coef)" in stratified.summary()
    assert "intercept" not in stratified.summary()


def test_an_offset_shifts_predictors_and_a_ridge_shrinks():
    X, times, status, _ = follow_up()
    offset = X[:, 0] * 0.5
    fit = cox("breslow", parties=2).fit(X[:, 1:], times, status=status, offset=offset)
    expected = phreg(X[:, 1:], times, status, "breslow", offset=offset)
    np.testing.assert_allclose(fit.coef_, expected.params, rtol=0, atol=1e-8)
    shrunk = cox("breslow", parties=2, ridge=1e6).fit(X, times, status=status)
    assert np.abs(shrunk.coef_).max() < 1e-3 and shrunk.llf is None


def test_efron_and_breslow_agree_without_ties_alone():
    X, times, status, _ = follow_up(ties=False)
    first, other = (cox(ties, parties=2).fit(X, times, status=status) for ties in ("efron", "breslow"))
    np.testing.assert_allclose(first.coef_, other.coef_, rtol=0, atol=1e-9)
    X, times, status, _ = follow_up()
    first, other = (cox(ties, parties=2).fit(X, times, status=status) for ties in (None, "breslow"))
    assert np.abs(first.coef_ - other.coef_).max() > 1e-4


def test_the_ledger_books_everything_as_unprotected():
    X, times, status, _ = follow_up(200)
    fit = cox(parties=3).fit(X, times, status=status)
    assert fit.privacy_.epsilon_certified == np.inf
    assert fit.estimate_.numbers["record_openings"] >= 6
    kinds = {row["name"] for row in fit.transcript_}
    assert {"direction", "predictor of the direction", "sums", "means and scales"} <= kinds


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"status": None}, "status is missing: family='cox' needs 1"),
        ({"status": np.zeros(200)}, "status of 'active' has no event among 200 records"),
        ({"status": np.full(200, 2.0)}, "status of 'active' has the value 2: 1 is an event"),
        ({"y": -np.ones(200)}, "y of 'active' has the time -1: give finite times of at least 0"),
        ({"sample_weight": np.ones(200)}, "weights of 'active' with family 'cox'"),
        ({"strata": np.append(np.zeros(199), 7.0)}, "stratum 7 of 'active' has no event"),
    ],
)
def test_bad_follow_up_is_named(changes, sentence):
    X, times, status, _ = follow_up(200)
    status[-1] = 0
    with pytest.raises(ValueError, match=sentence):
        cox(parties=2).fit(**({"X": X, "y": times, "status": status} | changes))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"solver": "newton"}, "solver is 'newton' with family 'cox': it must be 'lbfgs'"),
        ({"link": "shared"}, "link is 'shared' with family 'cox': it must be 'opened'"),
        ({"cov_type": "HC0"}, "cov_type is 'HC0' with family 'cox'"),
        ({"dispersion": "pearson"}, "dispersion is 'pearson' with family 'cox'"),
        ({"penalty": "lasso"}, "penalty is 'lasso' with family 'cox'"),
        ({"protocol": "bcd"}, "family='cox' with protocol='bcd': use 'joint'"),
        ({"protocol": "moments", "epsilon": 1.0}, "family='cox' with protocol='moments': use 'joint'"),
    ],
)
def test_options_that_it_does_not_have_are_refused(options, sentence):
    X, times, status, _ = follow_up(100)
    given = {"protocol": "joint"} | ({} if "protocol" in options else {"solver": "lbfgs"}) | options
    with pytest.raises(ValueError, match=sentence):
        pw.VerticalGLM("cox", random_state=1, **given).fit(X, times, status=status)


def test_other_families_refuse_its_arguments():
    X, times, status, _ = follow_up(100)
    with pytest.raises(ValueError, match="ties is 'efron' with family 'gaussian': it is read with family 'cox' only"):
        pw.VerticalGLM("gaussian", ties="efron", random_state=1).fit(X, times)
    with pytest.raises(ValueError, match="status is given with family='gaussian'"):
        pw.VerticalGLM("gaussian", random_state=1).fit(X, times, status=status)
    fit = cox(parties=2).fit(X, times, status=status)
    with pytest.raises(ValueError, match="family='cox' has no mean, residuals"):
        fit.score(X, times)


def test_columns_that_depend_on_each_other_and_separated_times_are_named():
    X, times, status, _ = follow_up(200)
    with pytest.raises(np.linalg.LinAlgError, match="'x6' depends on those before it"):
        cox(parties=2).fit(np.column_stack([X, X[:, 0] + X[:, 4]]), times, status=status)
    # Records of an indicator have no event: its coefficient runs off.
    indicator = np.arange(200) % 2 == 0
    status = np.where(indicator, 0.0, 1.0)
    with pytest.warns(UserWarning):
        fit = cox(parties=2).fit(np.column_stack([X, indicator]), times, status=status)
    assert fit.status_ in ("diverged", "not_converged") and fit.bse is None


@pytest.mark.parametrize("parties", [2, 3])
def test_one_process_a_place_does_the_same(parties):
    X, times, status, strata = follow_up(60, 4)
    groups = [group.tolist() for group in np.array_split(np.arange(4), parties)]
    options = JointOptions(solver="lbfgs", max_iter=4)

    def begin():
        block = {"status": status, "strata": strata.astype(float)}
        return start(X, times, groups, options, family="cox", block=block)

    expected, _ = in_all_ways(joint.fit, begin)
    assert expected.numbers["secure_products"] > 0 and set(expected.baseline) == {"0", "1", "2"}


def test_the_attack_on_rotations_finds_a_binary_column_in_what_was_opened():
    """What the page states: random directions hide single columns, their span does not hide a column of 0 and 1."""
    X, times, status, _ = follow_up(2000, 8, seed=3)
    X[:, 6] = X[:, 6] > 0.3
    fit = cox(parties=2).fit(X, times, status=status)
    (opened,) = fit.estimate_.views.values()
    basis = column_space(opened - opened.mean(axis=0))
    assert basis.shape[1] == 4
    column, rest = binary_column(basis, stream(6, "starts"))
    assert abs(np.corrcoef(column, X[:, 6])[0, 1]) > 1 - 1e-9 and rest < 1e-9
    few, _ = binary_column(column_space(opened[:, :2] - opened[:, :2].mean(axis=0)), stream(6, "starts"))
    assert abs(np.corrcoef(few, X[:, 6])[0, 1]) == pytest.approx(0.961, abs=5e-3)


def test_streams_of_the_operating_system_fit_the_same():
    X, times, status, _ = follow_up(100, 4)
    first, other = (cox(parties=2).fit(X, times, status=status, rng=rng) for rng in (1, SecureStreams(1)))
    np.testing.assert_allclose(first.coef_, other.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.asarray(first.bse), np.asarray(other.bse), rtol=1e-6)
