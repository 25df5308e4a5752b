"""Settings of every source of shipped tables: which one, and what is predicted; standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from .descriptions import TABLES, Name, Response, TableDescription


@dataclass(frozen=True, kw_only=True)
class ShippedTable:
    """A table of the catalogue.

    dataset : its name
    response : what is predicted, of a table that has several; by default the first
    """

    dataset: Name
    response: str | None = None

    @property
    def table(self) -> TableDescription:
        """Public description of the table."""
        return TABLES[self.dataset]

    @property
    def response_facts(self) -> Response:
        """Public description of the response."""
        return self.table.response(self.response)

    @property
    def resources(self) -> tuple[str, ...]:
        """The data set that has the table."""
        return (self.table.resource,)
