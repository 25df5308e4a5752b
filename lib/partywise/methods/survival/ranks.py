"""The log-rank test of two groups from their released tables, whose variance counts the noise of privacy."""

from __future__ import annotations

import numpy as np

from .exact import RankTest
from .tables import CellTable


def noisy_log_rank(table: CellTable, *, noise: bool = True) -> RankTest | None:
    """Log-rank test of groups 0 and 1 of a table (2, 2 J + 1); None where no bin stands out of its noise.

    Only the bins up to the last whose smaller group at risk stands out of its noise take part.  The variance is that
    of the hypergeometric events and, unless ``noise`` is False, that of the released cells to first order.

    Raises
    ------
    ValueError
        Unless the table has two groups.
    """
    if len(table.cells) != 2:
        raise ValueError(f"the table has {len(table.cells)} groups: the log-rank test compares two.")
    at_risk = table.at_risk
    clear = at_risk.min(axis=0) >= table.least_at_start
    # A bin that does not stand out ends the test: what comes after it is left out as well.
    bins = int(np.argmin(clear)) if not clear.all() else table.bins
    if bins == 0:
        return None
    (d_0, d_1), (n_0, n_1) = table.events[:, :bins], at_risk[:, :bins]
    n = np.maximum(n_0 + n_1, 2)
    q, d = n_1 / n, d_0 + d_1
    variance = float(np.sum(np.maximum(d, 0) * q * (1 - q) * (n - d) / (n - 1)))
    if noise:
        variance += table.sd**2 * float(np.sum(_gradient(d, n, q, table.bins) ** 2))
    if not variance > 0:
        return None
    return RankTest(float(np.sum(d_1 - d * q)), variance)


def _gradient(d: np.ndarray, n: np.ndarray, q: np.ndarray, bins: int) -> np.ndarray:
    """Derivatives of observed minus expected by the cells of both groups, all bins of the table and the survivors."""
    used = len(d)

    def extend(sums: np.ndarray) -> np.ndarray:
        return np.concatenate([sums, np.full(bins - used, sums[-1])])

    def pad(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.zeros(bins - used)])

    B, D = extend(np.cumsum(d * (1 - q) / n)), extend(np.cumsum(d * q / n))
    return np.concatenate(
        [
            pad(1 - q) - B,
            pad(d * (1 - q) / (2 * n)) - B,
            [-B[-1]],
            pad(-q) + D,
            D - pad(d * q / (2 * n)),
            [D[-1]],
        ]
    )
