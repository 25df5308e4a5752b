"""What is drawn has the stated distribution, however rare its outcomes; ordinary draws keep their bytes."""

import itertools
import math
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from fixed import fixed
from partywise.privacy.mechanisms import (
    AdjustedDistanceExponential,
    DistanceExponential,
    PrivateQuantile,
    RandomizedResponse,
    ReportNoisyMax,
)
from partywise.privacy.secure.finite_draws import _refine, draw_index, largest, rare
from partywise.privacy.secure.table import draw_outcomes
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.records import entries

CELL = 2.0**-53
GUMBEL_END = -math.log(-math.log1p(-CELL))


class Scripted(np.random.Generator):
    """A generator whose first calls of ``random`` and ``gumbel`` are given; then it draws."""

    def __init__(self, *values, gumbel=None, seed=5):
        super().__init__(np.random.PCG64(seed))
        self.values, self.noise = list(values), gumbel

    def random(self, size=None):
        if self.values:
            return np.full(size, self.values.pop(0)) if size is not None else self.values.pop(0)
        return super().random(size)

    def gumbel(self, size):
        return np.array(self.noise, dtype=float)


def agrees(hits, n, probability):
    """Whether a count is no surprise; tests assert beside it that another probability would be one."""
    return binomtest(int(hits), n, min(probability, 1.0)).pvalue > 1e-6


N = 400_000
TOP = 1 - CELL


@pytest.mark.parametrize(
    ("epsilon", "k", "cells"), [(37.0, 2, 1), (38.0, 2, 1), (40.0, 5, 1), (75.0, 2, 2), (76.0, 7, 2)]
)
def test_randomised_response_moves_an_index_as_often_as_it_says_above_epsilon_37(epsilon, k, cells):
    """Given that a number lies in the last 2^-53 (or 2^-106), the share that is moved is that much more."""
    numbers = Scripted(*[TOP] * cells)
    indices = np.zeros(N, dtype=np.int64)
    found = RandomizedResponse(epsilon, k)(entries(indices), numbers).value
    flip = math.exp(math.log(k - 1) - epsilon - math.log1p((k - 1) * math.exp(-epsilon)) + 53 * cells * math.log(2))
    moved = np.count_nonzero(found)
    assert 0.01 < flip < 1 and agrees(moved, N, flip)
    assert not agrees(moved, N, 1.05 * flip) and not agrees(moved, N, 0.95 * flip)


def test_an_index_is_moved_at_any_finite_epsilon_and_never_at_an_infinite_one():
    for epsilon in (700.0, 800.0, 5000.0):
        levels = math.floor(epsilon / math.log(2) / 53)
        n = 20_000
        found = RandomizedResponse(epsilon, 2)(entries(np.zeros(n)), Scripted(*[TOP] * levels)).value
        flip = 2.0 ** (53 * levels - epsilon / math.log(2))
        assert agrees(np.count_nonzero(found), n, flip) and (flip < 1e-3 or np.any(found))
    always = RandomizedResponse(math.inf, 2)(entries(np.zeros(100)), Scripted(*[TOP] * 5)).value
    assert not np.any(always)


@pytest.mark.parametrize("cells", [0.25, 1.0, 1.5, 7.25, 2.0**40 + 0.5])
def test_a_rare_event_takes_its_cells_and_its_share_of_the_next(cells):
    probability = math.frexp(cells * CELL)
    whole = math.floor(cells)

    def at(cell, n):
        return rare(np.random.default_rng(1), np.full(n, 1 - cell * CELL), *probability)

    if whole:
        assert np.all(at(1, 10)) and np.all(at(whole, 10))
    assert not np.any(at(whole + 2, 1000))
    assert agrees(np.count_nonzero(at(whole + 1, N)), N, cells - whole)


def test_rare_events_are_nested():
    uniform = np.concatenate([np.full(1000, TOP), np.random.default_rng(3).random(1000)])
    masks = [rare(np.random.default_rng(2), uniform, *math.frexp(q)) for q in (1e-30, 1e-18, 5e-17, 1e-3, 0.5)]
    for less, more in itertools.pairwise(masks):
        assert not np.any(less & ~more)
    assert masks[1].any() and not masks[0].all()


LOGS = np.array([-45.0, -41.0, -38.5, 0.0, -39.0, -60.0])


@pytest.mark.parametrize("first", [0.0, TOP])
def test_outcomes_rarer_than_a_cell_are_drawn_as_often_as_they_should(first):
    n, weights = 4000, np.exp(LOGS)
    found = draw_index(np.random.default_rng(4), np.full(n, first), weights, lambda: LOGS)
    distribution = weights / weights.sum() / CELL
    shares = np.bincount(found, minlength=6)
    tail = (0, 1, 2) if first == 0 else (4, 5)
    for i in tail:
        assert agrees(shares[i], n, distribution[i]), i
    assert shares[3] == n - shares[list(tail)].sum()
    assert not agrees(shares[tail[-1] if first == 0 else 4], n, 0.8 * distribution[2 if first == 0 else 4])


def test_an_outcome_whose_weight_has_no_float_can_be_drawn():
    logs = np.array([-3000.0, 0.0, -2000.0])
    assert draw_index(Scripted(*[0.0] * 90), np.zeros(1), np.exp(logs), lambda: logs)[0] == 0
    assert draw_index(Scripted(*[TOP] * 90), np.array([TOP]), np.exp(logs), lambda: logs)[0] == 2
    assert draw_index(Scripted(0.5), np.zeros(1), np.exp(logs), lambda: logs)[0] == 1


FAR = [DistanceExponential(11.2, fixed((1, 9))), AdjustedDistanceExponential(36.0, 9.0, 3, fixed((1, 9)))]


@pytest.mark.parametrize("mechanism", FAR, ids=lambda mechanism: type(mechanism).__name__)
@pytest.mark.parametrize("first", [0, 2**64 - 1])
def test_distance_mechanisms_reach_their_far_ends(mechanism, first):
    """Given the outermost cell of 2^-64, the far end of the domain and its neighbour are drawn at their own rates."""
    n, x, end, step = (4000, 9, 1, 1) if first == 0 else (4000, 1, 9, -1)
    distribution = mechanism.matrix()[x - 1]
    distribution = (distribution if first == 0 else distribution[::-1]) * 2.0**64
    assert 0.05 < distribution[0] < 0.7
    words = np.random.default_rng(5).bit_generator.random_raw
    found = 1 + draw_outcomes(words, np.full(n, first, dtype=np.uint64), partial(mechanism._bounds, x))
    ends, next_to_them = np.count_nonzero(found == end), np.count_nonzero(found == end + step)
    assert agrees(ends, n, distribution[0]) and not agrees(ends, n, 0.7 * distribution[0])
    assert agrees(next_to_them, n, min(distribution[1], 1 - distribution[0]))


@pytest.mark.parametrize("mechanism", [
    DistanceExponential(0.37, fixed((-3, 40))), AdjustedDistanceExponential(1.1, 0.23, 7, fixed((-3, 40))), *FAR,
], ids=str)  # fmt: skip
def test_distance_mechanisms_bracket_their_distributions(mechanism):
    """Cumulative probabilities with 60 digits lie within the brackets of 128 and of 256 bits."""
    ends, (lo, hi) = (mechanism.lo, mechanism.hi), mechanism.domain.value
    with mpmath.workdps(90):
        for x, bits in itertools.product({*ends, (lo + hi) // 2, lo + 1}, (128, 256)):
            if isinstance(mechanism, DistanceExponential):
                weights = [mpmath.exp(-mpmath.mpf(mechanism.epsilon) * abs(x - i) / 2) for i in range(lo, hi + 1)]
            else:
                prt, ner = mpmath.mpf(mechanism.epsilon_prt), mpmath.mpf(mechanism.epsilon_ner)
                of = [(i - lo) // mechanism.theta for i in range(lo, hi + 1)]
                inner = [mpmath.exp(-ner * abs(x - i) / 2) for i in range(lo, hi + 1)]
                sums = [mpmath.fsum(one for one, b in zip(inner, of, strict=True) if b == own) for own in of]
                outer = [mpmath.exp(-prt * abs(b - of[x - lo]) / 2) for b in of]
                weights = [a * b / c for a, b, c in zip(outer, inner, sums, strict=True)]
            shares = [mpmath.fsum(weights[: k + 1]) / mpmath.fsum(weights) * 2**bits for k in range(hi - lo)]
            found = mechanism._bounds(x, bits)
            assert len(found) == hi - lo + 1 and found[-1] == 2**bits - 1
            assert all(b - 1 < share < b + 2 for b, share in zip(found[:-1], shares, strict=True))


def test_a_private_quantile_reaches_pieces_rarer_than_a_cell():
    values = entries(np.full(10, 0.5), unit="features")
    mechanism = PrivateQuantile(8.0, 1.0, fixed((0.0, 1.0)))
    _, shares = mechanism.distribution(values.value)
    assert 0.01 < shares[0] / CELL < 0.5
    hits, n = 0, 1000
    for seed in range(n):
        hits += mechanism(values, Scripted(np.array([0.0, 0.5]), seed=seed)).value < 0.5
    assert agrees(hits, n, shares[0] / CELL)


def test_a_private_quantile_at_an_extreme_epsilon_has_a_distribution():
    for epsilon in (1e300, 1e308):
        points, shares = PrivateQuantile(epsilon, 0.5, fixed((0.0, 1.0))).distribution([0.0, 0.0, 1.0, 1.0])
        assert len(points) == 6 and shares.tolist() == [0, 0, 1, 0, 0]
        assert PrivateQuantile(epsilon, 0.0, fixed((0.0, 1.0))).distribution([0.0])[1].tolist() == [0, 1]


def scores_of(*values):
    certificate = SensitivityCertificate(0.5, "linf", "row", "replace_one", frozenset({"features"}))
    return Bounded(np.array(values, dtype=float), certificate)


@pytest.mark.parametrize("gap", [36.8, 37.0, 38.0])
def test_noisy_max_lets_a_far_score_win_as_often_as_it_should(gap):
    """Gumbel draws of a generator end at 36.7; given that one lies there, it is drawn on."""
    n, mechanism, hits = 2000, ReportNoisyMax(1.0), 0
    for seed in range(n):
        hits += mechanism(scores_of(gap, 0.0), Scripted(gumbel=[0.0, GUMBEL_END], seed=seed)).value
    expected = math.exp(GUMBEL_END - gap)
    assert agrees(hits, n, expected) and not agrees(hits, n, 0.8 * expected)


def test_equal_scores_below_the_digits_of_their_sum_win_equally_often():
    n, scores = 2000, np.array([1e20, 1e20])
    wins = sum(largest(np.random.default_rng(seed), scores, 1.0, 1)[0] for seed in range(n))
    assert agrees(wins, n, 0.5)


def test_noise_that_was_drawn_on_is_a_gumbel_distribution():
    """Distribution function exp(-exp(-x)) where ordinary draws lie; from their last cell on an exponential tail."""
    numbers = np.random.default_rng(6)
    plain = numbers.gumbel(size=100_000)
    fine = _refine(numbers, plain)
    np.testing.assert_allclose(fine, plain, atol=1e-9)
    tail = _refine(numbers, np.full(100_000, GUMBEL_END)) - GUMBEL_END
    assert tail.min() >= 0 and kstest(tail, "expon").pvalue > 1e-6 and kstest(1.03 * tail, "expon").pvalue < 1e-6


SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_ordinary_draws_keep_their_bytes(seed):
    """53 bits decide as they always did: the formulas of one uniform draw, or one Gumbel draw, an entry."""
    values = np.random.default_rng(0).integers(0, 5, 200_000)
    for epsilon in (0.0, 0.1, 1.0, 4.0, 8.0, 20.0):
        numbers = np.random.default_rng(seed)
        keep = 1 / (1 + 4 * math.exp(-epsilon))
        flip = numbers.random(values.shape) >= keep
        old = np.where(flip, (values + 1 + numbers.integers(0, 4, values.size)) % 5, values)
        assert np.array_equal(RandomizedResponse(epsilon, 5)(entries(values), np.random.default_rng(seed)).value, old)
    for mechanism in (DistanceExponential(0.8, fixed((0, 4))), AdjustedDistanceExponential(1.0, 0.5, 2, fixed((0, 4)))):
        uniform, old = np.random.default_rng(seed).random(values.shape), np.empty(values.shape, dtype=np.int64)
        for x, row in enumerate(mechanism.matrix()):
            total, here = np.cumsum(row), values == x
            old[here] = np.searchsorted(total[:-1], uniform[here] * total[-1], side="right")
        assert np.array_equal(mechanism(entries(values), np.random.default_rng(seed)).value, old)
    scores = np.random.default_rng(9).normal(size=50)
    for epsilon in (0.5, 2.0):
        noisy = scores + 1 / epsilon * np.random.default_rng(seed).gumbel(size=50)
        old = np.argsort(-noisy, kind="stable")[:5]
        assert np.array_equal(ReportNoisyMax(epsilon, 5)(scores_of(*scores), np.random.default_rng(seed)).value, old)
        quantile = PrivateQuantile(epsilon, 0.3, fixed((-2.0, 2.0)))
        points, shares = quantile.distribution(scores)
        which, where = np.random.default_rng(seed).random(2)
        total = np.cumsum(shares)
        i = int(np.searchsorted(total[:-1], which * total[-1], side="right"))
        old = min(points[i] + where * (points[i + 1] - points[i]), points[i + 1])
        found = quantile(entries(scores, unit="features"), np.random.default_rng(seed)).value
        assert found == old
