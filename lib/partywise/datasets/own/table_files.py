"""Blocks of the settings of own tables: one CSV file a party, its columns, and how rows become records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...checks import CheckedFields, Count, Range, check_fields, check_name
from .files import check_apart, check_encoding, check_persons, increasing


@dataclass(frozen=True, kw_only=True)
class ColumnBlock:
    """A column of a file, and what is known of it before the data are seen.

    name : of the column in the file
    levels : of a category, whose entries are numbered in this order; each level is a bin of its own
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
                raise ValueError(f"{key} is {list(getattr(self, key))}: levels are bins by themselves; leave it out.")


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
        check_encoding(self.encoding)


@dataclass(frozen=True)
class Matching(CheckedFields):
    """How rows of several files become records.

    id : name of the column of ids
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    min_records : fewest records that must be left
    user, rows_per_user : column of the label's file that names the person behind a record, and how many records of one
        count, the first ones in the order of records
    classes : whether labels are 0 and 1; label_bounds : public range of other labels, if it is declared
    """

    id: str
    match: Literal["refuse", "common"]
    min_records: int
    user: str | None = None
    rows_per_user: int | None = None
    classes: bool = False
    label_bounds: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class OwnTables:
    """What the settings of every source of own tables share.

    id : name of the id column, the same in every file unless the file's block says otherwise
    tables : the parties' files, in the order of the pooled columns; one of them has the ``label``
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    min_records : fewest records that must be left
    user, rows_per_user : column that names the person behind a record, in the file with the label, and the public bound
        on the records of one: those after the first ones are left out, and all of a person are held out together
    """

    id: str
    tables: tuple[TableFile, ...]
    match: Literal["refuse", "common"] = "refuse"
    min_records: Annotated[int, Range(2)] = 20
    user: str | None = None
    rows_per_user: Count | None = None

    def check_tables(self, reserved: tuple[str, ...]) -> None:
        """Raise a named error for files that make no parties; ``reserved`` are names that protocols use themselves."""
        if len(self.tables) < 2:
            raise ValueError(f"tables has {len(self.tables)} files: give one for each of at least two parties.")
        names, columns = [one.party for one in self.tables], [column.name for column in self.columns]
        for key, values in (("party", names), ("column", columns)):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ValueError(f"tables has the {key} {twice[0]!r} twice: give each its own name.")
        taken = [name for name in names if name in reserved]
        if taken:
            raise ValueError(f"tables has the party {taken[0]!r}: that name belongs to a protocol; choose another.")
        labels = [one.party for one in self.tables if one.label is not None]
        if len(labels) != 1:
            raise ValueError(f"tables has {len(labels)} files with a label: one party, the active one, has it.")
        if any(column.name == one.label for one in self.tables for column in one.columns):
            raise ValueError(
                f"tables has the label of {labels[0]!r} among its columns: the label cannot predict itself."
            )
        self._check_user()

    def _check_user(self) -> None:
        """Raise a named error for a column of persons that is another thing too."""
        check_persons(self.user, self.rows_per_user)
        if self.user is None:
            return
        check_name("user", self.user)
        active = self.tables[self.label_holder]
        if self.user == (active.id or self.id):
            raise ValueError(f"user is {self.user!r}, the id: an id stands once, so that every person has one row.")
        if self.user == active.label or self.user in [column.name for column in active.columns]:
            raise ValueError(f"user is {self.user!r}, which is used as label or column already: give another column.")

    def check_folds(self, folds: int) -> None:
        """Raise a named error for more folds than there are sure to be records, or persons, to hold out."""
        sure = -(-self.min_records // (self.rows_per_user or 1))
        if folds > sure:
            of = "" if self.rows_per_user is None else f", at most {self.rows_per_user} of a person,"
            raise ValueError(
                f"folds is {folds}: min_records is {self.min_records}{of} and no more are sure before the files are "
                "read; take fewer folds, or raise min_records to what the files have."
            )

    @property
    def columns(self) -> tuple[ColumnBlock, ...]:
        """Of all files, in order."""
        return tuple(column for one in self.tables for column in one.columns)

    @property
    def matching(self) -> Matching:
        """How rows become records."""
        classes = getattr(self, "loss_in_force", None) == "CrossEntropyLoss"
        bounds = getattr(self, "label_bounds", None)
        return Matching(self.id, self.match, self.min_records, self.user, self.rows_per_user, classes, bounds)

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        return {f"tables[{k}].file": one.file for k, one in enumerate(self.tables)}

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of every party, where they run apart; ValueError where these cannot be told apart."""
        check_apart({one.party: one.file for one in self.tables}, self.match)
        return {one.party: (f"tables[{k}].file",) for k, one in enumerate(self.tables)}

    @property
    def label_holder(self) -> int:
        """Number of the party that has the label."""
        return next(k for k, one in enumerate(self.tables) if one.label is not None)
