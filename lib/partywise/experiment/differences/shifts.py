"""Means of two cubes that moved by more than two standard errors, slot by slot.

A slot is a case, a method, a number of parties and an epsilon; what is averaged is each replicate's mean over folds.

The test.  A replicate draws its data and its noise at addresses of the root seed, the study, the case and its own
number, so two cubes of one root seed share their random numbers.  Then the differences of the replicates that both hold
are one sample: its mean is compared with its own standard error (a paired test, in which what the draws have in common
cancels).  With different root seeds nothing is shared: the difference of the two means is compared with the root of the
sum of their squared standard errors (two samples, each with all of its replicates).  Differences below ``ROUNDING`` of
the larger value are rounding, which ``compare`` finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import xarray as xr
from scipy.special import stdtr

from ..results.cube import DIMS

CASE, METHOD, REPLICATE, PARTIES, FOLD, EPSILON = DIMS
SLOT = (CASE, METHOD, PARTIES, EPSILON)
LIMIT = 2.0
ROUNDING = 1e-12


Label = str | int | float
Place = tuple[Label, ...]


class Comparison(TypedDict):
    """Numbers of a `Shift`."""

    first: float
    second: float
    difference: float
    error: float
    replicates: int
    by_chance: float


@dataclass(frozen=True)
class Shift:
    """The mean of a variable in a slot of two cubes.

    where : labels of the slot, in the order case, method, parties, epsilon
    first, second : means over the replicates that are compared, NaN where nothing is defined
    difference, error : of the means; the standard error is NaN where fewer than two replicates have a value
    replicates : number of pairs, or the smaller of the two numbers
    by_chance : probability that two standard errors are exceeded where only the draws changed, 0 without an error
    """

    where: Place
    variable: str
    first: float
    second: float
    difference: float
    error: float
    replicates: int
    by_chance: float

    @property
    def z(self) -> float:
        """Difference in standard errors: inf where all pairs differ alike, NaN without a standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.divide(self.difference, self.error))

    @property
    def kind(self) -> str:
        """``moved`` by more than two standard errors, ``no_error``, ``one_only`` (defined in one cube) or ``""``."""
        if np.isnan(self.first) != np.isnan(self.second):
            return "one_only"
        size = max(abs(self.first), abs(self.second))
        if self.difference == 0 or abs(self.difference) <= ROUNDING * (size if np.isfinite(size) else 0.0):
            return ""
        if np.isinf(self.difference):
            return "moved"
        if np.isnan(self.error):
            return "no_error"
        return "moved" if abs(self.difference) > LIMIT * self.error else ""


def of_replicates(cube: xr.Dataset, name: str) -> xr.DataArray:
    """Mean over folds of a variable in the cells of the design, NaN where none is defined."""
    values = cube[name].transpose(*DIMS).where(cube["status"].transpose(*DIMS) > 0)
    with np.errstate(invalid="ignore"):
        return values.astype(float).mean(FOLD, skipna=True)


def shifts(first: xr.Dataset, second: xr.Dataset, names: list[str], paired: bool) -> Iterator[Shift]:
    """The slots that both cubes hold, with a value of some variable in one of them at least."""
    for name in names:
        old, new = _common(of_replicates(first, name), of_replicates(second, name), paired)
        a, b = (part.transpose(*SLOT, REPLICATE) for part in (old, new))
        labels = [a[dim].values.tolist() for dim in SLOT]
        defined = ~(np.isnan(a.values).all(-1) & np.isnan(b.values).all(-1))
        for place in np.argwhere(defined).tolist():
            where = tuple(values[i] for values, i in zip(labels, place, strict=True))
            numbers = (_pairs if paired else _samples)(a.values[tuple(place)], b.values[tuple(place)])
            yield Shift(where, name, **numbers)


def _common(old: xr.DataArray, new: xr.DataArray, paired: bool) -> tuple[xr.DataArray, xr.DataArray]:
    """Both over the labels that both have; of replicates only where they are pairs."""
    labels: dict[str, list[Label]] = {}
    for dim in (*SLOT, *((REPLICATE,) if paired else ())):
        new_labels = set(new[dim].values.tolist())
        labels[dim] = [label for label in old[dim].values.tolist() if label in new_labels]
    return old.sel(labels), new.sel(labels)


def _pairs(a: np.ndarray, b: np.ndarray) -> Comparison:
    """Mean difference of the replicates that have a value in both, and its standard error."""
    both = ~(np.isnan(a) | np.isnan(b))
    if not both.any():
        return _numbers(_mean(a), _mean(b), np.nan, np.nan, 0, np.nan)
    x, y = a[both], b[both]
    with np.errstate(invalid="ignore"):
        each = np.where(x == y, 0.0, y - x)
        n, error = len(each), np.nan
        if n > 1 and np.isfinite(each).all():
            error = float(each.std(ddof=1) / np.sqrt(n))
        return _numbers(_mean(x), _mean(y), float(each.mean()), error, n, n - 1)


def _samples(a: np.ndarray, b: np.ndarray) -> Comparison:
    """Difference of two means, its standard error and its degrees of freedom (Welch, Satterthwaite)."""
    x, y = a[~np.isnan(a)], b[~np.isnan(b)]
    first, second, n = _mean(x), _mean(y), min(len(x), len(y))
    with np.errstate(invalid="ignore"):
        difference = 0.0 if first == second else second - first
    if n < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return _numbers(first, second, difference, np.nan, n, np.nan)
    parts = np.array([part.var(ddof=1) / len(part) for part in (x, y)])
    below = float(np.sum(parts**2 / [len(x) - 1, len(y) - 1]))
    return _numbers(first, second, difference, float(np.sqrt(parts.sum())), n, parts.sum() ** 2 / below if below else n)


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    with np.errstate(invalid="ignore"):
        return float(defined.mean()) if len(defined) else float("nan")


def _numbers(first: float, second: float, difference: float, error: float, n: int, df: float) -> Comparison:
    spread = error > ROUNDING * max(abs(first), abs(second))
    chance = 2.0 * float(stdtr(df, -LIMIT)) if spread else 0.0
    return {
        "first": first,
        "second": second,
        "difference": difference,
        "error": error,
        "replicates": n,
        "by_chance": chance,
    }
