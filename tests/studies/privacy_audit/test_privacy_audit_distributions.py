"""Exact distributions of neighbouring pairs, and when a claim counts as refuted."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from audit_driver import SURE
from fixed import fixed
from partywise.audits.exposure import EpsilonBounds
from partywise.audits.pairs import ClearPair, GaussianPair, NoDistribution, ResponsePair, canaries
from partywise.core.randomness import stream
from partywise.privacy.audit.exact import finite_epsilon, response_epsilon
from partywise.privacy.mechanisms import DistanceExponential, RandomizedResponse
from partywise.studies.privacy_audit.protocol import bounds


def test_response_epsilon_agrees_with_enumeration_of_all_outputs():
    distribution = RandomizedResponse(1.5, 3).matrix()
    for moved in (1, 2, 3):
        first, second = np.ones(1), np.ones(1)
        for _ in range(moved):
            first, second = np.outer(first, distribution[0]).ravel(), np.outer(second, distribution[1]).ravel()
        for delta in (0.0, 1e-5, 0.01):
            exact = response_epsilon(1.5, 3, moved, delta)
            assert exact == pytest.approx(finite_epsilon(first, second, delta), rel=1e-9)
    assert response_epsilon(1.5, 3, 0, 1e-5) == 0.0
    assert response_epsilon(3.0, 50, 14, 0.0) == pytest.approx(42)


def test_finite_epsilon_of_known_distributions():
    matrix = DistanceExponential(2.0, fixed((1, 100))).matrix()
    assert finite_epsilon(matrix[0], matrix[-1], 0.0) == pytest.approx(99.0)
    assert finite_epsilon(matrix[0], matrix[0], 0.0) == 0.0
    one, other = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert finite_epsilon(one, other, 0.1) == inf
    assert finite_epsilon(one, other, 0.5) == 0.0
    # e^eps = (P - delta) / Q where one output decides.
    p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    assert finite_epsilon(p, q, 0.1) == pytest.approx(np.log(0.7 / 0.2))


def test_a_gaussian_pair_scores_by_the_likelihood_ratio():
    rng = stream(7, "scores")
    first, second = np.array([[1.0, 0.0], [0.0, 0.5]]), np.zeros((2, 2))
    shape = np.array([[2.0, 0.5], [0.5, 1.0]])
    pair = GaussianPair(first, second, shape)
    gap = first - second
    assert pair.mu == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->", gap, np.linalg.inv(shape), gap)))
    drawn = [pair.scores(rng, 100_000, world) for world in (0, 1)]
    # Score = d' Sigma^-1 z: its means differ by mu^2 and its sd is mu; 7 standard errors are beyond ALPHA.
    assert drawn[0].mean() - drawn[1].mean() == pytest.approx(pair.mu**2, abs=7 * pair.mu * np.sqrt(2e-5))
    assert drawn[0].std() == pytest.approx(pair.mu, rel=7 / np.sqrt(2e5))
    scores, bits = canaries(pair, rng, 1000)
    assert scores.shape == bits.shape == (1000,) and set(bits) == {0, 1}


def test_a_gaussian_pair_with_two_covariances_scores_both_squares():
    first, second = np.zeros((1, 1)), np.zeros((1, 1))
    pair = GaussianPair(first, second, np.array([[1.0]]), np.array([[4.0]]))
    scores = [pair.scores(stream(7, "two", world), 20_000, world) for world in (0, 1)]
    # (z^2 / 4 - z^2) / 2 has mean -3/8 under sd 1 and -3/2 under sd 2.
    assert scores[0].mean() == pytest.approx(-3 / 8, abs=0.05) and scores[1].mean() == pytest.approx(-1.5, abs=0.15)
    found = pair.audit(stream(7, "audit"), 20_000, 1e-5, SURE)
    assert found.kind == "counts" and found.mu_lower is None and found.exact is None and found.lower > 0.5


def test_response_pairs_without_a_change_tell_nothing():
    same = np.arange(5)
    pair = ResponsePair(same, same, 3.0, 5)
    found = pair.audit(stream(7, "none"), 2000, 1e-5, SURE)
    assert found.lower == 0.0 and found.exact == 0.0 and pair.n_changed == 0


def test_clear_pairs_and_formulas_without_a_distribution():
    rng = stream(7, "clear")
    assert ClearPair(np.zeros(2), np.ones(2)).audit(rng, 10, 0.5, 0.9).lower == inf
    assert ClearPair(1.0, 1.0).audit(rng, 10, 0.5, 0.9).lower == 0
    assert NoDistribution().audit(rng, 10, 0.5, 0.9) == EpsilonBounds(None, "no_distribution")


def test_a_claim_is_refuted_by_a_bound_above_it_only():
    def refuted(worst: EpsilonBounds, claim: float):
        return bounds(worst, EpsilonBounds(None, "no_distribution"), claim, 1e-5)["claim_refuted"]

    assert refuted(EpsilonBounds(2.0, "counts"), 1.0) is True
    assert refuted(EpsilonBounds(1.0 + 1e-12, "exact"), 1.0) is False
    assert refuted(EpsilonBounds(0.5, "gaussian", mu_lower=1.0), 1.0) is True
    assert (
        refuted(EpsilonBounds(2.0, "counts"), nan) is None
        and refuted(EpsilonBounds(None, "no_distribution"), 1.0) is None
    )
