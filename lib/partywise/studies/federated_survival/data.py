"""Replicate of the study, its public facts, and its division among owners: neighbouring blocks of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...federation.parties import Party
from ...methods.survival.exact import (
    CoxFit,
    EventTable,
    NoMaximum,
    StepCurve,
    cox,
    events_of,
    kaplan_meier,
    nelson_aalen,
)
from ...methods.survival.model import SurvivalFacts
from ...methods.survival.records import SurvivalRecords


@dataclass(frozen=True)
class SurvivalData:
    """One replicate: records in the order in which clients hold them.

    times, events, groups : (n,); covariates : (n, p), scaled
    sizes : (K,) records of natural clients, (0,) where blocks are dealt; client_names : what these are called
    group_names : (A,) where there are several
    clip_mask : (n,) bool, records whose covariates were clipped or shrunk; only an evaluator reads it
    horizon, radius, edges : as of `SurvivalFacts`
    truth : (p,) log hazard ratios of the scaled covariates to which pooled fits tend, (0,) where unknown
    true_survival : (A, m) true survival at ``true_times`` (m,), both empty where unknown
    ids : (n,) str, what the records of own data are called; person : (n,) int, whose each is; both (0,) where unknown
    """

    times: np.ndarray
    events: np.ndarray
    covariates: np.ndarray
    groups: np.ndarray
    sizes: np.ndarray
    clip_mask: np.ndarray
    edges: np.ndarray
    horizon: float
    radius: float
    client_names: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()
    truth: np.ndarray = field(default_factory=lambda: np.zeros(0))
    true_times: np.ndarray = field(default_factory=lambda: np.zeros(0))
    true_survival: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    ids: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=str))
    person: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))

    @property
    def n_groups(self) -> int:
        """A."""
        return max(len(self.group_names), 1)

    @cached_property
    def records(self) -> SurvivalRecords:
        """All records."""
        return SurvivalRecords(self.times, self.events.astype(bool), self.covariates, self.groups)

    @cached_property
    def follow_up(self) -> SurvivalRecords:
        """All records until the horizon."""
        return self.records.until(self.horizon)

    @cached_property
    def pooled_curves(self) -> tuple[StepCurve, ...]:
        """Kaplan-Meier of each group."""
        return tuple(map(kaplan_meier, self._tables))

    @cached_property
    def pooled_hazards(self) -> tuple[StepCurve, ...]:
        """Nelson-Aalen of each group."""
        return tuple(map(nelson_aalen, self._tables))

    @cached_property
    def _tables(self) -> list[EventTable]:
        return [events_of(self.follow_up.of_group(group)) for group in range(self.n_groups)]

    @cached_property
    def pooled_fit(self) -> CoxFit | None:
        """Cox regression of all records until the horizon, ties by Efron; None where the likelihood has no maximum."""
        try:
            return cox(self.follow_up)
        except NoMaximum:
            return None

    def n_persons(self, sizes: Sequence[int], rows_per_user: int | None) -> list[int]:
        """Persons at clients of such sizes; at least so many where it is not known whose records are whose."""
        if len(self.person):
            return [len(np.unique(part)) for part in np.split(self.person, np.cumsum(sizes)[:-1])]
        return [-(-size // (rows_per_user or 1)) for size in sizes]

    def public(self) -> SurvivalFacts:
        """The part of the data set that is public."""
        return SurvivalFacts(
            records=len(self.times),
            horizon=self.horizon,
            covariates=self.covariates.shape[1],
            groups=self.n_groups,
            radius=self.radius,
            edges=tuple(map(float, self.edges)),
            natural_sizes=tuple(map(int, self.sizes)),
        )


def split(data: SurvivalData, n_parties: int, spec: object, settings: object) -> list[Party]:
    """Neighbouring blocks of records at so many clients, or the natural clients."""
    ends = np.cumsum(data.public().sizes(n_parties))[:-1]
    names = data.client_names or tuple(f"client {k + 1}" for k in range(n_parties))
    arrays = {"times": data.times, "events": data.events.astype(bool), "covariates": data.covariates}
    parts = {name: np.split(array, ends) for name, array in (arrays | {"groups": data.groups}).items()}
    return [Party(name, "client", {key: parts[key][number] for key in parts}) for number, name in enumerate(names)]


def folds(data: SurvivalData, n_folds: int, settings: object) -> np.ndarray:
    """All records train: every comparison is with the fit of all of them."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: nothing is held out, so there is 1 fold.")
    return np.zeros(len(data.times), dtype=int)
