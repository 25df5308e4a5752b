"""Deviance, AIC, dispersion, standard errors and tests against statsmodels, and the numbers of the specification."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import partywise as pw
from glm_driver import FAMILIES, records
from glm_oracle import oracle
from partywise.methods.glm import diagnostics as d
from partywise.methods.glm.exact import fit_glm
from partywise.methods.glm.records import WeightedResponse
from partywise.models.families import FAMILIES as OBJECTS

DRAWN = ("gaussian", "gamma", "inverse_gaussian")


def fit_of(family, *, more=False, dispersion="family", ridge=0.0, n=150, p=4):
    """Columns, response, and the diagnostics of its pooled fit."""
    X, y = records(family, n, p)
    rng = np.random.default_rng(2)
    weights, offset = (rng.choice([0.0, 0.5, 1.0, 3.0], n), rng.normal(0, 0.3, n)) if more else (None, None)
    response = WeightedResponse(y, OBJECTS[family], weights, offset)
    fit = fit_glm(X, y, family, weights=weights, offset=offset, ridge=ridge)
    sums = d.sums_of(response, fit.eta)
    found = d.diagnose(sums, fit.information, fit.scaling, family, ridge=ridge, dispersion=dispersion)
    return X, response, fit, found


def table_of(found, estimated):
    return d.deviance_table(found.deviance, found.null_deviance, found.dispersion, found.df_residual, 4, estimated)


def statsmodels_of(X, response, family, **more):
    kept = np.ones(len(X), dtype=bool) if response.weights is None else response.weights > 0
    if response.weights is not None:
        more |= {"var_weights": response.weights[kept], "offset": response.offset[kept]}
    return oracle(X[kept], response.y[kept], family, **more)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("dispersion", ["family", "pearson"])
def test_numbers_are_those_of_statsmodels(family, more, dispersion):
    X, response, fit, found = fit_of(family, more=more, dispersion=dispersion)
    scale = "X2" if dispersion == "pearson" else None
    expected = statsmodels_of(X, response, family, scale=scale)
    close = {"rtol": 1e-8, "atol": 0}
    assert np.allclose(found.standard_errors, expected.bse, **close)
    assert np.allclose(found.covariance, expected.cov_params(), rtol=1e-8, atol=1e-8 * np.max(found.covariance))
    assert np.isclose(found.dispersion, expected.scale, **close)
    assert np.isclose(found.deviance, expected.deviance, **close)
    assert np.isclose(found.null_deviance, expected.null_deviance, **close)
    assert np.isclose(found.deviance_r2, 1 - expected.deviance / expected.null_deviance, **close)
    assert found.df_residual == expected.df_resid and not found.penalised
    drawn = family in DRAWN
    scale = expected.deviance / response.n_observations if drawn else 1.0
    if dispersion == "pearson" and not drawn:
        assert found.log_likelihood is None and found.aic is None
    else:
        likelihood = expected.model.family.loglike(
            expected.model.endog, expected.mu, var_weights=expected.model.var_weights, scale=scale
        )
        assert np.isclose(found.log_likelihood, likelihood, **close)
        assert np.isclose(found.aic, -2 * likelihood + 2 * 5 + 2 * drawn, **close)
    tests = d.wald(fit.coefficients, found.standard_errors, None, level=0.9)
    assert np.allclose(tests.statistic, expected.tvalues, **close)
    assert np.allclose(tests.p_values, 2 * stats.norm.sf(np.abs(tests.statistic)), rtol=1e-12, atol=0)
    assert np.allclose(tests.interval, expected.conf_int(0.1), rtol=1e-7, atol=1e-9)


def test_students_tests_and_the_table_of_a_linear_model_are_those_of_least_squares():
    X, response, fit, found = fit_of("gaussian")
    expected = statsmodels_of(X, response, "gaussian")
    tests = d.wald(fit.coefficients, found.standard_errors, found.df_residual)
    assert np.allclose(tests.p_values, 2 * stats.t.sf(np.abs(expected.tvalues), 145), rtol=1e-6)
    reach = stats.t.ppf(0.975, 145) * expected.bse
    assert np.allclose(tests.interval[:, 1] - tests.interval[:, 0], 2 * reach, rtol=1e-8)
    rows = {row["source"]: row for row in table_of(found, True)}
    assert [rows[name]["df"] for name in ("null", "columns", "residual")] == [149, 4, 145]
    f = (found.null_deviance - found.deviance) / 4 / (found.deviance / 145)
    assert np.isclose(rows["columns"]["statistic"], f) and np.isclose(rows["columns"]["p_value"], stats.f.sf(f, 4, 145))


def test_the_table_of_counts_is_the_likelihood_ratio_test():
    X, response, _, found = fit_of("poisson")
    expected = statsmodels_of(X, response, "poisson")
    ratio = 2 * (expected.llf - expected.llnull)
    rows = {row["source"]: row for row in table_of(found, False)}
    assert np.isclose(rows["columns"]["statistic"], ratio, rtol=1e-8)
    assert np.isclose(rows["columns"]["p_value"], stats.chi2.sf(ratio, 4), rtol=1e-6)


def test_mcfaddens_is_of_single_trials_only():
    X, response, _, found = fit_of("binomial")
    expected = statsmodels_of(X, response, "binomial")
    assert np.isclose(found.deviance_r2, 1 - expected.llf / expected.llnull)
    # Another family: the value that the source calls McFadden's is not his.
    X, response, _, found = fit_of("poisson")
    expected = statsmodels_of(X, response, "poisson")
    assert abs(found.deviance_r2 - (1 - expected.llf / expected.llnull)) > 0.1


def test_both_criteria_of_the_specification():
    """Seed 004's example: D = 1067.1, n = 1000, q = 12."""
    assert np.isclose(d.aic_published(1067.1, 12), 1091.1)
    likelihood = -1000 / 2 * (np.log(2 * np.pi * 1067.1 / 1000) + 1)
    assert abs(d.aic(likelihood, 12, "gaussian") - 2928.8) < 0.05
    y = np.sqrt(1067.1 / 1000) * np.tile([1.0, -1.0], 500)
    sums = d.sums_of(WeightedResponse(y, OBJECTS["gaussian"]), np.zeros(1000))
    assert abs(d.aic(sums.log_likelihood, 12, "gaussian") - 2928.8) < 0.05


@pytest.mark.parametrize(("family", "power"), [("gaussian", 2), ("inverse_gaussian", -1), ("gamma", 0)])
def test_the_published_criterion_depends_on_the_unit_of_the_response(family, power):
    X, y = records(family, 150, 4)
    found = []
    for unit in (1.0, 100.0):
        fits = [fit_glm(X[:, :p], unit * y, family) for p in (2, 4)]
        sums = [d.sums_of(WeightedResponse(unit * y, OBJECTS[family]), fit.eta) for fit in fits]
        found.append((sums, [d.aic(one.log_likelihood, q, family) for one, q in zip(sums, (3, 5), strict=True)]))
    (first, criteria), (second, rescaled) = found
    assert np.isclose(second[1].deviance, 100.0**power * first[1].deviance, rtol=1e-9)
    assert np.isclose(criteria[1] - criteria[0], rescaled[1] - rescaled[0], rtol=1e-6)


def test_a_ridge_is_labelled_and_shrinks_standard_errors():
    _, _, _, plain = fit_of("poisson")
    _, _, fit, found = fit_of("poisson", ridge=50.0)
    assert found.penalised and np.all(found.standard_errors[1:] < plain.standard_errors[1:])
    # The delta method: b moves with y by H^-1 X' at fixed weights.
    Z = np.column_stack([np.ones(150), fit.scaling.apply(records("poisson", 150, 4)[0])])
    mu = np.exp(fit.eta)
    moves = np.linalg.solve((Z.T * mu) @ Z + np.diag([0, 50.0, 50, 50, 50]), Z.T)
    T = fit.scaling.matrix()
    assert np.allclose(found.covariance, T @ (moves * mu) @ moves.T @ T.T, rtol=1e-9)


def test_what_is_undefined_is_none():
    X, y = records("gaussian", 4, 5)
    fit = fit_glm(X, y, "gaussian", ridge=1.0)
    found = d.diagnose(
        d.sums_of(WeightedResponse(y, OBJECTS["gaussian"]), fit.eta),
        fit.information,
        fit.scaling,
        "gaussian",
        ridge=1.0,
        dispersion="family",
    )
    assert found.dispersion is None and found.standard_errors is None and found.aic is not None
    assert np.isnan(d.sums_of(WeightedResponse(y, OBJECTS["gaussian"]), y).log_likelihood)
    with pytest.raises(ValueError, match=r"level=1\.5"):
        d.wald(fit.coefficients, np.ones(6), None, 1.5)


GIVEN = {"epsilon": 4.0, "location": 0.0, "scale": 1.0}
RANGES = {"gaussian": (-4.0, 6.0), "binomial": (0.0, 1.0)}


def fitted(protocol: str, family: str = "gaussian", **more):
    X, y = records(family, 300, 3)
    if family in RANGES:
        more = {"statistic": RANGES[family]} | more
    if protocol != "moments":
        more = {"eta_start": {"gaussian": 1.0, "binomial": 0.0}.get(family, 0.7)} | more
    with warnings.catch_warnings():
        # A verdict of tight bounds is not asked for here.
        warnings.simplefilter("ignore", UserWarning)
        return X, pw.VerticalGLM(family, protocol, **GIVEN, **more).fit(X, y, parties=[[0, 1], [2]], rng=1)


@pytest.mark.parametrize("protocol", ["noisy_newton", "noisy_gradient"])
@pytest.mark.parametrize(("bound", "least", "most"), [(0.01, 0.95, 1.0), (1e3, 0.0, 0.0)])
def test_the_share_of_scores_is_that_of_their_bound(protocol, bound, least, most):
    _, fit = fitted(protocol, bound=bound)
    assert least <= fit.estimate_.numbers["score_clip_share"] <= most


def test_residuals_that_were_clipped_before_count():
    """Gamma and inverse Gaussian scores: their residual is clipped, and no product is longer than the bound."""
    _, fit = fitted("noisy_newton", "gamma", bound=0.01, clip="residual")
    assert fit.estimate_.numbers["score_clip_share"] > 0.9


@pytest.mark.parametrize("protocol", ["noisy_newton", "noisy_gradient", "noisy_predictor", "moments"])
def test_the_share_of_records_is_that_of_all_blocks(protocol):
    more = {} if protocol in ("noisy_newton", "noisy_gradient") else {"cipher": "sized"}
    X, fit = fitted(protocol, radii=[1.0, 1.5], **more)
    beyond = (np.linalg.norm(X[:, :2], axis=1) > 1.0) | (np.abs(X[:, 2]) > 1.5)
    assert fit.estimate_.numbers["record_clip_share"] == pytest.approx(beyond.mean(), abs=1e-12)


def test_no_share_is_saved(tmp_path):
    _, fit = fitted("noisy_newton")
    fit.save(tmp_path / "model.json")
    assert "clip_share" not in (tmp_path / "model.json").read_text()
    assert "score_clip_share" not in pw.load(tmp_path / "model.json").estimate_.numbers
