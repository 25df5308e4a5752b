"""What is said of the noise in each coefficient, against the spread of coefficients over draws of the noise."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from glm_driver import records
from partywise.glm.noisy_statistics.moments import Moments, Scale
from partywise.glm.noisy_statistics.noise import of_moments
from partywise.glm.noisy_statistics.submodels import coefficients
from partywise.randomness import stream

DRAWS = 200


def released(family: str, n: int, sd: float, p: int = 4) -> list[Moments]:
    """Moments of the same records under fresh noise of a standard deviation."""
    X, y = records(family, n, p)
    t = np.log(y) if family in ("gamma", "inverse_gaussian") else y
    low, high = (0.0, 1.0) if family == "binomial" else (float(t.min()) - 1, float(t.max()) + 1)
    public = Scale(float(np.sqrt(p) * 1.4), p, (low + high) / 2, (high - low) / 2)
    length = np.linalg.norm(X, axis=1)
    z = X / np.maximum(length / public.radius, 1)[:, None]
    v = np.column_stack([z, public.weight * (t - public.center)])
    rows, others = np.triu_indices(p + 1, 1)
    means = np.concatenate([np.mean(v**2, axis=0), np.mean(v[:, rows] * v[:, others], axis=0), v.mean(axis=0)])
    # Products and means stand twice in the matrix.
    worth = np.sqrt(np.repeat([1.0, 2.0, 2.0], [p + 1, len(rows), p + 1]))
    worth[-p - 1 :] *= public.constant
    exact, rng = worth * means, stream(3, "noise", family)
    return [
        Moments.of(
            exact + sd * rng.standard_normal(len(exact)),
            n,
            sd,
            np.ones((p + 1, p + 1)),
            public,
            np.full(p, 0.5),
            np.full(p, 2.0),
        )
        for _ in range(DRAWS)
    ]


@pytest.mark.parametrize(
    "family",
    ["gaussian", "gamma", "inverse_gaussian", pytest.param("binomial", marks=pytest.mark.statistical)],
)
@pytest.mark.parametrize("sd", [0.01])
def test_the_spread_over_draws_is_what_is_said(family, sd):
    """200 draws know a standard deviation to 5 %; what is said of eight of them is within 25 % of it."""
    given = released(family, 2000, sd)
    spread = np.std([coefficients(one, family) for one in given], axis=0)
    said = np.sqrt(np.mean([of_moments(one, family) ** 2 for one in given[:8]], axis=0))
    np.testing.assert_allclose(said / spread, 1, atol=0.25)


@pytest.mark.parametrize("epsilon", [pytest.param(1.0, marks=pytest.mark.statistical), 4.0])
@pytest.mark.parametrize(
    "family",
    [
        "binomial",
        *(pytest.param(name, marks=pytest.mark.statistical) for name in ("gaussian", "gamma", "inverse_gaussian")),
    ],
)
def test_the_spread_of_newton_steps_over_fits_is_what_is_said(family, epsilon):
    """As above, of whole fits."""
    X, y = records(family, 2000, 4)
    given = {"epsilon": epsilon, "location": 0.2, "scale": 0.9, "eta_start": {"binomial": 0.0}.get(family, 0.7)}
    if family in ("gaussian", "binomial"):
        given["statistic"] = (0.0, 1.0) if family == "binomial" else (-4.0, 6.0)
    fits = [pw.VerticalGLM(family, "noisy_newton", **given).fit(X, y, rng=seed) for seed in range(DRAWS)]
    spread = np.std([[fit.intercept_, *fit.coef_] for fit in fits], axis=0)
    said = np.sqrt(np.mean([fit.noise_errors_**2 for fit in fits[:8]], axis=0))
    np.testing.assert_allclose(said / spread, 1, atol=0.25)


def test_no_noise_is_said_where_there_is_none():
    X, y = records("gaussian", 100, 4)
    given = {"location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0), "eta_start": 1.0}
    fit = pw.VerticalGLM("gaussian", "noisy_newton", epsilon=np.inf, **given).fit(X, y, rng=1)
    assert fit.noise_errors_ is None and "noise sd" not in fit.summary() and "noisy:" not in fit.summary()


def test_pure_noise_is_told_apart_in_the_summary():
    """Fifty records with equal halves of y and no effect: slopes are of the size of what is said of their noise."""
    X = stream(4, "nothing").standard_normal((50, 3))
    y = np.tile([0.0, 1.0], 25)
    given = {"epsilon": 1.0, "location": 0.0, "scale": 1.0, "statistic": (-1.0, 2.0)}
    fit = pw.VerticalGLM("gaussian", "moments", **given).fit(X, y, rng=1)
    assert fit.noise_errors_.shape == (4,) and np.all(fit.noise_errors_ > 0)
    assert np.all(np.abs(fit.coef_) < 4 * fit.noise_errors_[1:])
    assert "noise sd" in fit.summary() and f"{fit.noise_errors_[1]:.4g}" in fit.summary()
    other = pw.VerticalGLM("gaussian", "noisy_gradient", eta_start=0.5, **given).fit(X, y, rng=1)
    assert other.noise_errors_ is None and "not computed for this method" in other.summary()


def test_a_shared_fit_says_that_it_is_approximate():
    X, y = records("binomial", 100, 2)
    fit = pw.VerticalGLM("binomial", solver="lbfgs", link="shared").fit(X, y, rng=1)
    assert "approximate" in fit.summary()
