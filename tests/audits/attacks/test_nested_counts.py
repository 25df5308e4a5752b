"""Records read off counts that rules of disclosure control allow, and off noisy ones, which give nothing away."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from partywise.audits.attacks.nested_counts import (
    exact_by_means,
    mean_of_roundings,
    named_by_jumps,
    read_by_differences,
    read_by_margins,
)
from partywise.methods.epidemiology.published import round_to_base

N = 1000


def random() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("threshold", [3, 10])
def test_every_record_that_is_alone_between_two_allowed_tables_is_read(threshold):
    rng = random()
    birthdays, cases = rng.integers(0, 20 * 365, N), rng.random(N) < 0.15
    read, diagnoses = read_by_differences(birthdays, cases, threshold)
    alone = np.unique(birthdays, return_inverse=True, return_counts=True)
    single = alone[2][alone[1]] == 1
    # All but those before the first allowed table.
    assert read.sum() > 0.9 * single.sum() and not (read & ~single).any()
    np.testing.assert_array_equal(diagnoses[read], cases[read])


def test_a_small_count_is_refused_by_hand():
    """Cases at 1, 2, 5: with threshold 2 the tables up to 1 are refused, and the record at 2 cannot be read."""
    order, cases = np.array([1, 2, 3, 4, 5]), np.array([True, True, False, False, True])
    read, diagnoses = read_by_differences(order, cases, 2)
    np.testing.assert_array_equal(read, [False, False, False, False, True])
    np.testing.assert_array_equal(diagnoses, [False, False, False, False, True])


@pytest.mark.parametrize(("how", "base"), [("nearest", 5), ("nearest", 10), ("midpoint", 6)])
@pytest.mark.parametrize("orders", [1, 5, 20])
def test_rounded_counts_name_cases_and_nobody_else(how, base, orders):
    """Each order names a case in every run of as many as the base: 20 data sets, within 4 standard errors."""
    rng, named, total, wrong = random(), 0, 0, 0
    for _ in range(20):
        cases = rng.random(N) < 0.15
        show = partial(round_to_base, base=base, how=how, rng=rng)
        found = named_by_jumps([rng.random(N) for _ in range(orders)], cases, show)
        named, total, wrong = named + (found & cases).sum(), total + cases.sum(), wrong + (found & ~cases).sum()
    share = 1 - (1 - 1 / base) ** orders
    assert wrong == 0
    # An order names one case per run of cases, so that shares vary less than those of independent cases.
    assert abs(named / total - share) < 4 * np.sqrt(share * (1 - share) / total) + 1 / (total / 20)


def test_noisy_counts_name_cases_no_better_than_chance():
    """Counts with noise of deviation 5, rounded to 5: of the records named the share of cases is that of all."""
    rng = random()
    shares, rate = [], []
    for _ in range(40):
        cases = rng.random(N) < 0.15

        def show(counts: np.ndarray) -> np.ndarray:
            return round_to_base(np.rint(counts + rng.normal(0, 5, counts.shape)).astype(int), 5, "nearest", rng)

        named = named_by_jumps([rng.random(N)], cases, show)
        shares.append(cases[named].mean())
        rate.append(cases.mean())
    difference = np.array(shares) - rate
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(40) and named.mean() > 0.5


@pytest.mark.parametrize(("answers", "least", "most"), [(10, 0.4, 0.8), (50, 0.75, 1.0), (200, 0.99, 1.0)])
def test_means_of_counts_rounded_at_random_are_exact_in_the_end(answers, least, most):
    """400 repetitions of the count 12, base 5; the standard error is 0.025 at most."""
    drawn = round_to_base(np.full((400, answers), 12), 5, "random", random())
    assert least <= exact_by_means(drawn, 12) <= most


def test_a_tie_of_the_mean_is_decided_by_a_coin():
    """Means 12, 12.5, 11.5 and 13 of the count 12; the parity of the count does not matter."""
    answers = np.array([[10, 14], [10, 15], [10, 13], [11, 15]])
    assert exact_by_means(answers, 12) == exact_by_means(answers + 1, 13) == 0.5


def test_a_cell_hidden_alone_in_its_row_follows_from_the_margin():
    shown = np.array([[np.nan, 9.0], [np.nan, np.nan], [4.0, 5.0], [np.nan, 8.0]])
    read = read_by_margins(shown, np.array([11.0, 3.0, 9.0, np.nan]))
    np.testing.assert_array_equal(read, [[2, 9], [np.nan, np.nan], [4, 5], [np.nan, 8]])


def test_means_of_many_roundings_are_the_exact_counts():
    counts = np.arange(1000)
    exact = mean_of_roundings(counts, 5, 1000, random()) == counts
    few = mean_of_roundings(counts, 5, 1, random())
    assert exact.all() and set((few % 5).tolist()) == {0.0} and np.abs(few - counts).max() < 5
