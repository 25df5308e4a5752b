"""Exact draws of columns without information on the response, without drawing all their records.

Given the labels, screening sees a null column only through its slice means. They are drawn directly: p H numbers
instead of n p. A column that is selected is completed to n records with exactly these slice means.

Independent columns: the mean over the n_h records of slice h is N(0, 1 / n_h), and the deviations from the slice
means are independent of it. AR(1/2) columns x_j = x_{j-1} / 2 + sqrt(3/4) e_j: slice means obey the same recursion
with means of e_j, starting at the last true column; g steps on, x_j = 0.5^g x_{j-g} + sqrt(1 - 0.25^g) e with e
standard normal, again independent of all slice means after its own are taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ....methods.inverse_regression.models import AR_INNOVATION, AR_STEP

# Columns whose recursion is one matrix product.
BLOCK_ROWS = 32


@dataclass(frozen=True, eq=False)
class NullColumns:
    """Slice means of the null columns of one client, and what is needed to complete some of them.

    codes, counts : slice of every record (n,), records of every slice (H,)
    means : (q, H) mean of every null column over the records of every slice, 0 where it is empty
    before : (n,) the last true column, if the columns are AR(1/2); None if they are independent
    """

    codes: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    before: np.ndarray | None

    def materialise(self, columns: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Records (n, columns) of some null columns with the slice means that were drawn, n normals a column.

        Positions are strictly increasing. One call draws all that will be needed: a second would give other residuals.
        """
        chosen = np.asarray(columns, dtype=np.intp)
        if chosen.ndim != 1 or np.any(np.diff(chosen) <= 0) or np.any((chosen < 0) | (chosen >= len(self.means))):
            raise ValueError(f"columns={columns!r} must increase and lie between 0 and {len(self.means) - 1}.")
        drawn = rng.standard_normal((len(chosen), len(self.codes)))
        drawn -= self._slice_means(drawn)[:, self.codes]
        if self.before is not None and len(chosen):
            gaps = np.diff(chosen, prepend=-1)
            previous = self.before - self._slice_means(self.before[None])[0, self.codes]
            for row, gap in zip(drawn, gaps, strict=True):
                row *= np.sqrt(1 - AR_STEP ** (2.0 * gap))
                row += AR_STEP**gap * previous
                previous = row
        drawn += self.means[chosen][:, self.codes]
        return drawn.T

    def _slice_means(self, rows: np.ndarray) -> np.ndarray:
        H = len(self.counts)
        sums = np.stack([np.bincount(self.codes, weights=row, minlength=H) for row in rows]) if len(rows) else rows
        return np.asarray(sums.reshape(len(rows), H) / np.maximum(self.counts, 1))


def draw_null(
    codes: ArrayLike,
    n_slices: int,
    n_columns: int,
    rng: np.random.Generator,
    *,
    before: ArrayLike | None = None,
) -> NullColumns:
    """Draw the slice means of null columns given the slices (n,) of the records: q H normals.

    ``before`` is the last true column, for AR(1/2) columns; without it they are independent.
    """
    slices = np.asarray(codes)
    counts = np.bincount(slices, minlength=n_slices)
    if len(counts) != n_slices:
        raise ValueError(f"codes reach {len(counts) - 1}, which is not a slice of n_slices={n_slices!r}.")
    means = rng.standard_normal((n_columns, n_slices)) * np.where(counts > 0, 1 / np.sqrt(np.maximum(counts, 1)), 0.0)
    if before is not None:
        last = np.asarray(before, dtype=float)
        previous = np.bincount(slices, weights=last, minlength=n_slices) / np.maximum(counts, 1)
        # The recursion in blocks of rows: x = L (sqrt(3/4) e) + 0.5^(1..b) x_before, L_ij = 0.5^(i-j).
        steps = np.arange(BLOCK_ROWS)
        lower = np.tril(AR_STEP ** np.abs(np.subtract.outer(steps, steps)).astype(float)) * AR_INNOVATION
        carried = AR_STEP ** (steps + 1.0)
        for start in range(0, n_columns, BLOCK_ROWS):
            block = means[start : start + BLOCK_ROWS]
            size = len(block)
            block[...] = lower[:size, :size] @ block + np.outer(carried[:size], previous)
            previous = block[-1]
        return NullColumns(slices, counts, means, last)
    return NullColumns(slices, counts, means, None)
