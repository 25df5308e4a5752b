"""Sums of shares of noise: how far they are from the distribution that is stated, to sixty digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from partywise.privacy.mechanisms.integer import NARROWEST
from partywise.privacy.mechanisms.noise_shares import TOTAL_VARIATION, NoiseShares
from partywise.privacy.statistics.whole import whole

DIGITS = 60
# Distances of two and three shares of 1/2, 1 and 2 steps.
PRINTED = {(2, 0.5): 0.0344, (2, 1.0): 2.10e-5, (2, 2.0): 2.90e-18}
PRINTED |= {(3, 0.5): 0.0231, (3, 1.0): 1.09e-6, (3, 2.0): 7.8e-24}


def shares_of(s, m, reach):
    """Probabilities of the sum of m rounded Gaussians of deviation s on -reach..reach, by convolution."""
    half = mpmath.mpf(1) / 2
    one = {j: mpmath.ncdf((j + half) / s) - mpmath.ncdf((j - half) / s) for j in range(-reach, reach + 1)}
    total = {0: mpmath.mpf(1)}
    for _ in range(m):
        found: dict[int, mpmath.mpf] = {}
        for i, p in total.items():
            for j, q in one.items():
                found[i + j] = found.get(i + j, 0) + p * q
        total = found
    return total


def stated(j, s, m):
    """Density at j of a Gaussian of variance m s^2 and m uniforms: that of the rounded sum of it and m - 1 of them."""
    sigma = s * mpmath.sqrt(m)

    def integral(x):
        """The m-th antiderivative of the Gaussian density, by its recursion."""
        before, now = mpmath.npdf(x / sigma) / sigma, mpmath.ncdf(x / sigma)
        for n in range(1, m):
            before, now = now, (x * now + sigma**2 * before) / n
        return now

    half = mpmath.mpf(m) / 2
    return mpmath.fsum((-1) ** k * mpmath.binomial(m, k) * integral(j + half - k) for k in range(m + 1))


def bound(s, m):
    """What section 3 proves of one entry."""
    J = mpmath.ceil(40 * s * mpmath.sqrt(m)) + m
    return (J + 1) * (m + 1) * mpmath.mpf("2.0001") * mpmath.exp(-(mpmath.pi**2) * s**2 / 2) + 4 * mpmath.ncdf(-40)


@pytest.mark.parametrize(("m", "s"), PRINTED)
def test_the_distance_of_a_sum_of_shares_is_what_was_computed_and_below_the_bound(m, s):
    with mpmath.workdps(DIGITS):
        s = mpmath.mpf(s)
        drawn = shares_of(s, m, int(18 * s) + 8)
        distance = mpmath.fsum(abs(p - stated(j, s, m)) for j, p in drawn.items()) / 2
        assert float(distance) == pytest.approx(PRINTED[m, float(s)], rel=0.02 if m == 3 and s == 2 else 0.005)
        assert distance <= bound(s, m)


def test_from_sixteen_steps_on_the_distance_of_a_billion_entries_is_below_what_is_charged():
    with mpmath.workdps(DIGITS):
        for m in (2, 3, 100, 10_000):
            assert 10**9 * bound(mpmath.mpf(NARROWEST), m) < mpmath.mpf("1e-330") < TOTAL_VARIATION
        assert 10**9 * bound(mpmath.mpf(8), 2) > TOTAL_VARIATION


@pytest.mark.parametrize(("owners", "colluders"), [(2, 1), (5, 1), (5, 3), (100, 1)])
def test_every_share_has_its_part_of_the_variance_compared_in_exact_arithmetic(owners, colluders):
    names = tuple(f"clinic {k}" for k in range(owners))
    for squares, mu in ((1, 3.0), (7 * 4**20, 0.3), (Fraction(10) ** 40, 1.7)):
        total = whole(np.zeros(3, dtype=np.int64), squares, 0.5, "a test", weights=np.array([1, 2, 2]))
        shares = NoiseShares(total, mu, names, colluders)
        fine = total.finer(shares.bits)
        for weight, s in shares.deviations.items():
            honest = (owners - colluders) * Fraction(s) ** 2 * Fraction(mu) ** 2 * weight
            assert fine.squares <= honest <= fine.squares * (1 + Fraction(1, 10**12)) and s >= NARROWEST
