"""Survival curves from a released table: all of this is post-processing, and costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from .exact import reach_half
from .tables import CellTable

# Between which hazards of a bin and which survival a released table is kept.
LARGEST_HAZARD = 0.99
LEAST_SURVIVAL = 1e-6


def hazards(table: CellTable) -> np.ndarray:
    """Hazards h (J,) of a single group: events over records at risk."""
    return np.clip(table.events[0] / table.at_risk[0], -LARGEST_HAZARD, LARGEST_HAZARD)


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """Survival at edges (J + 1,), from 1 on; its logarithm is linear between them.

    determined_bins : edges after the first up to which the released numbers at risk stand out of their noise
    """

    edges: np.ndarray
    survival: np.ndarray
    determined_bins: int

    def at(self, times: np.ndarray) -> np.ndarray:
        """Survival at times between 0 and the horizon."""
        return np.exp(np.interp(times, self.edges, np.log(self.survival)))

    def restricted_mean(self, end: float) -> float:
        """Mean survival time up to ``end``: the integral of the curve, exactly; nan where no bin is determined."""
        pieces = self._pieces(end)
        return float(pieces.widths @ pieces.means) if self.determined_bins else float("nan")

    def restricted_mean_gradient(self, end: float) -> np.ndarray:
        """Derivatives (J,) of the restricted mean by log S at the edges after the first."""
        pieces, logs = self._pieces(end), np.zeros(len(self.edges))
        of_knots = np.append(pieces.widths * pieces.by_before, 0.0)
        of_knots[1:] += pieces.widths * pieces.by_after
        # The last knot is the end, whose log S is interpolated between two edges.
        last = len(of_knots) - 1
        share = (end - self.edges[last - 1]) / (self.edges[last] - self.edges[last - 1])
        logs[:last] = of_knots[:-1]
        logs[last - 1] += (1 - share) * of_knots[-1]
        logs[last] += share * of_knots[-1]
        return logs[1:]

    def _pieces(self, end: float) -> _Pieces:
        edges = np.append(self.edges[self.edges < end], end)
        survival = self.at(edges)
        before, after = survival[:-1], survival[1:]
        fall = np.log(before / after)
        flat = np.abs(fall) < 1e-8
        safe = np.where(flat, 1, fall)
        means = np.where(flat, (before + after) / 2, (before - after) / safe)
        by_before = np.where(flat, before / 2, (before - means) / safe)
        return _Pieces(np.diff(edges), means, by_before, means - by_before)

    @property
    def median(self) -> float | None:
        """The first time at which half have had the event; None where more survive, or no bin is determined."""
        last = self._median_edge
        if last is None:
            return None
        upper, lower = np.log(self.survival[last - 1]), min(np.log(self.survival[last]), np.log(0.5))
        start, end = self.edges[last - 1], self.edges[last]
        return float(start + (end - start) * (upper - np.log(0.5)) / (upper - lower))

    @property
    def median_gradient(self) -> np.ndarray | None:
        """Derivatives (J,) of the median by log S at the edges after the first; None without a median."""
        last = self._median_edge
        if last is None:
            return None
        upper, lower = np.log(self.survival[[last - 1, last]])
        width, gradient = self.edges[last] - self.edges[last - 1], np.zeros(len(self.edges))
        gradient[last - 1] = width * (np.log(0.5) - lower) / (upper - lower) ** 2
        gradient[last] = width * (upper - np.log(0.5)) / (upper - lower) ** 2
        return gradient[1:]

    @property
    def _median_edge(self) -> int | None:
        """Number of the first edge at which survival is one half or less."""
        below = np.flatnonzero(reach_half(self.survival))
        return int(below[0]) if len(below) and self.determined_bins else None


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Widths (k,) between knots of a curve, means of survival there, and their derivatives by log S at either knot."""

    widths: np.ndarray
    means: np.ndarray
    by_before: np.ndarray
    by_after: np.ndarray


def survival_curve(table: CellTable) -> SurvivalCurve:
    """Kaplan-Meier of a single group from its released table, made to fall by isotonic regression.

    Single hazards are not cut off at 0: the bias would add up over bins.
    """
    raw = np.concatenate([[1.0], np.cumprod(1 - hazards(table))])
    falling = isotonic_regression(raw, increasing=False).x
    return SurvivalCurve(table.edges, np.clip(falling, LEAST_SURVIVAL, 1.0), table.determined_bins)


def survival_curves(table: CellTable) -> tuple[SurvivalCurve, ...]:
    """Kaplan-Meier of every group."""
    return tuple(survival_curve(table.group(group)) for group in range(len(table.cells)))
