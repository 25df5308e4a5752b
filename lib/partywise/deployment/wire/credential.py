"""Signatures with the key of a party's certificate, which anyone can check later without a connection."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import ModuleType

# Any: JSON of a signature that somebody else wrote.
from typing import TYPE_CHECKING, Any

from ...core.errors import PartyError
from .tls import AUTHORITY, name_refusal

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from .journal import Journal

# Keys of certificates that sign: bits of RSA at least, curves.
LEAST_RSA, CURVES = 2048, ("secp256r1", "secp384r1")
# A certificate that ends so soon is told to its party.
SOON = timedelta(days=30)


class Credential:
    """The certificate of a party with its key, of the files ``authority.pem``, ``ME.pem`` and ``ME.key`` in a folder.

    journal : where signatures are kept, so that what another process of the party signs again has the same one
    hosts : host of every party, by which certificates may name them (`tls.named_parties`)

    A key that is too weak by its kind or its length is a `PartyError`.
    """

    def __init__(
        self, folder: Path | str, me: str, journal: Journal | None = None, hosts: Mapping[str, str] | None = None
    ) -> None:
        self._journal, self._hosts = journal, hosts or {}
        _, _, serialization = _cryptography()
        folder = Path(folder)
        self.certificate = (folder / f"{me}.pem").read_text(encoding="ascii")
        self.authority = (folder / f"{AUTHORITY}.pem").read_text(encoding="ascii")
        self._key = serialization.load_pem_private_key((folder / f"{me}.key").read_bytes(), password=None)
        if weak := weakness(self._key.public_key()):
            raise PartyError(f"{me}.key is {weak}: make another one (python -m partywise network certificates).")

    def sign(self, data: bytes) -> dict[str, str]:
        """Certificate and signature (hexadecimal) of some bytes."""

        def make() -> str:
            return bytes(self._key.sign(data, *_scheme(self._key))).hex()

        name = f"signature of {hashlib.sha256(data).hexdigest()}"
        signature = make() if self._journal is None else self._journal.choose(name, make)
        return {"certificate": self.certificate, "signature": signature}

    def problem(self, name: str, data: bytes, head: Mapping[str, object]) -> str:
        """Check as `signature_problem`, now, for a certificate that must be of this party's authority."""
        return signature_problem(name, data, head, self._hosts, self.authority, datetime.now(UTC))

    @staticmethod
    def fingerprint(certificate: str) -> str:
        """SHA-256 of a certificate, the first of a chain, in hexadecimal; empty if it cannot be read."""
        x509, _, _ = _cryptography()
        from cryptography.hazmat.primitives.hashes import SHA256

        try:
            return str(x509.load_pem_x509_certificates(certificate.encode())[0].fingerprint(SHA256()).hex())
        except ValueError:
            return ""


def statement(run: str, party: str, head: Mapping[str, object]) -> bytes:
    """Statement that a party signs: rows of its account and last digest when the program of a run had ended."""
    content = {"run": run, "party": party, "rows": head["rows"], "digest": head["digest"]}
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def signature_problem(
    name: str,
    data: bytes,
    head: Mapping[str, Any],
    hosts: Mapping[str, str],
    authority: str = "",
    at: datetime | None = None,
) -> str:
    """Return why a signature is not that of a party, as the end of a sentence; empty if it is.

    hosts : of all parties, by which certificates may name them; none where the hosts cannot be verified
    authority, at : as of `chain_problem`; without an authority the issuer of the certificate is not checked
    """
    x509, failed, _ = _cryptography()
    try:
        chain = x509.load_pem_x509_certificates(head["certificate"].encode())
        if name_refusal(chain[0], name, hosts):
            return "is signed with the certificate of another party"
        if authority and (problem := chain_problem(head["certificate"], authority, at)):
            return problem
        key = chain[0].public_key()
        if weak := weakness(key):
            return f"is signed with {weak}"
        key.verify(bytes.fromhex(head["signature"]), data, *_scheme(key))
    except failed:
        return "has another signature"
    except (ValueError, TypeError, LookupError, AttributeError):
        return "has no certificate and signature that can be read"
    return ""


def chain_problem(certificate: str, authority: str, at: datetime | None = None) -> str:
    """Return why a certificate, with those between, is not of an authority at a time, as the end of a sentence.

    Empty if it is: X.509 path validation by the package cryptography, for certificates that show who a client is. That
    refuses an authority without key usage and certificates without the key of their issuer, as kits of NVFlare have
    them: of these `_path_problem` decides. Without a time: when all of them held.
    """
    x509, _, _ = _cryptography()
    from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

    try:
        chain = x509.load_pem_x509_certificates(certificate.encode())
        anchors = x509.load_pem_x509_certificates(authority.encode())
    except ValueError:
        return "has a certificate that cannot be read"
    at = max(link.not_valid_before_utc for link in chain) if at is None else at
    if not all(_holds(link, at) for link in chain):
        return f"has a certificate that did not hold at {at:%Y-%m-%d %H:%M}"
    refused = f"is signed with a certificate that is not of the authority in {AUTHORITY}.pem"
    complete = all(_extension(link, x509.AuthorityKeyIdentifier) is not None for link in chain)
    stated = [link for link in anchors if complete and _extension(link, x509.KeyUsage) is not None]
    why = list[str]()
    if stated:
        try:
            PolicyBuilder().store(Store(stated)).time(at).build_client_verifier().verify(chain[0], chain[1:])
        except (VerificationError, ValueError) as error:
            why.append(str(error))
        else:
            return ""
    for anchor in anchors:
        if anchor not in stated:
            problem = _path_problem([*chain, anchor], at)
            if not problem:
                return ""
            why.append(problem)
    return f"{refused} ({why[0]})" if why else refused


def _path_problem(path: list[Certificate], at: datetime) -> str:
    """Return why each certificate of a path may not have issued the one before it; empty if each may."""
    x509, failed, _ = _cryptography()
    known = x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage, x509.SubjectAlternativeName
    for certificate in path:
        if not _holds(certificate, at):
            return f"a certificate did not hold at {at:%Y-%m-%d %H:%M}"
        if any(extension.critical and not isinstance(extension.value, known) for extension in certificate.extensions):
            return "a certificate has a critical extension that is not understood"
    usage = _extension(path[0], x509.KeyUsage)
    if usage is not None and not usage.digital_signature:
        return "its key usage does not let it sign"
    for between, (certificate, issuer) in enumerate(pairwise(path)):
        constraints, usage = _extension(issuer, x509.BasicConstraints), _extension(issuer, x509.KeyUsage)
        if constraints is None or not constraints.ca:
            return "basicConstraints.cA must be asserted in a CA certificate"
        if usage is not None and not usage.key_cert_sign:
            return "keyUsage.keyCertSign must be asserted in a CA certificate"
        if constraints.path_length is not None and between > constraints.path_length:
            return "path length constraint violated"
        try:
            certificate.verify_directly_issued_by(issuer)
        except failed:
            return "a certificate was issued by another one"
        except (ValueError, TypeError):
            return "a certificate was issued by another one"
    return ""


def _extension(certificate: Certificate, kind: type[Any]) -> Any:
    """Return the value of an extension; None without it."""
    x509, _, _ = _cryptography()
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _holds(certificate: Certificate, at: datetime) -> bool:
    return bool(certificate.not_valid_before_utc <= at <= certificate.not_valid_after_utc)


def expiry_warning(folder: Path, me: str, until: datetime) -> str:
    """Warn of the first certificate of a party, or of its authority, that ends before a time or soon.

    Soon is within 30 days, and within the last third of its time: what is renewed every day has hours left. Empty if
    there is nothing to report, or no file.
    """
    x509, _, _ = _cryptography()
    now, ends = datetime.now(UTC), dict[datetime, Path]()
    for path in (folder / f"{me}.pem", folder / f"{AUTHORITY}.pem"):
        with suppress(OSError, ValueError):
            for certificate in x509.load_pem_x509_certificates(path.read_bytes()):
                end, time = (
                    certificate.not_valid_after_utc,
                    certificate.not_valid_after_utc - certificate.not_valid_before_utc,
                )
                if end < max(until, now + min(SOON, time / 3)):
                    ends[end] = path
    if not ends:
        return ""
    end, left = min(ends), min(ends) - now
    words = f"ends on {end:%Y-%m-%d %H:%M} UTC, in {left.days} days and {left.seconds // 3600} hours"
    if left.days < 0:
        words = (
            f"ended on {end:%Y-%m-%d %H:%M} UTC (the clock here shows {now:%Y-%m-%d %H:%M}), and no party accepts it"
        )
    return f"{ends[end]} {words}: ask for a new one (python -m partywise network certificates --request {me})"


def weakness(key: object) -> str:
    """Name the flaw of a kind of key or its length; empty for RSA of 2048 bits, P-256, P-384, Ed25519."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPublicKey):
        return "" if key.key_size >= LEAST_RSA else f"an RSA key of {key.key_size} bits, fewer than {LEAST_RSA}"
    if isinstance(key, ec.EllipticCurvePublicKey):
        return "" if key.curve.name in CURVES else f"a key of the curve {key.curve.name}, and not one of {CURVES}"
    return "" if isinstance(key, ed25519.Ed25519PublicKey) else "a key of a kind that is not used here"


def _scheme(key: object) -> tuple[object, ...]:
    """Arguments of signing and verifying for a kind of key."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return (ec.ECDSA(hashes.SHA256()),)
    if isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey):
        return padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH), hashes.SHA256()
    # Ed25519 knows its own.
    return ()


def _cryptography() -> tuple[ModuleType, tuple[type[Exception], ...], ModuleType]:
    """Import the modules that sign and verify, and the error of a wrong signature."""
    try:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise ImportError("signed accounts need the package cryptography: pip install 'partywise[network]'.") from error
    return x509, (InvalidSignature,), serialization
