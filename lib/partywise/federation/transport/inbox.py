"""What has come for one party and was not taken yet: every implementation of `Transport` keeps its frames here."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Condition

from ...errors import Refused
from .interface import LARGEST

__all__ = ["Inbox"]


class Inbox:
    """Frames by sender and tag, each taken once; threads may put while another waits.

    Parameters
    ----------
    me : str
    peers : sequence of str
        Whose frames are taken.
    largest : int
        Bytes of the largest frame.
    """

    def __init__(self, me: str, peers: Sequence[str], largest: int = LARGEST) -> None:
        self.me, self.peers, self.largest = me, tuple(peers), largest
        self._changed = Condition()
        self._waiting: dict[tuple[str, str], bytes] = {}
        self._seen: set[tuple[str, str]] = set()
        self._refusal: Refused | None = None

    def arrived(self, sender: str, tag: str, data: bytes) -> None:
        """Keep a frame for whoever waits for it.

        Raises
        ------
        Refused
            If the sender is no peer, the frame is too large, or one came under this tag before; `get` raises it as
            well where the sender is a peer.
        """
        self.admit(sender, tag, len(data))
        with self._changed:
            again = (sender, tag) in self._seen
            if not again:
                self._seen.add((sender, tag))
                self._waiting[sender, tag] = data
                self._changed.notify_all()
        if again:
            raise self.refuse(f"a second frame {tag!r} came from {sender!r}: it is a replay.", sender, tag)

    def admit(self, sender: str, tag: str, size: int) -> None:
        """Refuse a frame of that many bytes before any of them is read."""
        if sender not in self.peers:
            raise Refused(f"a frame {tag!r} came to {self.me!r} from {sender!r}, who is none of {self.peers}.")
        if size > self.largest:
            raise self.refuse(
                f"frame {tag!r} of {sender!r} has {size} bytes, more than largest_message={self.largest}.", sender, tag
            )

    def refuse(self, sentence: str, sender: str, tag: str) -> Refused:
        """Let every `get` raise from now on; the error, for whoever raises it here as well."""
        error = Refused(sentence, sender, tag)
        with self._changed:
            self._refusal = self._refusal or error
            self._changed.notify_all()
        return error

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """As `Transport.get`."""
        if sender not in self.peers:
            raise ValueError(f"sender={sender!r} is no peer of {self.me!r}; its peers are {self.peers}.")
        key = sender, tag
        with self._changed:
            self._changed.wait_for(lambda: key in self._waiting or self._refusal is not None, timeout=wait)
            if self._refusal is not None:
                raise Refused(str(self._refusal), self._refusal.sender, self._refusal.tag)
            return self._waiting.pop(key, None)
