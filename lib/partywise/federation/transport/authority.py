"""A test authority: certificates for parties on one machine or among people who trust who made them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .tls import AUTHORITY, check_names, host_name

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, KeyUsage, Name

    Signer = tuple[Certificate, EllipticCurvePrivateKey]

DAYS = 30
# Clocks of parties may differ.
EARLIER = timedelta(minutes=10)


def make(folder: Path | str, names: Sequence[str], days: float = DAYS) -> None:
    """Make an authority and a certificate for each of some parties.

    Parameters
    ----------
    folder : path
        Where ``authority.pem``, ``authority.key`` and, for each name, ``NAME.pem`` and ``NAME.key`` are written; keys
        are readable by their owner alone. A party is given ``authority.pem`` and its own two files, and nothing else.
    names : sequence of str
        Names of the parties: common names of their certificates, and their DNS names as `tls.host_name` writes them.
    days : float
        How long the certificates hold.

    Raises
    ------
    ValueError
        If a name cannot be that of a certificate, two are the same, or ``days`` is not positive.
    FileExistsError
        If one of the files is there already; nothing is written.
    ImportError
        If the package cryptography is absent.

    Notes
    -----
    Whoever holds ``authority.key`` can be any party: a run between organisations takes certificates of an authority
    that they trust, whose names are those of the parties.
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


def certificate(name: str, authority: Signer, begin: datetime, end: datetime) -> Signer:
    """Certificate and key of a party."""
    x509, hashes, ec, _ = _cryptography()
    signer, signing_key = authority
    key: EllipticCurvePrivateKey = ec.generate_private_key(ec.SECP256R1())
    usage = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH, x509.ExtendedKeyUsageOID.CLIENT_AUTH])
    built = _builder(_subject(name), signer.subject, key, begin, end)
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    built = built.add_extension(_usage(sign=False), critical=True).add_extension(usage, critical=False)
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(host_name(name))]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    return built.add_extension(issuer, critical=False).sign(signing_key, hashes.SHA256()), key


def write(folder: Path, name: str, made: Certificate, key: EllipticCurvePrivateKey) -> None:
    """Write a certificate, and its key for nobody else's eyes."""
    _, _, _, forms = _cryptography()
    text = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    for kind, content, mode in (("pem", made.public_bytes(forms.Encoding.PEM), 0o644), ("key", text, 0o600)):
        with os.fdopen(os.open(folder / f"{name}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)


def _builder(
    subject: Name, issuer: Name, key: EllipticCurvePrivateKey, begin: datetime, end: datetime
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
    """What a key may do: sign certificates, or show who its holder is."""
    x509, *_ = _cryptography()
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    rest = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    usage: KeyUsage = x509.KeyUsage(digital_signature=not sign, key_cert_sign=sign, crl_sign=sign, **rest)
    return usage


def _cryptography() -> tuple[ModuleType, ModuleType, ModuleType, ModuleType]:
    """Modules of the package that makes certificates; ImportError with the remedy where it is absent."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise ImportError(
            "a test authority needs the package cryptography: pip install 'partywise[network]'."
        ) from error
    return x509, hashes, ec, serialization
