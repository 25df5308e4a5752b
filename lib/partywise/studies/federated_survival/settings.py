"""Settings of the cases of federated survival analysis; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Annotated, Literal, Self

from ...core.checks import CheckedFields, Count, Positive, Range
from .tables import RESOURCE, TABLES, FollowUp, Name


@dataclass(frozen=True)
class SurvivalCaseSettings(CheckedFields):
    """Settings that all cases share: all are public and fixed before data are seen.

    radius : R, longest scaled covariates; None: the root of their number, so that none is shrunk
    edges : of the cells, where they are not of equal width: from 0 to the horizon
    """

    radius: Positive | None = None
    edges: tuple[Annotated[float, Range(0)], ...] = ()

    @property
    def n_covariates(self) -> int:
        """p."""
        raise NotImplementedError

    @property
    def end(self) -> float:
        """Horizon tau."""
        raise NotImplementedError

    @property
    def longest(self) -> float:
        """R."""
        return sqrt(max(self.n_covariates, 1)) if self.radius is None else self.radius

    def of_all(self, clients: int) -> Self:
        """Return the settings of releases about all clients' records, at the study's delta, for every releaser."""
        return self

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """Natural clients; none where records are dealt among any number."""
        return ()

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, where there are several."""
        return ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edges and (list(self.edges) != sorted(set(self.edges)) or self.edges[0] != 0 or len(self.edges) < 2):
            raise ValueError(f"edges is {list(self.edges)}: give increasing numbers from 0 to the horizon.")
        if self.edges and self.edges[-1] != self.end:
            raise ValueError(f"edges is {list(self.edges)}: the last one must be the horizon, {self.end:g}.")


@dataclass(frozen=True)
class SurvivalGeneratedSettings(SurvivalCaseSettings):
    """Weibull hazards with a baseline for each third of the records.

    n : records of all clients; effects : of the covariates, ``moderate`` ones half of the ``strong``
    covariates : whether there are the six of the generator, or none
    hazard_ratio : of a second group, drawn at even odds; None: one group
    """

    n: Annotated[int, Range(2)] = 3000
    effects: Literal["strong", "moderate"] = "strong"
    covariates: bool = True
    hazard_ratio: Positive | None = None

    @property
    def n_covariates(self) -> int:
        """p."""
        return 6 if self.covariates else 0

    @property
    def end(self) -> float:
        """tau of the generator."""
        return 2.0

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, where there are two."""
        return () if self.hazard_ratio is None else ("group 0", "group 1")

    @property
    def unit(self) -> str:
        """Unit of the times."""
        return "1"


@dataclass(frozen=True, kw_only=True)
class SurvivalDatasetSettings(SurvivalCaseSettings):
    """A shipped table: dealt among clients anew for each replicate, unless it has natural ones.

    dataset : its name; horizon : tau, by default that of the table; covariates : False leaves them out
    n : records that are drawn; by default all
    """

    dataset: Name
    horizon: Positive | None = None
    covariates: bool = True
    n: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n is not None and (self.n > self.table.rows or self.natural_clients):
            raise ValueError(
                f"n is {self.n}: dataset {self.dataset!r} has {self.table.rows} records"
                f"{', of natural clients; leave n out' if self.natural_clients else '; give no more'}."
            )

    @cached_property
    def table(self) -> FollowUp:
        """Entry of the catalogue."""
        return TABLES[self.dataset]

    @property
    def resources(self) -> tuple[str, ...]:
        """Data sets that are fetched."""
        return (RESOURCE,)

    @property
    def n_covariates(self) -> int:
        """p."""
        return len(self.table.covariates) if self.covariates else 0

    @property
    def end(self) -> float:
        """tau."""
        return self.table.horizon if self.horizon is None else self.horizon

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """Natural clients."""
        return self.table.clients

    @property
    def unit(self) -> str:
        """Unit of the times."""
        return self.table.unit

    @property
    def rows_per_user(self) -> int | None:
        """Records of one person, where these are several."""
        return self.table.rows_per_user
