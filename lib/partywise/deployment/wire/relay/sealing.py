"""Frames that nobody between two parties can read or make: X25519 keys of this process, signed by their parties.

A key is signed with the key of the party's certificate, for one purpose, one job and one configuration
(`partywise.federation.identity.Identity`). Two parties that have each other's keys share a secret (NaCl's box:
X25519, XSalsa20 and Poly1305), which authenticates both; who sends, to whom and under which tag is inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....core.errors import RefusalError
from ....federation.identity import Identity, join_parts

if TYPE_CHECKING:
    from nacl.public import Box

PURPOSE = "sealing key"
# Bytes of the length before every part, and of a nonce.
LENGTH, NONCE = 8, 24


class Seal:
    """The keys of one party's process, and of the others as it learns them.

    Parameters
    ----------
    me : str
    identity : Identity
        With a credential, and the job and the configuration that keys are signed for.

    Raises
    ------
    ImportError
        If the package PyNaCl is absent.
    ValueError
        If the party has no certificate to sign with.
    """

    def __init__(self, me: str, identity: Identity) -> None:
        try:
            from nacl.public import PrivateKey
        except ImportError as error:
            raise ImportError("sealed frames need the package pynacl: pip install 'partywise[nvflare]'.") from error
        if identity.credential is None:
            raise ValueError(f"identity of {me!r} has no credential: sealing keys are signed with its certificate.")
        self.me, self._identity, self._secret = me, identity, PrivateKey.generate()
        self.key = bytes(self._secret.public_key)
        signature, certificate = identity.sign(PURPOSE, me, self.key)
        self.announcement = join_parts(self.key, signature, certificate)
        self._boxes: dict[str, tuple[bytes, Box]] = {}

    def learn(self, peer: str, announcement: bytes) -> None:
        """Take the key that a peer announces; RefusalError unless its certificate has signed it for this job."""
        from nacl.public import Box, PublicKey

        try:
            key, signature, certificate = split_parts(announcement)
            problem = self._identity.problem(PURPOSE, peer, key, signature, certificate)
            box = Box(self._secret, PublicKey(key))
        except Exception as error:
            raise RefusalError(f"the sealing key of {peer!r} cannot be read ({type(error).__name__}).", peer) from error
        if problem:
            raise RefusalError(f"the sealing key of {peer!r} {problem}.", peer)
        self._boxes[peer] = key, box

    def key_of(self, peer: str) -> bytes:
        """The key of a peer; empty where it is not known."""
        return self._boxes[peer][0] if peer in self._boxes else b""

    def close(self, receiver: str, *parts: bytes | str) -> bytes:
        """Some parts for a peer whose key is known; the first bytes are a nonce of their own."""
        return bytes(self._boxes[receiver][1].encrypt(join_parts(self.me, receiver, *parts)))

    def open(self, sender: str, sealed: bytes) -> list[bytes]:
        """What a peer closed for this party; RefusalError if it did not, or not for this one.

        Either of the two could have made what one of them reads: so it says from whom it is, and to whom.
        """
        try:
            told, receiver, *parts = split_parts(self._boxes[sender][1].decrypt(sealed))
        except Exception as error:
            raise RefusalError(f"what came from {sender!r} was not sealed by it, or changed on its way.", sender) from (
                error
            )
        if (told, receiver) != (sender.encode(), self.me.encode()):
            raise RefusalError(f"what came from {sender!r} was sealed by another, or for another.", sender)
        return parts


def split_parts(joined: bytes) -> list[bytes]:
    """The parts of `partywise.federation.identity.join_parts`; ValueError where bytes are none."""
    parts, begin = list[bytes](), 0
    while begin < len(joined):
        end = begin + LENGTH + int.from_bytes(joined[begin : begin + LENGTH], "big")
        if end > len(joined):
            raise ValueError(f"{len(joined)} bytes are not parts after their lengths.")
        parts.append(joined[begin + LENGTH : end])
        begin = end
    return parts
