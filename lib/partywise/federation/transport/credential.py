"""What a party signs with the key of its certificate, and who can check it later without a connection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from .tls import AUTHORITY


class Credential:
    """The certificate of a party with its key.

    Parameters
    ----------
    folder : path
        With ``authority.pem``, ``ME.pem`` and ``ME.key``.
    me : str

    Raises
    ------
    ImportError
        If the package cryptography is absent.
    """

    def __init__(self, folder: Path | str, me: str) -> None:
        _, _, serialization = _cryptography()
        folder = Path(folder)
        self.certificate = (folder / f"{me}.pem").read_text(encoding="ascii")
        self.authority = (folder / f"{AUTHORITY}.pem").read_text(encoding="ascii")
        self._key = serialization.load_pem_private_key((folder / f"{me}.key").read_bytes(), password=None)

    def sign(self, told: bytes) -> dict[str, str]:
        """Certificate and signature (hexadecimal) of some bytes."""
        return {"certificate": self.certificate, "signature": self._key.sign(told, *_scheme(self._key)).hex()}

    def problem(self, name: str, told: bytes, head: Mapping[str, Any]) -> str:
        """As `signature_problem`, of a certificate that this party's authority must have issued."""
        return signature_problem(name, told, head, self.authority)


def statement(run: str, party: str, head: Mapping[str, Any]) -> bytes:
    """What a party signs: how many rows its account had when the program of a run had ended, and the last digest."""
    told = {"run": run, "party": party, "rows": head["rows"], "digest": head["digest"]}
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def signature_problem(name: str, told: bytes, head: Mapping[str, Any], authority: str = "") -> str:
    """Why a signature is not that of a party, as the end of a sentence; empty if it is."""
    x509, failed, _ = _cryptography()
    try:
        chain = x509.load_pem_x509_certificates(head["certificate"].encode())
        names = chain[0].subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        if [one.value for one in names] != [name]:
            return "is signed with the certificate of another party"
        if authority and not _is_issued(chain, x509.load_pem_x509_certificates(authority.encode()), failed):
            return f"is signed with a certificate that is not of the authority in {AUTHORITY}.pem"
        key = chain[0].public_key()
        key.verify(bytes.fromhex(head["signature"]), told, *_scheme(key))
    except failed:
        return "has another signature"
    except (ValueError, TypeError, LookupError, AttributeError):
        return "has no certificate and signature that can be read"
    return ""


def _is_issued(chain: list[Any], authorities: list[Any], failed: tuple[type[Exception], ...]) -> bool:
    """Whether every certificate of a chain is issued by the next, and the last by an authority."""
    for one, issuers in [*((a, [b]) for a, b in pairwise(chain)), (chain[-1], authorities)]:
        if not any(_directly(one, issuer, failed) for issuer in issuers):
            return False
    return True


def _directly(one: Any, issuer: Any, failed: tuple[type[Exception], ...]) -> bool:
    try:
        one.verify_directly_issued_by(issuer)
    except failed:
        return False
    except (ValueError, TypeError):
        return False
    return True


def _scheme(key: Any) -> tuple[Any, ...]:
    """What a kind of key needs to be told to sign or to verify."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return (ec.ECDSA(hashes.SHA256()),)
    if isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey):
        return padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH), hashes.SHA256()
    # Ed25519 and Ed448 know their own.
    return ()


def _cryptography() -> tuple[Any, tuple[type[Exception], ...], Any]:
    """Modules of the package that signs and verifies, and the errors of a wrong signature."""
    try:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise ImportError("signed accounts need the package cryptography: pip install 'partywise[network]'.") from error
    return x509, (InvalidSignature,), serialization
