"""Runs a protocol with its places apart, and what they wrote down as one channel: transcript and ledger of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from partywise.deployment.session.outcome import Outcome
from partywise.deployment.session.party import Program, run_party
from partywise.deployment.wire.interface import Transport
from partywise.federation.account.reading import cost_digest
from partywise.federation.account.rows import ReceivedMessage, ReservedRow, SentMessage
from partywise.federation.run import Run
from partywise.privacy.ledger.event import Event

CONFIGURATION = "c" * 64


@dataclass
class Notes:
    """An account in memory, as `partywise.federation.account.interface.PartyAccount` asks; nothing is refused."""

    me: str
    rows: list[SentMessage | ReceivedMessage | ReservedRow] = field(default_factory=list)
    paid: list[Event] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    id: str = ""

    def known_ends(self, peer: str) -> list[Any]:
        return []

    def holds(self, rows: int, digest: str) -> bool:
        return True

    def began(self, run: str, configuration: str, mode: str, study: str = "", *, again: bool = False) -> None:
        self.runs.append(run)

    def charge(self, *events: Event) -> None:
        self.paid += events

    def record_sent(
        self,
        step: int,
        receiver: str,
        name: str,
        payload: Mapping[str, Any],
        shape: tuple[int, ...],
        size: int,
        digest: str,
    ) -> None:
        self.rows.append(SentMessage(step, self.me, receiver, name, payload, shape, size, digest))

    def record_received(self, step: int, sender: str, name: str, payload: Mapping[str, Any], digest: str) -> None:
        self.rows.append(ReceivedMessage(step, sender, self.me, name, cost_digest(payload), digest))

    @property
    def head(self) -> tuple[int, str]:
        return len(self.rows), f"{len(self.rows)} rows of {self.me}"

    def record_heads(self, heads: Mapping[str, Mapping[str, Any]]) -> None:
        self.heads = heads

    def record_reservation(self, step: int, event: Event) -> None:
        self.rows.append(ReservedRow(step, event))

    def record_end(self, outcome: str) -> None:
        self.outcomes.append(outcome)


def threads(
    fit: Callable[[Any], Any], runs: Mapping[str, Run], ends: Mapping[str, Transport], **options: Any
) -> dict[str, Outcome | BaseException]:
    """What every party returned or raised; each is a thread with a run and a transport of its own."""
    found: dict[str, Outcome | BaseException] = {}

    def one(me: str) -> None:
        given = {"configuration": CONFIGURATION, "account": Notes(me), "patience": 5.0} | {
            name: value[me] if isinstance(value, Mapping) else value for name, value in options.items()
        }
        try:
            found[me] = run_party([Program(fit=fit, run=runs[me])], me, ends[me], **given)
        except BaseException as error:
            found[me] = error

    workers = [Thread(target=one, args=(me,)) for me in runs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found
