"""Link of one party's process: accounts for what it sends in a channel of its own, checks what it gets.

The channel knows what this party could know: its own messages, those it received, and the rows inside of them.
That is all that a message of its own may be made of, so the row of every message is the one that a channel which saw
everything would give it; the ledger of all comes from the accounts together (`network union`).

All messages of one name have one kind and form, and finite numbers (`Forms`): a name stands for one line of a program,
which is the same for all senders and rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ...core.errors import RefusalError
from ...federation.account.interface import PartyAccount
from ...federation.channel import Channel
from ...federation.cipher import Cipher
from ...federation.codec import row_of
from ...federation.payloads import KINDS, Message, Payload, content_of, measure, strip_value, visible
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.release import Release
from ..wire.frames import FrameAddress, decode_frame, encode_frame
from .session import SessionRun
from .watch import LOG

# A list without entries says nothing of what others of its name hold.
EMPTY = "of ()"


class SessionLink:
    """Messages of one party, in a run of a session that has begun; the account has each before it leaves.

    real, trusted : as of `partywise.federation.channel.Channel`
    forms : forms of messages by (receiver, name) that a rehearsal had (`Forms`)
    """

    def __init__(
        self,
        run: SessionRun,
        names: Sequence[str],
        account: PartyAccount,
        *,
        real: bool = False,
        trusted: Collection[str] = (),
        forms: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.channel, self._forms = Channel((), tuple(names), real=real, trusted=trusted), Forms(forms)
        self._run, self._account = run, account

    def put(self, step: int, sender: str, receiver: str, name: str, payload: Payload) -> None:
        """Account for a message, write it down, and send it.

        Nothing leaves where the budget refuses a value in the clear, `Channel.send` would refuse the message, it holds
        a number that is not finite, or it has another form than messages of its name.
        """
        payload = self.channel.leaving(sender, payload)
        problem = self._forms.problem(sender, receiver, name, payload)
        if problem:
            raise ValueError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} does not leave: {problem}; look at its "
                "data."
            )
        shape, size = measure(payload, name)
        known = len(self.channel.ledger)
        row = self.channel.enter(sender, receiver, name, payload, shape, size)
        self._pay(known)
        address = FrameAddress(self._run.id, step, sender, receiver, name)
        frame = encode_frame(address, payload, row.event)
        digest = self._run.digest(sender, receiver, frame)
        self._account.record_sent(step, receiver, name, row_of(payload), shape, size, digest)
        LOG.debug("message %d to %s: %s, %d bytes", step, receiver, name, len(frame))
        self._run.put(receiver, address.tag, frame)

    def get(self, step: int, sender: str, receiver: str, name: str) -> Payload:
        """Return the payload of a message, checked by all that this party knows; RefusalError names the problem."""
        address = FrameAddress(self._run.id, step, sender, receiver, name)
        frame = self._run.get(sender, address.tag)
        LOG.debug("message %d from %s: %s, %d bytes", step, sender, name, len(frame))
        payload, header = decode_frame(frame, address, self.channel.names)
        problem = self._forms.problem(sender, receiver, name, payload)
        if problem:
            raise RefusalError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} is refused: {problem}.", sender, address.tag
            )
        try:
            row = self._enter(address, payload, header.shape, header.bytes)
        # A payload that was made up may break a rule anywhere: it is refused all the same.
        except Exception as error:
            raise RefusalError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} is refused: it cannot be accounted for "
                f"({type(error).__name__}).",
                sender,
                address.tag,
            ) from error
        if row.event != header.event:
            raise RefusalError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} is refused: its event is "
                f"{header.event!r:.80} where the program has {row.event!r:.80}.",
                sender,
                address.tag,
            )
        self._account.record_received(step, sender, name, row_of(payload), self._run.digest(sender, receiver, frame))
        return payload

    def reserve(self, step: int, row: Event) -> None:
        """Keep a public row, here and in the account."""
        self.channel.ledger.append(row)
        self._account.record_reservation(step, row)

    def _enter(self, address: FrameAddress, payload: Payload, shape: tuple[int, ...], size: int) -> Message:
        """Enter a received message, after the rows that are inside of it, and return its row."""
        for release in inner_releases(payload):
            self.channel.ledger.append(release.event)
        return self.channel.enter(address.sender, address.receiver, address.name, strip_value(payload), shape, size)

    def _pay(self, known: int) -> None:
        """Charge the rows that were added because a value was sent in the clear."""
        if len(self.channel.ledger) > known:
            clear = [event for event in self.channel.ledger.rows[known:] if event.mechanism == "none"]
            if clear:
                self._account.charge(*clear)


def inner_releases(payload: Payload) -> list[Release]:
    """Return the releases that a payload is made of, each after those that it is made of itself."""
    releases: dict[int, Release] = {}

    def visit(part: object) -> None:
        for inner in getattr(part, "made_of", ()):
            visit(inner)
            if isinstance(inner, Release):
                releases[id(inner)] = inner

    visit(payload)
    return list(releases.values())


class Forms:
    """Kind and form of the messages of every name that reached each receiver, and those of a rehearsal (`known`)."""

    def __init__(self, expected: Mapping[tuple[str, str], str] | None = None) -> None:
        self.known: dict[tuple[str, str], str] = dict(expected or {})
        self._first = dict.fromkeys(self.known, "the program has")

    def problem(self, sender: str, receiver: str, name: str, payload: Payload) -> str:
        """Return what is wrong with a message, as a sentence without its end; empty if nothing: its form is kept."""
        if not is_finite(payload):
            return "it holds a number that is not finite (NaN or infinity)"
        form, key = form_of(payload), (receiver, name)
        if EMPTY in form:
            return ""
        expected = self.known.setdefault(key, form)
        before = self._first.setdefault(key, f"{sender!r} sent")
        return "" if form == expected else f"it is {form} where {before} {expected}"


def form_of(payload: Payload) -> str:
    """Kind of a payload and form of its value, in words: types of numbers and numbers of dimensions, without shapes.

    What lists, tuples and mappings hold is named once however often they do; of a cipher its scheme is named.
    """
    return f"{KINDS[type(payload)]} ({_form(visible(payload))})"


def is_finite(payload: Payload) -> bool:
    """Whether every floating-point number of a payload is finite; what is closed in a cipher counts as it is."""
    return isinstance(payload, Cipher) or _finite(content_of(payload))


def _form(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.ndim}-dimensional array of {_number(value.dtype)}"
    if isinstance(value, np.generic):
        return _number(value.dtype)
    if isinstance(value, Cipher):
        return f"cipher {value.scheme!r}"
    if isinstance(value, Mapping):
        return f"mapping of {_forms_of([*value, *value.values()])}"
    if isinstance(value, list | tuple):
        return f"{'list' if isinstance(value, list) else 'tuple'} of {_forms_of(value)}"
    names = {bool: "bool", int: "int", float: "float64", str: "str"}
    return names.get(type(value), type(value).__name__)


def _number(dtype: np.dtype[np.generic]) -> str:
    """Name of a type of numbers: integers and text take the room that they need, so theirs is left open."""
    return {"i": "int", "u": "unsigned int", "b": "bool", "S": "bytes", "U": "str"}.get(dtype.kind, dtype.name)


def _forms_of(values: Iterable[object]) -> str:
    return f"({', '.join(sorted({_form(value) for value in values}))})"


def _finite(value: object) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float):
        return bool(np.isfinite(value))
    if isinstance(value, Mapping):
        return all(_finite(key) and _finite(item) for key, item in value.items())
    return all(map(_finite, value)) if isinstance(value, list | tuple) else True
