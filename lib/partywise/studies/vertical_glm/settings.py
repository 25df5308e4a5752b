"""Settings of the cases of vertical generalised linear models; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...checks import Natural, Positive, Range, check_fields, check_unread_options
from ...datasets.descriptions import TABLES
from ...datasets.shipped_table import ShippedTable
from ...glm.options import Family

Records = Literal["aligned", "unaligned"]
# Families whose generator has a mean of its own.
WITH_MEAN = ("poisson", "gamma", "inverse_gaussian")


@dataclass(frozen=True, kw_only=True)
class CaseSettings:
    """What every case has.

    records : ``aligned`` (row i is the same record at all parties), or ``unaligned``: every party has its own records
        in its own order with their ids, and the protocol begins by aligning them; that discloses who takes part, so
        that even a private method certifies no row then, and ``epsilon_certified_part`` is that of its releases
    """

    records: Records = "aligned"

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def aligned(self) -> bool:
        """Whether row i is the same record at all parties."""
        return self.records == "aligned"

    @property
    def model(self) -> Family:
        """Family of the response."""
        raise NotImplementedError

    @property
    def own_party_count(self) -> int | None:
        """Number of parties that the data have; None where columns may be dealt to any."""
        return None

    @property
    def party_names(self) -> tuple[str, ...]:
        """Names of the parties, where the data give them: otherwise they are numbered, the active one first."""
        return ()

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of all parties, where the data give them."""
        return ()

    @property
    def active_index(self) -> int:
        """Number of the active party."""
        return 0

    @property
    def columns_without_bounds(self) -> str:
        """Why private methods have no public constants to scale the data by, as a sentence; empty if they have."""
        return ""

    def names(self, n_parties: int) -> tuple[str, ...]:
        """Name of each party, in the order of parties."""
        if self.party_names:
            return self.party_names
        others = (f"passive {k}" for k in range(1, n_parties))
        return ("active", *others)

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party, in the order of parties; ValueError for another number of parties."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class PartialOverlap(CaseSettings):
    """Cases whose records can be made to arrive unaligned.

    overlap : share of the records that all parties have; each of the others is missing at one party
    """

    overlap: Annotated[float, Range(0, 1, "(]")] = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.aligned:
            check_unread_options(self, ("overlap",), "records 'unaligned'")


@dataclass(frozen=True, kw_only=True)
class GeneratedSettings(PartialOverlap):
    """Normal columns with equal correlations and a response of the family.

    n : records; p : columns; rho : correlation of any two columns
    mean : of the response, of families with the logarithm as their link
    split : columns to parties in runs (``contiguous``) or in turn (``round_robin``)
    scales : whether columns have the standard deviation 1 (``unit``), or from 1e-6 to 1e6 (``uneven``)
    """

    family: Family = "gaussian"
    n: Annotated[int, Range(4)] = 2000
    p: Annotated[int, Range(2)] = 10
    rho: Annotated[float, Range(0, 1, "[)")] = 0.3
    mean: Positive = 2.0
    split: Literal["contiguous", "round_robin"] = "contiguous"
    scales: Literal["unit", "uneven"] = "unit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family not in WITH_MEAN:
            check_unread_options(self, ("mean",), f"family {', '.join(WITH_MEAN)}")
        if self.n <= self.p + 1:
            raise ValueError(f"n is {self.n}: give more records than the {self.p + 1} coefficients.")

    @property
    def model(self) -> Family:
        """Family of the response."""
        return self.family

    @property
    def columns_without_bounds(self) -> str:
        """Uneven columns have no meaning that would tell their scale."""
        return "" if self.scales == "unit" else "scales 'uneven' stands for columns whose scale nobody declared"

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party, as even as possible."""
        if not 2 <= n_parties <= self.p:
            raise ValueError(
                f"parties is {n_parties}: there must be 2 to {self.p} of them, so that each of {self.p} columns is at "
                "one and none is without."
            )
        if self.split == "round_robin":
            return tuple(tuple(range(k, self.p, n_parties)) for k in range(n_parties))
        cuts = [k * self.p // n_parties for k in range(n_parties + 1)]
        return tuple(tuple(range(cuts[k], cuts[k + 1])) for k in range(n_parties))


@dataclass(frozen=True, kw_only=True)
class DatasetSettings(PartialOverlap, ShippedTable):
    """A real table whose columns lie at natural parties.

    family : by default its usual one; rows : so many random records; 0 for all
    """

    family: Family | None = None
    rows: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.table.holders:
            raise ValueError(
                f"dataset is {self.dataset!r}: no location and scale of its columns are public, by which a private fit "
                f"scales them; take one of {', '.join(name for name, one in TABLES.items() if one.holders)}."
            )
        if self.family is not None and self.family not in self.response_facts.families:
            raise ValueError(
                f"family is {self.family!r}: response {self.response_facts.name!r} of dataset {self.dataset!r} fits "
                f"{', '.join(self.response_facts.families)}."
            )
        available = self.response_facts.rows
        if self.rows and not len(self.table.columns) + 1 < self.rows <= available:
            raise ValueError(
                f"rows is {self.rows}: there are {available}, and {len(self.table.columns) + 1} coefficients "
                "need more records; give a number between, or 0 for all."
            )
        # Figures select cases by the response and the family in force.
        object.__setattr__(self, "response", self.response_facts.name)
        object.__setattr__(self, "family", self.family or self.response_facts.families[0])

    @property
    def model(self) -> Family:
        """Family of the response."""
        assert self.family is not None
        return self.family

    @property
    def own_party_count(self) -> int:
        """Number of parties of the table."""
        return len(self.table.holders)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the table, party by party."""
        return self.table.names

    @property
    def party_names(self) -> tuple[str, ...]:
        """The parties of the table."""
        return tuple(holder.name for holder in self.table.holders)

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party."""
        if n_parties != self.own_party_count:
            names = ", ".join(self.party_names)
            raise ValueError(f"parties is {n_parties}: dataset {self.dataset!r} has {self.own_party_count} ({names}).")
        return self.table.groups
