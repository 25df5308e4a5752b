"""Frames that came for one party and were not taken yet: every implementation of `Transport` keeps them here."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition

from ...core.errors import NoRoomError, RefusalError
from .interface import LARGEST
from .journal import PASSING, Journal

# Said from time to time: the last one counts, and one that is lost is no loss.
WAITING = PASSING[0]
# Bytes that a frame takes beside its own.
BESIDE = 2**9


class Inbox:
    """Frames of the peers by sender and tag, each taken once; threads may put while another waits.

    largest : bytes of the largest frame
    journal : keeps frames before their senders hear that they came, and what is there already has come
    """

    def __init__(self, me: str, peers: Sequence[str], largest: int = LARGEST, journal: Journal | None = None) -> None:
        self.me, self.peers, self.largest, self._journal = me, tuple(peers), largest, journal
        self._changed = Condition()
        self._waiting: dict[tuple[str, str], bytes] = {}
        self._seen = {} if journal is None else journal.digests
        # What a process before this one got, and this one has not taken yet.
        self._before = set(self._seen)
        self._held: Counter[str] = Counter()
        self._problem: RefusalError | OSError | None = None

    def keep(self, sender: str, tag: str, data: bytes) -> None:
        """Keep a frame until `get` takes it.

        Refused if the sender is not a peer, the frame is too large or does not fit in, or another one came under this
        tag before; `get` raises it as well where the sender is a peer. A sender without an answer puts the same frame
        again, although the first may have arrived: that does not count as a replay.
        """
        self.admit(sender, tag, len(data))
        with self._changed:
            if tag == WAITING:
                self._take(sender, tag)
            else:
                digest = hashlib.sha256(data).hexdigest()
                if self._seen.get((sender, tag)) == digest:
                    return
                if (sender, tag) in self._seen:
                    raise self.refuse(f"a second frame {tag!r:.80} came from {sender!r}: it is a replay.", sender, tag)
                self._write(sender, tag, data)
                self._seen[sender, tag] = digest
            self._waiting[sender, tag] = data
            self._held[sender] += len(data) + BESIDE
            self._changed.notify_all()

    def _write(self, sender: str, tag: str, data: bytes) -> None:
        """Keep a frame on disk; if that fails, its sender may put it again and `get` raises the error."""
        if self._journal is None or tag in PASSING:
            return
        try:
            self._journal.keep(sender, tag, data)
        except OSError as error:
            self._problem = self._problem or error
            self._changed.notify_all()
            raise

    def _take(self, sender: str, tag: str) -> bytes | None:
        data = self._waiting.pop((sender, tag), None)
        if data is not None:
            self._held[sender] -= len(data) + BESIDE
            self._changed.notify_all()
        return data

    def admit(self, sender: str, tag: str, size: int) -> None:
        """Refuse a frame of ``size`` bytes before any are read; NoRoomError while other frames of its sender wait.

        A sender is ahead by the largest frame at most: it has to wait until what it put is taken.
        """
        self.check_size(sender, tag, size)
        if not self._has_room(sender, tag, size):
            raise NoRoomError(f"frames of {sender!r} that {self.me!r} has not taken leave no room for {tag!r:.80}.")

    def check_size(self, sender: str, tag: str, size: int) -> None:
        """Refuse a frame whose sender is not a peer, or that is larger than any may be."""
        if sender not in self.peers:
            raise RefusalError(f"a frame {tag!r:.80} came to {self.me!r} from {sender!r}, who is none of {self.peers}.")
        if size > self.largest:
            raise self.refuse(
                f"frame {tag!r:.80} of {sender!r} has {size} bytes, more than largest_message={self.largest}.", sender
            )

    def _has_room(self, sender: str, tag: str, size: int) -> bool:
        return tag in PASSING or not self._held[sender] or self._held[sender] + size <= self.largest

    def await_room(self, sender: str, tag: str, size: int, wait: float) -> bool:
        """Whether there is room for a frame, at once or within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._has_room(sender, tag, size), timeout=wait)

    @contextmanager
    def reading(self, sender: str, tag: str, size: int) -> Iterator[None]:
        """Admit a frame and count it while it is read: one that never ends takes room as well."""
        self.admit(sender, tag, size)
        with self._changed:
            self._held[sender] += size + BESIDE
        try:
            yield
        finally:
            with self._changed:
                self._held[sender] -= size + BESIDE
                self._changed.notify_all()

    def refuse(self, sentence: str, sender: str, tag: str = "") -> RefusalError:
        """Let every `get` raise from now on; return the error, for callers that raise it as well."""
        error = RefusalError(sentence, sender, tag)
        with self._changed:
            self._problem = self._problem or error
            self._changed.notify_all()
        return error

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """Return a frame as `Transport.get` does."""
        if sender not in self.peers:
            raise ValueError(f"sender={sender!r} is not a peer of {self.me!r}; its peers are {self.peers}.")
        key = sender, tag
        with self._changed:
            if self._journal is not None and key in self._before:
                self._before.remove(key)
                return self._journal.frame(*key)
            self._changed.wait_for(lambda: key in self._waiting or self._problem is not None, timeout=wait)
            if isinstance(self._problem, RefusalError):
                raise RefusalError(str(self._problem), self._problem.sender, self._problem.tag)
            if self._problem is not None:
                raise self._problem
            return self._take(sender, tag)
