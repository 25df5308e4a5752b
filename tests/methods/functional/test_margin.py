"""The margin of released moments: a method that knows nothing returns the mean curve, and its noise is what it says."""

from dataclasses import replace

import numpy as np
import pytest

from partywise.methods.functional.moments import CurveSums
from partywise.methods.functional.options import CurveMomentsOptions
from partywise.methods.functional.paths import Improvement
from partywise.methods.functional.protocols.moments import ReleasedChunk, active_moments, active_noise
from partywise.privacy.statistics.isometry import to_matrix
from protocol_driver import INF, make_data, run

NEW, OLD = CurveMomentsOptions(cipher="sized"), CurveMomentsOptions(cipher="sized", margin="none")


def shares(options, epsilon, replicates=4):
    """Risk as a share of the mean curve's, (replicates,)."""
    found = [run(options, epsilon=epsilon, replicate=replicate) for replicate in range(replicates)]
    return np.array([done.scalars["relative_error"] for done in found])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_noise_alone_is_recognised_as_noise(epsilon):
    old, new = (shares(options, epsilon) for options in (OLD, NEW))
    assert old.mean() > 1.3, "the noise hurts without a margin"
    assert new.mean() <= 1.05


def test_what_is_known_is_kept():
    old, new = (shares(options, 500.0) for options in (OLD, NEW))
    assert old.mean() < 0.5 and new.mean() <= 1.02 * old.mean()


def test_without_noise_there_is_no_margin():
    first, second = (run(options, epsilon=INF).estimate for options in (OLD, NEW))
    assert first.numbers["steps"] == second.numbers["steps"] > 0
    assert np.allclose(first.operators, second.operators, rtol=0, atol=1e-13)


def test_the_stated_variance_is_that_of_the_change_of_the_loss():
    rng = np.random.default_rng(np.random.SeedSequence(11))
    data = make_data()
    X, Y = data.X.reshape(len(data.X), -1)[:, :6] + 0.7, data.Y[:, :3] + 2.0
    P, sd = X.shape[1], {"zz": 3.0, "zy": 2.0, "mean": 1.5}
    B = rng.normal(size=(P, Y.shape[1]))
    clean = [CurveSums.of(X[start::4], Y[start::4]) for start in range(4)]

    def noisy(sums):
        xx = to_matrix(sd["zz"] * rng.normal(size=P * (P + 1) // 2), P)
        mean, cross = sd["mean"] * rng.normal(size=P), sd["zy"] * rng.normal(size=sums.xy.shape)
        return ReleasedChunk(replace(sums, x=sums.x + mean, xx=sums.xx + xx, xy=sums.xy + cross), sd)

    draws = 1000
    changes, stated = np.empty(draws), np.empty(draws)
    for i in range(draws):
        half = [noisy(sums) for sums in clean[2:]]
        moments = active_moments(half, sd["mean"] ** 2)
        changes[i] = np.sum(B * (moments.G @ B)) - 2 * np.sum(B * moments.H)
        stated[i] = active_noise([half, half], ()).variance(0, B, moments)
    # Relative standard error of a variance of normal draws: sqrt(2 / draws); four of them.
    assert changes.var(ddof=1) == pytest.approx(stated.mean(), rel=4 * np.sqrt(2 / draws))


def test_useless_learners_do_not_look_like_an_improvement():
    """The half of k independent changes that is below zero adds up to what the margin allows for, in the mean."""
    rng = np.random.default_rng(np.random.SeedSequence(12))
    for k in (4, 20):
        draws = rng.normal(size=(20000, k))
        change = np.minimum(draws, 0).sum(1)
        sd = np.sqrt(k / 2)
        assert change.mean() == pytest.approx(-sd * np.sqrt(k / np.pi), rel=0.01)
        found = [Improvement(float(c), float(sd), k).demonstrated for c in change[:4000]]
        assert np.mean(found) < 0.25
    assert Improvement(-1.0, 0.0, 4).demonstrated and Improvement(-1.0, 0.0, 4).shrinkage == 1.0
    assert not Improvement(0.0, 0.0, 4).demonstrated and Improvement(-1.0, 2.0, 4).shrinkage == 0.0
