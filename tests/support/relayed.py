"""Parties of one process behind a carrier that sees, and may change, all that goes between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from partywise.core.errors import JobEndedError, Unreachable
from partywise.deployment.wire.credential import Credential
from partywise.deployment.wire.journal import Journal
from partywise.deployment.wire.relay import Relay
from partywise.federation.identity import Identity

JOB, CONFIGURATION = "job 7", "c" * 64
# Who asks whom, and what it asks: what is handed on instead, or None for nothing.
Meddler = Callable[[str, str, bytes], bytes | None]


@dataclass
class Middle:
    """Whoever stands between all parties.

    meddle : what becomes of a request
    seen : all that went by; ended : whether the job was ended
    """

    meddle: Meddler = lambda me, peer, data: data
    seen: list[bytes] = field(default_factory=list)
    ended: bool = False
    serving: dict[str, Callable[[bytes], bytes] | None] = field(default_factory=dict)


class Line:
    """The carrier of one party."""

    def __init__(self, me: str, middle: Middle) -> None:
        self.me, self.middle = me, middle

    def ask(self, peer: str, data: bytes, seconds: float) -> bytes | None:
        """As `partywise.deployment.wire.relay.Carrier.ask`."""
        answer = self.middle.serving.get(peer)
        if answer is None:
            raise Unreachable(f"{peer!r} does not answer.")
        self.middle.seen.append(data)
        given = self.middle.meddle(self.me, peer, data)
        if given is None:
            return None
        said = answer(given)
        self.middle.seen.append(said)
        return said

    def serve(self, answer: Callable[[bytes], bytes] | None) -> None:
        """As `partywise.deployment.wire.relay.Carrier.serve`."""
        self.middle.serving[self.me] = answer

    def require_open(self) -> None:
        """As `partywise.deployment.wire.relay.Carrier.require_open`."""
        if self.middle.ended:
            raise JobEndedError("the job was ended.")


def relayed(
    names: Sequence[str],
    certificates: Path | Mapping[str, Path],
    middle: Middle,
    *here: str,
    largest: int = 2**20,
    patience: float = 2.0,
    job: str = JOB,
    fingerprints: Mapping[str, str] | None = None,
    journals: Mapping[str, Journal] | None = None,
) -> dict[str, Relay]:
    """The ends of some parties, by default all, by name."""
    made = {}
    for me in here or names:
        folder = certificates if isinstance(certificates, Path) else certificates[me]
        identity = Identity(job, CONFIGURATION, fingerprints or {}, Credential(folder, me))
        peers = [name for name in names if name != me]
        journal = (journals or {}).get(me)
        made[me] = Relay(me, peers, Line(me, middle), identity, largest=largest, patience=patience, journal=journal)
    return made
