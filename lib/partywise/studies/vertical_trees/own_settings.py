"""Settings of the source ``table``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass

from ...datasets.columns.settings import RowSettings
from ...datasets.own.table_files import OwnTables


@dataclass(frozen=True, kw_only=True)
class TableSettings(OwnTables, RowSettings):
    """Own data: a file of each party, whose rows carry ids."""

    reserved_names = ("dealer",)
    indicators = False

    def levels_of(self, number: int) -> tuple[str, ...]:
        """Names of the levels of a column that is a category."""
        return tuple(self.columns[number].levels or ())
