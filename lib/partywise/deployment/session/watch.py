"""Waiting for a frame while watching the others: who is gone, who gave up, who has been silent for too long.

About once a second a party that waits asks whether the peer that it waits for, and one other in turn, is there, and
whether a peer has ended the run. After a longer wait it reports to all peers the step at which it waits: it is not
silent then. A peer that waits at a step after the message that it should have sent has sent it, so the message was
lost. Where parties keep a journal, a peer that is gone may come back, and is waited for as long as a silent one.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic

from ...core.errors import NoRoomError, PartyError, RefusalError, Unreachable
from ..wire.interface import LONG, Transport, printable, split_tag

PULSE = 1.0
# Seconds of one wait until the log says for whom it is, and between two such lines.
QUIET, EVERY = 3.0, 30.0
LOG = logging.getLogger(__name__)
# A frame that is not a message is short.
LARGEST_NOTICE = 2**16
# Signs of a sentence of others that are shown.
LONGEST = 600
# What a party that has ended says in the place of a step.
ENDED = "ended"
# What a party waits for, in words.
WORDS = {"hello": "to start", "ready": "to agree on the session", "done": "to be done"}


class Watch:
    """Watch of one party over all others while it waits.

    patience : seconds after which a party that neither sends what is waited for nor reports that it waits too is too
        silent, more than any party computes between two messages
    returning : whether a party that is gone may come back and go on
    deadline : seconds that the run may take from `start_clock`

    pulse : seconds between two looks around
    notice, author : the sentence with which another party ended the run, and its name
    over : whether that was for good
    run : id of the run with which this party goes on, if any
    """

    def __init__(
        self, transport: Transport, patience: float, *, returning: bool = False, deadline: float = math.inf
    ) -> None:
        if not patience > 0:
            raise ValueError(f"patience={patience!r} of a session must be a number of seconds above 0.")
        self.transport, self.patience, self.pulse = transport, patience, min(PULSE, patience / 4)
        self.notice, self.author, self.run = "", "", ""
        self.me, self.peers, self.over = transport.me, transport.peers, False
        self._outage = patience if returning else 0.0
        self.deadline, self._end = deadline, math.inf
        self._wait, self._line = "", math.inf
        # How often each was looked for in vain, and since when; when one was back.
        self._missed: dict[str, tuple[int, float]] = {}
        self._back: dict[str, float] = {}
        self._turn, self._last = 0, -math.inf

    def start_clock(self) -> None:
        """Start the deadline: all parties have met."""
        self._end = monotonic() + self.deadline

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Hand a frame to a peer; PartyError if it is gone or refuses it, in its own words if it has some."""
        since = monotonic()
        while True:
            try:
                return self.transport.put(receiver, tag, data)
            except RefusalError:
                self.raise_aborts(wait=self.pulse)
                raise
            except NoRoomError:
                since = monotonic() if self.waits_at(receiver) is not None else since
                gone = self.find_missing(receiver, self.peers)
                if gone:
                    raise self.lost_sight(gone, tag) from None
                self.say([receiver], f"{tag} to")
                self.tell(tag)
                if self.find_silent({receiver: since}, [receiver]):
                    raise self.silence_error(receiver, tag) from None
            except Unreachable as error:
                self.raise_aborts(wait=self.pulse)
                if monotonic() - since >= self._outage:
                    raise PartyError(f"{receiver!r} is gone: {self.me!r} could not hand it {tag!r}.") from error
                self.say([receiver], f"{tag} to")
                self.tell(tag)

    def get(self, sender: str, tag: str) -> bytes:
        """Return a peer's frame under a tag; PartyError if one is gone, began anew, was silent or ended the run."""
        since = monotonic()
        while (data := self.poll(sender, tag, self.pulse)) is None:
            at = self.waits_at(sender)
            if at is not None:
                since = monotonic()
                if at > place_of(tag):
                    # It may have come just now.
                    data = self.poll(sender, tag, 0.0)
                    if data is not None:
                        return data
                    raise self.loss_error(sender, tag)
            gone = self.find_missing(sender, self.peers)
            if gone:
                raise self.lost_sight(gone, tag)
            self.say([sender], tag)
            self.tell(tag)
            if self.find_silent({sender: since}, [sender]):
                # It may have come while this party looked around, which takes long on a busy machine.
                data = self.poll(sender, tag, 0.0)
                if data is not None:
                    return data
                raise self.silence_error(sender, tag)
        return data

    def poll(self, sender: str, tag: str, wait: float) -> bytes | None:
        """Return a frame as `Transport.get`; a second hello means a second process, and raises PartyError."""
        try:
            return self.transport.get(sender, tag, wait)
        except RefusalError as error:
            if error.tag == "hello":
                raise PartyError(
                    f"{error.sender!r} sent a second hello: it began anew, or two processes have its name"
                    f"{self.remedy(error.sender)}."
                ) from error
            raise

    def remedy(self, peer: str) -> str:
        """Suggest what to do about a peer that began anew, as the end of a sentence; empty if no run is to go on."""
        if not self.run:
            return ""
        return (
            f"; run {self.run[:12]} is to go on at {self.me!r}: start {peer!r} with its journal and without --again, "
            f"or give the run up at every party (python -m partywise network give-up {self.run[:12]})"
        )

    def raise_aborts(self, wait: float = 0.0) -> None:
        """Raise PartyError with the sentence of a peer that gave up, if any has."""
        for position, peer in enumerate(self.peers):
            data = self.poll(peer, "abort", wait if position == 0 else 0.0)
            if data is not None:
                notice = read_notice(peer, "abort", data)
                self.author = peer
                self.notice, self.over = printable(notice.get("sentence"), LONGEST), notice.get("over") is not False
                # Anybody could say anything of another.
                raise PartyError(f"{peer!r} reports: {self.notice}")

    def find_missing(self, awaited: str, among: Sequence[str]) -> str:
        """Return the name of a peer that is gone, or nothing: the awaited one and others in turn are looked at."""
        self.raise_aborts()
        if monotonic() > self._end:
            raise PartyError(
                f"the run has taken more than deadline={self.deadline:g} s: {self.me!r} waits for {awaited!r}; start "
                "all parties again to go on, or give more time."
            )
        self._turn += 1
        suspects = [peer for peer in among if peer in self._missed]
        for peer in dict.fromkeys([awaited, among[self._turn % len(among)], *suspects]):
            if self.transport.is_there(peer):
                if self._missed.pop(peer, None):
                    self._back[peer] = monotonic()
                continue
            times, since = self._missed.get(peer, (0, monotonic()))
            self._missed[peer] = times + 1, since
            # Once may be a hiccup of the network.
            if times and monotonic() - since >= self._outage:
                self.raise_aborts()
                return peer
        return ""

    def say(self, names: Sequence[str], tag: str) -> None:
        """Log for whom this party waits, once it has waited for a while."""
        if tag != self._wait:
            self._wait, self._line = tag, monotonic() + QUIET
        elif monotonic() >= self._line:
            self._line = monotonic() + EVERY
            number, kind, step = split_tag(tag)
            fit = f" of fit {number + 1}" * bool(number)
            LOG.info("waiting for %s (%s%s)", ", ".join(names), WORDS.get(kind, f"{kind} {step}".strip()), fit)

    def tell(self, tag: str) -> None:
        """Report to all peers, from time to time, the step at which this party waits."""
        if monotonic() - self._last < self.patience / 4:
            return
        self._last, notice = monotonic(), json.dumps({"at": tag}).encode()
        for peer in self.peers:
            with suppress(Unreachable):
                self.transport.put(peer, "waiting", notice)

    def waits_at(self, peer: str) -> tuple[int, float] | None:
        """Return the place at which a peer last reported to wait; None if it has sent no report since the last call."""
        data = self.poll(peer, "waiting", 0.0)
        return None if data is None else place_of(str(read_notice(peer, "waiting", data).get("at")))

    def find_silent(self, since: Mapping[str, float], waiting: Sequence[str]) -> str:
        """Return the name of an awaited peer that has been silent for too long, or nothing."""
        now = monotonic()
        late = (peer for peer in waiting if now - max(since[peer], self._back.get(peer, 0.0)) > self.patience)
        return next(late, "")

    def silence_error(self, peer: str, tag: str) -> PartyError:
        """Return the error for a party that has been silent for too long."""
        if peer in self._missed:
            return self.lost_sight(peer, tag)
        return PartyError(f"{peer!r} was silent for patience={self.patience:g} s: {self.me!r} waits for its {tag!r}.")

    def loss_error(self, peer: str, tag: str) -> PartyError:
        """Return the error for a frame that a peer has put and that has not come."""
        return PartyError(f"{tag!r} of {peer!r} did not reach {self.me!r}: it was lost on its way.")

    def lost_sight(self, peer: str, tag: str) -> PartyError:
        """Return the error for a party that is gone."""
        return PartyError(f"{peer!r} is gone: {self.me!r} found it so while it waited for {tag!r}.")


def place_of(tag: str) -> tuple[int, float]:
    """Place of a frame in its session, by run and step: first notices are before all steps, the end is after."""
    number, kind, step = split_tag(tag)
    if kind == "message" and step.isdecimal() and len(step) < LONG:
        return number, int(step)
    # After the last message, and one after the other.
    late = {"publishing": 1e18, "statement": 2e18, "signature": 3e18, "done": math.inf}
    return number, late.get(kind, -1.0)


def abort_notice(sentence: str, *, over: bool) -> bytes:
    """Return the frame that ends a run: why, and whether for good or until all start again."""
    return json.dumps({"sentence": sentence, "over": over}).encode()


def ended_notice() -> bytes:
    """Return the frame of a party that has ended: its peers need not wait for it."""
    return json.dumps({"at": ENDED}).encode()


def read_notice(peer: str, tag: str, data: bytes) -> dict[str, object]:
    """Decode a frame that is not a message; RefusalError if it cannot be read."""
    try:
        notice = json.loads(data) if len(data) <= LARGEST_NOTICE else None
    except (ValueError, RecursionError):
        notice = None
    if not isinstance(notice, dict):
        raise RefusalError(f"{tag!r} of {peer!r} cannot be read: it was changed on its way, or is none.", peer, tag)
    return notice
