"""The upper bound of the loss from released moments: how often it holds, and who has one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.certified import about_the_mean, covariance_of
from partywise.methods.inverse_regression.estimate import aggregate
from partywise.methods.inverse_regression.subspace import ReleasedMoments, loss_bound, projection_loss
from partywise.privacy.statistics.isometry import to_matrix

P, H, N, TRUTH = 6, 4, 2000, np.eye(6)[:, :2]


def released(seed: int, sd: float, mean: float = 0.0) -> ReleasedMoments:
    """Released moments of records about a mean, whose response depends on two columns: noise of one deviation."""
    rng = stream(seed, "loss bound")
    X = rng.standard_normal((N, P))
    y = X[:, 0] + (X[:, 1] + 1) ** 2 + 0.3 * rng.standard_normal(N)
    slices = np.searchsorted([0.3, 1.5, 3.0], y)
    X += mean
    shares = np.bincount(slices, minlength=H) / N + sd * rng.standard_normal(H)
    sums = np.stack([X[slices == h].sum(axis=0) / N for h in range(H)], axis=1) + sd * rng.standard_normal((P, H))
    second = X.T @ X / N + to_matrix(sd * rng.standard_normal(P * (P + 1) // 2), P)
    means, total = about_the_mean(np.vstack([sums, shares]))
    shares += (1 - shares.sum()) / H
    return ReleasedMoments(means, total, shares, covariance_of(second, total), sd, sd, sd, N)


@pytest.mark.parametrize(("sd", "mean"), [(0.0, 0.0), (0.03, 0.0), (0.005, 3.0)])
def test_the_loss_is_below_the_bound_as_often_as_it_says(sd, mean):
    """80 draws know a share of 0.95 to 0.024; 0.90 is asked for."""
    held, bounds = [], []
    for seed in range(80):
        one = released(seed, sd, mean)
        basis = aggregate(one.means[None], [1], one.covariance, 2).basis
        bounds.append(loss_bound(one, 2))
        held.append(projection_loss(basis, TRUTH) <= bounds[-1])
    assert np.mean(held) >= 0.9
    # A bound that is always the largest loss would hold as well, and say nothing.
    assert np.mean(bounds) < 0.6 * 2


def test_noise_of_the_proportions_counts_with_the_length_of_the_mean():
    one = released(1, 0.01, 3.0)
    assert loss_bound(one, 2) > 1.1 * loss_bound(replace(one, sd_shares=0.0), 2)


def test_the_same_releases_have_the_same_bound_and_more_noise_a_larger_one():
    one = released(1, 0.01)
    assert loss_bound(one, 2) == loss_bound(one, 2)
    assert loss_bound(released(1, 0.05), 2) > loss_bound(one, 2)


def test_the_estimator_has_it_and_says_why_others_have_none():
    rng = stream(3, "fit")
    X = rng.uniform(-1, 1, (400, 4))
    y = X[:, 0] + 0.1 * rng.standard_normal(400)
    given = {"epsilon": 4.0, "edges": [-0.5, 0.0, 0.5], "n_directions": 1}
    fit = pw.SlicedInverseRegression("certified", **given).fit(X, y, parties=2, rng=1)
    assert 0 < fit.loss_bound_ <= np.sqrt(2) and f"at most {fit.loss_bound_:.3g} (95 %)" in fit.summary()
    other = pw.SlicedInverseRegression("whitened", **given).fit(X, y, parties=2, rng=1)
    assert other.loss_bound_ is None and "no bound of the loss" in other.summary()
