"""Kind, argument, size and visible value of a payload, the message that carries it, and its read-only received form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

# Any: contents of messages, whatever a protocol sends.
from typing import Any, TypedDict

import numpy as np

from ..privacy.accounted_values import Clear, Public
from ..privacy.ledger.chain import Frame, frame_of
from ..privacy.mechanisms.release import Release
from .cipher import Cipher

Payload = Release | Cipher | Public | Clear
KINDS: dict[type, str] = {Release: "release", Cipher: "cipher", Public: "public", Clear: "clear"}


@dataclass(frozen=True, slots=True)
class Message:
    """One payload on its way, without its contents.

    step : position in the transcript, from 0; name : what it is; kind : one of the values of `KINDS`
    argument : mechanism and profile of a release, key holder of a cipher, reason or units of other values
    event : id of its row in the ledger, the first of several; empty where there is none
    shape : of an array, empty otherwise; bytes : size as serialised
    """

    step: int
    sender: str
    receiver: str
    name: str
    kind: str
    argument: str
    event: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def row(self) -> TranscriptRow:
        """Its row of plain values: the shape as text."""
        return {
            "step": self.step,
            "sender": self.sender,
            "receiver": self.receiver,
            "name": self.name,
            "kind": self.kind,
            "argument": self.argument,
            "event": self.event,
            "shape": "x".join(map(str, self.shape)),
            "bytes": self.bytes,
        }


class TranscriptRow(TypedDict):
    """A message in the table "what crosses the wire"."""

    step: int
    sender: str
    receiver: str
    name: str
    kind: str
    argument: str
    event: str
    shape: str
    bytes: int


class Transcript(list[TranscriptRow]):
    """A list of messages with a short summary as its repr."""

    def __repr__(self) -> str:
        senders = len({row["sender"] for row in self})
        sizes = f"{sum(row['bytes'] for row in self)} bytes"
        return f"Transcript of {len(self)} message{'s' * (len(self) != 1)} of {senders} senders, {sizes}"

    def to_frame(self) -> Frame:
        """One row for each message, in order: sender, receiver, name, kind, ... ImportError without pandas."""
        return frame_of(self, list(TranscriptRow.__annotations__))


def argument_of(payload: Payload) -> str:
    """Argument of a payload in the transcript: mechanism and profile, key holder, reason, or units."""
    if isinstance(payload, Cipher):
        return f"key: {payload.key_holder}"
    if isinstance(payload, Release):
        event = payload.event
        return event.mechanism if event.profile is None else f"{event.mechanism}, {event.profile}"
    return "+".join(sorted(payload.units)) if isinstance(payload, Clear) else payload.because


def measure(payload: Payload, name: str = "value") -> tuple[tuple[int, ...], int]:
    """Shape and bytes of what a payload carries; TypeError if something in it has no size."""
    carried = payload if isinstance(payload, Cipher) else payload.value
    return carried.shape if isinstance(carried, np.ndarray | Cipher) else (), payload_bytes(carried, name)


def payload_bytes(value: object, name: str = "value") -> int:
    """Size of a value as serialised: arrays 8 bytes a double, numbers 8, text UTF-8, containers their sum."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.nbytes
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    if value is None or isinstance(value, int | float | np.number | np.bool_):
        # Integers beyond 64 bits (ciphertexts) take the bytes they need.
        return max(8, (value.bit_length() + 7) // 8) if isinstance(value, int) else 8
    if isinstance(value, Mapping):
        return sum(payload_bytes(key, name) + payload_bytes(item, name) for key, item in value.items())
    if isinstance(value, list | tuple):
        return sum(payload_bytes(item, name) for item in value)
    if isinstance(value, Cipher):
        return payload_bytes(value.content, name) if value.size is None else value.size
    raise TypeError(f"payload {name!r} holds a {type(value).__name__}, which has no serialised size; send arrays.")


def content_of(payload: Payload) -> object:
    """Content of a payload, that of a cipher included: for its carrier."""
    return payload.content if isinstance(payload, Cipher) else payload.value


def visible(payload: Payload) -> Any:
    """Value of a message as both ends have it, or a cipher, closed."""
    return payload if isinstance(payload, Cipher) else payload.value


def strip_value(payload: Payload) -> Payload:
    """A payload without what it holds: what it cost."""
    return replace(payload, content=None) if isinstance(payload, Cipher) else replace(payload, value=None)


def require_value(payload: Payload, sender: str, name: str, arrivals: Iterable[tuple[str, object]]) -> None:
    """Raise ValueError for a payload that its sender received and sends on: `Run.received` lists it without its value.

    arrivals : name and payload of each message that has reached the sender
    """
    if content_of(payload) is not None:
        return
    for message, arrival in arrivals:
        if payload is arrival:
            raise ValueError(
                f"payload {name!r}: {sender!r} sends on what run.received lists of message {message!r}, which states "
                "what it cost and has no value: send the value that the message brought, as "
                f"Public(value, because=..., made_of=run.received({sender!r}, {message!r})), or a cipher as it is."
            )


def in_the_clear(payload: Payload, sender: str) -> Payload:
    """Return a payload as it is if simulated ciphers close nothing: one of an open scheme is a value of its makers."""
    if not isinstance(payload, Cipher) or payload.closes or not (charges := payload.charges(sender)):
        return payload
    parts = tuple(Clear(None, units, owner=owner) for owner, units in charges.items())
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(replace(payload, size=payload_bytes(payload.content), made_of=()), units, made_of=parts)


def read_only(value: object) -> Any:
    """The received form of a value: a read-only copy, so that neither side reaches the other's arrays."""
    if isinstance(value, np.ndarray):
        # On bytes, numpy refuses to set the write flag again.  The order of axes stays: sums depend on it.
        if value.flags.c_contiguous:
            return np.ndarray(value.shape, value.dtype, value.tobytes())
        axes = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        stored = value.transpose(axes)
        return np.ndarray(stored.shape, stored.dtype, stored.tobytes()).transpose(np.argsort(axes))
    if isinstance(value, Cipher):
        return replace(value, content=read_only(value.content))
    if isinstance(value, Mapping):
        return {key: read_only(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(read_only(item) for item in value)
    return value
