"""One party that sends the other a frame of 100 MB: the memory that it takes beside the value, in sizes of the frame.

``python tests/support/frame_memory.py CERTIFICATES ADDRESSES FOLDER plain|journal NAME``; the first party sends.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from partywise.core.errors import Unreachable
from partywise.deployment.wire.frames import FrameAddress, decode_frame, encode_frame
from partywise.deployment.wire.journal import Journal
from partywise.deployment.wire.network import Network
from partywise.federation.cipher import Cipher

SIZE = 100_000_000
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(what: str) -> int:
    """Bytes of this process: what it has (``VmRSS``), or has had at most (``VmHWM``)."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{what}:"))
    return 1024 * int(line.split()[1])


def columns(entries: int) -> Cipher:
    """Numbers that cannot be compressed."""
    return Cipher(np.random.default_rng(1).integers(0, 2**60, entries), key_holder="nobody", scheme="share")


def send(end: Network, receiver: str, step: int, value: Cipher) -> None:
    """Put a frame, as soon as the other is there."""
    address = FrameAddress("r" * 64, step, end.me, receiver, "columns")
    while True:
        try:
            return end.put(receiver, address.tag, encode_frame(address, value, ""))
        except Unreachable:
            time.sleep(0.1)


def take(end: Network, sender: str, step: int) -> Cipher:
    """The value of a frame, which stays in the hands of whoever takes it."""
    address, frame = FrameAddress("r" * 64, step, sender, end.me, "columns"), None
    while frame is None:
        frame = end.get(sender, address.tag, 1.0)
    value, _ = decode_frame(frame, address, (sender, end.me))
    assert isinstance(value, Cipher)
    return value


def main(certificates: str, addresses: str, folder: str, how: str, me: str) -> None:
    """Say how much memory one frame took."""
    places = {name: (host, port) for name, (host, port) in json.loads(addresses).items()}
    journal = Journal(Path(folder) / f"{me}.journal", "memory") if how == "journal" else None
    end, (first, other) = Network(me, places, certificates, journal=journal), tuple(places)[:2]
    try:
        value = columns(SIZE // 8 if me == first else 1)
        # What is imported and made once is not the frame's.
        send(end, other, 0, columns(10)) if me == first else take(end, first, 0)
        before = memory("VmRSS")
        RESET.write_text("5")
        send(end, other, 1, value) if me == first else take(end, first, 1)
        print((memory("VmHWM") - before) / SIZE)
        time.sleep(0.5)
    finally:
        end.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
