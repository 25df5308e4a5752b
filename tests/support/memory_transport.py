"""Parties that are threads of one process: frames go from inbox to inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from partywise.core.errors import RefusalError, Unreachable
from partywise.deployment.wire.inbox import Inbox
from partywise.deployment.wire.interface import LARGEST


class Memory:
    """One party's end, beside those of the others in one mapping (`connected`)."""

    def __init__(self, me: str, ends: Mapping[str, Memory], peers: Sequence[str], largest: int = LARGEST) -> None:
        self.me, self.peers, self.credential = me, tuple(peers), None
        self.inbox = Inbox(me, self.peers, largest)
        self._ends, self._open = ends, True

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """As `partywise.deployment.wire.interface.Transport.put`."""
        if not self.is_there(receiver):
            raise Unreachable(f"{receiver!r} is gone: frame {tag!r} of {self.me!r} did not reach it.")
        # Whoever receives what it refuses tells the others; the sender need not know.
        with suppress(RefusalError):
            inbox = self._ends[receiver].inbox
            inbox.await_room(self.me, tag, len(data), 1.0)
            inbox.keep(self.me, tag, data)

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """As `partywise.deployment.wire.interface.Transport.get`."""
        return self.inbox.get(sender, tag, wait)

    def is_there(self, peer: str) -> bool:
        """Whether the peer has not closed its end."""
        return self._ends[peer]._open

    def close(self) -> None:
        """Be gone for all others."""
        self._open = False


def connected(names: Sequence[str], largest: int = LARGEST) -> dict[str, Memory]:
    """The ends of parties that are threads of this process, by name."""
    if len(set(names)) != len(names):
        raise ValueError(f"names={tuple(names)} of parties must be distinct.")
    ends: dict[str, Memory] = {}
    for me in names:
        ends[me] = Memory(me, ends, [name for name in names if name != me], largest)
    return ends
