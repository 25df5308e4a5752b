"""Settings of sources of shipped tables: which one, what is predicted, and rows at clients; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ..core.checks import CheckedFields, Range
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

    def check_complete(self) -> None:
        """Raise a named error for a response that may be censored, where it is fitted as a number."""
        if self.response_facts.status is not None:
            raise ValueError(
                f"dataset is {self.dataset!r}: its response {self.response_facts.name!r} is a follow-up time that may "
                "be censored; take another table, or family 'cox' of vertical_glm."
            )

    @property
    def resources(self) -> tuple[str, ...]:
        """The data set that has the table."""
        return (self.table.resource,)


@dataclass(frozen=True, kw_only=True)
class ClientRows(CheckedFields, ShippedTable):
    """Rows of a shipped table, drawn anew for clients in each replicate; a category counts as the number of its level.

    clients : among how many all rows are dealt; by default the natural clients of the table draw from their own, and
        where there are none, the rows are dealt among 5
    n : records of each; by default all that there are
    """

    clients: Annotated[int, Range(2)] | None = None
    n: Annotated[int, Range(2)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_complete()
        bare = [column.name for column in self.table.columns if column.facts.bounds is None]
        if bare:
            raise ValueError(
                f"dataset is {self.dataset!r}: its column {bare[0]!r} has no public range, by which clients would "
                "scale it; take another table."
            )
        if self.least_size > self.available:
            raise ValueError(
                f"n is {self.n}: each of {self.n_clients} clients has {self.available} records of dataset "
                f"{self.dataset!r}; give fewer."
            )

    @property
    def natural(self) -> bool:
        """Whether clients draw from rows of their own."""
        return self.clients is None and bool(self.table.clients)

    @property
    def n_clients(self) -> int:
        """Number of clients."""
        return self.clients or len(self.table.clients) or 5

    @property
    def available(self) -> int:
        """Records that every client has at least: of its own, or of an equal share of all."""
        return self.table.least if self.natural else self.response_facts.rows // self.n_clients

    @property
    def least_size(self) -> int:
        """Public bound from below on the records of every client."""
        return self.n or self.available

    @property
    def rows_per_user(self) -> int | None:
        """Public bound on the records of one person; None where clients are not persons."""
        return self.table.rows_per_user if self.natural else None
