"""Blocks of the settings of own tables: one CSV file a party, its columns, and how rows become records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...checks import Checked, Range, check_fields, check_name
from .files import increasing


@dataclass(frozen=True, kw_only=True)
class ColumnBlock:
    """A column of a file, and what is known of it before the data are seen.

    name : of the column in the file
    levels : of a category, whose entries are numbered in this order; each level is a bucket of its own
    edges : public cuts; bounds : public range; because : where both come from
    """

    name: str
    levels: tuple[str, ...] | None = None
    edges: tuple[Annotated[float, Range()], ...] | None = None
    bounds: tuple[float, float] | None = None
    because: str = "declared in the configuration"

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("name", self.name)
        check_name("because", self.because)
        increasing("bounds", self.bounds)
        if self.edges is not None and (not self.edges or list(self.edges) != sorted(set(self.edges))):
            raise ValueError(f"edges is {list(self.edges)}: give at least one, in increasing order.")
        if self.levels is None:
            return
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise ValueError(f"levels is {list(self.levels)}: give at least two and none twice.")
        for key in ("edges", "bounds"):
            if getattr(self, key) is not None:
                raise ValueError(
                    f"{key} is {list(getattr(self, key))}: levels are buckets by themselves; leave it out."
                )


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """The file of one party.

    party : who holds it; file : path from the folder in which the run starts
    columns : that are used, in this order; label : column of the labels, at one party only
    id : name of the column of ids, where it is not that of the case; delimiter, encoding : of the text
    """

    party: str
    file: str
    columns: tuple[ColumnBlock, ...]
    label: str | None = None
    id: str | None = None
    delimiter: str = ","
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("party", self.party)
        check_name("file", self.file)
        if not self.columns:
            raise ValueError("columns is empty: a party holds at least one.")
        if len(self.delimiter) != 1:
            raise ValueError(f"delimiter is {self.delimiter!r}: it must be one character, such as ';' or '\\t'.")


@dataclass(frozen=True)
class Matching(Checked):
    """How rows of several files become records.

    id : name of the column of ids
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    min_records : fewest records that must be left
    """

    id: str
    match: Literal["refuse", "common"]
    min_records: int
