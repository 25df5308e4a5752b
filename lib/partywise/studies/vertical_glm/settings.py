"""Settings of the cases of vertical generalised linear models; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.checks import Natural, Positive, Range, check_unread_options
from ...data.columns.settings import ColumnSettings, ShippedColumns
from ...methods.glm.options import GlmFamily
from ...models.family_facts import FACTS

Records = Literal["aligned", "unaligned"]
# Families whose generator has a mean of its own.
# The mean is the level of a logarithmic link.
WITH_MEAN = tuple(name for name, facts in FACTS.items() if facts.link == "log")


@dataclass(frozen=True, kw_only=True)
class GlmCaseSettings(ColumnSettings):
    """Settings that every case has.

    family : of the response
    records : ``aligned`` (row i is the same record at all parties), or ``unaligned``: every party has its own records
        in its own order with their ids, and the protocol begins by aligning them; that discloses who takes part, so
        that even a private method certifies no row then, and ``epsilon_certified_part`` is that of its releases
    """

    active: Literal["last", "first"] = "first"
    family: GlmFamily | None
    records: Records = "aligned"

    @property
    def aligned(self) -> bool:
        """Whether row i is the same record at all parties."""
        return self.records == "aligned"

    @property
    def model(self) -> GlmFamily:
        """Family of the response."""
        assert self.family is not None
        return self.family

    @property
    def binary_labels(self) -> bool:
        """Whether the response is 0 and 1."""
        return self.family == "binomial"

    @property
    def lacking_constants(self) -> str:
        """Why private methods have no public constants to scale the data by, as a sentence; empty if they have."""
        return ""


@dataclass(frozen=True, kw_only=True)
class PartialOverlap(GlmCaseSettings):
    """Cases whose records can be made to arrive unaligned.

    overlap : share of the records that all parties have; each of the others is missing at one party
    """

    overlap: Annotated[float, Range(0, 1, "(]")] = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.aligned:
            check_unread_options(self, ("overlap",), "records 'unaligned'")


@dataclass(frozen=True, kw_only=True)
class GlmGeneratedSettings(PartialOverlap):
    """Normal columns with equal correlations and a response of the family; times of ``cox`` are censored at 1.

    n : records; p : columns; rho : correlation of any two columns
    mean : of the response, of families with the logarithm as their link
    scales : whether columns have the standard deviation 1 (``unit``), or from 1e-6 to 1e6 (``uneven``)
    """

    family: GlmFamily = "gaussian"
    n: Annotated[int, Range(4)] = 2000
    p: Annotated[int, Range(2)] = 10
    rho: Annotated[float, Range(0, 1, "[)")] = 0.3
    mean: Positive = 2.0
    scales: Literal["unit", "uneven"] = "unit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family not in WITH_MEAN:
            check_unread_options(self, ("mean",), f"family {', '.join(WITH_MEAN)}")
        if self.n <= self.p + 1:
            raise ValueError(f"n is {self.n}: give more records than the {self.p + 1} coefficients.")

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.p

    @property
    def lacking_constants(self) -> str:
        """Uneven columns have no meaning that determines their scale."""
        return "" if self.scales == "unit" else "scales 'uneven' stands for columns whose scale nobody declared"


@dataclass(frozen=True, kw_only=True)
class GlmDatasetSettings(PartialOverlap, ShippedColumns):
    """A shipped table; a category counts as the number of its level, and its own test rows like all others.

    family : by default its usual one; rows : so many random records; 0 for all
    """

    family: GlmFamily | None = None
    rows: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family is not None and self.family not in self.response_facts.families:
            raise ValueError(
                f"family is {self.family!r}: response {self.response_facts.name!r} of dataset {self.dataset!r} fits "
                f"{', '.join(self.response_facts.families)}."
            )
        available = self.response_facts.rows
        if self.rows and not self.n_columns + 1 < self.rows <= available:
            raise ValueError(
                f"rows is {self.rows}: there are {available}, and {self.n_columns + 1} coefficients "
                "need more records; give a number between, or 0 for all."
            )
        # Figures select cases by the response and the family in force.
        object.__setattr__(self, "response", self.response_facts.name)
        object.__setattr__(self, "family", self.family or self.response_facts.families[0])

    @property
    def lacking_constants(self) -> str:
        """A column without a location and a scale has them from its public range."""
        if lacking := self.columns_without_bounds:
            return (
                f"column {self.column_names[lacking[0]]!r} of dataset {self.dataset!r} has no public range; take "
                "another table, or methods without epsilon"
            )
        return ""
