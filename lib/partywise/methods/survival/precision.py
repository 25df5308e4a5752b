"""Precision of survival curves before data: expected cells at a declared hazard, with the intervals of a fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ...core.checks import CheckedFields, Positive
from ...core.randomness import Rng
from ...federation.estimators.precision import NORMAL_95, MadeUp, Precision, made_up_clients, require_because
from .bands import delta_error, log_survival_covariance, pointwise
from .curves import survival_curve
from .model import SurvivalEstimate, SurvivalFacts
from .tables import CellTable

RESTRICTED, SURVIVAL = "restricted mean", "survival at"
TARGET = re.compile(rf"{RESTRICTED}(?: to (?P<end>[0-9.]+))?|{SURVIVAL} (?P<time>[0-9.]+)")
Steps = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class FollowUpModel(CheckedFields):
    """Follow-up of one group of patients, as it is expected.

    horizon : public end of follow-up
    survival : pairs of a time and the share without the event then; the hazard is constant between them
    because : where the horizon and the shares are public
    retention : pairs of a time and the share that is still followed then, of those without the event
    unit : of the times, such as months
    """

    horizon: Positive
    survival: Steps
    because: str = ""
    retention: Steps = ()
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_because(self.because, f"the horizon, {self.horizon:g}, is public, such as the study protocol")
        if not self.survival:
            raise ValueError("survival is empty: give pairs such as [[12, 0.85], [60, 0.45]].")
        for name in ("survival", "retention"):
            before = (0.0, 1.0)
            for pair in getattr(self, name):
                if not (pair[0] > before[0] and 0 < pair[1] <= before[1]):
                    raise ValueError(
                        f"{name} has {list(pair)} after {list(before)}: give later times with shares in (0, 1] that do "
                        "not rise."
                    )
                before = pair

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of all targets, those that are asked for first; ValueError for one that it does not have."""
        for name in wanted:
            parts = TARGET.fullmatch(name)
            end = None if parts is None else parts["end"] or parts["time"]
            if parts is None or (end is not None and not 0 < float(end) <= self.horizon):
                raise ValueError(
                    f"{name!r} is not a target: give '{RESTRICTED}', '{RESTRICTED} to T' or '{SURVIVAL} T' with T in "
                    f"(0, {self.horizon:g}]."
                )
        times = (time for time, _ in self.survival if time <= self.horizon)
        return tuple(dict.fromkeys([*wanted, RESTRICTED, *(f"{SURVIVAL} {time:g}" for time in times)]))

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, divided among the parties in runs of equal length."""
        events, censorings = (
            np.interp(rng(name).standard_exponential(n), *self._hazard(steps), right=2 * self.horizon)
            for name, steps in (("events", self.survival), ("censorings", self.retention))
        )
        times = np.minimum(np.minimum(events, censorings), self.horizon)
        arrays = {
            "times": times,
            "events": (events <= censorings) & (events <= self.horizon),
            "covariates": np.zeros((n, 0)),
            "groups": np.zeros(n, dtype=int),
        }
        clients = made_up_clients(arrays, n, parties)
        sizes = tuple(len(client.block["times"]) for client in clients)
        return MadeUp(clients, SurvivalFacts(records=n, horizon=self.horizon, natural_sizes=sizes))

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the precision by expected counts in the cells, with the noise that an estimate states."""
        table = _table_of(estimate)
        counts = n * self._cell_shares(table.edges)[None, :]
        return self._precision(CellTable(counts, table.edges, table.sd, table.records), targets)

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision by the released table itself."""
        return self._precision(_table_of(estimate), targets)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        lost = "patients leave independently of the event" if self.retention else "nobody leaves before the horizon"
        return ("a hazard that is constant between the stated times", lost)

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations."""
        return "One table of noisy counts by period leaves them, and no record does"

    @property
    def measured_in(self) -> str:
        """Unit of the times."""
        return self.unit

    def _precision(self, table: CellTable, targets: Sequence[str]) -> Precision:
        curve = survival_curve(table)
        covariances = [log_survival_covariance(table, noise=noise) for noise in (True, False)]
        values, widths = list[float](), list[list[float]]()
        for name in targets:
            parts = TARGET.fullmatch(name)
            assert parts is not None
            if parts["time"] is None:
                end = float(parts["end"] or self.horizon)
                gradient = curve.restricted_mean_gradient(end)
                values.append(replace(curve, determined_bins=table.bins).restricted_mean(end))
                widths.append([NORMAL_95 * delta_error(gradient, covariance) for covariance in covariances])
            else:
                time = np.array([float(parts["time"])])
                bands = [pointwise(curve, covariance).at(time, table.edges) for covariance in covariances]
                values.append(float(curve.at(time)[0]))
                widths.append([float(band.upper[0] - band.lower[0]) / 2 for band in bands])
        half_widths, without_noise = np.array(widths).T
        return Precision(np.array(values), half_widths, without_noise, 0.0 if curve.determined_bins else np.inf)

    def _hazard(self, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
        """Cumulative hazards and their times (m,), beyond the horizon the last hazard."""
        times = np.array([0.0, *(time for time, _ in steps)])
        hazards = -np.log([1.0, *(share for _, share in steps)])
        if len(times) == 1:
            return np.array([0.0, 1e-300]), np.array([0.0, 2 * self.horizon])
        rate = (hazards[-1] - hazards[-2]) / (times[-1] - times[-2])
        reach = max(2 * self.horizon - times[-1], self.horizon)
        return np.append(hazards, hazards[-1] + rate * reach), np.append(times, times[-1] + reach)

    def _cell_shares(self, edges: np.ndarray) -> np.ndarray:
        """Expected shares (2 J + 1,) of the cells: events by bin, censorings by bin, and those followed to the end."""
        bins, horizon = len(edges) - 1, edges[-1]
        curves = [self._hazard(steps) for steps in (self.survival, self.retention)]
        knots = np.unique(np.concatenate([edges, *(times[times < horizon] for _, times in curves)]))
        event, censoring = (np.interp(knots, times, hazards) for hazards, times in curves)
        left = np.exp(-event - censoring)
        of_bin = np.searchsorted(edges, knots[:-1], side="right") - 1
        falls, shares = -np.diff(left), np.diff(event)
        total = shares + np.diff(censoring)
        # Between two knots both hazards are constant, and events are their share of all who leave.
        events = falls * np.divide(shares, total, out=np.zeros_like(total), where=total > 0)
        by_bin = [np.bincount(of_bin, part, minlength=bins) for part in (events, falls - events)]
        return np.concatenate([*by_bin, left[-1:]])


def _table_of(estimate: object) -> CellTable:
    """The released table of an estimate of `protocols.table`."""
    table = cast(SurvivalEstimate, estimate).table
    assert table is not None
    return table
