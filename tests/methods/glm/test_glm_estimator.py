"""The estimator: statsmodels' results, the protocol's estimate, scikit-learn's ways, named errors."""

from __future__ import annotations

import inspect
import math
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score

import partywise as pw
from glm_driver import FAMILIES, records, start
from glm_oracle import oracle
from partywise.audits.contract import same
from partywise.core.randomness import Streams
from partywise.experiment import cells
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from partywise.methods.glm.diagnostics import aic
from pipeline import ROOT

X, Y = records("poisson", 120, 4)
PRIVATE = {"location": 0.0, "scale": 1.0, "statistic": (0.0, 20.0)}
NOISY = PRIVATE | {"eta_start": 0.5}
WITH_ERRORS = ("joint", "reference")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("protocol", WITH_ERRORS)
def test_results_are_those_of_statsmodels(family, protocol):
    X, y = records(family, 120, 4)
    rng = np.random.default_rng(1)
    given = {"sample_weight": rng.choice([0.5, 1.0, 2.0], 120), "offset": rng.normal(0, 0.3, 120)}
    model = pw.VerticalGLM(family, protocol).fit(X, y, parties=[[1], [0, 3], [2]], rng=1, **given)
    expected = oracle(X, y, family, var_weights=given["sample_weight"], offset=given["offset"])
    found = np.array([model.intercept_, *model.coef_])
    assert np.abs(found - expected.params).max() <= 1e-8 * np.abs(expected.params).max()
    assert np.allclose(model.bse, expected.bse, rtol=1e-8, atol=0)
    drawn = family in ("gaussian", "gamma", "inverse_gaussian")
    distribution = stats.t(115) if drawn else stats.norm
    assert np.allclose(model.pvalues, 2 * distribution.sf(np.abs(expected.tvalues)), rtol=1e-6, atol=0)
    assert np.allclose(
        model.conf_int(0.2), expected.params[:, None] + np.outer(expected.bse, distribution.ppf([0.1, 0.9]))
    )
    assert model.conf_int().index.tolist() == ["intercept", "x0", "x1", "x2", "x3"] == model.params.index.tolist()
    assert np.allclose(model.tvalues, expected.tvalues, rtol=1e-7) and model.df_resid == expected.df_resid == 115
    assert math.isclose(model.deviance_, expected.deviance, rel_tol=1e-8)
    assert math.isclose(model.null_deviance_, expected.null_deviance, rel_tol=1e-8)
    assert math.isclose(model.dispersion_, expected.scale, rel_tol=1e-8)
    scale = expected.deviance / 120 if drawn else 1.0
    likelihood = expected.model.family.loglike(y, expected.mu, var_weights=given["sample_weight"], scale=scale)
    assert math.isclose(model.aic, aic(likelihood, 5, family), rel_tol=1e-8)
    assert math.isclose(model.llf, likelihood, rel_tol=1e-8)
    if not drawn:
        assert math.isclose(model.aic, expected.aic, rel_tol=1e-8)
        assert math.isclose(model.bic, expected.bic_llf, rel_tol=1e-8)
    for kind in ("response", "working", "pearson", "deviance"):
        own = {} if kind in ("response", "working") else {"sample_weight": given["sample_weight"]}
        found = getattr(model, f"resid_{kind}")(X, y, offset=given["offset"], **own)
        assert np.allclose(found, getattr(expected, f"resid_{kind}"), rtol=1e-6, atol=1e-6), kind
    assert np.allclose(model.predict(X, given["offset"]), expected.mu, rtol=1e-7)
    assert math.isclose(model.score(X, y, **given), model.deviance_r2_, rel_tol=1e-9)
    assert model.status_ == "ok" and model.rows_ is None and model.privacy_.epsilon_certified == math.inf


def test_the_score_is_that_of_scikit_learn():
    model = pw.VerticalGLM("poisson").fit(X, Y, rng=1)
    assert math.isclose(model.score(X[:50], Y[:50]), d2_tweedie_score(Y[:50], model.predict(X[:50]), power=1))


def test_the_estimate_is_that_of_the_protocol():
    """The same bytes as a run of the protocol with the same public facts."""
    for protocol, given, facts in (
        ("reference", {}, {}),
        ("bcd", {"variant": "corrected"}, {}),
        ("joint", {"solver": "lbfgs"}, {}),
        ("moments", PRIVATE | {"epsilon": 2.0}, {"statistic": pw.Public(np.array([0.0, 20.0]), because="x")}),
    ):
        model = pw.VerticalGLM("poisson", protocol, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, Y, parties=[[0, 1], [2, 3]], rng=Streams(7, "glm"))
        method = model.methods[protocol]
        options = method.options(**{name: value for name, value in given.items() if name in ("variant", "solver")})
        run = start(
            X,
            Y,
            [[0, 1], [2, 3]],
            options,
            family="poisson",
            extra=method.extra,
            epsilon=model.epsilon or np.inf,
            facts=facts,
        )
        assert same(model.estimate_, simulate(method.fit, run)), protocol
        assert model.transcript_ == run.channel.transcript()


@pytest.mark.parametrize("protocol", ["moments", "noisy_newton", "noisy_gradient", "noisy_predictor"])
def test_private_fits_keep_their_epsilon(protocol):
    given = PRIVATE if protocol == "moments" else NOISY
    X, y = records("gaussian", 3000, 4)
    model = pw.VerticalGLM("gaussian", protocol, epsilon=4.0, **given | {"statistic": (-4.0, 6.0)})
    model.fit(X, y, parties=2, rng=3)
    # The protocol may spend a little less than its target, never more.
    assert model.privacy_.epsilon_certified == pytest.approx(4.0, rel=1e-9)
    assert model.bse is None and model.pvalues is None
    assert model.tvalues is None and model.llf is None and model.aic is None and model.bic is None
    assert (model.conf_int() is None) == (protocol not in ("moments", "noisy_newton")) and model.params[
        "intercept"
    ] == model.intercept_
    assert model.score(X, y) > 0.2
    with pytest.raises(ValueError, match="alpha=95 must lie"):
        model.conf_int(95)
    assert "epsilon 4 at delta 1e-05, for one row" in model.summary() and "std err" not in model.summary()


def test_the_summary_shows_the_fit():
    model = pw.VerticalGLM("poisson").fit(X, Y, names=["age", "dose", "stage", "smoker"], rng=1)
    lines = model.summary().splitlines()
    assert lines[0].startswith("poisson by joint: 120 records, 5 coefficients, ok after 5 iterations")
    assert f"explained {model.deviance_r2_:.3f}" in lines[1] and f"AIC {model.aic:.6g}" in lines[2]
    assert lines[3] == "epsilon inf at delta 1e-05, for one row"
    (row,) = (line.split() for line in lines if line.startswith("stage"))
    shown = [
        model.coef_[2],
        model.bse["stage"],
        model.tvalues["stage"],
        model.pvalues["stage"],
        *model.conf_int().loc["stage"],
    ]
    assert np.allclose([float(text) for text in row[1:]], shown, rtol=1e-3)
    ridge = pw.VerticalGLM("poisson", ridge=2.0).fit(X, Y, rng=1)
    assert "penalised: standard errors leave out the bias" in ridge.summary()


def test_the_analysis_of_deviance_and_names_of_a_frame():
    frame = pd.DataFrame(X, columns=["age", "dose", "stage", "smoker"])
    model = pw.VerticalGLM("poisson").fit(frame, Y, rng=1)
    assert model.names_ == ("age", "dose", "stage", "smoker")
    expected, null = oracle(X, Y, "poisson"), oracle(X[:, :0], Y, "poisson")
    rows = {row["source"]: row for row in model.deviance_table()}
    assert [rows[name]["df"] for name in ("null", "columns", "residual")] == [119, 4, 115]
    ratio = 2 * (expected.llf - null.llf)
    assert rows["columns"]["statistic"] == pytest.approx(ratio, rel=1e-8)
    assert rows["columns"]["p_value"] == pytest.approx(stats.chi2.sf(ratio, 4), rel=1e-6)
    with pytest.warns(UserWarning, match="no epsilon removes their bias"):
        private = pw.VerticalGLM("poisson", "moments", epsilon=2.0, **PRIVATE).fit(X, Y, rng=1)
    assert private.deviance_table() is None


@pytest.mark.parametrize("family", FAMILIES)
def test_nested_fits_are_compared_as_by_statsmodels(family):
    X, y = records(family, 120, 4)
    frame = pd.DataFrame(X, columns=["age", "dose", "stage", "smoker"])
    full = pw.VerticalGLM(family).fit(frame, y, rng=1)
    part = pw.VerticalGLM(family).fit(frame[["smoker", "dose"]], y, rng=1)
    expected, less = oracle(X, y, family), oracle(X[:, [1, 3]], y, family)
    if family == "gaussian":
        ols = [sm.OLS(y, sm.add_constant(one)).fit() for one in (X, X[:, [1, 3]])]
        assert np.allclose(full.compare_f_test(part), ols[0].compare_f_test(ols[1]), rtol=1e-7)
        assert np.allclose(full.compare_lr_test(part), ols[0].compare_lr_test(ols[1]), rtol=1e-7)
    if family in ("binomial", "poisson"):
        ratio = 2 * (expected.llf - less.llf)
        assert np.allclose(full.compare_lr_test(part), (ratio, stats.chi2.sf(ratio, 2), 2), rtol=1e-6)
    statistic = (less.deviance - expected.deviance) / 2 / expected.scale
    assert np.allclose(full.compare_f_test(part), (statistic, stats.f.sf(statistic, 2, 115), 2), rtol=1e-6)


@pytest.mark.parametrize("protocol", ["joint", "reference"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cov_type", ["HC0", "HC1"])
def test_robust_standard_errors_are_those_of_statsmodels(family, protocol, cov_type):
    X, y = records(family, 120, 4)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 120)
    model = pw.VerticalGLM(family, protocol, cov_type=cov_type, parties=[[1], [0, 3], [2]], random_state=1)
    model.fit(X, y, sample_weight=weights)
    plain = oracle(X, y, family, var_weights=weights)
    expected = plain.model.fit(start_params=plain.params, tol=1e-15, cov_type=cov_type)
    if cov_type == "HC1":  # in statsmodels that of linear models only; of others it is HC0 there
        assert np.allclose(model.bse, expected.bse * np.sqrt(120 / 115), rtol=1e-7, atol=0)
        if family == "gaussian":
            linear = sm.WLS(y, sm.add_constant(X), weights=weights).fit(cov_type="HC1")
            assert np.allclose(model.bse, linear.bse, rtol=1e-7, atol=0)
        return
    assert np.allclose(model.bse, expected.bse, rtol=1e-7, atol=0)
    assert np.allclose(model.pvalues, expected.pvalues, rtol=1e-5, atol=1e-300)
    assert np.allclose(model.conf_int(), expected.conf_int(), rtol=1e-6, atol=1e-9)
    assert f"standard errors: {cov_type}" in model.summary()
    with pytest.raises(ValueError, match="robust errors are of fits without one"):
        model.set_params(ridge=1.0).fit(X, y)


@pytest.mark.parametrize("protocol", ["joint", "reference"])
def test_successes_among_trials_are_those_of_statsmodels(protocol):
    rng = np.random.default_rng(3)
    trials, weights = rng.integers(1, 9, 120).astype(float), rng.choice([0.5, 1.0], 120)
    y = rng.binomial(trials.astype(int), 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    model = pw.VerticalGLM("binomial", protocol).fit(X, y, trials=trials, sample_weight=weights, rng=1)
    both, columns = np.column_stack([y, trials - y]), sm.add_constant(X)
    expected = sm.GLM(both, columns, sm.families.Binomial(), var_weights=weights).fit(tol=1e-15, maxiter=300)
    assert np.allclose(model.params, expected.params, rtol=1e-8) and np.allclose(model.bse, expected.bse, rtol=1e-8)
    for name, value in (("llf", expected.llf), ("aic", expected.aic), ("bic", expected.bic_llf)):
        assert getattr(model, name) == pytest.approx(value, rel=1e-9), name
    assert model.deviance_ == pytest.approx(expected.deviance, rel=1e-8) and model.df_resid == expected.df_resid
    assert model.score(X, y, weights, trials=trials) == pytest.approx(model.deviance_r2_, rel=1e-9)
    # The same records one trial a row: all but the likelihood, which knows no order of successes then.
    rows = np.repeat(np.arange(120), trials.astype(int))
    single = np.concatenate([np.arange(n) < k for n, k in zip(trials, y, strict=True)]).astype(float)
    apart = pw.VerticalGLM("binomial", protocol).fit(X[rows], single, sample_weight=weights[rows], rng=1)
    assert np.allclose(model.params, apart.params, rtol=1e-7, atol=1e-9)
    for y_, trials_, family, words in (
        (y, trials, "poisson", "successes among trials are 'binomial'"),
        (y + 9, trials, "binomial", "no more successes than trials"),
        (y * 0, trials * 0, "binomial", "are 0 in all records that have a weight: give at least one trial"),
        (y * 0 + 1, trials * 0, "binomial", "1 successes in 0 trials in record 0"),
        (y + 0.5, trials + 1, "binomial", "give whole numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            pw.VerticalGLM(family, protocol).fit(X, y_, trials=trials_, rng=1)


@pytest.mark.parametrize(
    ("protocol", "options", "digits"),
    [
        ("reference", {}, 1e-9),
        ("joint", {}, 1e-9),
        ("joint", {"solver": "lbfgs", "start": "block"}, 1e-8),
        ("joint", {"solver": "lbfgs", "link": "shared"}, 1e-5),
        ("bcd", {"variant": "corrected"}, 1e-5),
    ],
)
def test_the_active_party_may_hold_the_response_alone(protocol, options, digits):
    model = pw.VerticalGLM("poisson", protocol, **options).fit(X, Y, parties=[[], [0, 1], [2, 3]], rng=1)
    assert np.allclose(model.params, oracle(X, Y, "poisson").params, rtol=0, atol=digits) and model.status_ == "ok"
    sent = {(row["sender"], row["receiver"]) for row in model.transcript_}
    assert {name for pair in sent for name in pair} >= {"active", "passive 1", "passive 2"}
    ids = [[f"p{i}" for i in range(120)]] * 2
    again = pw.VerticalGLM("poisson", protocol, **options).fit([X[:, :0], X], Y, ids=ids, rng=1)
    assert np.allclose(again.params, model.params, rtol=0, atol=2 * digits)


def test_a_private_fit_needs_columns_of_every_party():
    with pytest.raises(ValueError, match="not a partition"):
        pw.VerticalGLM("poisson", "moments", epsilon=2.0, **PRIVATE).fit(X, Y, parties=[[], [0, 1], [2, 3]], rng=1)
    with pytest.raises(ValueError, match="not a partition"):
        pw.VerticalGLM("poisson").fit(X, Y, parties=[[0, 1, 2, 3], []], rng=1)


def test_squared_scores_are_not_formed_in_shares():
    with pytest.raises(ValueError, match="scores are not squared in shares"):
        pw.VerticalGLM("poisson", solver="lbfgs", link="shared", cov_type="HC0").fit(X, Y, rng=1)


def test_what_is_not_nested_has_no_test():
    full, part = (pw.VerticalGLM("poisson").fit(X[:, :k], Y, rng=1) for k in (4, 2))
    with pytest.warns(UserWarning, match="no epsilon removes their bias"):
        private = pw.VerticalGLM("poisson", "moments", epsilon=2.0, **PRIVATE).fit(X, Y, rng=1)
    ridge = pw.VerticalGLM("poisson", ridge=1.0).fit(X, Y, rng=1)
    other = pw.VerticalGLM("poisson").fit(X[:, :2], Y[::-1] + 1, rng=1)
    quasi = pw.VerticalGLM("poisson", dispersion="pearson").fit(X, Y, rng=1)
    for one, less, words in (
        (part, full, "restricted has the columns"),
        (full, full, "restricted has the columns"),
        (private, part, "by protocol='moments' reports no null_deviance_"),
        (full, other, "not a fit of the same family to the same records"),
        (ridge, part, "a ridge shrinks"),
        (quasi, part, "reports no llf: private fits, quasi-likelihoods"),
    ):
        with pytest.raises(ValueError, match=words):
            one.compare_lr_test(less)


def test_names_need_no_pandas(monkeypatch):
    model = pw.VerticalGLM("poisson").fit(X, Y, rng=1)
    shown = model.params.to_dict(), model.conf_int().T.to_dict("list")
    monkeypatch.setattr("partywise.methods.glm.results.find_spec", lambda name: None)
    assert (model.params, model.conf_int()) == shown


def test_submodels_of_released_moments_cost_nothing_more():
    frame = pd.DataFrame(X, columns=["age", "dose", "stage", "smoker"])
    with pytest.warns(UserWarning, match="no epsilon removes their bias"):
        private = pw.VerticalGLM("poisson", "moments", epsilon=2.0, **PRIVATE).fit(frame, Y, rng=1)
    rows = len(private.ledger_.rows)
    whole, part = private.submodel(range(4)), private.submodel(["stage", 0])
    np.testing.assert_array_equal(whole, np.append(private.intercept_, private.coef_))
    assert not part[[2, 4]].any() and part[[0, 1, 3]].all() and len(private.ledger_.rows) == rows
    assert not np.array_equal(part[[1, 3]], whole[[1, 3]])
    with pytest.raises(ValueError, match="which the model does not have"):
        private.submodel(["size"])
    with pytest.raises(ValueError, match="protocol='joint' releases no second moments"):
        pw.VerticalGLM("poisson").fit(X, Y, rng=1).submodel([0])


def test_a_quasi_likelihood_has_students_tests_and_no_criterion():
    model = pw.VerticalGLM("poisson", dispersion="pearson").fit(X, Y, rng=1)
    expected = oracle(X, Y, "poisson", scale="X2")
    assert np.allclose(model.bse, expected.bse, rtol=1e-8) and model.aic is None
    assert np.allclose(model.pvalues, 2 * stats.t(115).sf(np.abs(expected.tvalues)), rtol=1e-6)


def test_records_that_arrive_unaligned_are_aligned_first():
    order = np.random.default_rng(2).permutation(120)[:100]
    ids = [[f"p{i}" for i in range(120)], [f"p{i}" for i in order]]
    model = pw.VerticalGLM("poisson").fit([X[:, :2], X[order, 2:]], Y, ids=ids, rng=1)
    common = np.sort(order)
    expected = oracle(X[common], Y[common], "poisson")
    assert np.allclose(model.coef_, expected.params[1:], rtol=1e-8) and model.n_records_ == 100
    assert sorted(model.rows_["active"]) == common.tolist()
    assert np.array_equal(order[model.rows_["passive 1"]], model.rows_["active"])


def test_parameters_in_scikit_learns_way():
    for protocol, method in pw.VerticalGLM.methods.items():
        made = pw.VerticalGLM("gamma", protocol, delta=1e-6)
        names = {one.name for one in fields(method.options)}
        own = set(inspect.signature(pw.VerticalGLM.__init__).parameters) - {"self", "options"}
        assert set(made.get_params()) == names | own and names.isdisjoint(own)
        assert made.get_params() == clone(made).get_params() and clone(made).protocol == protocol
    with pytest.raises(TypeError, match="'ridge' is not a parameter of VerticalGLM with protocol='moments'"):
        pw.VerticalGLM(protocol="moments", ridge=1.0)
    with pytest.raises(ValueError, match="not fitted yet"):
        pw.VerticalGLM().predict(X)


def test_separated_labels_warn_and_have_no_standard_errors():
    labels = (X[:, 0] > 0).astype(float)
    with pytest.warns(UserWarning, match="the fit is diverged: .*the columns separate the responses"):
        model = pw.VerticalGLM("binomial").fit(X, labels, rng=1)
    assert model.status_ == "diverged" and model.bse is None and "std err" not in model.summary()


SPOILT = X.copy()
SPOILT[4, 1] = np.nan


@pytest.mark.parametrize(
    ("made", "given", "error", "words"),
    [
        ({"family": "tweedie"}, {}, ValueError, "family='tweedie' is unknown; use one of"),
        ({"protocol": "nonsense"}, {}, ValueError, "protocol='nonsense' of VerticalGLM is unknown"),
        ({}, {"X": SPOILT}, ValueError, "X holds values that are not finite"),
        ({}, {"X": X[:, 0]}, ValueError, r"X has shape \(120,\)"),
        ({}, {"y": Y[:5]}, ValueError, "y has 5 entries for 120 rows of X"),
        ({}, {"y": Y - 5}, ValueError, "y of 'active' has the value -.*: family 'poisson' takes 0, 1, 2"),
        ({}, {"y": Y * 0 + 3}, ValueError, "null deviance is 0"),
        ({}, {"sample_weight": -np.ones(120)}, ValueError, "weights of 'active' lie between -1 and -1"),
        ({}, {"sample_weight": np.ones(3)}, ValueError, "weights has 3 entries for 120 rows"),
        ({}, {"offset": np.full(120, np.inf)}, ValueError, "offset holds values that are not finite"),
        ({}, {"names": ["a", "b"]}, ValueError, "names=.*: give 4 different ones"),
        ({}, {"parties": 1}, ValueError, "parties has 1 active and 0 passive"),
        ({}, {"parties": 9}, ValueError, "parties=9"),
        ({}, {"parties": [[0, 1], []]}, ValueError, "not a partition"),
        ({}, {"X": X[:5], "y": Y[:5]}, ValueError, "n=5 records .* for 5 coefficients"),
        ({}, {"X": X[:, [0, 1, 2, 1]]}, np.linalg.LinAlgError, r"have rank 4, not 5: .*\('x3' depends"),
        ({"ridge": -1.0}, {}, ValueError, "ridge is -1.0"),
        ({"tolerance": 0.0}, {}, ValueError, "tolerance is 0.0"),
        ({"location": 0.0}, {}, ValueError, "location=0.0 is read by private protocols only"),
        ({"epsilon": 1.0}, {}, ValueError, "epsilon=1.0 is not read"),
        ({"protocol": "moments", "epsilon": 1.0} | NOISY, {}, ValueError, "eta_start=0.5 is read by the noisy"),
        ({"protocol": "moments"}, {}, ValueError, "epsilon is missing"),
        ({"protocol": "moments", "epsilon": 1.0}, {}, ValueError, "location=None of the public facts"),
        (
            {"protocol": "moments", "epsilon": 1.0} | PRIVATE | {"scale": 0.0},
            {},
            ValueError,
            "scale=0.0 of column 'x0'",
        ),
        ({"protocol": "moments", "epsilon": 1.0} | PRIVATE | {"radii": [1.0]}, {}, ValueError, "give 2 numbers"),
        ({"protocol": "moments", "epsilon": 1.0} | PRIVATE | {"radii": [1.0, 0]}, {}, ValueError, "radii=0.0 of party"),
        (
            {"protocol": "moments", "epsilon": 1.0} | PRIVATE | {"statistic": (1.0, 1.0)},
            {},
            ValueError,
            "statistic=.* is not a range",
        ),
        (
            {"protocol": "noisy_newton", "epsilon": 1.0} | PRIVATE,
            {},
            ValueError,
            "eta_start is missing: protocol='noisy_newton'",
        ),
        (
            {"protocol": "moments", "epsilon": 1.0} | PRIVATE,
            {"sample_weight": np.ones(120)},
            ValueError,
            "weights of party 'active': private protocols take records without them",
        ),
        ({}, {"rng": 1.5}, TypeError, "rng="),
    ],
)
def test_what_is_wrong_is_named(made, given, error, words):
    arguments = {"X": X, "y": Y, "rng": 1} | given
    with pytest.raises(error, match=words):
        pw.VerticalGLM(**{"family": "poisson"} | made).fit(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_what_is_wrong_with_new_records_is_named():
    model = pw.VerticalGLM("poisson").fit(X, Y, rng=1)
    for call, words in (
        (lambda: model.predict(X[:, :3]), "X has 3 features, but VerticalGLM is expecting 4"),
        (lambda: model.predict(X, np.zeros(3)), "offset has 3 entries for 120 rows"),
        (lambda: model.score(X, Y - 9), "y of 'caller' has the value -"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


PERSONS = [f"p{number}" for number in range(120)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ids": [["a"] * 120]}, "ids has 1 lists, X 2 arrays"),
        ({"ids": [["a"] * 120, ["b"] * 7]}, r"ids\[1\] has 7 entries for 120 rows of X\[1\]"),
        ({"ids": [PERSONS, ["p0", 3, None, *PERSONS[3:]]]}, "1 of the 120 identifiers of 'passive 1' are missing"),
        ({"ids": [PERSONS, ["p0", 3, *PERSONS[2:]]]}, "1 of the 120 identifiers of 'passive 1' are whole numbers"),
        (
            {"ids": [PERSONS, ["p0", "p0", *PERSONS[2:]]]},
            "1 of the 120 identifiers of 'passive 1' are used by an earlier",
        ),
    ],
)
def test_identifiers_that_do_not_fit_are_named(given, words):
    with pytest.raises(ValueError, match=words):
        pw.VerticalGLM("poisson").fit([X[:, :2], X[:, 2:]], Y, rng=1, **given)


@pytest.mark.parametrize("protocol", pw.VerticalGLM.methods)
def test_the_estimator_is_the_cell(protocol, monkeypatch):
    """The bytes of the pipeline's estimate, ledger and transcript, from the same data, constants, kinds and noise.

    Why the constants and kinds are public is stated by who declares them: here in the words of the source.
    """
    private = protocol.startswith(("moments", "noisy"))
    epsilon = 2.0 if private else None
    grid = {"methods": ["m"], "replicates": 1, "folds": 1, "parties": [3], "epsilon": [epsilon or 1.0]}
    case = {"source": "generated", "settings": {"family": "gaussian", "n": 90, "p": 5}, "grid": grid}
    block = {"spec": {}, "methods": {"m": {"protocol": protocol}}, "cases": {"c": case}, "figures": []}
    made = plan("vertical_glm", block, 7)
    data = generate(made, "c", [0], ROOT / "resources")
    (cell,) = cells.run(made, "c", "m", 3, [0], [0], data)
    estimate = simulate(made.methods["m"].protocol.fit, execution(made, "c", "m", data[0]))
    constants = NOISY | {"statistic": (-4.0, 6.0), "eta_start": 1.0} if private else {}
    if protocol == "moments":
        del constants["eta_start"]
    if protocol in ("moments", "noisy_newton"):
        constants["kinds"] = {f"x{place}": "normal" for place in range(5)}
    monkeypatch.setattr("partywise.methods.glm.estimator.DECLARED", data[0].constants.because)
    model = pw.VerticalGLM("gaussian", protocol, epsilon=epsilon, delta=made.spec.delta, **constants)
    model.fit(data[0].X, data[0].y, parties=3, rng=Streams(7, "vertical_glm", "c", "noise", 0))
    assert same(model.estimate_, estimate)
    assert model.ledger_.digest == cell.scalars["ledger_sha256"] and model.transcript_ == cell.wire
    assert model.privacy_.epsilon_certified == cell.scalars["epsilon_certified"]
    assert model.deviance_r2_ is None or model.deviance_r2_ == pytest.approx(cell.scalars["deviance_r2"], rel=1e-9)


def test_a_binomial_response_is_of_numbers():
    """The estimator is a regressor for every family, as docs/python.md states."""
    X = np.linspace(-1, 1, 40)[:, None] * [1.0, -0.5] + np.sin(np.arange(80)).reshape(40, 2)
    fit = pw.VerticalGLM("binomial", "reference", parties=2, random_state=1)
    with pytest.raises(ValueError, match=r"y contains values that are not numbers .*: encode them"):
        fit.fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    assert fit._kind == "regressor" and not hasattr(fit, "classes_")
