"""Published protections of counts without a guarantee: refused tables and rounded counts.

Counts are exact sums of contributions over their weights; moments are left as they are, for none of the rules is about
them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .contributions import Contributions

How = Literal["nearest", "midpoint", "random"]


def suppress(sums: np.ndarray, terms: Contributions, rng: object, *, threshold: int) -> np.ndarray:
    """Sums (d,) in which every table with a count of 1 to ``threshold`` - 1 is nan."""
    values = np.asarray(sums, dtype=float).copy()
    for entries, weight in _tables(terms):
        counts = sums[entries] // weight
        if ((counts > 0) & (counts < threshold)).any():
            values[entries] = np.nan
    return values


def round_counts(
    sums: np.ndarray, terms: Contributions, rng: np.random.Generator, *, base: int, how: How
) -> np.ndarray:
    """Sums (d,) with the counts of tables rounded."""
    values = np.asarray(sums, dtype=float).copy()
    for entries, weight in _tables(terms):
        values[entries] = weight * round_to_base(sums[entries] // weight, base, how, rng)
    return values


def round_to_base(counts: np.ndarray, base: int, how: How, rng: np.random.Generator) -> np.ndarray:
    """Counts rounded to multiples of the base, halves up; to the middle of each run of so many; or at random.

    At random a count goes up with the probability that leaves its mean, which needs new random numbers for each.
    Midpoints: 1 to 6 are shown as 3 for a base of 6, 7 to 12 as 9, and 0 as 0.
    """
    if how == "nearest":
        return base * ((2 * counts + base) // (2 * base))
    if how == "midpoint":
        return np.where(counts == 0, 0, base * ((counts - 1) // base) + base // 2)
    rest = counts % base
    return counts - rest + base * (rng.random(counts.shape) < rest / base)


def _tables(terms: Contributions) -> list[tuple[slice, int]]:
    """Entries and weight of every table."""
    places, start = [], 0
    for table, weight in zip(terms.layout.tables, terms.weights, strict=False):
        places.append((slice(start, start + table.entries), weight))
        start += table.entries
    return places
