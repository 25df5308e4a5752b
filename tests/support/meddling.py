"""Transports between a party and its own: frames are changed on their way, or the process is killed at one of them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from partywise.deployment.wire.frames import PREFIX, FrameAddress, decode_frame, encode_frame


class Meddling:
    """A transport that hands on something else than was put, or takes its process away."""

    def __init__(self, end, meddle):
        self.end, self.meddle, self.me, self.peers = end, meddle, end.me, end.peers
        self.get, self.is_there, self.close, self.credential = end.get, end.is_there, end.close, end.credential

    def put(self, receiver, tag, data):
        for frame in self.meddle(receiver, tag, data):
            self.end.put(receiver, *frame)


def mortal(end: Any, count: int) -> Meddling:
    """A transport that kills its process when it puts or gets the n-th frame."""
    left = [count]

    def spent():
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    made = Meddling(end, lambda receiver, tag, data: (spent(), [(tag, data)])[1])
    made.get = lambda *given: (spent(), end.get(*given))[1]
    return made


def altered(
    names: Sequence[str], what: str, change: Callable[[Any], Any]
) -> Callable[..., Iterator[tuple[str, bytes]]]:
    """Puts another value into every message of a name, with the header and the digest that it has then."""

    def meddle(receiver: str, tag: str, data: bytes) -> Iterator[tuple[str, bytes]]:
        if tag.startswith("message/"):
            given = json.loads(data[PREFIX : PREFIX + int.from_bytes(data[:PREFIX], "big")])
            address = FrameAddress(**{name: given[name] for name in ("run", "step", "sender", "receiver", "name")})
            payload, header = decode_frame(data, address, names)
            if header.name == what:
                data = encode_frame(address, replace(payload, value=change(payload.value)), header.event)
        yield tag, data

    return meddle
