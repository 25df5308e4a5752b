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
    """

    feature: int
    cut: int
    left: float
    right: float
    gain: float


@dataclass(frozen=True)
class Cuts:
    """All cuts of all features, side by side, feature by feature.

    feature, cut : (c,) feature of a cut and the last bin to its left
    start, split, end : (c,) first cell of the feature, first cell right of the cut, end of the feature's cells
    """

    feature: np.ndarray
    cut: np.ndarray
    start: np.ndarray
    split: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Cuts:
        """Cuts of features with so many bins each; a feature of one bin has none."""
        ends = np.cumsum(sizes)
        feature = np.repeat(np.arange(len(sizes)), np.asarray(sizes) - 1)
        cut = np.concatenate([np.arange(size - 1) for size in sizes])
        start = (ends - sizes)[feature]
        return cls(feature, cut, start, start + cut + 1, ends[feature])

    def sides(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(c,) sums of cells (cells,) left and right of every cut."""
        total = np.concatenate([[0.0], np.cumsum(cells)])
        return total[self.split] - total[self.start], total[self.end] - total[self.split]


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
) -> tuple[Stump, ...]:
    """Stumps that lower ``G'c + c'Hc / 2 + ridge'c^2 / 2``, one after another, until none gains.

    G (cells,) are sums of gradients in the bins of all features, feature by feature, H (cells, cells) of hessians in
    pairs of bins, whose diagonal gives the hessians of leaves. ``variance`` turns values c into the variance V
    (cuts,) of the noise of ``G + Hc``, summed left of every cut as in `Cuts`. A gain is lowered by ``q V (1/(H_L +
    lambda) + 1/(H_R + lambda)) / 2``; noise alone gains that with q = 1. The ridge counts among the hessians of leaves,
    but not towards ``least_hessian``. Among equal gains the lowest feature and cut come first.
    """
    cuts = Cuts.of(sizes)
    left, right = cuts.sides(np.diag(H))
    allowed = (left > least_hessian) & (right > least_hessian)
    penalty = np.broadcast_to(ridge, G.shape)
    left, right = (part + own for part, own in zip((left, right), cuts.sides(penalty), strict=True))
    # With lambda 0 a side without hessian is not allowed, whatever its quotient.
    with np.errstate(divide="ignore"):
        left, right, whole = (1 / np.maximum(part + lambda_, 0) for part in (left, right, left + right))
        leaves = np.where(allowed, left + right, 0)
    slope, c, found = G.copy(), np.zeros(len(G)), list[Stump]()
    while len(found) < stumps and allowed.any():
        on_left, on_right = cuts.sides(slope)
        with np.errstate(invalid="ignore"):
            gain = on_left**2 * left + on_right**2 * right - (on_left + on_right) ** 2 * whole
            gain -= q * variance(c) * leaves
        best = int(np.argmax(np.where(allowed, gain, -np.inf)))
        if not gain[best] > 0:
            break
        values = -eta * on_left[best] * left[best], -eta * on_right[best] * right[best]
        start, split, end = cuts.start[best], cuts.split[best], cuts.end[best]
        c[start:split] += values[0]
        c[split:end] += values[1]
        slope += H[:, start:split].sum(1) * values[0] + H[:, split:end].sum(1) * values[1]
        slope[start:split] += penalty[start:split] * values[0]
        slope[split:end] += penalty[split:end] * values[1]
        lowered = eta * (1 - eta / 2) * gain[best]
        found.append(Stump(int(cuts.feature[best]), int(cuts.cut[best]), *map(float, (*values, lowered))))
    return tuple(found)


def merged_stumps(stumps: Sequence[Stump], sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """One table of values (b_f,) for each feature: the sum of its stumps."""
    tables = tuple(np.zeros(size) for size in sizes)
    for stump in stumps:
        tables[stump.feature][: stump.cut + 1] += stump.left
        tables[stump.feature][stump.cut + 1 :] += stump.right
    return tables
