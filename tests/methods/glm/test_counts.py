"""Poisson models from second moments: skewed columns do no harm, and normal ones lose nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from glm_driver import records
from noisy_driver import noise_row
from partywise.alignment.rows import columns_of
from partywise.core.randomness import stream
from partywise.methods.glm.exact import fit_glm
from partywise.methods.glm.noisy_statistics.counts import Cumulants, cumulants
from partywise.methods.glm.noisy_statistics.moments import MomentScale, NoisyMoments
from partywise.methods.glm.noisy_statistics.submodels import coefficients
from partywise.methods.glm.records import response_of
from partywise.models.families import FAMILIES
from partywise.privacy.statistics.isometry import to_vector

POISSON = FAMILIES["poisson"]
N = 5000


def moments(X: np.ndarray, y: np.ndarray, location: np.ndarray, scale: np.ndarray) -> NoisyMoments:
    """Without noise, the radius so large that nothing is clipped."""
    n, p = X.shape
    z = (X - location) / scale
    radius = max(1.4 * np.sqrt(p), float(np.linalg.norm(z, axis=1).max()))
    public = MomentScale(radius, p, y.max() / 2, y.max() / 2)
    v = np.column_stack([z, public.weight * (y - public.center)])
    vector = np.concatenate([to_vector(v.T @ v), np.sqrt(2) * public.constant * v.sum(axis=0)]) / n
    return NoisyMoments.of(vector, n, noise_row(0.0), np.ones((len(location) + 1,) * 2), public, location, scale)


def excess(X: np.ndarray, y: np.ndarray, beta: np.ndarray) -> float:
    """0 is the pooled fit, 1 the model without columns."""
    best = POISSON.deviance(y, fit_glm(X, y, POISSON).eta)
    null = POISSON.deviance(y, np.full(len(y), POISSON.start(y)))
    return (POISSON.deviance(y, beta[0] + X @ beta[1:]) - best) / (null - best)


def latent(p: int, rho: float, seed: int) -> np.ndarray:
    """(N, p) normal with equal correlations."""
    rng = stream(seed, "latent of skewed columns")
    return np.sqrt(rho) * rng.standard_normal((N, 1)) + np.sqrt(1 - rho) * rng.standard_normal((N, p))


def counts(X: np.ndarray, slopes: np.ndarray, seed: int) -> np.ndarray:
    """Responses with a mean of 2 at the mean record, means cut at 60."""
    eta = np.log(2) + (X - X.mean(axis=0)) @ slopes
    return stream(seed, "counts").poisson(np.exp(np.minimum(eta, np.log(60)))).astype(float)


def normal_formula(found: NoisyMoments) -> np.ndarray:
    """Coefficients of a normal linear predictor: b / mean y, less half its variance."""
    p = len(found.mean) - 1
    slopes = np.linalg.solve(found.block(range(p)), found.covariance[:p, p]) / found.response
    half = slopes @ found.block(range(p)) @ slopes / 2
    raw = slopes / found.scale
    level = np.log(found.response) - half - slopes @ found.mean[:p] - raw @ found.location
    return np.append(level, raw)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("p", "rho"), [(4, 0.0), (4, 0.6), (10, 0.3)])
@pytest.mark.parametrize(("share", "ratio"), [(0.01, 10), (0.05, 2), (0.05, 10), (0.2, 4), (0.95, 0.1), (0.95, 4)])
def test_rare_indicators_do_no_harm(share, ratio, p, rho, seed):
    """Measured at most .37, over four seeds (normal predictors: 2e8)."""
    X = (latent(p, rho, seed) > ndtri(1 - share)).astype(float)
    y = counts(X, np.where(np.arange(p) % 2, 0.0, np.log(ratio)), seed)
    found = moments(X, y, np.full(p, share), np.full(p, np.sqrt(share * (1 - share))))
    assert excess(X, y, coefficients(found, "poisson")) < 0.6


@pytest.mark.parametrize("seed", [1, 2, 5])
@pytest.mark.parametrize(("p", "rho"), [(4, 0.0), (4, 0.6), (10, 0.3)])
@pytest.mark.parametrize(("spread", "effect"), [(0.5, 0.3), (0.5, 0.6), (1.0, 0.1), (1.0, 0.3), (1.0, 0.6)])
def test_lognormal_columns_do_no_harm(spread, effect, p, rho, seed):
    """Slopes of both signs, predictors up to 12 above their mean; measured at most .93 (normal ones: 1e10)."""
    X = np.exp(spread * latent(p, rho, seed))
    mean = np.full(p, np.exp(spread**2 / 2))
    scale = mean * np.sqrt(np.exp(spread**2) - 1)
    y = counts(X, effect / scale * np.where(np.arange(p) % 2, -1, 1), seed)
    assert excess(X, y, coefficients(moments(X, y, mean, scale), "poisson")) < 1.5


def test_the_normal_formula_is_what_does_the_harm():
    X = (latent(4, 0.0, 1) > ndtri(0.95)).astype(float)
    y = counts(X, np.array([np.log(10), 0, np.log(10), 0]), 1)
    found = moments(X, y, np.full(4, 0.05), np.full(4, 0.22))
    assert excess(X, y, normal_formula(found)) > 5 > 25 * excess(X, y, coefficients(found, "poisson"))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("p", [4, 10])
def test_columns_of_both_signs_have_the_slopes_of_normal_ones(p, rho):
    X, y = records("poisson", N, p, rho=rho)
    found = moments(X, y, np.zeros(p), np.ones(p))
    np.testing.assert_allclose(coefficients(found, "poisson"), normal_formula(found), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("rho", "most"), [(0.0, 0.05), (0.3, 0.05), (0.9, 0.18)])
@pytest.mark.parametrize("p", [4, 10])
def test_normal_columns_far_from_zero_lose_little(p, rho, most):
    """As far as an age is, three deviations; measured at most .038, .036 and, where slopes cancel, .144."""
    X, y = records("poisson", N, p, rho=rho)
    found = moments(3 + X, y, np.full(p, 3.0), np.ones(p))
    assert excess(3 + X, y, coefficients(found, "poisson")) < most


@pytest.mark.parametrize("share", [0.003, 0.05, 0.5, 0.9, 0.99])
def test_the_cumulant_of_an_indicator_is_never_underestimated(share):
    """So that a fit of one indicator cannot be worse than the model without it."""
    X = (np.arange(1000) < 1000 * share).astype(float)[:, None]
    found = cumulants(moments(X, np.ones(1000), np.array([0.2]), np.array([0.4])), [0])
    for b in np.linspace(-6, 6, 61):
        assert found.parts(np.array([0.4 * b]))[0] >= np.log1p(share * np.expm1(b)) - share * b - 1e-12


def test_slopes_are_where_the_bound_is_largest_and_derivatives_are_those_of_the_value():
    rng = stream(1, "cumulants")
    A = rng.standard_normal((5, 5))
    shape = Cumulants(A @ A.T, np.array([0.0, 1.0, 3.0, 0.5, 10.0]), np.array([2.0, 0.0, 1.0, 0.5, 0.0]))
    at, target = 0.1 * rng.standard_normal(5), 3 * rng.standard_normal(5)
    _, gradient, curvature = shape.parts(at)
    for j, e in enumerate(1e-6 * np.eye(5)):
        up, down = shape.parts(at + e), shape.parts(at - e)
        assert (up[0] - down[0]) / 2e-6 == pytest.approx(gradient[j], rel=1e-6, abs=1e-8)
        np.testing.assert_allclose((up[1] - down[1]) / 2e-6, curvature[j], rtol=1e-5, atol=1e-6)
    best = shape.maximise(target)
    np.testing.assert_allclose(shape.parts(best)[1], target, atol=1e-6)


ROWS = np.arange(4)


@pytest.mark.parametrize(
    ("changes", "family", "words"),
    [
        ({"y": np.array([0, 1, 2, 1])}, "binomial", "y of 'clinic' has the value 2: family 'binomial' takes 0 and 1"),
        ({"y": np.array([0, 1, np.nan, 1])}, "gaussian", "y of 'clinic' has the value nan: fill or drop"),
        ({"y": np.ones((4, 1))}, "gaussian", r"y of 'clinic' has shape \(4, 1\)"),
        ({"y": np.array(["a"] * 4)}, "gaussian", "y of 'clinic' has shape .* and type <U1: give"),
        ({"y": np.ones(3)}, "gaussian", "y of 'clinic' has 3 rows"),
        ({"weights": np.array([1, 1, -1, 1])}, "gaussian", "weights of 'clinic' lie between -1 and 1: give numbers"),
        ({"weights": np.zeros(4)}, "gaussian", "weights of 'clinic' lie between 0 and 0: .* some of them positive"),
        ({"weights": np.array([1, np.inf, 1, 1])}, "gaussian", "weights of 'clinic' has the value inf"),
        ({"offset": np.array([1, np.nan, 1, 1])}, "gaussian", "offset of 'clinic' has the value nan"),
        ({"offset": np.ones(9)[:3]}, "gaussian", "offset of 'clinic' has 3 rows"),
    ],
)
def test_a_response_that_is_wrong_is_named(changes, family, words):
    with pytest.raises(ValueError, match=words):
        response_of({"y": np.array([1.0, 2.0, 3.0, 5.0])} | changes, ROWS, family, "clinic")


def test_the_active_party_needs_a_response_and_records():
    with pytest.raises(ValueError, match="'clinic' is the active party and holds no y"):
        response_of({}, ROWS, "gaussian", "clinic")
    with pytest.raises(ValueError, match="y of 'clinic': no record is used"):
        response_of({"y": np.ones(3)}, ROWS[:0], "gaussian", "clinic")


def test_used_rows_come_in_their_order():
    block = {"X": np.arange(8).reshape(4, 2), "y": np.array([5.0, 6.0, 7.0, 8.0]), "weights": np.array([0, 1, 2, 3])}
    rows = np.array([3, 0])
    assert columns_of(block, rows, ["a", "b"], "clinic").tolist() == [[6, 7], [0, 1]]
    found = response_of(block, rows, "gaussian", "clinic")
    assert found.y.tolist() == [8, 5] and found.weights.tolist() == [3, 0] and found.offset is None
    assert found.n_observations == 1 and found.shift.tolist() == [0, 0]
