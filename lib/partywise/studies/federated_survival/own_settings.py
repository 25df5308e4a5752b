"""Settings of the source ``table``: follow-up of a person's own clients, in a file each or in one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...core.checks import Positive, Range, check_fields, check_name
from ...data.own.grammar import ColumnBlock, twice
from ...data.own.settings import OwnClients
from ...methods.survival.options import refuse_not_offered
from .settings import SurvivalCaseSettings


@dataclass(frozen=True, kw_only=True)
class OwnSurvivalSettings(OwnClients, SurvivalCaseSettings):
    """Own records of several clients: how long each was followed, and whether that ended in the event.

    time : column of the follow-up, from its start on; event : column of how it ended
    events, censoring : public entries of that column, those of the event and all others
    horizon : public end of follow-up tau, in the unit of the times; because : where it comes from
    columns : covariates; none for curves alone
    group_by, groups : column that names the group of a record, and its public entries, of which curves are compared
    edges : of the cells, where they are not of equal width: from 0 to the horizon
    unit : of the times, for figures
    entry, strata : not offered
    """

    time: str
    event: str
    events: tuple[str, ...] = ("1",)
    censoring: tuple[str, ...] = ("0",)
    horizon: Positive | None = None
    because: str
    columns: tuple[ColumnBlock, ...] = ()
    group_by: str | None = None
    groups: tuple[str, ...] = ()
    edges: tuple[Annotated[float, Range(0)], ...] = ()
    unit: str = "1"
    entry: str | None = None
    strata: str | None = None

    needs_columns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        refuse_not_offered(entry=self.entry, strata=self.strata)
        self.check_clients()
        check_name("because", self.because)
        if self.horizon is None:
            raise ValueError(
                "horizon is None: give a public end of follow-up, from the plan of the study; the largest time is that "
                "of a record."
            )
        levels = (*self.events, *self.censoring)
        if not self.events or not self.censoring or twice(levels) is not None:
            raise ValueError(
                f"events is {list(self.events)} and censoring is {list(self.censoring)}: give at least one entry of "
                f"{self.event!r} each, and none twice."
            )
        if (self.group_by is None) != (not self.groups) or len(self.groups) == 1 or twice(self.groups) is not None:
            raise ValueError(
                f"group_by is {self.group_by!r} and groups is {list(self.groups)}: give both, the column of the group "
                "and at least two public entries of it, none twice; or neither."
            )
        super().__post_init__()

    @property
    def response_columns(self) -> dict[str, str]:
        """Time, event and group."""
        roles = {"time": self.time, "event": self.event}
        return roles if self.group_by is None else roles | {"group_by": self.group_by}

    @property
    def role_entries(self) -> dict[str, tuple[object, ...]]:
        """Times until the horizon, and all entries that there may be."""
        entries = (*self.events, *self.censoring)
        return {"time": (self.end / 2, self.end), "event": entries, "group_by": self.groups}

    @property
    def n_covariates(self) -> int:
        """p: a category is an indicator of each level but the first."""
        return sum(column.width for column in self.columns)

    @property
    def end(self) -> float:
        """tau."""
        assert self.horizon is not None
        return self.horizon

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """The clients."""
        return self.party_names
