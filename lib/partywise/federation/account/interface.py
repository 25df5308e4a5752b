"""Interface of a run to a party's own account: it is written before anything leaves, and refuses what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...privacy.ledger.event import Event
from .rows import KnownEnd

# Modes of a run: what is secret comes from the operating system, or from seeds that all parties know.
RELEASE, EXPERIMENT = "release", "experiment"


class PartyAccount(Protocol):
    """A party's ledger that outlives its process (`partywise.federation.account`).

    answer : key of the question that the payments of the run are for, where its answer is stored
    """

    answer: str

    @property
    def id(self) -> str:
        """Random id of the account; empty of one that was begun before accounts had any."""

    def known_ends(self, peer: str) -> list[KnownEnd]:
        """The last end of every account of a peer that this account has written down."""

    def holds(self, rows: int, digest: str) -> bool:
        """Whether the last of so many rows of this account has this digest."""

    def began(self, run: str, configuration: str, mode: str, study: str = "", *, again: bool = False) -> None:
        """A run whose parties have agreed on its id and on the digest of what they share; its mode and its study.

        again : whether it may have begun in a process that was killed, in whose place this one is
        """

    def charge(self, *events: Event) -> None:
        """Pay for releases before noise is drawn, or a value before it leaves in the clear: all, or BudgetExceeded."""

    def record_sent(
        self,
        step: int,
        receiver: str,
        name: str,
        payload: Mapping[str, object],
        shape: tuple[int, ...],
        size: int,
        digest: str,
    ) -> None:
        """A message that is about to leave: what it cost (`partywise.federation.codec.row_of`), its shape and bytes.

        digest : salted, of its frame (`partywise.deployment.session.session.frame_digest`)
        """

    def record_received(self, step: int, sender: str, name: str, payload: Mapping[str, object], digest: str) -> None:
        """A message that has come, as in `record_sent`."""

    def record_reservation(self, step: int, event: Event) -> None:
        """Record a row of the ledger that is at a step in the account of every party."""

    @property
    def head(self) -> tuple[int, str]:
        """Number of rows, and the digest of the last one."""

    def record_heads(self, heads: Mapping[str, Mapping[str, object]]) -> None:
        """The heads of all parties when the program had ended, each as its party sent it, signed where it can be.

        Each with the id of the account that it is of.
        """

    def record_end(self, outcome: str) -> None:
        """The run is over for all; the digest of what this party holds."""
