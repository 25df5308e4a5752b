"""Trials, and records without weight: every exact protocol has the fit of statsmodels, its likelihood included."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

import partywise as pw
from glm_driver import fitted
from partywise.methods.glm.options import BcdOptions, GlmReferenceOptions, JointOptions
from partywise.methods.glm.protocols import bcd, joint, reference

SHARED = {"solver": "lbfgs", "link": "shared"}
PROTOCOLS = {
    "reference": (reference.fit, GlmReferenceOptions, {}),
    "newton": (joint.fit, JointOptions, {}),
    "lbfgs": (joint.fit, JointOptions, {"solver": "lbfgs"}),
    "shared": (joint.fit, JointOptions, SHARED),
    "bcd": (bcd.fit, BcdOptions, {"variant": "corrected", "ridge": 0.0, "tolerance": 1e-10}),
}


def run_protocol(label: str, X: np.ndarray, y: np.ndarray, family: str, *, ridge: float = 0.0, **given: np.ndarray):
    fit, options, changes = PROTOCOLS[label]
    return fitted(fit, X, y, ((0,), (1,)), options(**changes | {"ridge": ridge}), family=family, block=given)[0]


def grouped(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, successes and 5 to 39 trials."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 2))
    trials = rng.integers(5, 40, n).astype(float)
    return X, rng.binomial(trials.astype(int), 1 / (1 + np.exp(-X @ [0.5, -0.3] - 0.2))).astype(float), trials


@pytest.mark.parametrize("label", PROTOCOLS)
def test_successes_among_trials_are_those_of_statsmodels(label):
    X, y, trials = grouped(120)
    estimate = run_protocol(label, X, y, "binomial", trials=trials)
    exact = sm.GLM(np.column_stack([y, trials - y]), sm.add_constant(X), family=sm.families.Binomial()).fit(tol=1e-14)
    assert estimate.status == "ok"
    np.testing.assert_allclose(estimate.coefficients, exact.params, atol=2e-5)
    assert estimate.deviance == pytest.approx(exact.deviance, rel=1e-5)
    if label != "bcd":
        assert estimate.log_likelihood == pytest.approx(exact.llf, abs=1e-3)
        np.testing.assert_allclose(estimate.standard_errors, exact.bse, rtol=1e-4)


@pytest.mark.parametrize("label", ["reference", "bcd"])
def test_five_rows_of_trials(label):
    """Coefficients and deviance computed by hand with Newton's steps on the 160 single trials."""
    X = np.array([[1.0, 0], [0, 0], [1, 1], [0, 1], [1, 0]])
    y, trials = np.array([12.0, 33, 4, 9, 10]), np.array([40.0, 60, 10, 20, 30])
    estimate = run_protocol(label, X, y, "binomial", trials=trials)
    np.testing.assert_allclose(estimate.coefficients, [0.13346, -0.84804, -0.13324], atol=1e-4)
    assert estimate.deviance == pytest.approx(0.87426, abs=1e-5)


@pytest.mark.parametrize("label", PROTOCOLS)
def test_records_without_trials_are_absent(label):
    """As in R: they count neither as records nor in the scales of columns."""
    X, y, trials = grouped(120)
    y[:20], trials[:20] = 0.0, 0.0
    estimate = run_protocol(label, X, y, "binomial", trials=trials, ridge=3.0)
    fewer = run_protocol(label, X[20:], y[20:], "binomial", trials=trials[20:], ridge=3.0)
    np.testing.assert_allclose(estimate.coefficients, fewer.coefficients, atol=2e-6)
    if estimate.log_likelihood is not None:
        assert estimate.log_likelihood == pytest.approx(fewer.log_likelihood, abs=1e-3)


@pytest.mark.parametrize("label", PROTOCOLS)
def test_a_ridge_does_not_see_records_without_weight(label):
    """40 of 120 records, of 20 times the spread, have the weight 0: the fit is that of the other 80."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 2))
    X[:40] *= 20
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(120)
    weights = np.repeat([0.0, 1.0], [40, 80])
    estimate = run_protocol(label, X, y, "gaussian", weights=weights, ridge=5.0)
    fewer = run_protocol("reference", X[40:], y[40:], "gaussian", ridge=5.0)
    np.testing.assert_allclose(estimate.coefficients, fewer.coefficients, atol=1e-6)
    np.testing.assert_allclose(fewer.coefficients[1:], [0.922, 0.446], atol=0.03)


def test_the_summary_counts_records_without_trials():
    X, y, trials = grouped(120)
    y[:20], trials[:20] = 0.0, 0.0
    model = pw.VerticalGLM("binomial", "reference", random_state=1).fit(X, y, trials=trials)
    assert (model.n_records_, model.df_resid) == (100, 97)
    assert "100 records (20 without weight or trials are left out)" in model.summary()


def visits(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, counts and the logarithms of their exposures."""
    rng = np.random.default_rng(3)
    X, offset = rng.standard_normal((n, 2)), rng.uniform(0, 2, n)
    return X, rng.poisson(np.exp(0.3 * X[:, 0] + offset)).astype(float), offset


def test_residuals_of_the_fit_have_its_offset():
    X, y, offset = visits(150)
    model = pw.VerticalGLM("poisson", "reference", random_state=1).fit(X, y, offset=offset)
    exact = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson(), offset=offset).fit(tol=1e-14)
    np.testing.assert_allclose(model.resid_response(X, y), exact.resid_response, atol=1e-6)
    np.testing.assert_allclose(model.resid_deviance(X, y), exact.resid_deviance, atol=1e-6)
    assert model.score(X, y) == pytest.approx(model.deviance_r2_)
    with pytest.raises(ValueError, match="these are other records: give their offset"):
        model.resid_pearson(X[:20], y[:20])
    np.testing.assert_array_equal(
        model.resid_response(X[:20], y[:20], offset=offset[:20]), model.resid_response(X, y)[:20]
    )


def test_a_series_with_another_index_is_refused():
    pandas = pytest.importorskip("pandas")
    X, y, offset = visits(40)
    frame, series = pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(y)
    shuffled = series.sample(frac=1, random_state=1)
    model = pw.VerticalGLM("poisson", "reference", random_state=1).fit(frame, series)
    for given in ({"y": shuffled}, {"y": series, "offset": pandas.Series(offset, index=shuffled.index)}):
        with pytest.raises(ValueError, match=r"has another index than X: .* Give (y|offset).loc\[X.index\]"):
            pw.VerticalGLM("poisson", "reference", random_state=1).fit(frame, **given)
    with pytest.raises(ValueError, match="y has another index than X"):
        model.resid_response(frame, shuffled)


def test_formulas_refuse_levels_and_values_that_they_do_not_know():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    X, y, _ = visits(40)
    frame = pandas.DataFrame({"age": X[:, 0], "region": np.resize(["a", "b", "c"], 40), "arm": np.resize([1, 2], 40)})
    parties = [["age"], ["region", "arm"]]
    fitted_model = pw.VerticalGLM("poisson", formula="age + region + C(arm)", parties=parties, random_state=1)
    fitted_model.fit(frame, y)
    assert len(fitted_model.predict(frame.iloc[:5])) == 5
    for column, value, words in (
        ("region", "d", r"column 'region' has the level 'd' in row 2, .* levels are \['a', 'b', 'c'\]"),
        ("arm", 3, r"column 'arm' has the level .*3.* in row 2"),
        ("age", np.nan, r"column 'age' has no value in row 2 \(1 in all\)"),
    ):
        other = frame.iloc[:5].copy()
        other.loc[2, column] = value
        with pytest.raises(ValueError, match=words):
            fitted_model.predict(other)
    frame.loc[7, "age"] = np.nan
    with pytest.raises(ValueError, match="column 'age' has no value in row 7"):
        pw.VerticalGLM("poisson", formula="age", parties=[["age"], ["arm"]], random_state=1).fit(frame, y)


def test_boolean_labels_have_boolean_classes():
    X, y, _ = visits(60)
    model = pw.LabelPrivateLogisticRegression(epsilon=2.0, random_state=1).fit(np.tanh(X), y > 1)
    assert model.classes_.tolist() == [False, True] and model.predict(np.tanh(X)).dtype == bool


def test_residuals_take_trials():
    """Residuals of response and working response are of the shares of successes, the other two as in statsmodels."""
    X, y, trials = grouped(200)
    model = pw.VerticalGLM("binomial", parties=2, random_state=1).fit(X, y, trials=trials)
    exact = sm.GLM(np.column_stack([y, trials - y]), sm.add_constant(X), sm.families.Binomial()).fit()
    mean = model.predict(X)
    np.testing.assert_allclose(model.resid_response(X, y, trials=trials), y / trials - mean)
    working = (y / trials - mean) / (mean * (1 - mean))
    np.testing.assert_allclose(model.resid_working(X, y, trials=trials), working)
    for kind in ("pearson", "deviance"):
        residuals = getattr(model, f"resid_{kind}")(X, y, trials=trials)
        np.testing.assert_allclose(residuals, getattr(exact, f"resid_{kind}"), atol=1e-6, err_msg=kind)
    assert np.sum(model.resid_deviance(X, y, trials=trials) ** 2) == pytest.approx(model.deviance_)
