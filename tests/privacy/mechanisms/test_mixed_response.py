"""Randomised response of indices with several alphabets: its distribution, its charge, and the inverse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from error_rates import ALPHA, accepts_distribution
from fixed import fixed
from partywise.core.randomness import stream
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.mechanisms.mixed_response import MixedResponse
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.mechanisms.randomized_response import RandomizedResponse
from partywise.privacy.statistics.records import entries


@pytest.mark.parametrize("source", ["simulation", "secure"])
def test_every_alphabet_has_its_own_distribution(source):
    alphabets = np.tile([2, 5, 3], 60_000)
    true = np.tile([1, 4, 0], 60_000)
    rng = stream(1, "mixed") if source == "simulation" else SecureRandom()
    release = MixedResponse(1.0, alphabets)(entries(true, unit="features"), rng)
    for k, x in ((2, 1), (5, 4), (3, 0)):
        counts = np.bincount(release.value[alphabets == k], minlength=k)
        assert accepts_distribution(counts, RandomizedResponse(1.0, k).matrix()[x], ALPHA / 3)
        assert not accepts_distribution(counts, RandomizedResponse(1.15, k).matrix()[x], ALPHA / 3)
    assert release.event.sampler == source
    assert release.event.epsilon == pytest.approx(1.0, rel=1e-12)


def test_the_smallest_alphabet_is_charged_as_often_as_a_unit_moves():
    event = MixedResponse(2.0, np.array([7, 4, 9, 4]))(
        entries([0, 3, 8, 1], unit="features", moved=fixed(3), stratum="cells/a"), stream(1, "a"), owner="p"
    ).event
    assert (event.epsilon, event.k, event.count) == (2.0, 4, 3)
    assert (event.unit, event.stratum, event.owner, event.certified) == ("features", "cells/a", "p", True)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_distribution_of_a_small_alphabet_covers_that_of_a_larger_one(epsilon):
    """At every epsilon, two indices that both move: delta of the exact distributions by enumeration."""

    def delta(k, at):
        first, second = (np.outer(row, row).ravel() for row in RandomizedResponse(epsilon, k).matrix()[:2])
        return np.maximum(first - math.exp(at) * second, 0).sum()

    for at in np.linspace(0, 2 * epsilon, 9):
        stated = compose([PrivacyProfile(epsilon=epsilon, k=4, count=2)]).delta(at)
        assert delta(4, at) == pytest.approx(stated, rel=1e-9, abs=1e-12)
        assert all(delta(k, at) <= stated + 1e-12 for k in (5, 9, 30))


def test_without_noise_and_between_levels():
    alphabets, true = np.full(5000, 6), np.arange(5000) % 6
    kept = {e: MixedResponse(e, alphabets)(entries(true), stream(2, "a")).value == true for e in (0.5, 3.0, math.inf)}
    assert kept[math.inf].all()
    # One generator flips nested sets.
    assert not (kept[0.5] & ~kept[3.0]).any() and (kept[3.0] & ~kept[0.5]).any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: MixedResponse(1.0, np.array([], int)), "alphabets"),
        (lambda: MixedResponse(1.0, np.array([1, 3])), "k=1"),
        (lambda: MixedResponse(-1.0, np.array([3])), "epsilon=-1.0"),
        (lambda: MixedResponse(1.0, np.array([3, 3]))(entries([0]), stream(1, "a")), "shape"),
        (lambda: MixedResponse(1.0, np.array([3, 2]))(entries([0, 2]), stream(1, "a")), "outside"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


@pytest.mark.parametrize("epsilon", [0.3, 4.0, 700.0, math.inf])
def test_the_inverse_undoes_the_distribution_along_every_axis(epsilon):
    """Expected sums over released pairs, by the distributions as matrices, come back as sums over true pairs."""
    true = stream(3, "sums").normal(size=(4, 6))
    first, second = RandomizedResponse(epsilon, 4), RandomizedResponse(epsilon, 6)
    released = first.matrix().T @ true @ second.matrix()
    back = second.debias_sums(first.debias_sums(released, axis=0), axis=1)
    np.testing.assert_allclose(back, true, rtol=0, atol=1e-12)
    np.testing.assert_allclose(first.debias_sums(released, axis=0).sum(0), released.sum(0), rtol=0, atol=1e-12)


def test_the_inverse_is_that_of_the_matrix():
    distribution = RandomizedResponse(0.7, 5)
    sums = stream(4, "sums").normal(size=5)
    np.testing.assert_allclose(
        distribution.debias_sums(sums), np.linalg.solve(distribution.matrix().T, sums), rtol=1e-12
    )
    with pytest.raises(ValueError, match="axis"):
        distribution.debias_sums(np.ones(4))
    with pytest.raises(ValueError, match="epsilon=0"):
        RandomizedResponse(0.0, 5).debias_sums(sums)
