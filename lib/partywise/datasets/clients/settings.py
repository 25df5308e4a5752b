"""Settings of a shipped table whose rows lie at several clients; standard library only, checked before any job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...checks import CheckedFields, Range
from ...models.criteria import CLASSES
from ..shipped_table import ShippedTable


@dataclass(frozen=True, kw_only=True)
class ClientRows(CheckedFields, ShippedTable):
    """Rows of a shipped table, dealt anew to clients in each replicate; a category counts as the number of its level.

    clients : their number; n : records of each
    """

    clients: Annotated[int, Range(2)] = 5
    n: Annotated[int, Range(2)] = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        bare = [column.name for column in self.table.columns if column.facts.bounds is None]
        if bare:
            raise ValueError(
                f"dataset is {self.dataset!r}: its column {bare[0]!r} has no public range, by which clients would "
                "scale it; take another table."
            )

    @property
    def is_classified(self) -> bool:
        """Whether the response is one of two classes."""
        return self.response_facts.criterion == CLASSES
