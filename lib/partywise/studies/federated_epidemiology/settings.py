"""Settings of the cases of federated epidemiology; checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from ...core.checks import CheckedFields, Count, Range
from .tables import TABLES, CohortTable, Name

Target = Literal["population", "cohort"]


@dataclass(frozen=True)
class EpidemiologyCaseSettings(CheckedFields):
    """Settings that all cases share: all are public and fixed before data are seen."""

    @property
    def target(self) -> Target:
        """Whether intervals are about a population, or about the records of the case."""
        raise NotImplementedError

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """Natural clients; none where records are dealt among any number."""
        return ()


@dataclass(frozen=True)
class EpidemiologyGeneratedSettings(EpidemiologyCaseSettings):
    """A made-up cohort with an exposure, an outcome, a score and two competing causes, and the questions of a paper.

    n : records of all clients
    rows_per_user : records of each person, which follow each other; None: one
    """

    n: Annotated[int, Range(2)] = 3000
    rows_per_user: Annotated[int, Range(2)] | None = None

    @property
    def target(self) -> Target:
        """The population, which is known; these records where a person has several, for these are not independent."""
        return "population" if self.rows_per_user is None else "cohort"


@dataclass(frozen=True, kw_only=True)
class EpidemiologyDatasetSettings(EpidemiologyCaseSettings):
    """A shipped table, dealt among clients anew for each replicate.

    dataset : its name; n : records that are drawn; by default all
    """

    dataset: Name
    n: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n is not None and self.n > self.table.rows:
            raise ValueError(f"n is {self.n}: dataset {self.dataset!r} has {self.table.rows} records; give no more.")

    @cached_property
    def table(self) -> CohortTable:
        """Entry of the catalogue."""
        return TABLES[self.dataset]

    @property
    def resources(self) -> tuple[str, ...]:
        """Data sets that are fetched."""
        return self.table.resources

    @property
    def target(self) -> Target:
        """Its records, whose exact numbers are known."""
        return "cohort"
