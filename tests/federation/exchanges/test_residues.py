"""The ring of residues: exact against Python's integers, uniform shares, bounds checked before anything is sent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from error_rates import ALPHA
from partywise.core.randomness import stream
from partywise.federation.exchanges.residues import LARGEST, Ring, ring_for
from partywise.federation.exchanges.sharing import WORDS
from partywise.privacy.mechanisms.random import SecureRandom, words_of

TO_INTEGERS = np.vectorize(int, otypes=[object])


def words(seed: int = 1):
    return words_of(stream(seed, "residues"))


def is_prime(q: int) -> bool:
    return all(q % d for d in range(2, math.isqrt(q) + 1))


def test_primes_are_the_largest_below_a_million():
    expected = [q for q in range(LARGEST - 1, LARGEST - 400, -1) if is_prime(q)]
    assert list(Ring(len(expected)).primes) == expected


@given(st.lists(st.integers(-(2**119), 2**119), min_size=1, max_size=8), st.integers(-(2**60), 2**60))
def test_arithmetic_is_that_of_integers(values, factor):
    ring = Ring(12)
    x = np.array(values, dtype=object)
    residues = ring.of_integers(x)
    half = ring.modulus // 2

    def centred(numbers):
        return (numbers + half) % ring.modulus - half

    assert (ring.integers(residues) == x).all()
    assert (ring.integers(ring.times(residues, factor)) == centred(x * factor)).all()
    assert (ring.integers(ring.product(residues, residues)) == centred(x * x)).all()
    assert (ring.integers(ring.sum([residues] * 3)) == centred(3 * x)).all()
    assert (ring.integers(ring.difference(residues, [ring.times(residues, 5)])) == centred(-4 * x)).all()
    np.testing.assert_allclose(ring.decode(residues, 40), x.astype(float) / 2**40, rtol=1e-14, atol=0)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=8), st.integers(-(2**40), 2**40))
def test_words_are_a_ring_too(values, factor):
    x = np.array(values, dtype=object)
    words = WORDS.of_integers(x)

    def centred(numbers):
        return (numbers + 2**63) % 2**64 - 2**63

    assert (WORDS.integers(words) == x).all()
    assert (WORDS.integers(WORDS.times(words, factor)) == centred(x * factor)).all()
    assert (WORDS.integers(WORDS.product(words, words)) == centred(x * x)).all()
    assert (WORDS.integers(WORDS.cross(words[..., None], words[..., None])) == centred(x @ x)).all()
    shares = WORDS.split(words, 3, words_of(stream(1, "words")))
    assert (WORDS.integers(WORDS.sum(shares)) == x).all()
    with pytest.raises(TypeError, match="no primes"):
        WORDS.rest(words.astype(float))


@pytest.mark.parametrize("n", [1, 8192, 20_001])
def test_cross_products_are_exact_over_chunks(n):
    rng = stream(2, "cross")
    ring = ring_for(n, 76)
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 2))
    exact = TO_INTEGERS(np.rint(X * 2.0**38)).T @ TO_INTEGERS(np.rint(Y * 2.0**38))
    found = ring.cross(ring.encode(X, 38), ring.encode(Y, 38))
    assert (ring.integers(found) == exact).all()


@pytest.mark.parametrize("extreme", [1, -1])
def test_sums_of_the_largest_residues_are_exact(extreme):
    ring = Ring(3)
    column = np.array([np.full((8192, 1), extreme * (p // 2)) for p in ring.primes], dtype=np.int32)
    found = ring.cross(column, column)[:, 0, 0]
    assert [int(v) % p for v, p in zip(found, ring.primes, strict=True)] == [
        8192 * (p // 2) ** 2 % p for p in ring.primes
    ]


@pytest.mark.parametrize("bits", [0, 20, 60, 90])
def test_numbers_of_every_size_are_encoded_exactly(bits):
    values = np.array([0.0, 1.5, -3.25, 2.0**30, -(2.0**45) / 3])
    exact = [round(math.ldexp(v, bits)) if bits < 10 else int(math.ldexp(v, bits)) for v in values]
    found = Ring(12).integers(Ring(12).encode(values, bits))
    assert all(abs(a - b) <= 1 for a, b in zip(found, exact, strict=True))
    assert found[1] == (2 if bits == 0 else 3 << bits >> 1)


def chi_squared(residues: np.ndarray, primes, bins: int = 64) -> float:
    """Probability of so uneven a table of counts, for uniform residues."""
    total = 0.0
    for row, p in zip(residues.reshape(len(primes), -1), primes, strict=True):
        edges = np.linspace(-(p // 2) - 0.5, p // 2 + 0.5, bins + 1)
        counts = np.histogram(row, edges)[0]
        total += float(np.sum((counts - row.size / bins) ** 2) / (row.size / bins))
    return float(chi2.sf(total, len(primes) * (bins - 1)))


@pytest.mark.parametrize("secure", [False, True])
def test_shares_are_uniform_whatever_they_hide(secure):
    ring = Ring(4)
    source = words_of(SecureRandom()) if secure else words()
    shares = ring.split(ring.encode(np.full(20_000, 1.0), 30), 3, source)
    for share in shares:
        assert chi_squared(share, ring.primes) > ALPHA
        assert np.abs(share).max(axis=1).tolist() <= [p // 2 for p in ring.primes]
    np.testing.assert_array_equal(ring.decode(ring.sum(shares), 30), 1.0)


def test_the_test_of_uniformity_finds_words_that_are_too_short():
    """Of words of 19 bits no residue is in the upper half."""
    ring = Ring(4)
    short = words()
    residues = ring.random((20_000,), lambda n: short(n) >> np.uint64(45))
    assert chi_squared(residues, ring.primes) < ALPHA


def test_words_beyond_the_last_multiple_are_drawn_anew():
    ring, asked = Ring(1), []

    def all_ones_first(n: int) -> np.ndarray:
        asked.append(n)
        return np.full(n, 2**64 - 1 if len(asked) == 1 else 5, dtype=np.uint64)

    residues = ring.random((3,), all_ones_first)
    assert asked == [3, 3]
    np.testing.assert_array_equal(residues[0], 5 - ring.primes[0] // 2)


def test_the_ring_follows_from_bounds():
    assert ring_for(50_000, 76).m == 5
    for bound, bits in ((1, 0), (524_286, 0), (524_287, 0), (3.5, 100)):
        ring = ring_for(bound, bits)
        top = math.ceil(bound) << bits
        assert ring.integers(ring.of_integers(np.array([top, -top], dtype=object))).tolist() == [top, -top]
        assert ring.m == 1 or Ring(ring.m - 1).modulus <= 2 * top


@pytest.mark.parametrize(("bound", "bits"), [(math.inf, 10), (math.nan, 10), (1.0, 2000)])
def test_bounds_that_no_ring_holds(bound, bits):
    with pytest.raises(OverflowError, match="bound="):
        ring_for(bound, bits)


@pytest.mark.parametrize("value", [math.inf, math.nan, 2.0**40])
def test_numbers_that_do_not_fit(value):
    with pytest.raises(OverflowError, match="bits=10"):
        Ring(2).encode(np.array([1.0, value]), 10)
