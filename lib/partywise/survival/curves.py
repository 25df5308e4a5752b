"""Survival curves from a released table: all of this is post-processing, and costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from .tables import Table

# Between which hazards of a bin and which survival a released table is kept.
LARGEST_HAZARD = 0.99
LEAST_SURVIVAL = 1e-6


def hazards(table: Table) -> np.ndarray:
    """Hazards h (J,) of a single group: events over records at risk."""
    return np.clip(table.events[0] / table.at_risk[0], -LARGEST_HAZARD, LARGEST_HAZARD)


@dataclass(frozen=True, eq=False)
class Curve:
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
        """Mean survival time up to ``end``: the integral of the curve, exactly."""
        edges = np.append(self.edges[self.edges < end], end)
        survival = self.at(edges)
        before, after = survival[:-1], survival[1:]
        fall = np.log(before / after)
        flat = np.abs(fall) < 1e-8
        means = np.where(flat, (before + after) / 2, (before - after) / np.where(flat, 1, fall))
        return float(np.diff(edges) @ means)

    @property
    def median(self) -> float | None:
        """The first time at which half have had the event; None where more survive the horizon."""
        below = np.flatnonzero(self.survival <= 0.5)
        if not len(below):
            return None
        last = int(below[0])
        upper, lower = np.log(self.survival[last - 1]), np.log(self.survival[last])
        start, end = self.edges[last - 1], self.edges[last]
        return float(start + (end - start) * (upper - np.log(0.5)) / (upper - lower))


def survival_curve(table: Table) -> Curve:
    """Kaplan-Meier of a single group from its released table, made to fall by isotonic regression.

    Single hazards are not cut off at 0: the bias would add up over bins.
    """
    raw = np.concatenate([[1.0], np.cumprod(1 - hazards(table))])
    falling = isotonic_regression(raw, increasing=False).x
    return Curve(table.edges, np.clip(falling, LEAST_SURVIVAL, 1.0), table.determined_bins)


def survival_curves(table: Table) -> tuple[Curve, ...]:
    """Kaplan-Meier of every group."""
    return tuple(survival_curve(table.group(group)) for group in range(len(table.cells)))
