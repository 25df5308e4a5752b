"""Last frames of a session, which a party keeps for peers that were killed before they had all of them.

A party ends when every peer has its `done` and it has theirs. A peer that is killed at that moment comes back with its
journal, and may put a frame again for which it had no answer. The party that ended must then be there to take it: it
is started again by the same command, and pays nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import TypedDict

from ...core.errors import AccountError, PartyError, RefusalError
from ...core.files import replacing
from ..wire.interface import Transport, split_tag
from ..wire.journal import Journal
from .watch import ENDED, LOG, PULSE, abort_notice, ended_notice, read_notice

# What a peer that goes on can lack: it had all before it said that it is done.
LAST = ("ready", "done")


class KeptSession(TypedDict):
    """Last frames of a session as its file has them."""

    session: str
    runs: list[str]
    hellos: dict[str, str]
    frames: dict[str, dict[str, str]]


def run_id(session: str, number: int) -> str:
    """Id of a run of a session, by its number from 0."""
    return hashlib.sha256(f"{session} {number}".encode()).hexdigest()


@dataclass(frozen=True)
class LastFrames:
    """Last frames and ids of a session that has ended, as a party keeps them.

    session, runs : ids
    hellos : SHA-256 of the hello of every peer, by name
    frames : text of its own last frames, by receiver and tag
    """

    session: str
    runs: tuple[str, ...]
    hellos: Mapping[str, str]
    frames: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, journal: Journal, session: str, count: int) -> LastFrames:
        """Return the last frames in a journal of a session with ``count`` runs."""
        frames = dict[str, dict[str, str]]()
        for (receiver, tag), data in journal.notices.items():
            if split_tag(tag)[1] in LAST:
                frames.setdefault(receiver, {})[tag] = data.decode()
        hellos = {sender: digest for (sender, tag), digest in journal.digests.items() if tag == "hello"}
        return cls(session, tuple(run_id(session, number) for number in range(count)), hellos, frames)

    def keep(self, path: Path, configuration: str) -> None:
        """Write them to a file, in the place of those of an earlier session of this configuration."""
        with replacing(path) as temporary:
            temporary.touch(0o600)
            with temporary.open("w", encoding="utf-8") as handle:
                json.dump(_sessions(path) | {configuration: asdict(self)}, handle)
                handle.flush()
                # On the disk before the journal of the session is removed.
                os.fsync(handle.fileno())

    @classmethod
    def read(cls, path: Path, configuration: str) -> LastFrames | None:
        """Read the frames of the last session of a configuration that has ended; None if there was none."""
        session = _sessions(path).get(configuration)
        return (
            None
            if session is None
            else cls(session["session"], tuple(session["runs"]), session["hellos"], session["frames"])
        )

    def offer(self, transport: Transport, patience: float) -> list[str]:
        """Take what late peers put and hand them the last frames; return the peers that have not ended in time.

        Peers that have ended as well need nothing: the offer is over when all have.
        """
        late, end = list(transport.peers), monotonic() + patience
        pulse = min(PULSE, patience / 4) / 4
        with suppress(RefusalError):
            while late and monotonic() < end:
                late = [peer for peer in late if not self._has_ended(transport, peer)]
                if late:
                    sleep(min(pulse, max(end - monotonic(), 0.0)))
        return late

    def _has_ended(self, transport: Transport, peer: str) -> bool:
        """Report to a peer that this party has ended and answer its frames; return whether it has ended too."""
        with suppress(PartyError):
            transport.put(peer, "waiting", ended_notice())
        hello = transport.get(peer, "hello", 0.0)
        if hello is not None and hashlib.sha256(hello).hexdigest() != self.hellos.get(peer):
            LOG.info("%s began anew; run %s has ended here", peer, self.runs[-1][:12])
            with suppress(PartyError):
                transport.put(peer, "abort", abort_notice(self._refusal(transport.me, peer), over=False))
        waiting = transport.get(peer, "waiting", 0.0)
        if waiting is None:
            return False
        if read_notice(peer, "waiting", waiting).get("at") == ENDED:
            # It may have begun to listen after it was told.
            with suppress(PartyError):
                transport.put(peer, "waiting", ended_notice())
            return True
        for tag, text in self.frames.get(peer, {}).items():
            with suppress(PartyError):
                transport.put(peer, tag, text.encode())
        return False

    def _refusal(self, me: str, peer: str) -> str:
        return (
            f"run {self.runs[-1][:12]} of this configuration has ended at {me!r}: start {peer!r} with its journal to "
            "end it there, or all parties with --again for a new run, which pays anew."
        )


def say_ended(transport: Transport, peers: Sequence[str]) -> None:
    """Report to peers that wait for late ones that this party has ended."""
    for peer in peers:
        with suppress(PartyError):
            transport.put(peer, "waiting", ended_notice())


def _sessions(path: Path) -> dict[str, KeptSession]:
    """Read the sessions in a file, by configuration; AccountError if it cannot be read."""
    if not path.exists():
        return {}
    try:
        sessions = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(sessions, dict):
            return sessions
    except (OSError, ValueError):
        pass
    raise AccountError(
        f"{path} cannot be read: it keeps the ends of runs for parties that are late; put back a copy, or move it away."
    )
