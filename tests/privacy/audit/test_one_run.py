"""One run, many canaries: the bound of the source, its own printed numbers, and guesses that may be chosen freely."""

import math

import numpy as np
import pytest
import scipy.stats

from error_rates import ALPHA
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.audit.one_run import OneRunAudit, audit_one_run, one_run_tail

DELTA = 1e-5


def separated(m, seed=1, wrong=0):
    """Scores that show every bit, except for some of those nearest to the middle."""
    rng = stream(seed, "bits")
    bits = rng.integers(0, 2, m)
    scores = (2.0 * bits - 1) * (1 + np.arange(m) / m)
    scores[:wrong] *= -1
    return scores, bits


def published_tail(correct, guesses, canaries, epsilon, delta):
    """The bound summed term by term, apart from the library's vectorised form."""
    distribution = scipy.stats.binom(guesses, 1 / (1 + math.exp(-epsilon)))
    beta = distribution.sf(correct - 1)
    steepest = max(((distribution.sf(correct - i - 1) - beta) / i for i in range(1, correct + 1)), default=0.0)
    return min(beta + 2 * canaries * delta * steepest, 1.0)


@pytest.mark.parametrize(
    ("correct", "guesses", "canaries", "delta"),
    [(75, 100, 100, 0.0), (75, 100, 1000, 1e-4), (60, 60, 400, 1e-3), (1, 5, 50, 0.01), (0, 5, 50, 0.01)],
)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0, 8.0])
def test_tail_is_the_published_bound(correct, guesses, canaries, delta, epsilon):
    ours = one_run_tail(correct, guesses, canaries, epsilon, delta)
    assert ours == pytest.approx(published_tail(correct, guesses, canaries, epsilon, delta), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("canaries", "delta"), [(1000, 1e-5), (1000, 4e-3), (1000, 0.2)])
def test_tail_rises_with_epsilon_and_never_falls_below_the_published_one(canaries, delta):
    """Else a bound found by bisection would not be one."""
    for correct in (30, 55, 60):
        tails = [one_run_tail(correct, 60, canaries, e, delta) for e in np.linspace(0, 12, 200)]
        assert np.all(np.diff(tails) >= -1e-12)
        assert all(
            ours >= published_tail(correct, 60, canaries, e, delta) - 1e-12
            for ours, e in zip(tails[::20], np.linspace(0, 12, 200)[::20], strict=True)
        )


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct", "delta", "printed"),
    [(1000, 100, 75, 1e-4, 0.673), (100_000, 1510, 1439, 1e-5, 2.675)],
)
def test_the_numbers_that_the_source_prints(canaries, guesses, correct, delta, printed):
    """Its Appendix D and section 7; the second is cut off, not rounded."""
    scores, bits = separated(canaries)
    most = np.argsort(-np.abs(scores))[:guesses]
    scores[most[: guesses - correct]] *= -1
    result = audit_one_run(scores, bits, delta, guesses=guesses, threshold=0.0)
    assert (result.correct, result.guesses, result.n) == (correct, guesses, canaries)
    assert 0 <= result.eps_lower - printed + 5e-4 < 1.5e-3
    assert not result.at_sample_limit


def test_all_of_two_thousand_right():
    """Section 8 of the specification: 6.45 at 95 %."""
    result = audit_one_run(*separated(2000), DELTA)
    assert result.eps_lower == pytest.approx(6.45, abs=5e-3)
    assert result == OneRunAudit(result.eps_lower, "one_run", 0.95, 2000, 2000, 2000, True)
    pure = audit_one_run(*separated(2000), 0.0).eps_lower
    # q^2000 = 0.05 in closed form.
    q = 0.05 ** (1 / 2000)
    assert pure == pytest.approx(math.log(q / (1 - q)), abs=1e-8) and pure > result.eps_lower


def test_noise_at_one_half_gives_nothing():
    rng = stream(2, "nothing")
    result = audit_one_run(rng.standard_normal(2000), rng.integers(0, 2, 2000), DELTA)
    assert result.eps_lower < 0.3 and not result.at_sample_limit
    assert audit_one_run(np.zeros(50), rng.integers(0, 2, 50), DELTA, confidence=0.999).eps_lower == 0


def test_guessing_the_clear_cases_only_helps_where_few_are_clear():
    """Of a list fixed before the run the best is taken, at a share of the error each."""
    rng = stream(3, "few")
    bits = rng.integers(0, 2, 4000)
    scores = 0.01 * rng.standard_normal(4000)
    scores[:300] = 2.0 * bits[:300] - 1
    everything = audit_one_run(scores, bits, DELTA, threshold=0.0)
    few = audit_one_run(scores, bits, DELTA, guesses=300, threshold=0.0)
    listed = audit_one_run(scores, bits, DELTA, guesses=[100, 300, 1000, 4000], threshold=0.0)
    assert everything.eps_lower < 0.5 < 3.5 < listed.eps_lower < few.eps_lower
    assert listed.guesses == 300 and listed.at_sample_limit and listed.confidence == 0.95
    stricter = audit_one_run(scores, bits, DELTA, guesses=300, threshold=0.0, confidence=1 - 0.05 / 4)
    assert listed.eps_lower == pytest.approx(stricter.eps_lower)


def test_the_cut_is_found_without_the_bits():
    """Unequal numbers in and out, and scores on any scale."""
    rng = stream(4, "cut")
    bits = (rng.random(1000) < 0.3).astype(int)
    scores = 1e6 + 5 * bits + 0.1 * rng.standard_normal(1000)
    assert audit_one_run(scores, bits, DELTA).at_sample_limit
    assert audit_one_run(scores, 1 - bits, DELTA).correct == 0


def test_a_gaussian_run_is_bracketed():
    """Canaries at +-1/2 with noise of the exact mu: below epsilon, and above a fair part of what counting can give."""
    for mu in (1.0, 3.0):
        rng = stream(5, "gaussian")
        bits = rng.integers(0, 2, 20_000)
        scores = mu * (bits - 0.5) + rng.standard_normal(20_000)
        best = audit_one_run(scores, bits, DELTA, guesses=[200, 1000, 5000, 20_000])
        truth = gaussian_epsilon(mu, DELTA)
        assert 0.25 * truth < best.eps_lower < truth


def test_false_alarms_stay_below_their_rate():
    """Randomised response attains the bound, so the rate is nearly reached; auditing at 60 % would be caught."""
    q = 1 / (1 + math.exp(-1.0))
    rng = stream(6, "alarms")
    bits = rng.integers(0, 2, (1000, 400))
    scores = np.where(rng.random((1000, 400)) < q, bits, 1 - bits)
    alarms = {
        confidence: sum(
            audit_one_run(s, b, 0.0, confidence=confidence, threshold=0.5).eps_lower > 1.0
            for s, b in zip(scores, bits, strict=True)
        )
        for confidence in (0.95, 0.6)
    }
    limit = scipy.stats.binom.isf(ALPHA, 1000, 0.05)
    assert alarms[0.95] <= limit < alarms[0.6]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, b: audit_one_run(s, b[:-1], DELTA), "two equal vectors"),
        (lambda s, b: audit_one_run(s[:1], b[:1], DELTA), "two equal vectors"),
        (lambda s, b: audit_one_run(s * np.nan, b, DELTA), "not all finite"),
        (lambda s, b: audit_one_run(s, 2 * b - 1, DELTA), "bits must be 1"),
        (lambda s, b: audit_one_run(s, b, 1.0), "delta=1.0"),
        (lambda s, b: audit_one_run(s, b, math.nan), "delta=nan"),
        (lambda s, b: audit_one_run(s, b, DELTA, confidence=1.0), "confidence=1.0"),
        (lambda s, b: audit_one_run(s, b, DELTA, guesses=51), "guesses=51"),
        (lambda s, b: audit_one_run(s, b, DELTA, guesses=[]), "guesses="),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(*separated(50))
