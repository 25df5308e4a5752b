"""Survival and cumulative incidence from a released table, which is post-processing, and the exact incidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from ...models.follow_up.incidence import ExitCurves, complex_step, exit_curves, logit_interval
from ...models.follow_up.partial_likelihood import event_times
from .exact import event_table, reach_half
from .records import SurvivalRecords
from .tables import CellTable

# Between which hazards of a bin and which survival a released table is kept.
LARGEST_HAZARD = 0.99
LEAST_SURVIVAL = 1e-6
# Variance of a count that rounds a uniform number, which the noise of a whole-number release carries beside its own.
ROUNDING_VARIANCE = 1 / 12


def hazards(table: CellTable) -> np.ndarray:
    """Hazards h (J,) of a single group: events of all causes over records at risk."""
    return _exits(table.cells[0], table).hazards.sum(axis=0)


def _exits(cells: np.ndarray, table: CellTable) -> ExitCurves:
    """Curves of the cells (..., (C + 1) J + 1) of one group, in the layout of a table."""
    ends = table.causes * table.bins
    events = cells[..., :ends].reshape(*cells.shape[:-1], table.causes, table.bins)
    return exit_curves(events, cells[..., ends:-1], cells[..., -1], largest_hazard=LARGEST_HAZARD)


@dataclass(frozen=True, eq=False)
class IncidenceCurves:
    """Shares of a group that have had an event of each of C causes, other causes being at work.

    times : (m,) at which they are known, increasing; values : (C, m)
    errors : (C, m) standard errors over records and noise; None of exact curves
    jumps : whether they jump at the times, as exact ones do; others are straight between them
    """

    times: np.ndarray
    values: np.ndarray
    errors: np.ndarray | None
    jumps: bool

    def at(self, times: np.ndarray) -> np.ndarray:
        """Shares (C, k) at times up to the horizon."""
        if not self.jumps:
            return np.stack([np.interp(times, self.times, row) for row in self.values])
        places = np.searchsorted(self.times, times, side="right")
        return np.column_stack([np.zeros(len(self.values)), self.values])[:, places]

    def intervals(self, level: float = 0.95) -> np.ndarray | None:
        """Intervals (C, m, 2) at the times on the logit scale; None of exact curves."""
        if self.errors is None:
            return None
        rows = zip(self.values, self.errors, strict=True)
        return np.stack([logit_interval(values, errors, level) for values, errors in rows])


def incidence_curves(table: CellTable) -> IncidenceCurves:
    """Cumulative incidence (Aalen and Johansen 1978) of a single group from its released table, by the delta method."""

    def of_cells(cells: np.ndarray) -> np.ndarray:
        incidence = _exits(cells, table).incidence
        return incidence.reshape(*incidence.shape[:-2], -1)

    cells = table.cells[0]
    covariance = delta_covariance(table, complex_step(of_cells, cells))
    shape = (table.causes, table.bins + 1)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0)).reshape(shape)
    # Beyond these edges the numbers at risk do not stand out of their noise: nothing is known there.
    errors[:, table.determined_bins + 1 :] = np.inf
    return IncidenceCurves(table.edges, of_cells(cells).reshape(shape), errors, jumps=False)


def aalen_johansen(records: SurvivalRecords, causes: int) -> IncidenceCurves:
    """Cumulative incidence (Aalen and Johansen 1978) of records with so many causes, at their own event times."""
    times = event_times(records)
    of_cause = [event_table(records.take(records.causes == cause), times).events for cause in range(causes)]
    table = event_table(records, times)
    # Records that leave without an event before the next time, and those at the last one.
    censored = table.at_risk - table.events - np.append(table.at_risk[1:], 0)
    curves = exit_curves(np.stack(of_cause), censored, np.zeros(()), lost=0.0)
    return IncidenceCurves(times, curves.incidence[:, 1:], None, jumps=True)


def delta_covariance(table: CellTable, gradient: np.ndarray, *, noise: bool = True) -> np.ndarray:
    """Covariance (m, m) of values with a gradient (m, (C + 1) J + 1) by the cells of a single group.

    The multinomial of n records, and the noise of the released cells unless ``noise`` is False.
    """
    counts = np.maximum(table.cells[0], 0)
    shares = counts / max(float(counts.sum()), 1.0)
    mean = gradient @ shares
    covariance = table.size * ((gradient * shares) @ gradient.T - np.outer(mean, mean))
    if not noise or table.sd == 0:
        return np.asarray(covariance)
    if table.records is not None:
        gradient = gradient - gradient.mean(axis=1, keepdims=True)
    return np.asarray(covariance + (table.sd**2 + ROUNDING_VARIANCE) * gradient @ gradient.T)


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


def incidences_of(table: CellTable) -> tuple[IncidenceCurves, ...]:
    """Cumulative incidence of every group; none where there is one cause, whose incidence is 1 minus survival."""
    groups = range(len(table.cells)) if table.causes > 1 else ()
    return tuple(incidence_curves(table.group(group)) for group in groups)


def survival_curves(table: CellTable) -> tuple[SurvivalCurve, ...]:
    """Kaplan-Meier of every group."""
    return tuple(survival_curve(table.group(group)) for group in range(len(table.cells)))
