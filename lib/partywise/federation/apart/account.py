"""What a run asks of a party's own account: to be written before anything leaves, and to refuse what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ...privacy.ledger.event import Event

__all__ = ["Account"]


class Account(Protocol):
    """A party's ledger that outlives its process (`partywise.federation.account`)."""

    def began(self, run: str, configuration: str) -> None:
        """A run whose parties have agreed on its id and on the digest of what they share."""

    def charge(self, *events: Event) -> None:
        """Pay for releases before their noise is drawn, or for a value before it leaves in the clear: all or none.

        Raises
        ------
        BudgetExceeded
            If it does not fit; nothing may be drawn.
        """

    def sent(
        self, step: int, receiver: str, name: str, payload: Mapping[str, Any], shape: tuple[int, ...], size: int
    ) -> None:
        """A message that is about to leave: what it cost (`partywise.federation.codec.row_of`), its shape and bytes."""

    def reserved(self, step: int, event: Event) -> None:
        """A row of the ledger that stands at a step in the account of every party."""

    def ended(self, outcome: str) -> None:
        """The run is over for all; the digest of what this party holds."""
