"""Parties that reach each other through a process between them, which passes on what it cannot read.

`Relay` is the transport; a `Carrier` asks a peer and brings its answer (that of NVFlare is in
`deployment.nvflare.site`). The process in between sees who asks whom, when, and how many bytes; it can lose, repeat and
delay them, which ends the run or changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import TYPE_CHECKING, Protocol

from ...core.errors import NoRoomError, PartyError, RefusalError, Unreachable
from ...federation.identity import Identity, join_parts
from .inbox import Inbox
from .interface import LARGEST, printable, split_tag
from .journal import PASSING, Journal

if TYPE_CHECKING:
    from nacl.public import Box


LOG = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())
# What a request is, and what a receiver without or with the keys answers.
LOOK, KEY, FRAME, HERE, STALE = b"look", b"key", b"frame", b"here", b"stale"
TAKEN, REFUSED, AHEAD, FULL = b"taken", b"refused", b"ahead", b"full"
# Seconds until who is asked whether it lives must have answered; that who sends a frame is kept waiting for room.
ANSWER, ROOM = 0.9, 1.0
# Seconds without an answer after which a frame is put again, which is no replay.
AGAIN, PATIENCE = 30.0, 60.0
# Seconds until another attempt where an answer was none.
PAUSE = 0.05
# For what a key is signed.
PURPOSE = "sealing key"
# Bytes of the length before every part, and of a nonce.
LENGTH, NONCE = 8, 24


class Carrier(Protocol):
    """Carrier of bytes to the process of a peer, and of its answer back."""

    def ask(self, peer: str, data: bytes, seconds: float) -> bytes | None:
        """Return a peer's answer; None if it has not come in time, Unreachable if the peer is not there."""

    def serve(self, answer: Callable[[bytes], bytes] | None) -> None:
        """Let a function answer requests from now on; None ends this."""

    def require_open(self) -> None:
        """Raise JobEndedError with the reason if the server of the job has ended it."""


class Relay:
    """One party's end of the connections to all others, sealed from end to end.

    identity : the job and the configuration that keys are signed for, and the certificate of the party
    largest : bytes of the largest frame that is kept
    patience : seconds in which a peer that is there must take a frame
    journal : keeps what comes and what was delivered, so that another process can take the place of this one
    """

    def __init__(
        self,
        me: str,
        peers: Sequence[str],
        carrier: Carrier,
        identity: Identity,
        *,
        largest: int = LARGEST,
        patience: float = PATIENCE,
        journal: Journal | None = None,
    ) -> None:
        self.me, self.peers, self.credential = me, tuple(peers), identity.credential
        self.inbox, self._journal = Inbox(me, self.peers, largest, journal), journal
        self._carrier, self._seal, self._patience = carrier, Seal(me, identity), patience
        carrier.serve(self._answer)

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Send a frame as `partywise.deployment.wire.interface.Transport.put` does.

        A frame without an answer is put again: the same one under its tag does not count as a replay. Unreachable if
        the peer is not there; PartyError if it is there and takes nothing.
        """
        self._check_peer(receiver)
        if self._journal is None or tag in PASSING:
            self._hand(receiver, tag, data)
        elif not self._journal.is_delivered(receiver, tag):
            self._hand(
                receiver, tag, data if split_tag(tag)[1] == "message" else self._journal.notice(receiver, tag, data)
            )
            self._journal.deliver(receiver, tag)

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """Return a frame as `partywise.deployment.wire.interface.Transport.get` does."""
        self._carrier.require_open()
        return self.inbox.get(sender, tag, wait)

    def is_there(self, peer: str) -> bool:
        """Whether the process of a peer lives; one that computes without a pause answers late, and is there."""
        self._check_peer(peer)
        try:
            return self._carrier.ask(peer, LOOK, ANSWER) in (HERE, None)
        except Unreachable:
            return False

    def close(self) -> None:
        """Stop answering; frames that were put have arrived."""
        self._carrier.serve(None)

    def _hand(self, receiver: str, tag: str, data: bytes) -> None:
        """Put a frame until the peer takes or refuses it; PartyError if it does neither in time."""
        end = monotonic() + self._patience
        while monotonic() < end:
            self._carrier.require_open()
            if not self._seal.key_of(receiver):
                self._exchange_keys(receiver)
                continue
            sealed = self._seal.close(receiver, tag, data)
            request = join_parts(FRAME, self.me, self._seal.key, self._seal.key_of(receiver), sealed)
            answer = self._carrier.ask(receiver, request, min(AGAIN, self._patience))
            if answer == STALE:
                self._exchange_keys(receiver)
            elif answer is not None and (taken := self._read(receiver, answer, sealed[:NONCE])) is not None:
                return self._conclude(receiver, *taken)
            sleep(PAUSE)
        raise PartyError(f"{receiver!r} has taken nothing for {self._patience:g} seconds: it hangs.")

    def _exchange_keys(self, peer: str) -> None:
        """Send a peer the key of this process, and learn its own; PartyError if either is not taken.

        The process in between could have answered so: it is not a refusal of the peer, which would end a run for good.
        """
        answer = self._carrier.ask(peer, join_parts(KEY, self.me, self._seal.announcement), ANSWER)
        if answer == REFUSED:
            raise PartyError(f"{peer!r} refuses the sealing key of {self.me!r}: its output states the reason.")
        try:
            if answer is not None:
                self._seal.learn(peer, answer)
        except RefusalError as error:
            raise PartyError(str(error)) from None

    def _read(self, receiver: str, answer: bytes, nonce: bytes) -> tuple[bytes, bytes] | None:
        """Return a peer's verdict on a frame and its reason; None if it is not about this frame: as no answer."""
        try:
            of, verdict, why = self._seal.open(receiver, answer)
        except (RefusalError, ValueError):
            return None
        return (verdict, why) if of == nonce else None

    def _conclude(self, receiver: str, verdict: bytes, why: bytes) -> None:
        """Raise an error unless the verdict is that the frame was taken."""
        if verdict == AHEAD:
            raise NoRoomError(f"{receiver!r} has not taken what came before.")
        if verdict == FULL:
            raise Unreachable(f"{receiver!r} cannot keep what comes: its output states the reason.")
        if verdict != TAKEN:
            raise RefusalError(
                f"{receiver!r} refuses what came: {printable(why.decode(errors='replace'), len(why))}", receiver
            )

    def _answer(self, request: bytes) -> bytes:
        """Return this party's answer to a request that claims to be from a peer."""
        if request == LOOK:
            return HERE
        try:
            kind, name, *parts = split_parts(request)
            sender = name.decode()
            if sender not in self.peers:
                raise RefusalError(f"a sender claims to be {sender!r:.80}, who is none of {self.peers}.")
            if kind == KEY:
                self._seal.learn(sender, parts[0])
                return self._seal.announcement
            theirs, mine, sealed = parts
            if mine != self._seal.key or theirs != self._seal.key_of(sender):
                return STALE
            tag, data = self._seal.open(sender, sealed)
        except (RefusalError, ValueError, IndexError) as error:
            LOG.warning("refused: %s", error)
            return REFUSED
        verdict, why = self._keep(sender, tag.decode(errors="replace"), data)
        return self._seal.close(sender, sealed[:NONCE], verdict, why)

    def _keep(self, sender: str, tag: str, data: bytes) -> tuple[bytes, str]:
        """Keep a frame; what its sender hears of it."""
        try:
            self.inbox.await_room(sender, tag, len(data), ROOM)
            self.inbox.keep(sender, tag, data)
        except NoRoomError:
            return AHEAD, ""
        except RefusalError as error:
            return REFUSED, str(error)
        except OSError:
            return FULL, ""
        return TAKEN, ""

    def _check_peer(self, name: str) -> None:
        if name not in self.peers:
            raise ValueError(f"party {name!r} is not a peer of {self.me!r}; its peers are {self.peers}.")


class Seal:
    """Keys of one party's process, signed by its certificate, and of the others as it learns them."""

    def __init__(self, me: str, identity: Identity) -> None:
        try:
            from nacl.public import PrivateKey
        except ImportError as error:
            raise ImportError("sealed frames need the package pynacl: pip install 'partywise[nvflare]'.") from error
        if identity.credential is None:
            raise ValueError(f"identity of {me!r} has no credential: sealing keys are signed with its certificate.")
        self.me, self._identity, self._secret = me, identity, PrivateKey.generate()
        self.key = bytes(self._secret.public_key)
        signature, certificate = identity.sign(PURPOSE, me, self.key)
        self.announcement = join_parts(self.key, signature, certificate)
        self._boxes: dict[str, tuple[bytes, Box]] = {}

    def learn(self, peer: str, announcement: bytes) -> None:
        """Take the key that a peer announces; RefusalError unless its certificate has signed it for this job."""
        from nacl.public import Box, PublicKey

        try:
            key, signature, certificate = split_parts(announcement)
            problem = self._identity.problem(PURPOSE, peer, key, signature, certificate)
            box = Box(self._secret, PublicKey(key))
        except Exception as error:
            raise RefusalError(f"the sealing key of {peer!r} cannot be read ({type(error).__name__}).", peer) from error
        if problem:
            raise RefusalError(f"the sealing key of {peer!r} {problem}.", peer)
        self._boxes[peer] = key, box

    def key_of(self, peer: str) -> bytes:
        """Return the key of a peer; empty if it is not known."""
        return self._boxes[peer][0] if peer in self._boxes else b""

    def close(self, receiver: str, *parts: bytes | str) -> bytes:
        """Seal parts for a peer whose key is known; the first bytes are a fresh nonce."""
        return bytes(self._boxes[receiver][1].encrypt(join_parts(self.me, receiver, *parts)))

    def open(self, sender: str, sealed: bytes) -> list[bytes]:
        """Open what a peer sealed for this party; RefusalError if it did not, or not for this one.

        Either of the two could have sealed what one of them reads, so it names its sender and its receiver.
        """
        try:
            author, receiver, *parts = split_parts(self._boxes[sender][1].decrypt(sealed))
        except Exception as error:
            raise RefusalError(f"what came from {sender!r} was not sealed by it, or changed on its way.", sender) from (
                error
            )
        if (author, receiver) != (sender.encode(), self.me.encode()):
            raise RefusalError(f"what came from {sender!r} was sealed by another, or for another.", sender)
        return parts


def split_parts(data: bytes) -> list[bytes]:
    """Return the parts of `partywise.federation.identity.join_parts`; ValueError for bytes of another form."""
    parts, begin = list[bytes](), 0
    while begin < len(data):
        end = begin + LENGTH + int.from_bytes(data[begin : begin + LENGTH], "big")
        if end > len(data):
            raise ValueError(f"{len(data)} bytes are not parts after their lengths.")
        parts.append(data[begin + LENGTH : end])
        begin = end
    return parts
