"""Interface between a session and its carrier of bytes: put and get by tag, and whether a peer is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...federation.identity import Signer

# Bytes of the largest frame that is read where nobody says another number.
LARGEST = 2**28
# Signs of a number in a tag.
LONG = 16


def printable(answer: object, most: int) -> str:
    """Return a peer's words as part of a sentence: at most ``most`` characters, none that a terminal obeys."""
    text = str(answer) if isinstance(answer, str | int | float) else type(answer).__name__
    return "".join(sign if sign.isprintable() else " " for sign in text[:most])


def split_tag(tag: str) -> tuple[int, str, str]:
    """Split a tag into number of the run (0 if absent), kind and step: "3/message/17" is (3, "message", "17")."""
    head, _, rest = tag.partition("/")
    numbered = head.isdecimal() and len(head) < LONG
    kind, _, step = (rest if numbered else tag).partition("/")
    return int(head) if numbered else 0, kind, step


class Transport(Protocol):
    """One party's end of the connections to all others, for one session.

    me : name of this party
    peers : names of all others
    credential : the certificate by which others know it, to sign with, None where parties have none

    An implementation knows who put a frame (by a certificate, or by the end of a pipe): the sender is never read from
    the frame. A tag names one frame of a sender: "hello", "ready", "message/17", "done", "abort", and of a later run of
    the session "3/message/17" (`split_tag`). Another frame under a tag is a replay, whether the first was taken or not;
    the very same one is one that got no answer. Of "waiting" the last one counts.
    """

    @property
    def me(self) -> str:
        """Name of this party."""

    @property
    def peers(self) -> tuple[str, ...]:
        """Names of all other parties."""

    @property
    def credential(self) -> Signer | None:
        """Certificate and key of this party."""

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Hand over a frame; when this returns it is with the receiver's process, or on its way there.

        Unreachable if it surely did not arrive: it may be put again.
        """

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """Return the frame that a sender put under a tag; None if it has not come within ``wait`` seconds.

        Refused at once, for every awaited frame, if a peer put a frame that is too large or a replay.
        """

    def is_there(self, peer: str) -> bool:
        """Whether the process of a peer answers now; returns within a second."""

    def close(self) -> None:
        """Close the connections; frames that were put before still arrive."""
