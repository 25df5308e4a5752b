"""Authority for tests, or for parties that trust who runs it: makes all keys at once, or signs requests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ...core.errors import PartyError
from ...core.files import replacing
from .credential import weakness
from .tls import AUTHORITY, certificate_names, check_names, host_name, name_refusal, named_parties

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import (
        Certificate,
        CertificateBuilder,
        CertificateSigningRequest,
        KeyUsage,
        Name,
        SubjectAlternativeName,
    )

    Signer = tuple[Certificate, EllipticCurvePrivateKey]

DAYS = 30
# An authority that signs requests outlives what it signs so many times.
OUTLIVES = 10
# Clocks of parties may differ.
EARLIER = timedelta(minutes=10)


def make(folder: Path | str, names: Sequence[str], days: float = DAYS) -> None:
    """Make an authority and, for each party, a certificate and a key, readable by their owner alone.

    A party is given ``authority.pem``, ``NAME.pem`` and ``NAME.key``, and nothing else. NAME is the common name of its
    certificate, and its DNS name as `tls.host_name` writes it. Nothing is written where a file is there already. The
    holder of ``authority.key`` can pose as any party: a run between organisations takes certificates of an authority
    that they trust.
    """
    folder = Path(folder)
    check_names(names)
    if not names or not days > 0:
        raise ValueError(f"names={tuple(names)}, days={days}: give a name at least, and more than 0 days.")
    paths = [folder / f"{name}.{kind}" for name in (AUTHORITY, *names) for kind in ("pem", "key")]
    if there := [path.name for path in paths if path.exists()]:
        raise FileExistsError(f"into={folder} holds {there[0]} already: name a new folder, or remove the old files.")
    begin = datetime.now(UTC) - EARLIER
    end = begin + EARLIER + timedelta(days=days)
    authority = new_authority(begin, end)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, AUTHORITY, *authority)
    for name in names:
        write(folder, name, *certificate(name, authority, begin, end))


def new_authority(begin: datetime, end: datetime) -> Signer:
    """Certificate and key of an authority."""
    x509, hashes, ec, _ = _cryptography()
    key: EllipticCurvePrivateKey = ec.generate_private_key(ec.SECP256R1())
    name = _subject(f"partywise test authority {os.urandom(8).hex()}")
    built = _builder(name, name, key, begin, end)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    built = built.add_extension(_usage(sign=True), critical=True)
    return built.sign(key, hashes.SHA256()), key


def request(folder: Path, name: str, host: str) -> Path:
    """Write ``NAME.csr``, the request for a certificate, and ``NAME.key`` where there is none: the key stays there.

    PartyError if ``NAME.key`` cannot be read or is too weak.
    """
    x509, hashes, ec, forms = _cryptography()
    check_names([name])
    path = folder / f"{name}.key"
    folder.mkdir(0o700, parents=True, exist_ok=True)
    if not path.exists():
        _write_key(path, ec.generate_private_key(ec.SECP256R1()))
    try:
        key = forms.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError):
        raise PartyError(f"{path} is not a key without a password: move it away, and ask again.") from None
    if weak := weakness(key.public_key()):
        raise PartyError(f"{path} is {weak}: move it away, and ask again.")
    built = x509.CertificateSigningRequestBuilder().subject_name(_subject(name))
    built = built.add_extension(_alternative_names(name, host), critical=False)
    # Keys of Ed25519 hash by themselves.
    signed = built.sign(key, hashes.SHA256() if hasattr(key, "key_size") else None)
    with replacing(folder / f"{name}.csr") as temporary:
        temporary.write_bytes(signed.public_bytes(forms.Encoding.PEM))
    return folder / f"{name}.csr"


def sign(folder: Path, file: Path, hosts: Mapping[str, str], days: float = DAYS) -> Path:
    """Sign a request of one of the parties, for its host, and write ``NAME.pem``; make an authority if there is none.

    The certificate holds for the name of the party and its host alone, even if the request names more. PartyError for
    an invalid request, one that names no party or two, or one whose key is not that of ``NAME.pem``.
    """
    x509, _, _, forms = _cryptography()
    begin = datetime.now(UTC) - EARLIER
    try:
        asked = x509.load_pem_x509_csr(file.read_bytes())
        weak = weakness(asked.public_key())
        if not asked.is_signature_valid:
            raise ValueError("another key has signed it")
    except OSError as error:
        raise PartyError(f"--sign is {file}: it cannot be read ({error.strerror}); name NAME.csr of a party.") from None
    except ValueError as error:
        why = str(error).partition(". ")[0]
        raise PartyError(f"{file} is not a request for a certificate ({why}): ask for it again.") from None
    names = certificate_names(asked)
    name = next(iter(named_parties(names, hosts)), "")
    if not name or (why := name_refusal(asked, name, hosts)):
        why = why if name else f"it names {', '.join(names) or 'nobody'}, and the parties are {', '.join(hosts)}"
        raise PartyError(f"{file} is not signed: {why.replace('its certificate', 'it')}.")
    if weak:
        raise PartyError(f"{file} is not signed: its key is {weak}.")
    path, signer_path = folder / f"{name}.pem", folder / f"{AUTHORITY}.key"
    if path.exists() and x509.load_pem_x509_certificate(path.read_bytes()).public_key() != asked.public_key():
        raise PartyError(
            f"{file} has another key than {path}: ask {name} whether that is theirs, and remove {path} if it is."
        )
    if not signer_path.exists():
        folder.mkdir(0o700, parents=True, exist_ok=True)
        write(folder, AUTHORITY, *new_authority(begin, begin + EARLIER + OUTLIVES * timedelta(days=days)))
    signer = x509.load_pem_x509_certificate((folder / f"{AUTHORITY}.pem").read_bytes())
    key = forms.load_pem_private_key(signer_path.read_bytes(), password=None)
    end = min(begin + EARLIER + timedelta(days=days), signer.not_valid_after_utc)
    alternatives = _alternative_names(name, hosts[name])
    issued = _issue(_builder(_subject(name), signer.subject, asked, begin, end), alternatives, (signer, key))
    with replacing(path) as temporary:
        temporary.write_bytes(issued.public_bytes(forms.Encoding.PEM))
    return path


def _alternative_names(name: str, host: str) -> SubjectAlternativeName:
    """Names for the certificate of a party: its own as DNS writes it, and its host."""
    x509, *_ = _cryptography()
    try:
        address = x509.IPAddress(ip_address(host.strip("[]")))
    except ValueError:
        address = x509.DNSName(host)
    alternatives: SubjectAlternativeName = x509.SubjectAlternativeName([x509.DNSName(host_name(name)), address])
    return alternatives


def certificate(name: str, authority: Signer, begin: datetime, end: datetime) -> Signer:
    """Certificate and key of a party."""
    x509, _, ec, _ = _cryptography()
    key: EllipticCurvePrivateKey = ec.generate_private_key(ec.SECP256R1())
    built = _builder(_subject(name), authority[0].subject, key, begin, end)
    return _issue(built, x509.SubjectAlternativeName([x509.DNSName(host_name(name))]), authority), key


def _issue(built: CertificateBuilder, alternatives: SubjectAlternativeName, authority: Signer) -> Certificate:
    """Sign the certificate of a party for both ends of a connection."""
    x509, hashes, _, _ = _cryptography()
    usage = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH, x509.ExtendedKeyUsageOID.CLIENT_AUTH])
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    built = built.add_extension(_usage(sign=False), critical=True).add_extension(usage, critical=False)
    built = built.add_extension(alternatives, critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority[1].public_key())
    return built.add_extension(issuer, critical=False).sign(authority[1], hashes.SHA256())


def write(folder: Path, name: str, certificate: Certificate, key: EllipticCurvePrivateKey) -> None:
    """Write a certificate, and its key so that its owner alone can read it."""
    _, _, _, forms = _cryptography()
    with (folder / f"{name}.pem").open("xb") as file:
        file.write(certificate.public_bytes(forms.Encoding.PEM))
    _write_key(folder / f"{name}.key", key)


def _write_key(path: Path, key: EllipticCurvePrivateKey) -> None:
    _, _, _, forms = _cryptography()
    text = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)


def _builder(
    subject: Name,
    issuer: Name,
    key: EllipticCurvePrivateKey | CertificateSigningRequest,
    begin: datetime,
    end: datetime,
) -> CertificateBuilder:
    x509, *_ = _cryptography()
    built: CertificateBuilder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    )
    built = built.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
    return built.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _subject(name: str) -> Name:
    x509, *_ = _cryptography()
    subject: Name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    return subject


def _usage(sign: bool) -> KeyUsage:
    """Permitted uses of a key: sign certificates, or prove who its holder is."""
    x509, *_ = _cryptography()
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    rest = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    usage: KeyUsage = x509.KeyUsage(digital_signature=not sign, key_cert_sign=sign, crl_sign=sign, **rest)
    return usage


def _cryptography() -> tuple[ModuleType, ModuleType, ModuleType, ModuleType]:
    """Return the modules of the package that makes certificates; ImportError with the remedy if it is absent."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise ImportError(
            "a test authority needs the package cryptography: pip install 'partywise[network]'."
        ) from error
    return x509, hashes, ec, serialization
