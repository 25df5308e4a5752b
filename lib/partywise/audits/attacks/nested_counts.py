"""Records that are read off counts: differences of allowed tables, margins, jumps of rounded counts, means.

An analyst who may ask for the counts of all records up to a value, in the order of some column, asks for them one value
after the other.  What the shown counts give away of each record is counted; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

# Shown counts of exact ones.
Show = Callable[[np.ndarray], np.ndarray]


def read_by_differences(order: np.ndarray, cases: np.ndarray, threshold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the records that two allowed tables differ in alone, as a mask (n,), and their diagnoses (n,) as read.

    A table counts cases and others up to a value of the order; it is refused if it has a count of 1 to threshold - 1.
    The records of each value, which may be several, lie between the tables up to the value before it and up to it.
    """
    values, places = np.unique(order, return_inverse=True)
    per_value = np.stack([np.bincount(places[mask], minlength=len(values)) for mask in (cases, ~cases)])
    up_to = np.concatenate([np.zeros((2, 1), dtype=int), np.cumsum(per_value, axis=1)], axis=1)
    allowed = ~np.any((up_to > 0) & (up_to < threshold), axis=0)
    both = allowed[:-1] & allowed[1:]
    alone = per_value.sum(axis=0) == 1
    read = np.asarray(both & alone)[places]
    return read, (np.diff(up_to, axis=1)[0] > 0)[places] & read


def read_by_margins(table: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Counts (R, C) of a table as shown, nan where hidden, with those that the margins (R,) of its rows give away."""
    hidden = np.isnan(table)
    rest = margins - np.nansum(table, axis=1)
    return np.where(hidden & (hidden.sum(axis=1, keepdims=True) == 1), rest[:, None], table)


def named_by_jumps(orders: Sequence[np.ndarray], cases: np.ndarray, show: Show) -> np.ndarray:
    """Mask (n,) of the records that are named as cases: a shown count of cases jumps at them, in one of the orders.

    Rounding by a rule jumps only where the exact count grows, so that a record that is alone at its value is a case.
    """
    named = np.zeros(len(cases), dtype=bool)
    for order in orders:
        values, places = np.unique(order, return_inverse=True)
        counts = np.concatenate([[0], np.cumsum(np.bincount(places[cases], minlength=len(values)))])
        jumps = np.diff(show(counts)) != 0
        alone = np.bincount(places, minlength=len(values)) == 1
        named |= (jumps & alone)[places]
    return named


def mean_of_roundings(counts: np.ndarray, base: int, answers: int, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers nearest to the means of so many answers, in each of which a count is rounded at random anew."""
    rest = counts % base
    return np.rint(counts - rest + base * rng.binomial(answers, rest / base) / answers)


def exact_by_means(answers: np.ndarray, count: int) -> float:
    """Share of rows of repeated answers (R, m) whose mean is nearest to the exact count; a coin decides a tie."""
    # Twice the distance of the sum from m times the count, which is whole, decides without rounding errors.
    off, m = 2 * np.abs(answers.sum(axis=1) - answers.shape[1] * count), answers.shape[1]
    return float(np.mean(off < m) + np.mean(off == m) / 2)
