"""Settings of a shipped table whose rows lie at several clients; standard library only, checked before any job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...checks import CheckedFields, Range
from ...models.criteria import CLASSES
from ..public.catalogue import Name, TableFacts, table_facts


@dataclass(frozen=True, kw_only=True)
class ClientRows(CheckedFields):
    """Rows of a shipped table, dealt anew to clients in each replicate; a category counts as the number of its level.

    dataset, response : name of the table and what is predicted, by default its first response
    clients : their number; n : records of each
    """

    dataset: Name
    response: str | None = None
    clients: Annotated[int, Range(2)] = 5
    n: Annotated[int, Range(2)] = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        bare = [name for name, about in zip(self.facts.names, self.facts.columns, strict=True) if about.bounds is None]
        if bare:
            raise ValueError(
                f"dataset is {self.dataset!r}: its column {bare[0]!r} has no public range, by which clients would "
                "scale it; take another table."
            )

    @property
    def facts(self) -> TableFacts:
        """What is public of the table."""
        return table_facts(self.dataset, self.response)

    @property
    def resources(self) -> tuple[str, ...]:
        """The data set that has the table."""
        return (self.facts.resource,)

    @property
    def is_classified(self) -> bool:
        """Whether the response is one of two classes."""
        return self.facts.criterion == CLASSES
