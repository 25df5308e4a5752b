"""What is said of the noise in each entry of a basis, against the spread of bases over draws of the noise."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream

DRAWS = 100
# All fits are to be ok: a warning is an error.
pytestmark = pytest.mark.filterwarnings("error:the fit is:UserWarning")
EDGES = (-1.5, -0.3, 0.6, 1.6, 2.8)


def data(n=1000, p=4):
    rng = stream(1, "noise of directions")
    X = 0.3 + rng.standard_normal((n, p)) @ (np.eye(p) + 0.2)
    return X, X[:, 0] + X[:, 1] + 0.8 * np.abs(X[:, 2]) + 0.3 * rng.standard_normal(n)


def fitted(X, y, protocol="certified", epsilon=80.0, rng=0, **options):
    sir = pw.SlicedInverseRegression(protocol, epsilon=epsilon, edges=EDGES, radius=3.0, **options)
    return sir.fit(X, y, parties=2, rng=rng)


@pytest.mark.parametrize("epsilon", [80.0, pytest.param(240.0, marks=pytest.mark.statistical)])
@pytest.mark.parametrize(
    ("protocol", "d"), [("certified", 1), ("certified", 2), pytest.param("whitened", 1, marks=pytest.mark.statistical)]
)
def test_the_spread_over_draws_is_what_is_said(protocol, d, epsilon):
    """100 draws know a standard deviation to 7 %; what is said of eight of them is within 25 % of it."""
    X, y = data()
    fits = [fitted(X, y, protocol, epsilon * d**2, seed, n_directions=d) for seed in range(DRAWS)]
    first = fits[0].components_
    bases = [fit.components_ * np.sign(np.sum(fit.components_ * first, axis=1))[:, None] for fit in fits]
    said = np.sqrt(np.mean([fit.noise_errors_**2 for fit in fits[:8]], axis=0))
    np.testing.assert_allclose(said / np.std(bases, axis=0), 1, atol=0.25)


def test_a_direction_of_noise_has_no_number():
    """Columns without effect: nothing to first order is said, and the summary says why."""
    X, _ = data(20_000)
    y = stream(2, "no effect").standard_normal(len(X))
    for protocol in ("certified", "whitened"):
        fit = fitted(X, y, protocol, 1.0)
        assert np.all(np.isnan(fit.noise_errors_)) and "direction 1: not distinguishable from noise" in fit.summary()


def test_the_summary_prints_it_and_says_where_it_is_not_computed():
    X, y = data()
    fit = fitted(X, y, epsilon=240.0)
    assert f"{fit.noise_errors_[0, 1]:.4g}" in fit.summary() and "noise sd" in fit.summary()
    for options in ({"aggregation": "kernel"}, {"second": "mirrored"}, {"protocol": "published"}):
        fit = fitted(X, y, **options)
        assert fit.noise_errors_ is None and "not computed" in fit.summary()
    fit = fitted(X, y, epsilon=np.inf)
    assert fit.noise_errors_ is None and "noisy:" not in fit.summary()


def test_columns_that_were_not_kept_have_no_noise():
    X, y = data(p=8)
    fit = fitted(X, y, epsilon=400.0, screened=True, active=2)
    kept = np.isin(np.arange(8), fit.columns_)
    assert np.all(fit.noise_errors_[0, kept] > 0) and np.all(fit.noise_errors_[0, ~kept] == 0)
