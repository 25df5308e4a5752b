"""A frame comes back as it was sent, and whatever else is in its place is refused by name."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixed import fixed
from partywise.core.errors import RefusalError
from partywise.core.randomness import stream
from partywise.deployment.wire.frames import FrameAddress, decode_frame, encode_frame
from partywise.federation.cipher import Cipher
from partywise.federation.codec import encode, pack, payload_of, row_of
from partywise.federation.payloads import argument_of
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import Release, derive
from partywise.privacy.statistics.records import clipped_coefficients

NAMES = ("p1", "p2", "server")
ADDRESS = FrameAddress("f" * 64, 17, "p1", "server", "sums")


def release() -> Release:
    bounded = clipped_coefficients(np.ones((4, 3)), None, fixed(1.0))
    return Gaussian(sigma=2.0)(bounded, stream(1, "noise"), owner="p1", release_id="sums of p1")


numbers = st.floats(width=64) | st.integers(-(2**80), 2**80) | st.booleans() | st.none() | st.text() | st.binary()
arrays = st.builds(
    lambda shape, kind, fill: np.full(shape, fill).astype(kind),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from(["f8", "f4", "i8", "u1", "?", "c16"]),
    st.integers(0, 100),
)
values = st.recursive(
    numbers | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
sentences = st.text(min_size=1).filter(str.strip)
clears = st.builds(Clear, values, st.sampled_from([("row",), ("label", "features")]), st.sampled_from([None, "p2"]))
plain_payloads = (
    st.builds(Public, values, sentences)
    | clears
    | st.builds(Cipher, values, st.just("p2"))
    | st.builds(lambda value: Release(value, release().event), values)
)


def made_of(parts: list) -> Release | Public | Clear:
    return derive(1.5, [part for part in parts if not isinstance(part, Cipher)] or [release()], name="of", owner="p1")


payloads = plain_payloads | st.builds(
    made_of, st.lists(plain_payloads.filter(lambda p: getattr(p, "owner", "") is not None), max_size=3)
)


@given(payloads)
def test_what_is_sealed_is_opened_to_the_last_bit(payload):
    again, header = decode_frame(encode_frame(ADDRESS, payload, "row 3"), ADDRESS, NAMES)
    assert type(again) is type(payload) and pack(again) == pack(payload)
    assert (header.event, header.argument) == ("row 3", argument_of(payload))


@given(payloads)
def test_what_a_payload_cost_comes_back_from_its_row_without_its_value(payload):
    row = json.loads(json.dumps(row_of(payload)))
    again = payload_of(row)
    assert row_of(again) == row and type(again) is type(payload) and argument_of(again) == argument_of(payload)
    assert (again.content if isinstance(again, Cipher) else again.value) is None


SECRET = encode_frame(ADDRESS, derive(np.arange(3.0), [release()], name="mean", owner="p1"), "mean")


@given(st.integers(0, len(SECRET) - 1), st.integers(1, 255))
def test_a_flipped_byte_anywhere_but_in_the_event_is_refused(position, flip):
    """The event is compared by the link, which knows the rows."""
    frame = bytearray(SECRET)
    frame[position] ^= flip
    try:
        _, header = decode_frame(bytes(frame), ADDRESS, NAMES)
    except RefusalError as error:
        assert str(error).startswith("message 17 ('sums') from 'p1' to 'server' is refused: ")
        assert (error.sender, error.tag) == ("p1", "message/17")
    else:
        assert header.event != "mean"


@given(st.binary(max_size=200) | st.integers(0, len(SECRET) - 1).map(lambda end: SECRET[:end]))
def test_what_is_no_frame_or_was_cut_off_is_refused(frame):
    with pytest.raises(
        RefusalError, match=r"is refused: it was cut off|header cannot be read|digest|header is not written"
    ):
        decode_frame(frame, ADDRESS, NAMES)


def changed(**fields) -> bytes:
    """The frame with another header."""
    end = 4 + int.from_bytes(SECRET[:4], "big")
    header = json.dumps(json.loads(SECRET[4:end]) | fields, separators=(",", ":")).encode()
    return len(header).to_bytes(4, "big") + header + SECRET[end:]


REFUSALS = {
    "an unknown sender": ({"sender": "p9"}, "its sender is 'p9', who is none of"),
    "another sender": ({"sender": "p2"}, "its sender is 'p2' where the program has 'p1'"),
    "another run": ({"run": "e" * 64}, "its run is 'eee.*where the program has 'fff"),
    "another step": ({"step": 16}, "its step is 16 where the program has 17"),
    "a step that is not a number": ({"step": True}, "its step is True where the program has 17"),
    "another receiver": ({"receiver": "p2"}, "its receiver is 'p2' where the program has 'server'"),
    "another name": ({"name": "sizes"}, "its name is 'sizes' where the program has 'sums'"),
    "another digest": ({"digest": "0" * 64}, "its digest is not that of its body"),
    "another kind": ({"kind": "public"}, "its kind is 'public' where the program has 'release'"),
    "another argument": ({"argument": "gaussian, mu = .1"}, "its argument is .* where the program has"),
    "another shape": ({"shape": [4]}, r"its shape is \(4,\) where the program has \(3,\)"),
    "another size": ({"bytes": 8}, "its bytes is 8 where the program has 24"),
    "a field too many": ({"pickle": "x"}, "its header cannot be read"),
    "a field of another type": ({"shape": 4}, "its header cannot be read"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_every_field_of_a_header_is_checked_by_name(what):
    fields, sentence = REFUSALS[what]
    with pytest.raises(RefusalError, match=sentence):
        decode_frame(changed(**fields), ADDRESS, NAMES)


def test_an_unchanged_header_is_opened():
    assert decode_frame(changed(), ADDRESS, NAMES)[1].event == "mean"


def around(raw: bytes) -> bytes:
    """A frame around any bytes, with their digest."""
    real = encode_frame(ADDRESS, Public(1.0, because="a setting"), "")
    header = json.loads(real[4 : 4 + int.from_bytes(real[:4], "big")])
    line = json.dumps(header | {"digest": sha256(raw).hexdigest()}, separators=(",", ":")).encode()
    return len(line).to_bytes(4, "big") + line + raw


PUBLIC = {"kind": "Public", "value": 1.0, "made_of": [], "because": "a setting"}
BODIES = {
    "no mapping": 3,
    "no kind": {"value": 1.0},
    "another class": PUBLIC | {"kind": "Popen"},
    "a field too many": PUBLIC | {"more": 1},
    "a field too few": {name: PUBLIC[name] for name in ("kind", "value", "made_of")},
    "no argument": PUBLIC | {"because": " "},
    "no event": {"kind": "Release", "value": 1.0, "made_of": [], "event": {"mu": 1.0}},
    "a part that is not a payload": PUBLIC | {"made_of": [3]},
    "a part in the clear": PUBLIC
    | {"made_of": [{"kind": "Clear", "value": None, "made_of": [], "units": ("row",), "owner": "p", "audience": None}]},
}


@pytest.mark.parametrize("what", BODIES)
def test_a_body_that_is_no_payload_is_refused(what):
    assert decode_frame(around(encode(PUBLIC)), ADDRESS, NAMES)[0].value == 1.0
    with pytest.raises(RefusalError, match="its body is not a payload"):
        decode_frame(around(encode(BODIES[what])), ADDRESS, NAMES)


LINES = {
    "nothing but brackets": b"[" * 100_000 + b"]" * 100_000,
    "a huge shape": b'{"":"array","dtype":"<f8","shape":[4611686018427387904]}',
    "objects": b'{"":"array","dtype":"O","shape":[0]}',
    "fields": b'{"":"array","dtype":"f8,f8","shape":[0]}',
    "a shape whose product is 0 in 64 bits": b'{"":"array","dtype":"|u1","shape":[4611686018427387904,4]}',
    "no entries of a shape that no memory holds": b'{"":"array","dtype":"|u1","shape":[1152921504606846976,0]}',
    "a length that is not a number": b'{"":"array","dtype":"|u1","shape":[true]}',
    "ten million entries": b"[" + b"[]," * 5_000_000 + b"[]]",
}


@pytest.mark.parametrize("what", LINES)
def test_a_body_that_the_codec_cannot_read_is_refused(what):
    with pytest.raises(RefusalError, match="its body is not a payload"):
        decode_frame(around(len(LINES[what]).to_bytes(8, "big") + LINES[what]), ADDRESS, NAMES)


BACKWARDS = {
    "bytes": [{"": "bytes", "size": 10**6}, {"": "bytes", "size": -(10**6)}],
    "arrays": [{"": "array", "dtype": "|u1", "shape": [n]} for n in (10**6, -(10**6))],
}


@pytest.mark.parametrize("what", BACKWARDS)
def test_a_body_whose_bytes_are_read_again_and_again_takes_no_memory(what):
    """A length below 0 went back to the beginning: a million bytes were read as a thousand million."""
    line = json.dumps(BACKWARDS[what] * 1000 + BACKWARDS[what][:1]).encode()
    frame = around(len(line).to_bytes(8, "big") + line + bytes(10**6))
    tracemalloc.start()
    try:
        with pytest.raises(RefusalError, match="its body is not a payload"):
            decode_frame(frame, ADDRESS, NAMES)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(frame)
    finally:
        tracemalloc.stop()


def test_no_pickle_is_in_a_frame_and_an_address_names_its_tag():
    assert ADDRESS.tag == "message/17" and replace(ADDRESS, step=3).tag == "message/3"
    event = Event(release_id="f", owner="p1", mechanism="laplace", unit="row", depends_on=("label",), epsilon=1.0)
    frame = encode_frame(ADDRESS, Release(np.ones(2), event), "f")
    assert b"numpy" not in frame and b"\x80\x04" not in frame
