"""Values of messages as bytes and back: a JSON header and raw arrays, nothing that could run code when it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields

# Any: contents of messages, read back from bytes.
from typing import Any

import numpy as np

from ..privacy.accounted_values import AccountedValue, Clear, Public
from ..privacy.ledger.event import Event
from ..privacy.mechanisms.release import Release
from .cipher import Cipher
from .payloads import Payload

KINDS = "biufcSU"
# Tags of what JSON has no word for.
ARRAY, TUPLE, BYTES, NUMBER, FLOAT, MAPPING, CIPHER = "array", "tuple", "bytes", "number", "float", "mapping", "cipher"
CIPHER_FIELDS = tuple(field.name for field in fields(Cipher) if field.name != "made_of")
# Entries that a header may list: each takes about a hundred bytes once it is read, and two to be written.
ENTRIES = 2**22
# An array without entries has a shape all the same: what is computed from it must fit into memory.
EMPTY = 2**28


def encode(value: object) -> bytes:
    """A value as bytes.

    Eight bytes with the length of the header, the header as JSON, then the bytes of all arrays in order, each
    contiguous with its axes in the order in which it lies in memory.
    """
    return b"".join(encode_parts(value))


def encode_parts(value: object) -> list[bytes | memoryview]:
    """Parts that `encode` joins: views of arrays as they lie in memory, where they lie one entry after the other."""
    raw: list[bytes | memoryview] = []
    header = json.dumps(_describe(value, raw), separators=(",", ":")).encode()
    return [len(header).to_bytes(8, "big"), header, *raw]


def _bytes_of(array: np.ndarray) -> bytes | memoryview:
    """The bytes of an array in order, without a copy where it is contiguous."""
    if not array.size or not array.dtype.itemsize:
        return array.tobytes()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def decode(data: bytes | memoryview) -> Any:
    """Inverse of `encode`; arrays are read-only."""
    size = int.from_bytes(data[:8], "big")
    if len(data) < 8 + size:
        raise ValueError(
            f"data has {len(data)} bytes and a header of {size}: it was cut off or is not an encoded value."
        )
    header = bytes(data[8 : 8 + size])
    if sum(map(header.count, (b",", b"[", b"{"))) > ENTRIES:
        raise ValueError(f"the header of data lists more than {ENTRIES} entries: send arrays.")
    value, end = _restore(json.loads(header), data, 8 + size)
    if end != len(data):
        raise ValueError(f"data has {len(data)} bytes and describes {end}: it is not an encoded value.")
    return value


def _describe(value: object, raw: list[bytes | memoryview]) -> object:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in KINDS:
        if not isinstance(value, np.ndarray):
            raw.append(value.tobytes())
            return {"": NUMBER, "dtype": value.dtype.str, "shape": ()}
        axes = _axes(value)
        raw.append(_bytes_of(value.transpose(axes)))
        order = {} if axes == sorted(axes) else {"axes": axes}
        return {"": ARRAY, "dtype": value.dtype.str, "shape": value.shape} | order
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return {"": FLOAT, "hex": value.hex()}
    if isinstance(value, bytes):
        raw.append(value)
        return {"": BYTES, "size": len(value)}
    if isinstance(value, list):
        return [_describe(item, raw) for item in value]
    if isinstance(value, tuple):
        return {"": TUPLE, "items": [_describe(item, raw) for item in value]}
    if isinstance(value, Mapping):
        return {"": MAPPING, "items": [[_describe(k, raw), _describe(v, raw)] for k, v in value.items()]}
    if isinstance(value, Cipher):
        return {"": CIPHER, "fields": [_describe(getattr(value, name), raw) for name in CIPHER_FIELDS]}
    raise TypeError(f"value of type {type(value).__name__} cannot be a message; send arrays, numbers, text or lists.")


def _restore(form: object, data: bytes | memoryview, at: int) -> tuple[Any, int]:
    """A described value and where the next array begins."""
    if isinstance(form, list):
        return _sequence(form, data, at)
    if not isinstance(form, dict):
        return form, at
    tag = form[""]
    if tag == FLOAT:
        return float.fromhex(form["hex"]), at
    if tag == BYTES:
        end = _end(at, _count(form["size"]), data)
        return bytes(data[at:end]), end
    if tag == TUPLE:
        items, at = _sequence(form["items"], data, at)
        return tuple(items), at
    if tag == CIPHER:
        items, at = _sequence(form["fields"], data, at)
        return Cipher(**dict(zip(CIPHER_FIELDS, items, strict=True))), at
    if tag == MAPPING:
        pairs, at = _sequence(form["items"], data, at)
        return dict(pairs), at
    dtype = np.dtype(form["dtype"])
    if dtype.kind not in KINDS:
        raise ValueError(f"dtype={form['dtype']!r} of an array is none of numbers or text.")
    shape = [_count(length) for length in form["shape"]]
    if 0 in shape and math.prod(filter(None, shape)) > EMPTY:
        raise ValueError(f"shape={shape} of an array without entries is beyond any that is sent.")
    end = _end(at, dtype.itemsize * math.prod(shape), data)
    # A copy: what lies anywhere in a frame need not lie as its type wants.
    array = np.frombuffer(bytes(data[at:end]), dtype=dtype)
    axes = form.get("axes", range(len(shape)))
    array = array.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes))
    return (array if tag == ARRAY else array[()]), end


def _count(number: object) -> int:
    """A number of bytes or entries: one below 0 would have the same bytes read again and again."""
    if type(number) is not int or number < 0:
        raise ValueError(f"a size or length is {number!r}: it must be a whole number from 0.")
    return number


def _end(at: int, size: int, data: bytes | memoryview) -> int:
    """End of an array that begins at a place."""
    if at + size > len(data):
        raise ValueError(f"data has {len(data)} bytes and describes {at + size}: it is not an encoded value.")
    return at + size


def _axes(array: np.ndarray) -> list[int]:
    """Axes from the slowest to the fastest, as they lie in memory: sums depend on it.

    Where it makes no difference (a single entry, or none) they are in order, so that one array has one form.
    """
    long = [axis for axis in range(array.ndim) if array.size and array.shape[axis] > 1]
    slowest = iter(sorted(long, key=lambda axis: -abs(array.strides[axis])))
    return [next(slowest) if axis in long else axis for axis in range(array.ndim)]


def _sequence(forms: list[object], data: bytes | memoryview, at: int) -> tuple[list[Any], int]:
    items = []
    for form in forms:
        item, at = _restore(form, data, at)
        items.append(item)
    return items, at


def pack(payload: Payload) -> bytes:
    """A payload as bytes: its value, and what the channel needs to account for it."""
    return b"".join(pack_parts(payload))


def pack_parts(payload: Payload) -> list[bytes | memoryview]:
    """Parts that `pack` joins, arrays where they lie."""
    return encode_parts(_form(payload, value=True))


def unpack(data: bytes | memoryview) -> Payload:
    """Inverse of `pack`."""
    return _payload(decode(data))


def row_of(payload: Payload) -> dict[str, object]:
    """Cost of a payload, as plain values (strings, numbers, None, lists and mappings): fit for JSON."""
    plain: dict[str, object] = json.loads(json.dumps(_form(payload, value=False)))
    return plain


def payload_of(row: Mapping[str, object]) -> Payload:
    """Inverse of `row_of`: the payload without its value."""
    return _payload(row)


def _form(payload: AccountedValue | Cipher, value: bool) -> dict[str, object]:
    kind = type(payload).__name__
    if isinstance(payload, Cipher):
        whole = {"kind": kind} | {name: getattr(payload, name) for name in CIPHER_FIELDS}
        whole["made_of"] = [_form(part, value=False) for part in payload.made_of]
        return whole if value else whole | {"content": None}
    form: dict[str, object] = {"kind": kind, "value": payload.value if value else None}
    form["made_of"] = [_form(part, value=False) for part in payload.made_of]
    if isinstance(payload, Release):
        return form | {"event": payload.event.to_row()}
    names = ("because",) if isinstance(payload, Public) else ("units", "owner", "audience")
    return form | {name: getattr(payload, name) for name in names}


def _payload(form: Mapping[str, Any]) -> Payload:
    rest = {name: value for name, value in form.items() if name != "kind"}
    # Accounts of earlier versions do not say what a cipher is made of.
    rest["made_of"] = tuple(_payload(part) for part in form.get("made_of", ()))
    if form["kind"] == "Cipher":
        return Cipher(**rest)
    if form["kind"] == "Release":
        return Release(**rest | {"event": Event.from_row(form["event"])})
    if form["kind"] == "Public":
        return Public(**rest)
    if form["kind"] != "Clear":
        raise ValueError(f"kind={form['kind']!r} is not a payload.")
    rest |= {name: tuple(rest[name]) for name in ("units", "audience") if isinstance(rest[name], list)}
    return Clear(**rest)
