"""The law of slices: closed moments, derivatives, the start, and the statistic's own clip in floats."""

from __future__ import annotations

import numpy as np
import pytest

from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.bounded import (
    second_and_mean_of_model,
    second_of_model,
    slices_of_model,
    whole_second,
    whole_second_and_mean,
    whole_slices,
)
from partywise.methods.inverse_regression.certified import read_second, read_second_and_mean, read_slices
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.slices import class_slices
from partywise.models.simulation.base import ReleasedSum
from partywise.models.simulation.fit import fit, record_moments
from partywise.models.simulation.slices import SliceMixture
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.statistics.clips import BallClip, BoxClip
from partywise.privacy.statistics.isometry import to_vector

H, P = 3, 2
MODEL = SliceMixture(H, P)
SHARES = np.array([0.2, 0.5, 0.3])
MEANS = np.array([[0.8, -0.4], [0.1, 0.2], [-0.6, 0.5]])
LOWER = np.array([[1.1, 0.0], [0.4, 0.8]])
THETA = np.concatenate([np.log(SHARES[:-1] / SHARES[-1]), MEANS.ravel(), [np.log(1.1), 0.4, np.log(0.8)]])


def released(of_records, value=None, n=1000):
    width = of_records(MODEL.draw(THETA, np.zeros((2, P)))).shape[1]
    return ReleasedSum(np.zeros(width) if value is None else value, np.full(width, 1e-4), of_records, n)


def unclipped(sample):
    clip = BoxClip(fixed(1e9))
    return np.hstack([slices_of_model(sample, H, clip), second_of_model(sample, clip)])


def closed(theta):
    """Return the means of `unclipped`."""
    shares, means, lower = MODEL.shares(theta), MODEL.means(theta), MODEL.root(theta)
    second = lower @ lower.T + (means.T * shares) @ means
    return np.concatenate([np.column_stack([shares[:, None] * means, shares]).ravel(), to_vector(second)])


def test_without_a_clip_means_are_the_closed_moments_and_derivatives_their_differences():
    simulated = record_moments(MODEL, [released(unclipped)], THETA, 40_000)
    np.testing.assert_allclose(simulated.mean, closed(THETA), rtol=0, atol=1e-10)
    changes = 1e-5 * np.eye(MODEL.size)
    differences = np.column_stack([(closed(THETA + c) - closed(THETA - c)) / 2e-5 for c in changes])
    assert np.abs(simulated.derivative - differences).max() < 0.03 * np.abs(differences).max()
    assert np.abs(simulated.error).max() < 1e-12


def test_scores_are_those_of_the_law():
    """The score identity: derivatives equal differences of simulated means of a smooth function, in every slice."""

    def smooth(sample):
        entries = np.tanh(np.column_stack([sample.columns, sample.columns[:, :1] * sample.columns]))
        return np.hstack([entries * (sample.response == place)[:, None] for place in range(H)])

    sums, step = [released(smooth)], 0.1
    derivative = record_moments(MODEL, sums, THETA, 100_000).derivative
    differences = np.column_stack(
        [
            (
                record_moments(MODEL, sums, THETA + change, 100_000).mean
                - record_moments(MODEL, sums, THETA - change, 100_000).mean
            )
            / (2 * step)
            for change in step * np.eye(MODEL.size)
        ]
    )
    # Differences of 0.2 have an error of second order, and the simulation one of some 0.003.
    assert np.abs(derivative - differences).max() < 0.01


def test_released_moments_give_the_parameters_back():
    """From a start at moments that noise has spoilt."""
    value = closed(THETA)
    table = value[: H * (P + 1)].reshape(H, P + 1).T
    second = MODEL.root(THETA) @ MODEL.root(THETA).T + (MEANS.T * SHARES) @ MEANS
    start = MODEL.start(table[-1] + 0.05, table[:-1] - 0.05, second + 0.1)
    fitted = fit(MODEL, [released(unclipped, value)], start, lambda theta: theta)
    assert fitted.status == "converged"
    np.testing.assert_allclose(fitted.theta, THETA, atol=0.01)
    slopes, covariance = MODEL.moments(fitted.theta)
    np.testing.assert_allclose(slopes, SHARES * (MEANS - SHARES @ MEANS).T, atol=0.01)
    np.testing.assert_allclose(covariance, second - np.outer(SHARES @ MEANS, SHARES @ MEANS), atol=0.02)
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("clip", [BoxClip(fixed(0.7)), BallClip(fixed(0.9))])
def test_what_a_record_adds_is_the_statistic_to_one_step(clip):
    """Sums over the same records, which the statistic rounds to steps and the law does not."""
    n = 500
    rng = stream(1, "slice law")
    sample = MODEL.draw(THETA, rng.standard_normal((n, P)))
    moments = client_moments(sample.columns, sample.response, class_slices(fixed(list(range(H)))), clip=clip)
    noiseless, step = IntegerGaussian(mu=np.inf), moments.step
    slices = read_slices(noiseless(whole_slices(moments), rng, owner="client"), whole_slices(moments), moments).value
    np.testing.assert_allclose(slices_of_model(sample, H, clip).mean(axis=0), slices.T.ravel(), rtol=0, atol=step)
    second = read_second(noiseless(whole_second(moments), rng, owner="client"), False, P).value
    # Of entries of at most the radius a product moves by a step times it, and sqrt(2) above the diagonal.
    np.testing.assert_allclose(
        second_of_model(sample, clip).mean(axis=0), to_vector(second), rtol=0, atol=2 * step * clip.size
    )
    both = read_second_and_mean(noiseless(whole_second_and_mean(moments), rng, owner="client"), moments).value
    np.testing.assert_allclose(
        second_and_mean_of_model(sample, clip).mean(axis=0),
        np.concatenate([to_vector(both[:-1]), both[-1]]),
        rtol=0,
        atol=2 * step * max(clip.size, 1),
    )
