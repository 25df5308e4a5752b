"""Tests that know the noise: independence in a table, equal means, and the Mantel-Haenszel test over strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr

from ....models.follow_up.incidence import complex_step
from ..consistency import ReleasedTables
from .inference import REMEDY, Inference, known_cells
from .moments import group_moments, mean_difference, moments_of
from .strata import stratum_cells, stratum_masks


@dataclass(frozen=True)
class HypothesisTest:
    """A test of a release.

    statistic, p_value : None where it is not determined, for the reason that is given
    distribution : of the statistic under the hypothesis, over records and noise
    """

    name: str
    statistic: float | None
    p_value: float | None
    distribution: str
    reason: str = ""


def independence(released: ReleasedTables, row: str, column: str) -> HypothesisTest:
    """Test that two variables are independent among records of known levels (Pearson 1900), with the noise."""
    cells = known_cells(released.table(row, column))
    rows, columns = cells.values.shape
    freedom = (rows - 1) * (columns - 1)
    name, distribution = f"independence of {row} and {column}", f"chi-squared, {freedom} degrees of freedom"
    size = float(cells.flat.sum())
    counts = np.maximum(cells.values, 0)
    r, c = counts.sum(axis=1) / counts.sum(), counts.sum(axis=0) / counts.sum()
    margins = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    if not cells.clear(margins).all():
        return HypothesisTest(name, None, None, distribution, f"noise hides a level: {REMEDY}")
    contrast = np.kron(
        (np.eye(rows) - np.outer(r, np.ones(rows)))[:-1], (np.eye(columns) - np.outer(c, np.ones(columns)))[:-1]
    )
    residuals = contrast @ cells.flat
    sampling = size * np.kron((np.diag(r) - np.outer(r, r))[:-1, :-1], (np.diag(c) - np.outer(c, c))[:-1, :-1])
    covariance = sampling + contrast @ cells.noise @ contrast.T
    statistic = float(residuals @ np.linalg.solve(covariance, residuals))
    return HypothesisTest(name, statistic, float(chdtrc(freedom, statistic)), distribution)


def equal_means(released: ReleasedTables, column: str) -> HypothesisTest:
    """Test that two groups have the same mean of a column (Welch 1947), with the noise."""
    item = moments_of(released, column)
    if item.group is None or item.group.known_levels != 2:
        raise ValueError(f"column is {column!r}: its means are not of two groups; ask for them by a binary variable.")
    name, inference = f"equal means of {column}", Inference()
    answer = mean_difference(name, group_moments(released, item), item.half, inference)
    if answer.estimate is None:
        return HypothesisTest(name, None, None, "normal", answer.reason)
    statistic = 2 * inference.factor * answer.estimate / answer.width
    return HypothesisTest(name, statistic, float(2 * ndtr(-abs(statistic))), "normal")


def mantel_haenszel_test(
    released: ReleasedTables, exposure: str, outcome: str, strata: Sequence[str]
) -> HypothesisTest:
    """Test that the odds ratio is 1 in every stratum (Mantel and Haenszel 1959), without correction, with the noise.

    Strata whose size noise hides are left out, as from the ratios.
    """
    cells, _ = stratum_cells(released, exposure, outcome, strata)
    keep = cells.clear(stratum_masks(cells))
    name, distribution = f"Mantel-Haenszel test of {exposure} and {outcome}", "chi-squared, 1 degree of freedom"
    if not keep.any():
        return HypothesisTest(name, None, None, distribution, f"noise hides every stratum: {REMEDY}")

    def difference(x: np.ndarray) -> np.ndarray:
        """Observed minus expected events of the exposed."""
        table = x.reshape(*x.shape[:-1], 2, 2, -1)[..., keep]
        sizes = table.sum(axis=(-3, -2))
        exposed, events = table[..., 1, :, :].sum(axis=-2), table[..., 1, :].sum(axis=-2)
        return (table[..., 1, 1, :] - exposed * events / sizes).sum(axis=-1)[..., None]

    table = cells.values.reshape(2, 2, -1)[..., keep]
    sizes = table.sum(axis=(0, 1))
    arms, outcomes = table.sum(axis=1).prod(axis=0), table.sum(axis=0).prod(axis=0)
    sampling = np.maximum(arms * outcomes / (sizes**2 * np.maximum(sizes - 1, 1e-9)), 0).sum()
    variance = float(sampling + cells.noise_variance(complex_step(difference, cells.flat))[0])
    statistic = float(difference(cells.flat)[0]) ** 2 / variance if variance > 0 else 0.0
    return HypothesisTest(name, statistic, float(chdtrc(1, statistic)), distribution)
