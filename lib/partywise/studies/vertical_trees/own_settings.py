"""Settings of the source ``tables``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...checks import Range
from ...datasets.own.table_files import ColumnBlock, Matching, TableFile
from .settings import CaseSettings

# Names that protocols use for themselves on the channel between the parties.
RESERVED = ("dealer",)


@dataclass(frozen=True, kw_only=True)
class TablesSettings(CaseSettings):
    """Own data: a file of each party, whose rows carry ids.

    id : name of the id column, the same in every file unless the file's block says otherwise
    tables : the parties' files, in the order of the pooled columns; one of them has the ``label``
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    min_records : fewest records that must be left
    """

    id: str
    tables: tuple[TableFile, ...]
    match: Literal["refuse", "common"] = "refuse"
    min_records: Annotated[int, Range(2)] = 20

    def __post_init__(self) -> None:
        for name, wanted in (("dims", None), ("active", "last")):
            if getattr(self, name) != wanted:
                raise ValueError(f"{name} is {getattr(self, name)!r}: tables say who holds what; leave it out.")
        super().__post_init__()
        if len(self.tables) < 2:
            raise ValueError(f"tables has {len(self.tables)} files: give one for each of at least two parties.")
        names, columns = [one.party for one in self.tables], [column.name for column in self.columns]
        for key, values in (("party", names), ("column", columns)):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ValueError(f"tables has the {key} {twice[0]!r} twice: give each its own name.")
        taken = [name for name in names if name in RESERVED]
        if taken:
            raise ValueError(f"tables has the party {taken[0]!r}: that name belongs to a protocol; choose another.")
        labels = [one.party for one in self.tables if one.label is not None]
        if len(labels) != 1:
            raise ValueError(f"tables has {len(labels)} files with a label: one party, the active one, has it.")
        if any(column.name == one.label for one in self.tables for column in one.columns):
            raise ValueError(
                f"tables has the label of {labels[0]!r} among its columns: the label cannot predict itself."
            )

    @property
    def columns(self) -> tuple[ColumnBlock, ...]:
        """Of all files, in order."""
        return tuple(column for one in self.tables for column in one.columns)

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return len(self.columns)

    @property
    def matching(self) -> Matching:
        """How rows become records."""
        return Matching(self.id, self.match, self.min_records)

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        return {f"tables[{k}].file": one.file for k, one in enumerate(self.tables)}

    @property
    def party_counts(self) -> tuple[int, ...]:
        """The number of tables."""
        return (len(self.tables),)

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party: those of its file."""
        found, start = [], 0
        for one in self.tables:
            found.append(tuple(range(start, start + len(one.columns))))
            start += len(one.columns)
        return tuple(found)

    def active_party(self, n_parties: int) -> int:
        """Number of the party that has the label."""
        return next(k for k, one in enumerate(self.tables) if one.label is not None)

    def party_names(self, n_parties: int) -> tuple[str, ...]:
        """The names that the files give."""
        return tuple(one.party for one in self.tables)

    @property
    def without_edges(self) -> tuple[int, ...]:  # type: ignore[override]
        """Columns of which no cuts are declared."""
        return tuple(j for j, one in enumerate(self.columns) if one.edges is None and one.levels is None)

    @property
    def without_bounds(self) -> tuple[int, ...]:  # type: ignore[override]
        """Columns of which no range is declared."""
        return tuple(j for j, one in enumerate(self.columns) if one.bounds is None and one.levels is None)
