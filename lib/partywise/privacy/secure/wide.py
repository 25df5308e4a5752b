"""Rounded Gaussian noise wider than a table can hold: its cell from the table, its place in the cell by rejection.

A normal number of deviation 2^10 is drawn as the cell ``[j - 1/2, j + 1/2)`` that it lies in, which is the distribution
that the table has exactly, and its place u inside the cell, whose density is known there: u is uniform, and kept with
probability exp(-(y^2 - m^2) / 2^21), y being the number and m the point of the cell that is nearest to 0. All numbers
are uniform words revealed from their top; comparisons and roundings are made in floating point where its errors cannot
matter, in integers where they could, and with further words where those known do not decide. So the distribution is the
stated one exactly.
"""

from collections.abc import Callable

import numpy as np

from .table import GUARD_BITS, draw_integers, exp_minus

Words = Callable[[int], np.ndarray]

# Bits of the deviation of the cells.
CELL_BITS = 10
# In grid units: the noise, some fourteen deviations at most, stays far inside 64 bits.
WIDEST = 2.0**56
# Above any error of the comparison in floating point, which is below 2^-52.
DOUBT = 2.0**-48


def draw_wide_integers(words: Words, sigma: float | np.ndarray, size: int | tuple[int, ...]) -> np.ndarray:
    """Draw independent integers, int64, from a rounded Gaussian distribution of any deviation up to `WIDEST`.

    P(j) = Phi((j + 1/2) / sigma) - Phi((j - 1/2) / sigma), about three words a draw. Sigma is in grid units, one for
    all or one for each draw, and taken as the exact rational number that the float is. The same words at two sigmas
    give one normal draw rescaled and rounded.
    """
    sigmas = np.asarray(sigma, dtype=float)
    if sigmas.size and not (sigmas.min() > 0 and sigmas.max() <= WIDEST):
        raise ValueError(f"sigma={sigma!r} grid units must lie in (0, 2^56]; choose a coarser grid.")
    cells = draw_integers(words, 2.0**CELL_BITS, "rounded", size)
    flat = cells.reshape(-1)
    places, further = _places(words, flat)
    nearest, unsure = _nearest(flat, places, sigmas.reshape(-1) if sigmas.ndim else float(sigmas))
    for i in sorted({*unsure.tolist(), *further}):
        place, bits = further.get(i, (int(places[i]), 64))
        ratio = float(sigmas.flat[i] if sigmas.ndim else sigmas).as_integer_ratio()
        nearest[i] = _round(words, int(flat[i]), place, bits, ratio)
    flat[:] = nearest
    return cells


def draw_huge_integers(words: Words, sigma: float, size: int) -> list[int]:
    """Draw independent integers from a rounded Gaussian of any deviation, each with as many words as it takes."""
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma={float(sigma)!r} grid units must be positive and finite.")
    cells = draw_integers(words, 2.0**CELL_BITS, "rounded", size)
    places, further = _places(words, cells)
    known = [further.get(i, (int(place), 64)) for i, place in enumerate(places)]
    ratio = float(sigma).as_integer_ratio()
    return [_round(words, int(cell), *place, ratio) for cell, place in zip(cells, known, strict=True)]


def _nearest(cells: np.ndarray, places: np.ndarray, sigma: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded multiples of the numbers in floating point, and indices of those whose errors might matter."""
    scale = sigma * 2.0**-CELL_BITS
    values = scale * ((cells - 0.5) + places * 2.0**-64) + 0.5
    whole = np.floor(values)
    # Three roundings of the number and of its place in the cell: at most 2^-51 of either, and less than twice that.
    doubt = (np.abs(values) + scale) * 2.0**-50
    return whole.astype(np.int64), (np.abs(values - whole - 0.5) >= 0.5 - doubt).nonzero()[0]


def _places(words: Words, cells: np.ndarray) -> tuple[np.ndarray, dict[int, tuple[int, int]]]:
    """Place of each number in its cell, in 2^-64 of the cell; of the few in doubt more digits and their number."""
    further = dict[int, tuple[int, int]]()
    places, tests = words(2 * cells.size).reshape(2, -1)
    # Most are kept wherever they lie: of cell j no more than a share of |j| 2^-20 is lost.
    near = (tests * 2.0**-64 <= (np.abs(cells) + 1) * 4.0**-CELL_BITS + DOUBT).nonzero()[0]
    if not near.size:
        return places, further
    gap = tests[near] * 2.0**-64 + np.expm1(-_exponent(cells[near], places[near] * 2.0**-64))
    accepted = gap >= 0
    for place in np.flatnonzero(np.abs(gap) < DOUBT).tolist():
        i = int(near[place])
        accepted[place], *digits = _settle(words, int(cells[i]), int(places[i]), int(tests[i]))
        further[i] = (digits[0], digits[1])
    again = near[~accepted]
    if again.size:
        places = places.copy()
        places[again], more = _places(words, cells[again])
        further = {i: digits for i, digits in further.items() if i not in again} | {
            int(again[i]): digits for i, digits in more.items()
        }
    return places, further


def _exponent(cells: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(y^2 - m^2) / 2^21 at the place u of each cell, written so that nothing cancels."""
    inward = np.where(cells < 0, 1 - u, u)
    square = np.where(cells == 0, (u - 0.5) ** 2, inward * (2 * np.abs(cells) - 1 + inward))
    return square / 2.0 ** (2 * CELL_BITS + 1)


def _settle(words: Words, cell: int, place: int, test: int) -> tuple[bool, int, int]:
    """Whether a place is kept, decided in integers; the place as far as it was revealed, and its bits."""
    bits = 64
    while True:
        ends = [_square(cell, place + step, bits) for step in (0, 1)]
        low, high = min(ends), max(ends)
        if cell == 0 and place < 1 << (bits - 1) <= place + 1:
            low = 0
        precision = 2 * bits + GUARD_BITS
        scale = 1 << (2 * bits + 2 * CELL_BITS + 1)
        most, least = exp_minus(low, scale, precision), exp_minus(high, scale, precision)
        # Kept where 1 - test <= exp(-E); the computed exponentials are good to far more than 2^-2 bits.
        slack, unit = 1 << (precision - 2 * bits), 1 << (precision - bits)
        if ((1 << bits) - test) * unit <= least - slack:
            return True, place, bits
        if ((1 << bits) - test - 1) * unit >= most + slack:
            return False, place, bits
        more = [int(word) for word in words(2)]
        place, test, bits = (place << 64) | more[0], (test << 64) | more[1], bits + 64


def _square(cell: int, place: int, bits: int) -> int:
    """y^2 - m^2 at a place, in 2^-2bits."""
    unit = 1 << bits
    if cell == 0:
        return (place - unit // 2) ** 2
    inward = unit - place if cell < 0 else place
    return inward * ((2 * abs(cell) - 1) * unit + inward)


def _round(words: Words, cell: int, place: int, bits: int, ratio: tuple[int, int]) -> int:
    """The multiple sigma / 2^10 of the number, rounded to an integer: more bits of it where these do not decide."""
    top, bottom = ratio
    while True:
        y, whole = ((2 * cell - 1) << (bits - 1)) + place, bottom << (bits + CELL_BITS)
        # y is a lower end: the number lies in [y, y + 1) in 2^-bits.
        first, last = (2 * top * y + whole) // (2 * whole), (2 * top * (y + 1) + whole - 1) // (2 * whole)
        if first == last:
            return first
        place, bits = (place << 64) | int(words(1)[0]), bits + 64
