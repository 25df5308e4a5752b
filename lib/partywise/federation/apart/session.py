"""One run between processes: who takes part and that all run the same, until all are done or all know why not.

hello: digests of the configuration and of the library's code, a random nonce, and facts that parties must have alike.
ready: the id of the run, a digest of all nonces. done: as many steps as everybody. abort: the one sentence that ended
the run. Whoever waits asks about once a second whether the others are there, and whether one of them gave up.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from ...errors import PartyError, Refused, Unreachable
from ..transport.interface import Transport

__all__ = ["Session", "library_digest"]

PULSE = 1.0
# A frame that is no message is short.
LARGEST_NOTICE = 2**16


class Session:
    """One party's side of a run.

    Parameters
    ----------
    transport : Transport
        Not used before.
    configuration : str
        Digest of what all parties share.
    patience : float
        Seconds after which a party that was waited for has been silent for too long: more than the longest stretch of
        the run in which a party hears nothing.
    facts : mapping of str to str, optional
        Digests that all parties that state them must have alike, such as one of the order of the records.
    """

    def __init__(
        self,
        transport: Transport,
        configuration: str,
        *,
        patience: float = 60.0,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        if not patience > 0:
            raise ValueError(f"patience={patience!r} of a session must be a number of seconds above 0.")
        self.transport, self.patience, self.run = transport, patience, ""
        self.me, self.peers = transport.me, transport.peers
        self._hello: dict[str, Any] = {
            "party": self.me,
            "configuration": configuration,
            "library": library_digest(),
            "nonce": secrets.token_hex(16),
            "facts": dict(facts or {}),
        }
        self._pulse = min(PULSE, patience / 4)
        self._missed: dict[str, int] = {}
        self._turn = 0
        self._notice = ""

    def begin(self) -> str:
        """Meet all parties and agree on the run; its id.

        Raises
        ------
        PartyError
            Naming the party that did not come, or what it has that is not as here.
        """
        hellos = self._met()
        for peer, hello in hellos.items():
            self._check(peer, hello)
        nonces = sorted(f"{peer} {hello['nonce']}" for peer, hello in (hellos | {self.me: self._hello}).items())
        self.run = hashlib.sha256("\n".join([self._hello["configuration"], *nonces]).encode()).hexdigest()
        self._all("ready", {"run": self.run})
        return self.run

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Hand a frame to a peer; PartyError if it is gone."""
        try:
            self.transport.put(receiver, tag, data)
        except Unreachable as error:
            self._heed(wait=self._pulse)
            raise PartyError(f"{receiver!r} is gone: {self.me!r} could not hand it {tag!r}.") from error

    def get(self, sender: str, tag: str) -> bytes:
        """The frame of a peer under a tag.

        Raises
        ------
        PartyError
            If the peer, or another one, is gone, began anew, was silent for too long or ended the run.
        """
        deadline = monotonic() + self.patience
        while True:
            left = deadline - monotonic()
            data = self._taken(sender, tag, min(self._pulse, max(left, 0.0)))
            if data is not None:
                return data
            self._look(sender, tag)
            if left <= 0:
                raise self._silent(sender, tag)

    def end(self, steps: int) -> None:
        """Wait until all parties are done; PartyError if one of them is not, or took another number of steps."""
        self._all("done", {"run": self.run, "steps": steps})

    def abort(self, sentence: str) -> None:
        """Tell all others why the run is over; whoever is gone is not told."""
        notice = json.dumps({"sentence": self._notice or sentence}).encode()
        for peer in self.peers:
            try:
                self.transport.put(peer, "abort", notice)
            except PartyError:
                continue

    def _met(self) -> dict[str, dict[str, Any]]:
        """The hello of every peer, after ours has reached it."""
        deadline, hello = monotonic() + self.patience, json.dumps(self._hello).encode()
        untold, found = list(self.peers), dict[str, dict[str, Any]]()
        while untold or len(found) < len(self.peers):
            untold = [peer for peer in untold if not self._told(peer, hello)]
            missing = [peer for peer in self.peers if peer not in found]
            for position, peer in enumerate(missing):
                data = self._taken(peer, "hello", self._pulse / 5 if position == 0 else 0.0)
                if data is not None:
                    found[peer] = self._read(peer, "hello", data)
            self._heed()
            if monotonic() > deadline:
                late = sorted({*untold, *missing})
                raise PartyError(
                    f"{late[0]!r} has not come within patience={self.patience:g} s: {self.me!r} waits for "
                    f"{', '.join(late)}; start every party."
                )
        return found

    def _told(self, peer: str, hello: bytes) -> bool:
        try:
            self.transport.put(peer, "hello", hello)
        except Unreachable:
            return False
        return True

    def _check(self, peer: str, hello: Mapping[str, Any]) -> None:
        """PartyError if a peer does not run the same."""
        own = self._hello
        if hello.get("party") != peer:
            raise PartyError(f"{peer!r} says that it is {str(hello.get('party'))[:80]!r}: one certificate, one name.")
        for name, remedy in (
            ("configuration", "give all parties the same file"),
            ("library", "install the same version of partywise everywhere"),
        ):
            if hello.get(name) != own[name]:
                raise PartyError(
                    f"{peer!r} has another {name} ({str(hello.get(name))[:12]}) than {self.me!r} ({own[name][:12]}): "
                    f"{remedy}."
                )
        facts = hello.get("facts")
        if not isinstance(facts, dict) or not isinstance(hello.get("nonce"), str):
            raise PartyError(f"{peer!r} said hello without facts or nonce: it is no party of this version.")
        for name in sorted({*facts} & {*own["facts"]}):
            if facts[name] != own["facts"][name]:
                raise PartyError(
                    f"{peer!r} has another {name} than {self.me!r}: their digests differ, so compare the files."
                )

    def _all(self, tag: str, notice: Mapping[str, Any]) -> None:
        """Say something to all and hear the same from all: whoever has said it need not be there any longer."""
        for peer in self.peers:
            self.put(peer, tag, json.dumps(notice).encode())
        waiting, deadline = list(self.peers), monotonic() + self.patience
        while waiting:
            left = deadline - monotonic()
            heard = [
                peer
                for position, peer in enumerate(waiting)
                if self._same(peer, tag, notice, min(self._pulse, max(left, 0.0)) if position == 0 else 0.0)
            ]
            waiting = [peer for peer in waiting if peer not in heard]
            if waiting and not heard:
                gone = self._look(waiting[0], tag, among=waiting)
                if gone and not self._same(gone, tag, notice, 0.0):
                    raise self._gone(gone, tag)
                waiting = [peer for peer in waiting if peer != gone]
                if waiting and left <= 0:
                    raise self._silent(waiting[0], tag)

    def _same(self, peer: str, tag: str, notice: Mapping[str, Any], wait: float) -> bool:
        """Whether a peer has said the same; PartyError if it said something else."""
        data = self._taken(peer, tag, wait)
        if data is None:
            return False
        found = self._read(peer, tag, data)
        for name, value in notice.items():
            if found.get(name) != value:
                raise PartyError(
                    f"{peer!r} has {name} {str(found.get(name))[:80]} at {tag!r}, {self.me!r} has {value}."
                )
        return True

    def _read(self, peer: str, tag: str, data: bytes) -> dict[str, Any]:
        try:
            found = json.loads(data) if len(data) <= LARGEST_NOTICE else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Refused(f"{tag!r} of {peer!r} cannot be read: it was changed on its way, or is none.", peer, tag)
        return found

    def _taken(self, sender: str, tag: str, wait: float) -> bytes | None:
        try:
            return self.transport.get(sender, tag, wait)
        except Refused as error:
            if error.tag == "hello":
                raise PartyError(
                    f"{error.sender!r} said hello a second time: it began anew, or two processes have its name."
                ) from error
            raise

    def _heed(self, wait: float = 0.0) -> None:
        """End with the sentence of whoever gave up."""
        for position, peer in enumerate(self.peers):
            data = self._taken(peer, "abort", wait if position == 0 else 0.0)
            if data is not None:
                self._notice = str(self._read(peer, "abort", data).get("sentence"))[:2000]
                raise PartyError(self._notice)

    def _look(self, awaited: str, tag: str, among: list[str] | None = None) -> str:
        """Whether somebody gave up or is gone: the one that is waited for, and one other in turn.

        With ``among`` the name of who of them is gone is returned, without it PartyError is raised.
        """
        self._heed()
        self._turn += 1
        asked = among or list(self.peers)
        for peer in dict.fromkeys([awaited, asked[self._turn % len(asked)], *(p for p in asked if p in self._missed)]):
            if self.transport.is_there(peer):
                self._missed.pop(peer, None)
                continue
            self._missed[peer] = self._missed.get(peer, 0) + 1
            # Once may be a hiccup of the network.
            if self._missed[peer] > 1:
                self._heed()
                if among:
                    return peer
                raise self._gone(peer, tag)
        return ""

    def _gone(self, peer: str, tag: str) -> PartyError:
        return PartyError(f"{peer!r} is gone: {self.me!r} found it so while it waited for {tag!r}.")

    def _silent(self, peer: str, tag: str) -> PartyError:
        return PartyError(f"{peer!r} was silent for patience={self.patience:g} s: {self.me!r} waits for its {tag!r}.")


@cache
def library_digest() -> str:
    """SHA-256 of the library's code: names and bytes of all its modules."""
    root, total = Path(__file__).parents[2], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        code = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()} {len(code)}\n".encode() + code)
    return total.hexdigest()
