"""Boosted stumps on a quadratic in the values of tables: no record is read, sums over bins are all that there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stump:
    """``left`` in the bins 0..cut of a feature, ``right`` in the others; shrinkage is in the values.

    feature : position among the features of the tables
    gain : what it lowers the loss by, less what is charged for noise
    missing_left : whether the last bin, of missing cells, belongs to the left
    """

    feature: int
    cut: int
    left: float
    right: float
    gain: float
    missing_left: bool = False


@dataclass(frozen=True)
class Cuts:
    """All cuts of all features, side by side, feature by feature.

    feature, cut : (c,) feature of a cut and the last bin to its left
    start, split, end : (c,) first cell of the feature, first cell right of the cut, end of the feature's cells
    missing_left : (c,) whether the last cell of the feature, of missing cells, is on the left all the same
    """

    feature: np.ndarray
    cut: np.ndarray
    start: np.ndarray
    split: np.ndarray
    end: np.ndarray
    missing_left: np.ndarray

    @classmethod
    def of(cls, sizes: Sequence[int], missing: Sequence[bool] = ()) -> Cuts:
        """Cuts of features with so many bins each; a feature of one bin has none.

        Where the last bin is of missing cells (``missing``), all cuts of the others come twice: with it on the right,
        as the cut between them and it has it, and then with it on the left.
        """
        ends, may_miss = np.cumsum(sizes), missing or (False,) * len(sizes)
        again = [max(size - 2, 0) if flag else 0 for size, flag in zip(sizes, may_miss, strict=True)]
        counts = list(zip(sizes, again, strict=True))
        feature = np.repeat(np.arange(len(sizes)), [size - 1 + more for size, more in counts])
        cut = np.concatenate([numbers for size, more in counts for numbers in (np.arange(size - 1), np.arange(more))])
        left = np.repeat(
            [flag for _ in counts for flag in (False, True)], [k for s, more in counts for k in (s - 1, more)]
        )
        start = (ends - sizes)[feature]
        return cls(feature, cut, start, start + cut + 1, ends[feature], left)

    def sides(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(c,) sums of cells (cells,) left and right of every cut."""
        total = np.concatenate([[0.0], np.cumsum(cells)])
        left, right = total[self.split] - total[self.start], total[self.end] - total[self.split]
        if not self.missing_left.any():
            return left, right
        moved = np.where(self.missing_left, cells[self.end - 1], 0.0)
        return left + moved, right - moved

    def cells(self, number: int) -> tuple[slice | np.ndarray, slice | np.ndarray]:
        """Cells left and right of one cut."""
        start, split, end = self.start[number], self.split[number], self.end[number]
        if not self.missing_left[number]:
            return slice(start, split), slice(split, end)
        return np.append(np.arange(start, split), end - 1), np.arange(split, end - 1)


def boosted_stumps(
    G: np.ndarray,
    H: np.ndarray,
    sizes: Sequence[int],
    variance: Callable[[np.ndarray], np.ndarray],
    *,
    stumps: int,
    eta: float,
    lambda_: float,
    least_hessian: float,
    q: float,
    ridge: np.ndarray | float = 0.0,
    missing: Sequence[bool] = (),
) -> tuple[Stump, ...]:
    """Stumps that lower ``G'c + c'Hc / 2 + ridge'c^2 / 2``, one after another, until none gains.

    G (cells,) are sums of gradients in the bins of all features, feature by feature, H (cells, cells) of hessians in
    pairs of bins, whose diagonal gives the hessians of leaves. ``variance`` turns values c into the variance V
    (cuts,) of the noise of ``G + Hc``, summed left of every cut as in `Cuts`. A gain is lowered by ``q V (1/(H_L +
    lambda) + 1/(H_R + lambda)) / 2``; noise alone gains that with q = 1. The ridge counts among the hessians of leaves,
    but not towards ``least_hessian``. Among equal gains the lowest feature and cut come first.
    """
    cuts = Cuts.of(sizes, missing)
    left, right = cuts.sides(np.diag(H))
    allowed = (left > least_hessian) & (right > least_hessian)
    penalty = np.broadcast_to(ridge, G.shape)
    left, right = (part + extra for part, extra in zip((left, right), cuts.sides(penalty), strict=True))
    # With lambda 0 a side without hessian is not allowed, whatever its quotient.
    with np.errstate(divide="ignore"):
        left, right, whole = (1 / np.maximum(part + lambda_, 0) for part in (left, right, left + right))
        leaves = np.where(allowed, left + right, 0)
    slope, c, fitted = G.copy(), np.zeros(len(G)), list[Stump]()
    while len(fitted) < stumps and allowed.any():
        on_left, on_right = cuts.sides(slope)
        with np.errstate(invalid="ignore"):
            gain = on_left**2 * left + on_right**2 * right - (on_left + on_right) ** 2 * whole
            gain -= q * variance(c) * leaves
        best = int(np.argmax(np.where(allowed, gain, -np.inf)))
        if not gain[best] > 0:
            break
        values = -eta * on_left[best] * left[best], -eta * on_right[best] * right[best]
        cells, rest = cuts.cells(best)
        c[cells] += values[0]
        c[rest] += values[1]
        slope += H[:, cells].sum(1) * values[0] + H[:, rest].sum(1) * values[1]
        slope[cells] += penalty[cells] * values[0]
        slope[rest] += penalty[rest] * values[1]
        lowered = eta * (1 - eta / 2) * gain[best]
        place, left_value, right_value = (int(cuts.feature[best]), int(cuts.cut[best])), *map(float, values)
        fitted.append(Stump(*place, left_value, right_value, float(lowered), bool(cuts.missing_left[best])))
    return tuple(fitted)


def merged_stumps(stumps: Sequence[Stump], sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """One table of values (b_f,) for each feature: the sum of its stumps."""
    tables = tuple(np.zeros(size) for size in sizes)
    for stump in stumps:
        tables[stump.feature][: stump.cut + 1] += stump.left
        last = len(tables[stump.feature]) - stump.missing_left
        tables[stump.feature][stump.cut + 1 : last] += stump.right
        tables[stump.feature][last:] += stump.left
    return tables
