"""Stated deviations of the noise in coefficients: against derivatives, and against the spread over draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import partywise as pw
from glm_driver import records
from noisy_driver import noise_row
from partywise.core.randomness import stream
from partywise.methods.glm.noisy_statistics.moments import MomentScale, NoisyMoments
from partywise.methods.glm.noisy_statistics.noise import of_moments
from partywise.methods.glm.noisy_statistics.submodels import coefficients

FAMILIES = ("gaussian", "gamma", "inverse_gaussian", "binomial")
SLOW = [*FAMILIES[:3], pytest.param("binomial", marks=pytest.mark.statistical)]
DRAWS = 200


def release(
    family: str, n: int = 2000, p: int = 4, rho: float = 0.3
) -> tuple[np.ndarray, Callable[[np.ndarray, float], NoisyMoments]]:
    """The exact isometric vector of records, and what a vector with noise of a deviation is read as."""
    X, y = records(family, n, p, rho=rho)
    t = np.log(y) if family in ("gamma", "inverse_gaussian") else y
    low, high = (0.0, 1.0) if family == "binomial" else (float(t.min()) - 1, float(t.max()) + 1)
    public = MomentScale(float(np.sqrt(p) * 1.7), p, (low + high) / 2, (high - low) / 2)
    length = np.linalg.norm(X, axis=1)
    z = X / np.maximum(length / public.radius, 1)[:, None]
    v = np.column_stack([z, public.weight * (t - public.center)])
    rows, others = np.triu_indices(p + 1, 1)
    means = np.concatenate([np.mean(v**2, axis=0), np.mean(v[:, rows] * v[:, others], axis=0), v.mean(axis=0)])
    # Products and means stand twice in the matrix.
    worth = np.sqrt(np.repeat([1.0, 2.0, 2.0], [p + 1, len(rows), p + 1]))
    worth[-p - 1 :] *= public.constant
    copies = np.ones((p + 1, p + 1))

    def read(vector: np.ndarray, sd: float) -> NoisyMoments:
        return NoisyMoments.of(vector, n, noise_row(sd), copies, public, np.full(p, 0.5), np.full(p, 2.0))

    return worth * means, read


def jacobian(
    family: str, exact: np.ndarray, read: Callable[[np.ndarray, float], NoisyMoments], sd: float
) -> np.ndarray:
    """(1 + p, d) derivative of the coefficients by each released number, by central differences."""
    ends = [[coefficients(read(exact + step * e, sd), family) for step in (1e-4, -1e-4)] for e in np.eye(len(exact))]
    return np.array([(high - low) / 2e-4 for high, low in ends]).T


@pytest.mark.parametrize("family", FAMILIES)
def test_the_formula_is_the_derivative_of_the_coefficients(family):
    exact, read = release(family, p=2)
    stated, reason = of_moments(read(exact, 1e-3), family)
    assert reason == ""
    np.testing.assert_allclose(stated, 1e-3 * np.linalg.norm(jacobian(family, exact, read, 1e-3), axis=1), rtol=2e-3)


@pytest.mark.parametrize("family", SLOW)
@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_the_spread_over_draws_is_within_4_percent_of_what_is_stated(family, rho):
    """Near the limit of signal; the spread of the linear part over the same draws takes the chance out of 200 draws."""
    exact, read = release(family, rho=rho)
    sd = 0.01 if rho == 0.3 else 0.005
    slope = jacobian(family, exact, read, sd)
    noise = sd * stream(3, "noise", family).standard_normal((DRAWS, len(exact)))
    drawn = [read(exact + one, sd) for one in noise]
    linear = np.std(noise @ slope.T, axis=0) / (sd * np.linalg.norm(slope, axis=1))
    true = np.std([coefficients(one, family) for one in drawn], axis=0) / linear
    stated = [of_moments(one, family)[0] for one in drawn[:20]]
    assert all(one is not None for one in stated)
    np.testing.assert_allclose(true / np.sqrt(np.mean(np.square(stated), axis=0)), 1, atol=0.04)


@pytest.mark.parametrize(("sd", "words"), [(0.06, "the least eigenvalue"), (0.03, "the least eigenvalue")])
def test_where_noise_is_strong_there_is_no_number_and_the_reason(sd, words):
    """Deviations to first order are up to 1.45 times too small there."""
    exact, read = release("gaussian", rho=0.7)
    stated, reason = of_moments(read(exact, sd), "gaussian")
    assert stated is None and words in reason and "larger epsilon" in reason


def test_slopes_that_are_shrunken_have_no_number():
    exact, read = release("gaussian", n=50)
    size = len(exact) - 5
    weak = exact.copy()
    # Cross products of the response that are 0 to the noise: shrinkage takes all of the slopes.
    weak[[size - 10 + k for k in (3, 6, 8, 9)]] = 0.0
    stated, reason = of_moments(read(weak, 0.01), "gaussian")
    assert stated is None and "shrinkage" in reason


def test_no_noise_is_stated_where_there_is_none():
    X, y = records("gaussian", 100, 4)
    given = {"location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0), "eta_start": 1.0}
    fit = pw.VerticalGLM("gaussian", "noisy_newton", epsilon=np.inf, **given).fit(X, y, rng=1)
    assert fit.noise_errors_ is None and fit.noise_errors_reason_ == ""
    assert "noise sd" not in fit.summary() and "noisy:" not in fit.summary()


def test_a_summary_has_the_deviations_or_the_reason():
    X, y = records("gaussian", 2000, 3)
    given = {"location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0)}
    fit = pw.VerticalGLM("gaussian", "moments", epsilon=20.0, **given).fit(X, y, rng=1)
    assert fit.noise_errors_.shape == (4,) and np.all(fit.noise_errors_ > 0)
    assert "noise sd" in fit.summary() and f"{fit.noise_errors_[1]:.4g}" in fit.summary()
    weak = pw.VerticalGLM("gaussian", "moments", epsilon=0.1, **given).fit(X, y, rng=1)
    assert weak.noise_errors_ is None and weak.noise_errors_reason_ in weak.summary()


def test_a_shared_fit_says_that_it_is_approximate():
    X, y = records("binomial", 100, 2)
    fit = pw.VerticalGLM("binomial", solver="lbfgs", link="shared").fit(X, y, rng=1)
    assert "approximate" in fit.summary()
