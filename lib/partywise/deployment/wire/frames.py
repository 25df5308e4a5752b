"""One message as bytes: a header that describes it, and the payload as `codec` packs it; and back, or refused.

A frame is fixed by what both ends know before (`FrameAddress`) and by its payload: every field of the header is
compared with what the receiver expects or computes from the payload itself. It contains no pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

from ...core.errors import RefusalError
from ...federation.codec import pack_parts, unpack
from ...federation.payloads import KINDS, Payload, argument_of, measure

PREFIX = 4
# A header is short: the name and the argument of a message are sentences.
LARGEST_HEADER = 2**16


@dataclass(frozen=True)
class FrameAddress:
    """Position and names of a message, which both ends know before it is sent.

    run : id of the run; step : its position in the program; sender, receiver, name : from whom, to whom, what
    """

    run: str
    step: int
    sender: str
    receiver: str
    name: str

    @property
    def tag(self) -> str:
        """Name of the frame in the transport."""
        return f"message/{self.step}"


@dataclass(frozen=True)
class Header(FrameAddress):
    """Address, row of the transcript and digest of the body of a frame."""

    kind: str
    argument: str
    event: str
    shape: tuple[int, ...]
    bytes: int
    digest: str


def encode_frame(address: FrameAddress, payload: Payload, event: str) -> bytes:
    """Return a payload as a frame."""
    body = pack_parts(payload)
    header = _line(_header(address, payload, event, digest_of_parts(body)))
    return b"".join((len(header).to_bytes(PREFIX, "big"), header, *body))


def decode_frame(frame: bytes, address: FrameAddress, names: Sequence[str]) -> tuple[Payload, Header]:
    """Return the payload of a frame and its header; the receiver must still check the event."""
    header, body = _split_header(frame, address)
    if header.sender not in names:
        raise _refusal(address, f"its sender is {header.sender!r:.80}, who is none of {tuple(names)}")
    for field in fields(FrameAddress):
        _compare(address, field.name, getattr(header, field.name), getattr(address, field.name))
    if digest_of_parts([body]) != header.digest:
        raise _refusal(address, "its digest is not that of its body")
    try:
        payload = unpack(body)
        expected = _header(address, payload, header.event, header.digest)
    # Whatever a hostile body makes the reader stumble over, it is not a payload.
    except Exception as error:
        raise _refusal(address, f"its body is not a payload ({type(error).__name__})") from error
    for field in fields(Header):
        _compare(address, field.name, getattr(header, field.name), getattr(expected, field.name))
    if not _is_joined(pack_parts(payload), body):
        raise _refusal(address, "its body is not written as payloads are")
    return payload, header


def digest_of_parts(parts: Iterable[bytes | memoryview]) -> str:
    """SHA-256 of the parts joined, without copying any of them."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()


def _is_joined(parts: Iterable[bytes | memoryview], whole: memoryview) -> bool:
    """Whether a whole is these parts one after the other."""
    at = 0
    for part in parts:
        if whole[at : at + len(part)] != part:
            return False
        at += len(part)
    return at == len(whole)


def _header(address: FrameAddress, payload: Payload, event: str, digest: str) -> Header:
    shape, size = measure(payload, address.name)
    return Header(
        **asdict(address),
        kind=KINDS[type(payload)],
        argument=argument_of(payload),
        event=event,
        shape=shape,
        bytes=size,
        digest=digest,
    )


def _split_header(frame: bytes, address: FrameAddress) -> tuple[Header, memoryview]:
    """Return header and body of a frame; refuse bytes that are not one."""
    end = PREFIX + int.from_bytes(frame[:PREFIX], "big")
    if len(frame) < PREFIX or not end <= len(frame) or end > PREFIX + LARGEST_HEADER:
        raise _refusal(address, f"it was cut off or is not a frame: {len(frame)} bytes")
    line = frame[PREFIX:end]
    try:
        header_fields = json.loads(line)
        header = Header(**header_fields | {"shape": tuple(header_fields["shape"])})
        canonical = _line(header)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _refusal(address, f"its header cannot be read ({type(error).__name__})") from error
    if canonical != line:
        raise _refusal(address, "its header is not written as headers are")
    return header, memoryview(frame)[end:]


def _line(header: Header) -> bytes:
    return json.dumps(asdict(header), separators=(",", ":")).encode()


def _compare(address: FrameAddress, field: str, value: object, expected: object) -> None:
    if type(value) is not type(expected) or value != expected:
        raise _refusal(address, f"its {field} is {value!r:.80} where the program has {expected!r:.80}")


def _refusal(address: FrameAddress, reason: str) -> RefusalError:
    return RefusalError(
        f"message {address.step} ({address.name!r}) from {address.sender!r} to {address.receiver!r} is refused: "
        f"{reason}.",
        address.sender,
        address.tag,
    )
