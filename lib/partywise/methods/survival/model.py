"""Public facts before a survival analysis, and the estimate that it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from ...federation.parties import client_sizes
from ...models.intervals import reason_of
from .bands import Band, delta_error, log_survival_covariance, median_interval, released_bands
from .certified.scores import HazardModel, ScoreTerms
from .curves import IncidenceCurves, SurvivalCurve
from .exact import RankTest, StepCurve
from .records import round_times
from .tables import CellTable, equal_edges


@dataclass(frozen=True, eq=False)
class SurvivalFacts:
    """Facts that everyone knows before data are seen.

    records : n, of all clients together
    horizon : tau, in the unit of the times; never the largest time, which is a record
    covariates : p; groups : A, of which records are in one each; causes : C, of which each event has one
    radius : R, longest scaled covariates
    edges : of the cells, where they are not of equal width; from 0 to the horizon
    natural_sizes : records of each natural client; empty where blocks are dealt among any number of clients
    names : of the covariates, for sentences about them; empty: their numbers, from 1
    """

    records: int
    horizon: float
    covariates: int = 0
    groups: int = 1
    causes: int = 1
    radius: float = 1.0
    edges: tuple[float, ...] = ()
    natural_sizes: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def sizes(self, clients: int) -> tuple[int, ...]:
        """Records n_k of each of so many clients, as of `client_sizes`."""
        return client_sizes(self.records, clients, self.natural_sizes)

    def cell_edges(self, bins: int) -> np.ndarray:
        """Edges (J + 1,) of the cells: those that are given, else of so many bins of equal width."""
        return round_times(np.asarray(self.edges), self.horizon) if self.edges else equal_edges(self.horizon, bins)

    def cutoff(self, cutoff: float | None) -> float:
        """End of the events that count: the horizon, or an earlier one; ValueError for a later one."""
        if cutoff is not None and cutoff > self.horizon:
            raise ValueError(
                f"cutoff is {cutoff:g}: no record is followed beyond the horizon, {self.horizon:g}; give at most that."
            )
        return self.horizon if cutoff is None else cutoff

    def require_covariates(self, protocol: str) -> None:
        """ValueError where there are none, of which a method fits the log hazard ratios, or more groups than one."""
        if self.covariates == 0:
            raise ValueError(
                f"covariates is 0: protocol {protocol!r} fits log hazard ratios of covariates; take 'table' for curves."
            )
        if self.groups > 1:
            raise ValueError(
                f"groups is {self.groups}: protocol {protocol!r} is of one group; make it a covariate, or take 'table'."
            )

    def __post_init__(self) -> None:
        if not 0 < self.horizon < float("inf"):
            raise ValueError(f"horizon={self.horizon!r} must be positive and finite: give a public end of follow-up.")
        if self.edges:
            edges = np.asarray(self.edges, dtype=float)
            if len(edges) < 2 or edges[0] != 0 or edges[-1] != self.horizon or not np.all(np.diff(edges) > 0):
                raise ValueError(f"edges={list(self.edges)} must increase from 0 to the horizon, {self.horizon:g}.")


# Scalars of a fit by name.
Numbers: TypeAlias = dict[str, float | int | bool | str | None]


@dataclass(frozen=True, eq=False)
class SurvivalEstimate:
    """Result of every protocol of survival analysis; fields that a protocol lacks are None.

    epsilon_claimed : the target of private protocols; nan where the source claims no number
    clients : number of clients
    curves : of each group (A,), released or exact; incidences : of each group (A,) by cause, where there are several
    table : the released cells
    log_rank : of groups 0 and 1, where there are two
    coefficients, covariance : log hazard ratios (p,) of the scaled covariates, and their covariance (p, p) over records
        and noise
    path : (T + 1, p) coefficients after each round
    model, terms : released baseline and coefficients, and the bins that they are of
    propensity : (p,) coefficients of a logistic model of a treatment among the covariates, intercept first
    numbers : further scalars of the fit
    status, reason : ``ok``, or why coefficients are missing, and the sentence on it
    """

    epsilon_claimed: float = float("nan")
    clients: int = 1
    curves: tuple[SurvivalCurve | StepCurve, ...] = ()
    incidences: tuple[IncidenceCurves, ...] = ()
    table: CellTable | None = None
    log_rank: RankTest | None = None
    coefficients: np.ndarray | None = None
    covariance: np.ndarray | None = None
    path: np.ndarray | None = None
    model: HazardModel | None = None
    terms: ScoreTerms | None = None
    propensity: np.ndarray | None = None
    numbers: Numbers = field(default_factory=dict)
    status: str = "ok"
    reason: str = ""

    @property
    def standard_errors(self) -> np.ndarray | None:
        """Standard errors of the coefficients, shape (p,); None without a covariance."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    @property
    def interval_reason(self) -> str:
        """Why intervals are missing, as of `partywise.models.intervals.reason_of`.

        Empty where coefficients have some, or where curves do and coefficients are not part of the estimate.
        """
        curves_alone = self.table is not None and self.status != "not_estimable"
        if self.covariance is not None or (self.coefficients is None and curves_alone):
            return ""
        if self.coefficients is None and self.reason:
            return reason_of("not estimable", self.reason)
        names = {"ok": "not computed", "not_estimable": "effect or events"}
        return reason_of(names.get(self.status, "not converged"), self.reason)

    def restricted_mean_errors(self, end: float) -> np.ndarray:
        """Standard errors (A,) of the restricted means, over records and noise; nan where there is none."""
        errors = []
        for group, curve in enumerate(self.curves):
            if isinstance(curve, StepCurve):
                errors.append(curve.restricted_mean_error(end))
            else:
                known = curve.restricted_mean_gradient(end) if curve.determined_bins else None
                errors.append(self._error_of(group, known))
        return np.array(errors)

    def median_errors(self) -> np.ndarray:
        """Standard errors (A,) of the medians of released curves; nan of exact ones, and without a median."""
        gradients = [curve.median_gradient if isinstance(curve, SurvivalCurve) else None for curve in self.curves]
        return np.array([self._error_of(group, gradient) for group, gradient in enumerate(gradients)])

    def median_intervals(self, level: float = 0.95) -> np.ndarray:
        """Intervals (A, 2) of the medians: of released curves by `median_errors`, nan where there is none."""
        half, ends = float(ndtri((1 + level) / 2)) * self.median_errors(), []
        for curve, width in zip(self.curves, half, strict=True):
            if isinstance(curve, StepCurve):
                ends.append(median_interval(curve, level))
            else:
                centre = float("nan") if curve.median is None else curve.median
                ends.append((centre - width, centre + width))
        return np.array(ends)

    def _error_of(self, group: int, gradient: np.ndarray | None) -> float:
        """Standard error by the released table; nan without one."""
        if self.table is None or gradient is None:
            return float("nan")
        return delta_error(gradient, log_survival_covariance(self.table.group(group)))

    def bands(self, *, together: bool, noise: bool = True) -> list[Band]:
        """Return 95 % intervals per released curve, or its band for all times together; none without a table."""
        if self.table is None:
            return []
        curves = [curve for curve in self.curves if isinstance(curve, SurvivalCurve)]
        return released_bands(self.table, curves, together=together, noise=noise)
