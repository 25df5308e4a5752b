"""Submodels from second moments: exact where a linear model is, close where columns are normal, for every family."""

from __future__ import annotations

import numpy as np
import pytest

from glm_driver import FAMILIES, records
from noisy_driver import noise_row
from partywise.core.randomness import stream
from partywise.methods.glm.exact import fit_glm
from partywise.methods.glm.noisy_statistics.moments import MomentScale, NoisyMoments
from partywise.methods.glm.noisy_statistics.scaling import statistic
from partywise.methods.glm.noisy_statistics.submodels import coefficients
from partywise.models.families import FAMILIES as FAMILY
from partywise.privacy.statistics.isometry import nearest_semidefinite, to_vector

RANGES = {"gaussian": (-6.0, 8.0), "binomial": (0.0, 1.0), "poisson": (0.0, 40.0)}
# Largest excess deviance of normal columns, where 1 is the model without columns; measured 0, .00004, .0001, .0002 and
# .035, the last because an inverse Gaussian response is not lognormal.
CLOSE = {"gaussian": 1e-9, "binomial": 0.001, "poisson": 0.002, "gamma": 0.002, "inverse_gaussian": 0.05}


def moments(X: np.ndarray, y: np.ndarray, family: str, sd: float = 0.0, draw: int = 1) -> NoisyMoments:
    """As they would be released with noise of this deviation; nothing is clipped."""
    low, high = RANGES.get(family, (-6.0, 6.0))
    p = X.shape[1]
    location, scale = np.linspace(-1, 1, p), np.linspace(0.5, 2, p)
    public = MomentScale(10.0, p, (low + high) / 2, (high - low) / 2)
    v = np.column_stack([(X - location) / scale, public.weight * (statistic(y, family) - public.center)])
    vector = np.concatenate([to_vector(v.T @ v), np.sqrt(2) * public.constant * v.sum(axis=0)]) / len(X)
    noise = sd * stream(draw, "noise of moments").standard_normal(len(vector))
    return NoisyMoments.of(vector + noise, len(X), noise_row(sd), np.ones((p + 1, p + 1)), public, location, scale)


def excess(family: str, X: np.ndarray, y: np.ndarray, beta: np.ndarray, columns=slice(None)) -> float:
    """0 is the pooled fit on these columns, 1 the model without any."""
    one = FAMILY[family]
    best = one.deviance(y, fit_glm(X[:, columns], y, one).eta)
    null = one.deviance(y, np.full(len(y), one.start(y)))
    return (one.deviance(y, beta[0] + X @ beta[1:]) - best) / (null - best)


@pytest.mark.parametrize("family", FAMILIES)
def test_normal_columns_give_nearly_the_fit(family):
    X, y = records(family, 5000, 4)
    assert abs(excess(family, X, y, coefficients(moments(X, y, family), family))) < CLOSE[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_submodel_is_the_model_of_its_columns(family):
    X, y = records(family, 5000, 4)
    found = coefficients(moments(X, y, family), family, [2, 0])
    assert not found[[2, 4]].any()
    assert abs(excess(family, X, y, found, [0, 2])) < 2 * CLOSE[family]
    alone = coefficients(moments(X, y, family), family, [])
    assert not alone[1:].any() and abs(excess(family, X, y, alone) - 1) < 0.02


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sd", [0.05, 1.0, 30.0])
def test_any_noise_gives_finite_coefficients(family, sd):
    X, y = records(family, 300, 6)
    found = moments(X, y, family, sd)
    beta = coefficients(found, family)
    assert np.isfinite(beta).all() and np.isfinite(FAMILY[family].deviance(y, beta[0] + X @ beta[1:]))
    R = found.correlation
    np.testing.assert_array_equal(np.diagonal(R), 1.0)
    assert np.abs(R).max() <= 1 + 1e-12 and np.linalg.eigvalsh(R)[0] > -1e-12


def test_a_ridge_grows_with_the_noise():
    X, y = records("gaussian", 300, 6)
    quiet, loud = (moments(X, y, "gaussian", sd) for sd in (1e-3, 1e-1))
    assert loud.ridge(range(6)) == pytest.approx(0.1 * np.sqrt(3)) == 100 * quiet.ridge(range(6))
    np.testing.assert_allclose(quiet.matrix([0, 1]) - quiet.block([0, 1]), 1e-3 * np.eye(2), atol=1e-15)


def mean_excess(strength: float, sd: float) -> tuple[float, float]:
    """Of the ridge alone and of what is reported, over draws of the noise."""
    X, y = records("gaussian", 300, 8)
    y = 1 + strength * (y - 1) + (1 - strength) * stream(1, "no signal").standard_normal(300)
    plain, shrunk = [], []
    for draw in range(40):
        found = moments(X, y, "gaussian", sd, draw)
        slopes = np.linalg.solve(found.matrix(range(8)), found.covariance[:-1, -1]) / found.scale
        beta = coefficients(found, "gaussian")
        level = beta[0] + (beta[1:] - slopes) @ (found.location + found.scale * found.mean[:-1])
        plain.append(excess("gaussian", X, y, np.append(level, slopes)))
        shrunk.append(excess("gaussian", X, y, beta))
    return float(np.mean(plain)), float(np.mean(shrunk))


def test_slopes_are_shrunk_by_what_noise_explains_and_by_no_more():
    """Measured: .51 of the excess of the ridge alone where noise is most of it, 1.11 of it where little is noise."""
    plain, shrunk = mean_excess(0.3, 0.4)
    assert shrunk < 0.6 * plain
    plain, shrunk = mean_excess(1.0, 0.05)
    assert shrunk < 1.2 * plain


def test_the_nearest_matrix_loses_its_negative_part_only():
    A = np.diag([2.0, -1.0, 0.5])
    np.testing.assert_allclose(nearest_semidefinite(A), np.diag([2.0, 0.0, 0.5]), atol=1e-15)


@pytest.mark.parametrize("columns", [[0, 0], [4], [-1]])
def test_columns_that_are_none_are_refused(columns):
    X, y = records("gaussian", 50, 4)
    with pytest.raises(ValueError, match="columns"):
        coefficients(moments(X, y, "gaussian"), "gaussian", columns)
