"""Settings of the source ``table``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass

from ...datasets.columns.settings import ColumnSettings
from ...datasets.own.table_files import OwnTables

# Names that protocols use for themselves on the channel between the parties.
RESERVED = ("dealer",)


@dataclass(frozen=True, kw_only=True)
class TableSettings(OwnTables, ColumnSettings):
    """Own data: a file of each party, whose rows carry ids."""

    def __post_init__(self) -> None:
        for name, wanted in (("dims", None), ("active", "last")):
            if getattr(self, name) != wanted:
                raise ValueError(f"{name} is {getattr(self, name)!r}: tables say who holds what; leave it out.")
        super().__post_init__()
        self.check_tables(RESERVED)

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return len(self.columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names that the files give."""
        return tuple(column.name for column in self.columns)

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

    def active_index(self, n_parties: int) -> int:
        """Number of the party that has the response."""
        return self.response_holder

    def party_names(self, n_parties: int) -> tuple[str, ...]:
        """The names that the files give."""
        return tuple(one.party for one in self.tables)

    @property
    def columns_without_edges(self) -> tuple[int, ...]:
        """Columns of which no cuts are declared."""
        return tuple(j for j, one in enumerate(self.columns) if one.edges is None and one.levels is None)

    @property
    def columns_without_bounds(self) -> tuple[int, ...]:
        """Columns of which no range is declared."""
        return tuple(j for j, one in enumerate(self.columns) if one.bounds is None and one.levels is None)

    def levels_of(self, number: int) -> tuple[str, ...]:
        """Names of the levels of a column that is a category."""
        return tuple(map(str, self.columns[number].levels or ()))
