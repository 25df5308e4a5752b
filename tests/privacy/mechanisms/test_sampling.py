"""The source of published noise: exact distributions, no seed, no state to repeat."""

import itertools
import math
import os
import pickle
import subprocess
import sys
import time
from fractions import Fraction
from unittest import mock

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest, chi2, chisquare, norm

from error_rates import ALPHA, accepts_mean, accepts_sigma
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import SimulationRandom, stream
from partywise.privacy.mechanisms import DiscreteGaussian, Gaussian, RandomizedResponse
from partywise.privacy.mechanisms import random as sampling
from partywise.privacy.mechanisms.random import SecureRandom, bernoulli, integer_noise, require_secure, sampler_of
from partywise.privacy.secure import table as discrete_table
from partywise.privacy.secure.fixed_point import fixed_point_sum
from partywise.privacy.secure.table import cumulative_bounds, draw_integers
from partywise.privacy.statistics.moments import record_sum
from partywise.privacy.statistics.records import entries
from pipeline import ROOT

DISTRIBUTIONS = ("rounded", "discrete")
WORD = 1 << 64


class Scripted(SecureRandom):
    """Words from a list instead of the operating system; exists in tests only."""

    def __init__(self, words):
        self.words = list(words)

    def _words(self, n):
        taken, self.words = self.words[:n], self.words[n:]
        assert len(taken) == n, "the script has no more words"
        return np.array(taken, dtype=np.uint64)


def split(u, bits):
    """A number of so many bits as 64-bit words, highest first."""
    return [(u >> shift) % WORD for shift in range(bits - 64, -1, -64)]


def masses(sigma, distribution, reach):
    """Probabilities of -reach..reach in floating point, by formulas that the library does not use."""
    j = np.arange(-reach, reach + 1)
    if distribution == "rounded":
        # Differences of the smaller tails: no cancellation.
        return norm.sf((np.abs(j) - 0.5) / sigma) - norm.sf((np.abs(j) + 0.5) / sigma)
    bells = np.exp(-((j / sigma) ** 2) / 2)
    return bells / bells.sum()


def law_p_value(draws, sigma, distribution, cells=24):
    """Chi-square p-value over cells of nearly equal mass."""
    reach = math.ceil(9 * sigma)
    cumulative = np.cumsum(masses(sigma, distribution, reach))
    edges = np.unique(np.searchsorted(cumulative, np.arange(1, cells) / cells))
    expected = np.diff(np.concatenate([[0.0], cumulative[edges], [1.0]])) * draws.size
    seen = np.bincount(np.searchsorted(edges - reach, draws.ravel(), side="left"), minlength=len(expected))
    return chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


@pytest.mark.parametrize(("sigma", "bits"), [(0.5, 128), (16.0, 128), (3.7306316348, 256), (16.0, 512)])
def test_the_rounded_table_agrees_with_fifty_digits_and_more(sigma, bits):
    reach, bounds = cumulative_bounds(sigma, "rounded", bits)
    with mpmath.workdps(50 if bits == 128 else 170):
        for k, bound in zip(range(-reach - 1, reach + 1), bounds, strict=True):
            true = mpmath.ncdf((mpmath.mpf(k) + 0.5) / mpmath.mpf(sigma)) * mpmath.mpf(2) ** bits
            assert -1.02 < bound - true < 0.02, k


@pytest.mark.parametrize(("sigma", "bits"), [(0.5, 128), (16.0, 128), (3.7306316348, 256), (16.0, 512)])
def test_the_discrete_table_agrees_with_fifty_digits_and_more(sigma, bits):
    reach, bounds = cumulative_bounds(sigma, "discrete", bits)
    with mpmath.workdps(50 if bits == 128 else 170):
        # The normaliser is a theta function, and the far tail is summed too.
        nome = mpmath.exp(-1 / (2 * mpmath.mpf(sigma) ** 2))
        total = mpmath.jtheta(3, 0, nome)
        below = mpmath.fsum(nome ** (k * k) for k in range(reach + 2, 2 * reach + 4))
        for k, bound in zip(range(-reach - 1, reach + 1), bounds, strict=True):
            below += nome ** (k * k)
            assert -1.02 < bound - below / total * mpmath.mpf(2) ** bits < 0.02, k


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_wide_table_agrees_with_fifty_digits_where_it_matters(distribution):
    sigma = 1023.4567
    reach, bounds = cumulative_bounds(sigma, distribution, 128)
    with mpmath.workdps(50):
        s = mpmath.mpf(sigma)
        # For this sigma the discrete distribution has the normaliser sigma sqrt(2 pi) to far more than 50 digits.
        total = s * mpmath.sqrt(2 * mpmath.pi)
        for k in (-13_000, -5000, -1024, -1, 0, 1, 700, 9000):
            step = bounds[k + reach + 1] - bounds[k + reach]
            if distribution == "rounded":
                mass = mpmath.ncdf((k + mpmath.mpf(0.5)) / s) - mpmath.ncdf((k - mpmath.mpf(0.5)) / s)
            else:
                mass = mpmath.exp(-((k / s) ** 2) / 2) / total
            assert abs(step - mass * 2**128) < 1.1, k


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.73, 64.0, 1024.0])
def test_tables_are_distributions(sigma, distribution):
    reach, bounds = cumulative_bounds(sigma, distribution, 128)
    steps = [b - a for a, b in itertools.pairwise(bounds)]
    assert len(bounds) == 2 * reach + 2 and bounds[0] == 0 and bounds[-1] == 2**128 - 1
    assert min(steps) >= 0 and sum(steps) == 2**128 - 1
    # Mirror images complete each other to 2^128, up to the unit that whole parts leave out.
    assert all(2**128 - 1 - (a + b) in (0, -1, 1) for a, b in zip(bounds, bounds[::-1], strict=True))
    middle = steps[reach]
    assert middle == max(steps) and all(abs(a - b) <= 2 for a, b in zip(steps, steps[::-1], strict=True))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("sigma", "bits"), [(0.5, 128), (0.5, 1024), (777.7, 128), (777.7, 256)])
def test_errors_of_the_arithmetic_stay_in_the_guard_bits(monkeypatch, sigma, bits, distribution):
    """Twice the guard bits, and half of them, move no whole part by more than one; four bits do."""
    bounds = cumulative_bounds(sigma, distribution, bits)[1]

    def moved(guard):
        monkeypatch.setattr(discrete_table, "GUARD_BITS", guard)
        other = cumulative_bounds.__wrapped__(sigma, distribution, bits)[1]
        return max(abs(a - b) for a, b in zip(bounds, other, strict=True))

    assert max(moved(384), moved(96)) <= 1 < moved(4)


def test_a_table_of_a_thousand_steps_is_built_in_half_a_second_and_kept():
    begun = time.process_time()
    draw_integers(stream(1, "words").integers, 1023.0, "rounded", 0)
    assert time.process_time() - begun < 0.5
    assert cumulative_bounds(1023.0, "rounded", 128)[1] is cumulative_bounds(1023.0, "rounded", 128)[1]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("sigma", [1.5, 300.0])
def test_words_on_either_side_of_every_probability_give_the_outcomes_on_either_side(sigma, distribution):
    """128 bits decide; high words equal to a boundary's are the ties of a search on 64 bits."""
    reach, bounds = cumulative_bounds(sigma, distribution, 128)
    for k in range(-reach, reach, max(1, reach // 40)):
        bound = bounds[k + reach + 1]
        if bounds[k + reach] + 8 < bound < bounds[k + reach + 2] - 8:
            below, above = Scripted(split(bound - 2, 128)), Scripted(split(bound + 2, 128))
            assert below.discrete_gaussian(sigma, 1, distribution) == [k], k
            assert above.discrete_gaussian(sigma, 1, distribution) == [k + 1], k


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_128_bits_leave_open_is_decided_by_256_or_512(distribution):
    sigma, k = 2.5, 1
    for bits in (256, 512):
        reach, bounds = cumulative_bounds(sigma, distribution, bits)
        for shift, outcome in ((-2, k), (2, k + 1)):
            source = Scripted(split(bounds[k + reach + 1] + shift, bits))
            assert source.discrete_gaussian(sigma, 1, distribution) == [outcome]
            assert not source.words, f"all {bits} bits were needed"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_ends_of_the_table_are_no_ends_of_the_distribution(distribution):
    """All bits zero, then all ones: beyond the reach of 128 bits there are outcomes, and 256 bits find them."""
    reach = cumulative_bounds(1.0, distribution, 128)[0]
    low = Scripted([0, 0, 0, 1 << 32]).discrete_gaussian(1.0, 1, distribution)[0]
    high = Scripted([WORD - 1, WORD - 1, WORD - 1, WORD - 1 - (1 << 32)]).discrete_gaussian(1.0, 1, distribution)[0]
    assert low < -reach < reach < high


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("sigma", [0.7, 16.0, 1024.0])
def test_the_guide_and_the_search_agree_with_plain_bisection(sigma, distribution):
    high = stream(3, "words").integers(0, WORD, 20_000, dtype=np.uint64)
    # Words just before and after the cells of the guide, too.
    cells = np.arange(0, 1 << 16, 7, dtype=np.uint64) << np.uint64(48)
    high = np.concatenate([high, cells[1:], cells - np.uint64(1)])
    reach, bounds = cumulative_bounds(sigma, distribution, 128)
    heads = np.array([bound >> 64 for bound in bounds], dtype=np.uint64)
    clear = ~np.isin(high, heads)
    wanted = np.searchsorted(heads, high[clear], side="left") - reach - 1
    assert np.count_nonzero(clear) > 0.99 * len(high)
    found = Scripted(high[clear]).discrete_gaussian(sigma, int(clear.sum()), distribution)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("sigma", [0.8, 16.0, 300.5, 1024.0])
def test_a_million_simulated_draws_have_the_distribution_and_one_percent_off_is_noticed(sigma, distribution):
    draws = integer_noise(stream(2, "distribution", distribution), sigma, 1_000_000, distribution)
    assert draws.dtype == np.int64
    assert law_p_value(draws, sigma, distribution) > ALPHA > law_p_value(draws, 1.01 * sigma, distribution)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_secure_draws_have_the_distribution_and_one_percent_off_is_noticed(distribution):
    """No seed: 4 million draws keep both error rates below ALPHA."""
    sigma = 200.0
    draws = SecureRandom().discrete_gaussian(sigma, (2000, 2000), distribution)
    deviation = math.sqrt(sigma**2 + (1 / 12 if distribution == "rounded" else 0.0))
    assert draws.shape == (2000, 2000)
    assert law_p_value(draws, sigma, distribution) > ALPHA > law_p_value(draws, 1.01 * sigma, distribution)
    assert accepts_sigma(draws, deviation) and accepts_mean(draws, 0.0, deviation)
    assert not accepts_sigma(draws, 1.01 * deviation) and not accepts_sigma(draws, 0.99 * deviation)


def test_the_two_distributions_differ_and_the_test_tells_them_apart():
    sigma = 0.8
    draws = {
        distribution: integer_noise(stream(2, "two"), sigma, 1_000_000, distribution) for distribution in DISTRIBUTIONS
    }
    assert law_p_value(draws["rounded"], sigma, "discrete") < ALPHA
    assert law_p_value(draws["discrete"], sigma, "rounded") < ALPHA


def test_one_word_a_draw_whatever_the_sigma():
    for sigma in (1.0, 1000.0):
        source = Scripted(stream(4, "words").integers(0, WORD, 70_001, dtype=np.uint64))
        source.discrete_gaussian(sigma, 70_000)
        assert len(source.words) == 1
    small, large = (integer_noise(stream(4, "common"), sigma, 10_000, "rounded") for sigma in (100.0, 800.0))
    assert np.max(np.abs(8 * small - large)) <= 8 / 2 + 1


@pytest.mark.parametrize("sigma", [0.49, 0.0, -1.0, 2.0**14 + 1, math.inf, math.nan])
def test_deviations_out_of_range_are_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma=.*choose a grid"):
        SecureRandom().discrete_gaussian(sigma, 3)


def test_unknown_distributions_are_refused():
    with pytest.raises(ValueError, match="distribution='float'"):
        SecureRandom().discrete_gaussian(4.0, 3, distribution="float")


def test_integers_below_are_uniform_and_exact():
    draws = SecureRandom().integers_below(10, (1000, 400))
    counts = np.bincount(draws.ravel(), minlength=10)
    assert draws.shape == (1000, 400) and len(counts) == 10
    statistic = np.sum((counts - 40_000) ** 2 / 40_000)
    assert chi2(9).sf(statistic) > ALPHA
    # Remainders of words without rejection: two thirds of this range come up three times in eight, not two.
    n = 3 << 61
    low = np.count_nonzero(SecureRandom().integers_below(n, 100_000) < n // 2) - 50_000
    raw = np.count_nonzero(SecureRandom().uint64(100_000) % np.uint64(n) < n // 2) - 50_000
    limit = norm.isf(ALPHA / 2) * math.sqrt(25_000)
    assert abs(low) < limit < raw


def test_words_beyond_the_last_multiple_are_drawn_again():
    n = 3 << 61
    assert list(Scripted([2 * n - 1, 2 * n, WORD - 1, n + 5, 1]).integers_below(n, 3)) == [n - 1, 5, 1]
    assert list(Scripted([WORD - 1, 7]).integers_below(1 << 63, 2)) == [(1 << 63) - 1, 7]
    assert list(Scripted([WORD - 1, 7]).integers_below(1, 2)) == [0, 0]


@pytest.mark.parametrize("n", [0, -1, (1 << 63) + 1])
def test_impossible_ranges_are_refused(n):
    with pytest.raises(ValueError, match=f"n={n}"):
        SecureRandom().integers_below(n, 1)


def test_words_come_from_the_operating_system(monkeypatch):
    asked = []

    def counting(n):
        asked.append(n)
        return bytes(range(n))

    monkeypatch.setattr(sampling.os, "urandom", counting)
    words = SecureRandom().uint64(3)
    assert asked == [24] and words.dtype == np.uint64 and words.tobytes() == bytes(range(24))


@pytest.mark.parametrize(("seeds", "named"), [((7,), {}), ((None,), {}), ((), {"seed": 7}), ((b"k" * 32,), {})])
def test_the_secure_source_refuses_seeds(seeds, named):
    with pytest.raises(TypeError, match="refuses a seed"):
        SecureRandom(*seeds, **named)


def test_the_two_sources_share_no_class_and_the_secure_one_no_state():
    assert set(SecureRandom.__mro__) & set(SimulationRandom.__mro__) == {object}
    source = SecureRandom()
    assert not hasattr(source, "__dict__")
    copy = pickle.loads(pickle.dumps(source))
    assert not np.array_equal(source.uint64(4), copy.uint64(4))
    assert not np.array_equal(source.uint64(4), source.uint64(4))


FORKED = """
import multiprocessing, os, sys
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.core.randomness import stream

SECURE, SIMULATED = SecureRandom(), stream(7, "noise")

def draw(source):
    return source.uint64(4).tolist() if isinstance(source, SecureRandom) else source.integers(0, 2**63, 4).tolist()

def report(lines):
    lines.put((draw(SECURE), draw(SIMULATED)))

if __name__ == "__main__":
    seen = []
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        lines = context.SimpleQueue()
        workers = [context.Process(target=report, args=(lines,)) for _ in range(3)]
        for worker in workers:
            worker.start()
        seen += [lines.get() for _ in workers]
        for worker in workers:
            worker.join()
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, repr((draw(SECURE), draw(SIMULATED))).encode())
        os._exit(0)
    os.wait()
    seen += [eval(os.read(reader, 4096)), (draw(SECURE), draw(SIMULATED))]
    print([len({tuple(pair[i]) for pair in seen}) for i in (0, 1)], len(seen))
"""


def test_forked_and_spawned_workers_draw_different_streams(tmp_path):
    """The simulation source repeats itself in all of them, so the check can fail."""
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    ran = subprocess.run(
        [sys.executable, "-W", "error", script],
        capture_output=True,
        text=True,
        env={**os.environ, **threads, "PYTHONPATH": str(ROOT / "lib")},
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n")[0] == "[8, 1] 8"


def test_sources_have_names_and_anything_else_is_refused():
    assert sampler_of(SecureRandom()) == "secure" and sampler_of(stream(1, "a")) == "simulation"
    for other in (7, None, np.random, "secure"):
        with pytest.raises(TypeError, match=r"rng=.*not a random source"):
            sampler_of(other)
        with pytest.raises(TypeError, match=r"rng=.*not a random source"):
            integer_noise(other, 4.0, 3, "rounded")


def test_publishing_simulation_output_as_a_release_fails():
    simulated = Gaussian(sigma=1.0)(record_sum(np.ones((5, 2)), fixed(3.0)), stream(1, "a"), release_id="sum/1")
    with pytest.raises(CertificationError, match=r"'sum/1' has sampler='simulation'.*DiscreteGaussian"):
        require_secure(simulated)
    # At 2^22 records the rounding of a sum of floats is 2.4e-4 of what it is certified for.
    floats = DiscreteGaussian(mu=1.0)(record_sum(np.ones((5, 2)), fixed(3.0)), SecureRandom(), release_id="sum/2")
    with pytest.raises(CertificationError, match=r"'sum/2' is of a statistic without a grid.*fixed_point_sum"):
        require_secure(floats)
    whole = fixed_point_sum(np.ones((5, 2)), fixed(3.0), fixed(2.0**-10))
    require_secure(DiscreteGaussian(mu=1.0)(whole, SecureRandom()).post_process(np.sum))
    require_secure(RandomizedResponse(1.0, 2)(entries([0, 1]), SecureRandom()))


def test_a_million_exact_draws_take_at_most_fifteen_times_as_long_as_floats():
    rng, source, n = stream(1, "speed"), SecureRandom(), 1_000_000

    def seconds(work):
        times = []
        for _ in range(5):
            begun = time.process_time()
            work()
            times.append(time.process_time() - begun)
        return min(times)

    floats = seconds(lambda: rng.standard_normal(n))
    for distribution in DISTRIBUTIONS:
        source.discrete_gaussian(1024.0, 10, distribution)
        assert (
            seconds(lambda distribution=distribution: source.discrete_gaussian(1024.0, n, distribution)) <= 15 * floats
        )


def test_coins_have_exactly_the_rate():
    for rate, size in ((0.02, 400_000), (2.0**-70, 1000), (1.0 - 2.0**-53, 1000), (0.5, 400_000)):
        coins = bernoulli(stream(7, "coins", str(rate)), rate, size)
        assert binomtest(int(coins.sum()), size, rate).pvalue > 1e-9
    coins = bernoulli(stream(7, "coins"), 0.02, 400_000)
    assert binomtest(int(coins.sum()), 400_000, 0.0218).pvalue < 1e-9

    small = 0.3 * 2.0**-20
    top = math.floor(Fraction(small) * 2**64)
    rest = math.floor((Fraction(small) * 2**64 - top) * 2**64)
    for below, expected in ((rest - 1, True), (rest, False)):
        drawn = iter([top, below])
        with mock.patch.object(
            sampling, "words_of", lambda rng, w=drawn: lambda n: np.array([next(w)], dtype=np.uint64)
        ):
            assert bernoulli(np.random.default_rng(0), small, 1).tolist() == [expected]
