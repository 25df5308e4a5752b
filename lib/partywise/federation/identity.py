"""Identity of a run, and proofs of the identity of its parties: what keys are bound to and signed with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


def join_parts(*parts: str | bytes | bytearray | int) -> bytes:
    """Parts, each after its length in 8 bytes, so that no two lists of them are alike: names UTF-8, numbers decimal."""
    encoded = (str(part).encode() if isinstance(part, str | int) else bytes(part) for part in parts)
    return b"".join(len(part).to_bytes(8, "big") + part for part in encoded)


class Signer(Protocol):
    """A party's certificate and key (`partywise.deployment.wire.credential.Credential`).

    certificate, authority : as texts, its own and that of who issued it
    """

    certificate: str
    authority: str

    def sign(self, data: bytes) -> dict[str, str]:
        """Signature of some bytes, hexadecimal, and the certificate as text."""

    def problem(self, name: str, data: bytes, head: Mapping[str, object]) -> str:
        """Why a party has not signed some bytes, as the end of a sentence; empty if it has."""

    def fingerprint(self, certificate: str) -> str:
        """SHA-256 of a certificate, hexadecimal."""


@dataclass(frozen=True)
class Identity:
    """Identity of a run; in one process no party signs.

    run : its id; in an experiment the address of its streams, which is the same in every process
    configuration : digest of what all parties share
    fingerprints : SHA-256 of every party's certificate by its name, as in the configuration
    credential : of the party whose process it is, where parties have certificates
    """

    run: str = ""
    configuration: str = ""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    credential: Signer | None = None

    def sign(self, purpose: str, name: str, value: bytes) -> tuple[bytes, bytes]:
        """Signature of a party's statement in this run, and its certificate; both empty where there is none."""
        if self.credential is None:
            return b"", b""
        signed = self.credential.sign(self._statement(purpose, name, value))
        return bytes.fromhex(signed["signature"]), signed["certificate"].encode()

    def problem(self, purpose: str, name: str, value: bytes, signature: bytes, certificate: bytes) -> str:
        """Why a statement is not of a party in this run, as the end of a sentence; empty if it has."""
        if self.credential is None:
            return ""
        head = {"signature": signature.hex(), "certificate": certificate.decode("ascii", "replace")}
        if problem := self.credential.problem(name, self._statement(purpose, name, value), head):
            return problem
        if self.fingerprints and self.credential.fingerprint(head["certificate"]) != self.fingerprints.get(name):
            return "is signed with another certificate than network.certificates names"
        return ""

    def _statement(self, purpose: str, name: str, value: bytes) -> bytes:
        return join_parts(purpose, self.run, self.configuration, name, value)
