"""Parties that are forked processes of one machine: a pair of sockets between any two, made before the fork."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
from collections.abc import Mapping, Sequence
from threading import Lock, Thread

from ...core.errors import RefusalError, Unreachable
from .inbox import Inbox
from .interface import LARGEST

# Seconds between two looks whether this end was closed.
PULSE = 1.0

# Bytes of the tag, bytes of the frame.
PREFIX = struct.Struct(">HQ")
# Seconds after which a process that reads nothing of what is put to it counts as gone.
STUCK = 10


class Mesh:
    """Sockets between all parties: made once, then each process takes its `end`, and the others are closed in it."""

    def __init__(self, names: Sequence[str], largest: int = LARGEST) -> None:
        if len(set(names)) != len(names):
            raise ValueError(f"names={tuple(names)} of parties must be distinct.")
        self.names, self.largest = tuple(names), largest
        self._sockets: dict[tuple[str, str], socket.socket] = {}
        for name, other in itertools.combinations(names, 2):
            self._sockets[name, other], self._sockets[other, name] = socket.socketpair()

    def end(self, me: str) -> Pipes:
        """Return the end of one party, in its own process, which keeps no other socket open."""
        sockets = {other: end for (name, other), end in self._sockets.items() if name == me}
        self._sockets = {ends: end for ends, end in self._sockets.items() if ends[0] != me}
        self.close()
        return Pipes(me, sockets, self.largest)

    def close(self) -> None:
        """Close what no process has taken here; in the process that forked, so that others see when one ends."""
        for end in self._sockets.values():
            end.close()
        self._sockets = {}


class Pipes:
    """One party's end: a thread reads what each peer puts, so that no sender waits for a peer that computes."""

    def __init__(self, me: str, ends: Mapping[str, socket.socket], largest: int = LARGEST) -> None:
        self.me, self.peers, self.credential = me, tuple(ends), None
        self.inbox = Inbox(me, self.peers, largest)
        self._ends, self._locks = dict(ends), {peer: Lock() for peer in ends}
        self._gone: set[str] = set()
        for peer, end in self._ends.items():
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", STUCK, 0))
            Thread(target=self._read, args=(peer, end), daemon=True).start()

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Send a frame as `partywise.deployment.wire.interface.Transport.put` does."""
        name = tag.encode()
        try:
            with self._locks[receiver]:
                self._ends[receiver].sendall(PREFIX.pack(len(name), len(data)) + name)
                self._ends[receiver].sendall(data)
        except OSError as error:
            self._gone.add(receiver)
            raise Unreachable(f"{receiver!r} is gone: frame {tag!r} of {self.me!r} did not reach it.") from error

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """Return a frame as `partywise.deployment.wire.interface.Transport.get` does."""
        return self.inbox.get(sender, tag, wait)

    def is_there(self, peer: str) -> bool:
        """Whether the process of the peer has its end open: one that was stopped, not killed, counts as there."""
        return peer not in self._gone

    def close(self) -> None:
        """Close the sockets: others see this party gone once they have read what was put."""
        for end in self._ends.values():
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _read(self, peer: str, end: socket.socket) -> None:
        """Keep frames of one peer until it is gone, or a frame is refused."""
        try:
            while True:
                name, size = PREFIX.unpack(_exactly(end, PREFIX.size))
                tag = str(_exactly(end, name), "utf-8", "replace")
                self.inbox.check_size(peer, tag, size)
                while not self.inbox.await_room(peer, tag, size, PULSE):
                    # Whoever puts waits as well: the pipe is full.
                    if end.fileno() < 0:
                        return
                self.inbox.keep(peer, tag, bytes(_exactly(end, size)))
        except OSError:
            self._gone.add(peer)
        except RefusalError:
            # Whoever goes on putting is told so by its own end.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RD)


def _exactly(end: socket.socket, size: int) -> bytearray:
    """Read that many bytes of a stream; OSError if it ends before."""
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = end.recv_into(view[done:])
        if count == 0:
            raise ConnectionError("the stream has ended")
        done += count
    return data
