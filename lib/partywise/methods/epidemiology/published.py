"""Published protections of counts: refused tables and rounded counts, without a guarantee, and boxes around noisy ones.

Counts are exact sums of contributions over their weights; moments are left as they are by refusals and by rounding, for
neither rule is about them.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import ceil, log
from typing import Literal

import numpy as np
from scipy.signal import fftconvolve

from ...federation.exchanges.noisy_sums import GeometricNoise
from .contributions import Contributions

How = Literal["nearest", "midpoint", "random"]
# Probability with which a box holds all exact values.
BOX_LEVEL = 0.95
# Probabilities of noise below exp of this are left out; noise of more steps than so many is summed on a coarser grid.
LEAST_LOG, MOST_STEPS = -45.0, 2**20


def suppress(sums: np.ndarray, terms: Contributions, rng: object, *, threshold: int) -> np.ndarray:
    """Sums (d,) in which every table with a count of 1 to ``threshold`` - 1 is nan."""
    values = np.array(sums, dtype=float)
    for cells, weight in _tables(terms, values):
        counts = cells // weight
        if ((counts > 0) & (counts < threshold)).any():
            cells[:] = np.nan
    return values


def round_counts(
    sums: np.ndarray, terms: Contributions, rng: np.random.Generator, *, base: int, how: How
) -> np.ndarray:
    """Sums (d,) with the counts of tables rounded."""
    values = np.array(sums, dtype=float)
    for cells, weight in _tables(terms, values):
        cells[:] = weight * round_to_base(cells // weight, base, how, rng)
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


def _tables(terms: Contributions, values: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Views of the entries of every table, and its weight."""
    return list(zip(terms.layout.split(values), terms.weights, strict=True))[: len(terms.layout.tables)]


@lru_cache(maxsize=32)
def box_radius(entries: int, noise: GeometricNoise) -> tuple[int, float]:
    """Least r, in steps, at which a box of half-width r misses an exact value with probability 5 % at most, and that.

    The law of the sum of all draws is their convolution; the bound adds the tails of the entries.
    """
    if not noise.ratio:
        return 0, 0.0
    coarser = max(1, ceil(LEAST_LOG / log(noise.ratio) / MOST_STEPS))
    p = noise.ratio**coarser
    farthest = int(LEAST_LOG / log(p)) + 1
    distances = np.abs(np.arange(-farthest, farthest + 1))
    law = reduce(fftconvolve, [(1 - p) / (1 + p) * p**distances] * noise.draws)
    # Probability of noise beyond 0, 1, 2 ... steps on either side.
    tails = 2 * np.cumsum(law[: len(law) // 2 : -1])[::-1]
    radius = int(np.argmax(entries * tails <= 1 - BOX_LEVEL))
    return coarser * radius, float(entries * tails[radius])
