"""What an account remembers of its rows: its head, its runs and the budget that was stated last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .chain import Row
from .reading import mode_of

__all__ = ["AccountState"]


@dataclass
class AccountState:
    """What an account remembers of its rows.

    head : the first row; runs : ids of all; open : that of the last one, if it never ended; mode : of the last one
    budget : as it was stated last
    """

    head: Row | None = None
    runs: set[str] = field(default_factory=set)
    open: str = ""
    mode: str = ""
    budget: Mapping[str, Any] | None = None

    def add(self, row: Row) -> None:
        """One row more."""
        self.head = self.head or row
        if row.kind == "began":
            self.runs.add(row.run)
            self.open, self.mode = row.run, mode_of(row)
        elif row.kind == "ended":
            self.open = ""
        elif row.kind == "budget":
            self.budget = row.fields["budget"]
