"""Intervals in closed form: shares by randomised response, quantiles from a noisy histogram."""

from fractions import Fraction

import numpy as np
import pytest

import partywise as pw


def wilson(count: int, n: int, z: float) -> tuple[float, float]:
    """The roots of (x - p)^2 = z^2 p (1 - p) / n, written out."""
    roots = np.roots([1 + z**2 / n, -2 * count / n - z**2 / n, (count / n) ** 2])
    return min(roots), max(roots)


def test_intervals_of_shares_are_mapped_wilson_intervals():
    respond, told = pw.RandomizedResponse(1.0, 3), np.repeat([0, 1, 2], [400, 350, 250])
    keep, other = respond.matrix()[0, :2]
    ends = [[(end - other) / (keep - other) for end in wilson(count, 1000, 1.959963985)] for count in (400, 350, 250)]
    np.testing.assert_allclose(respond.frequency_intervals(told), np.clip(ends, 0, 1), atol=1e-8)
    frequencies, wide = respond.frequencies(told), respond.frequency_intervals(told, together=True)
    assert np.all((wide[:, 0] <= frequencies.clip(0)) & (frequencies <= wide[:, 1]))
    np.testing.assert_array_equal(wide, respond.frequency_intervals(told, level=1 - 0.05 / 3))


def test_a_level_without_a_share_has_the_lower_end_0_and_certain_answers_have_wilsons_interval():
    respond = pw.RandomizedResponse(0.5, 4)
    intervals = respond.frequency_intervals(np.repeat([0, 1, 2], [500, 300, 100]))
    assert np.all(respond.frequencies(np.repeat([0, 1, 2], [500, 300, 100]))[2:] < 0)
    assert intervals[2:, 0].tolist() == [0.0, 0.0] and intervals[3].tolist() == [0.0, 0.0]
    assert np.all(intervals >= 0) and np.all(intervals <= 1)
    exact = pw.RandomizedResponse(float("inf"), 2).frequency_intervals(np.repeat([0, 1], [30, 70]))
    np.testing.assert_allclose(exact, [wilson(30, 100, 1.959963985), wilson(70, 100, 1.959963985)], atol=1e-8)


def test_nothing_is_estimated_from_uniform_draws_or_no_draws():
    with pytest.raises(ValueError, match="epsilon=0 releases uniform draws"):
        pw.RandomizedResponse(0.0, 2).frequency_intervals([0, 1])
    with pytest.raises(ValueError, match="needs at least one released index"):
        pw.RandomizedResponse(1.0, 2).frequency_intervals([])
    with pytest.raises(ValueError, match=r"level=1 of an interval"):
        pw.RandomizedResponse(1.0, 2).frequency_intervals([0], level=1)


def rejected_from_below(cumulated, n: int, q: Fraction, sd: float) -> int:
    """Number of the last cut that is rejected in the order from the lowest, by the formula."""
    size, last = len(cumulated), 0
    for j in range(1, size):
        reach = 1.959963985 * np.sqrt(n * float(q * (1 - q)) + sd**2 * j * (size - j) / size)
        if not cumulated[j - 1] < float(q * n) - reach:
            break
        last = j
    return last


@pytest.mark.parametrize("q", [Fraction(1, 10), Fraction(1, 2), Fraction(19, 20)])
def test_ends_of_a_quantile_are_the_last_rejected_cuts(q):
    rng, size, n, sd = pw.stream(3, "cells"), 32, 800, 6.0
    counts = rng.multinomial(n, rng.dirichlet(np.ones(size))) + sd * rng.normal(size=size)
    edges = np.cumsum(rng.uniform(0.5, 1.5, size=size + 1))
    found = pw.histogram_quantile(counts, edges, float(q), n=n, sd=sd)
    corrected = counts - (counts.sum() - n) / size
    low = rejected_from_below(np.cumsum(corrected), n, q, sd)
    high = rejected_from_below(np.cumsum(corrected[::-1]), n, 1 - q, sd)
    assert (found.lower, found.upper) == (edges[low], edges[size - high])
    assert found.lower <= found.value <= found.upper
    # A shift of all counts changes nothing: the number of records is public.
    assert pw.histogram_quantile(counts + 5, edges, float(q), n=n, sd=sd) == pytest.approx(found)


def test_a_quantile_without_noise_is_that_of_the_cells_and_much_noise_leaves_the_public_ends():
    edges = np.arange(11.0)
    assert pw.histogram_quantile(np.full(10, 10_000), edges, 0.25, n=100_000, sd=0.0) == (2.5, 2.0, 3.0)
    hidden = pw.histogram_quantile(np.full(10, 10.0), edges, 0.5, n=100, sd=500.0)
    assert (hidden.lower, hidden.upper) == (0.0, 10.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": 1.0}, r"q=1\.0 of a quantile is out of range"),
        ({"level": 0.0}, r"level=0\.0 of a quantile"),
        ({"n": 0}, r"n=0 of a quantile"),
        ({"sd": -1.0}, r"sd=-1\.0 of the noise"),
        ({"edges": [0.0, 2.0, 1.0]}, r"edges of shape \(3,\) must be increasing cuts, one more than the 2 counts"),
        ({"edges": [0.0, 1.0]}, r"edges of shape \(2,\)"),
    ],
)
def test_mistakes_name_the_argument_and_the_value(change, message):
    arguments = {"counts": [5.0, 5.0], "edges": [0.0, 1.0, 2.0], "q": 0.5, "n": 10, "sd": 1.0} | change
    with pytest.raises(ValueError, match=message):
        pw.histogram_quantile(arguments.pop("counts"), arguments.pop("edges"), arguments.pop("q"), **arguments)
