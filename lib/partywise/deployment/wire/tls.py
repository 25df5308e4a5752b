"""Identity of a party on a network: its certificate, checked both ways by TLS 1.3 against one authority."""

from __future__ import annotations

import hashlib
import re
import ssl
import stat
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.checks import name_problem
from ...core.errors import ConfigError
from .interface import printable

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateSigningRequest

AUTHORITY = "authority"
PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
# What begins so has bytes written as two hexadecimal digits after a hyphen.
WRITTEN = "x--"
# What a project of NVFlare calls its own server.
SERVERS = ("server", "server_parent")
# X.509 has 64 characters for a common name, DNS 63 for what stands between two dots.
COMMON, LABEL = 64, 63
# Codes of OpenSSL's verification.
BROKEN_NAME, EARLY, EXPIRED = 62, 9, 10


def host_name(name: str) -> str:
    """The DNS name in the certificate of a party: its name, or that name in small letters, digits and hyphens.

    Bytes (UTF-8) that DNS does not distinguish or does not know become two digits, after ``x--`` at the beginning, so
    that no two names share one: "klinik a" is ``x--klinik-20a``.
    """
    return name if PLAIN.fullmatch(name) and not name.startswith(WRITTEN) else written_name(name)


def written_name(name: str) -> str:
    """A name in small letters, digits and hyphens, which no plain name begins as."""
    letters = (chr(byte) if re.fullmatch(rb"[a-z0-9]", bytes([byte])) else f"-{byte:02x}" for byte in name.encode())
    return WRITTEN + "".join(letters)


def site_name(name: str) -> str:
    """The name of a party's site in a project of NVFlare, and the common name of the certificate that it has there.

    As `host_name`, except for names that NVFlare keeps for its own server.
    """
    return written_name(name) if name in SERVERS else host_name(name)


def check_names(names: Sequence[str]) -> None:
    """Raise ValueError unless every name can be that of a certificate and of its file, and of one party only."""
    for name in names:
        problem = name_problem(name) if name.strip() else "give a name"
        if not problem and (name.startswith(".") or re.search(r"[/\\:]", name) or name.lower() == AUTHORITY):
            problem = (
                f"it names files: leave out '/', ':', '\\' and a dot at the beginning, and do not use {AUTHORITY!r}"
            )
        if not problem and (len(name) > COMMON or len(host_name(name)) > LABEL):
            problem = f"a certificate has room for {COMMON} characters and {LABEL} of {host_name(name)!r}; shorten it"
        if problem:
            raise ValueError(f"name={name!r} of a party: {problem}.")
    written = {form: name for name in names for form in (host_name(name), written_name(name)) if form != name}
    if taken := sorted(written.keys() & set(names)):
        raise ValueError(
            f"name={taken[0]!r} of a party is how that of {written[taken[0]]!r} is written: choose another."
        )
    twice = {name for name in names if [other.lower() for other in names].count(name.lower()) > 1}
    if twice:
        raise ValueError(f"names={sorted(twice)} of parties are the same, or differ in capitals alone: choose others.")


def certificate_names(certificate: Certificate | CertificateSigningRequest) -> tuple[str, ...]:
    """All names in a certificate, in small letters: common names, DNS names and addresses."""
    from cryptography import x509

    names = [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names += [
            *alternatives.get_values_for_type(x509.DNSName),
            *map(str, alternatives.get_values_for_type(x509.IPAddress)),
        ]
    except x509.ExtensionNotFound:
        pass
    return tuple(dict.fromkeys(map(_plain, names)))


def peer_names(certificate: bytes) -> tuple[str, ...]:
    """All names in the certificate of a peer, as a connection has it."""
    from cryptography.x509 import load_der_x509_certificate

    return certificate_names(load_der_x509_certificate(certificate))


def named_parties(names: Sequence[str], hosts: Mapping[str, str]) -> list[str]:
    """Return the parties, of those with hosts, that the names of a certificate name.

    A party is named by its name, as it is or as `host_name` and `site_name` write it, and by its host, where no other
    party has it for host or name: of parties on one machine the host names none. A pattern such as ``*.example`` names
    no party.
    """
    plain = {party: {_plain(party), host_name(party), site_name(party)} for party in hosts}
    all_names = [_plain(host) for host in hosts.values()] + [name for forms in plain.values() for name in forms]
    for party, host in hosts.items():
        if all_names.count(_plain(host)) == 1:
            plain[party].add(_plain(host))
    return [party for party, forms in plain.items() if forms & set(names)]


def name_refusal(certificate: Certificate | CertificateSigningRequest, name: str, hosts: Mapping[str, str]) -> str:
    """Return why a certificate is not taken for that of a party, as the end of a sentence; empty if it is."""
    names = certificate_names(certificate)
    parties = named_parties(names, {name: name} | dict(hosts))
    if parties == [name]:
        return ""
    if name in parties:
        return f"its certificate names {' and '.join(map(repr, sorted(parties)))}: one certificate, one party"
    return f"its certificate is not that of {name!r} (it is of {printable(', '.join(names), 200)})"


def file_name_refusal(certificate: bytes, name: str, hosts: Mapping[str, str]) -> str:
    """Return the result of `name_refusal` for the first certificate of a PEM file; empty if the file has none."""
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return name_refusal(load_pem_x509_certificates(certificate)[0], name, hosts)
    except ValueError:
        return ""


def pin_refusal(certificate: bytes, name: str, pins: Mapping[str, str]) -> str:
    """Return why a certificate with a party's name is not taken, as `name_refusal`: ``pins`` has another SHA-256."""
    if pins.get(name) in (None, hashlib.sha256(certificate).hexdigest()):
        return ""
    return (
        f"its certificate is not the one that network.certificates has of {name!r}: put that one back, or have all "
        "name the new one there"
    )


def _plain(name: str) -> str:
    """Return a name in the form in which names are compared: small letters, addresses in one form."""
    try:
        return str(ip_address(name.strip("[]")))
    except ValueError:
        return name.lower().rstrip(".")


def server_context(folder: Path, me: str) -> ssl.SSLContext:
    """TLS settings of a party for connections that others open: its certificate, and theirs is required."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, folder, me)
    context.verify_mode = ssl.CERT_REQUIRED
    # Every connection shows its certificate: none is resumed.
    context.num_tickets = 0
    return context


def client_context(
    folder: Path, me: str, hosts: Mapping[str, str] | None = None, pins: Mapping[str, str] | None = None
) -> ssl.SSLContext:
    """TLS settings of a party for connections that it opens: its certificate, and the peer's is checked.

    pins : SHA-256 of certificates, by name; of who has none any will do
    hosts : of all parties, by name; the party that is looked for is `host_name` of its name as ``server_hostname``
    """
    context = _context(ssl.PROTOCOL_TLS_CLIENT, folder, me)
    # The name of a machine is one of several by which a party is known: `_NamedPeer` looks at all of them.
    context.check_hostname = False
    known, named = dict(hosts or {me: me}), dict(pins or {})

    class Peer(_NamedPeer):
        hosts, pins = known, named

    context.sslobject_class = Peer
    return context


class _NamedPeer(ssl.SSLObject):
    """Connection that is made with the party of its ``server_hostname`` or not at all."""

    hosts: Mapping[str, str] = {}
    pins: Mapping[str, str] = {}

    def do_handshake(self) -> None:
        """Do the handshake of ssl, and check the names in the certificate before anything is sent."""
        from cryptography.x509 import load_der_x509_certificate

        super().do_handshake()
        certificate = None if self.server_side else self.getpeercert(binary_form=True)
        if certificate is not None:
            name = next(party for party in self.hosts if host_name(party) == self.server_hostname)
            why = name_refusal(load_der_x509_certificate(certificate), name, self.hosts)
            if why := why or pin_refusal(certificate, name, self.pins):
                error = ssl.SSLCertVerificationError(1, why)
                error.verify_code, error.verify_message = BROKEN_NAME, why
                raise error


def _context(protocol: int, folder: Path, me: str) -> ssl.SSLContext:
    authority, certificate, key = (folder / name for name in (f"{AUTHORITY}.pem", f"{me}.pem", f"{me}.key"))
    for path in (authority, certificate, key):
        if not path.is_file():
            raise FileNotFoundError(
                f"certificates={folder} has no file {path.name}: put it there, or make all "
                "with the verb network certificates."
            )
    if stat.S_IMODE(key.stat().st_mode) & 0o077:
        raise PermissionError(f"{key} can be read by others than its owner: chmod 600 {key.name}.")
    for path, kind in ((authority, "CERTIFICATE"), (certificate, "CERTIFICATE"), (key, "PRIVATE KEY")):
        if not re.search(rf"-----BEGIN [A-Z ]*{kind}-----", path.read_text(encoding="ascii", errors="replace")):
            raise ConfigError(f"{path} holds no {kind.lower()} in PEM: put the file there that the authority gave.")
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(authority)
        # Nobody is there to be asked for the password of a key.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise ConfigError(
            f"certificates={folder}: {authority.name}, {certificate.name} and {key.name} are not an authority, "
            f"certificate and its key ({error.reason or 'it has a password'}): make or ask for them anew."
        ) from error
    return context


def own_problem(server: ssl.SSLContext, client: ssl.SSLContext, me: str, folder: Path) -> str | None:
    """Return why no peer accepts this party's own certificate, as the end of a sentence; None if all would.

    The party connects to itself, in memory.
    """
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(back, there, server_hostname=host_name(me)),
        server.wrap_bio(there, back, server_side=True),
    )
    done: set[int] = set()
    for turn in range(12):
        try:
            ends[turn % 2].do_handshake()
            done.add(turn % 2)
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError as error:
            return reason(error, (folder / f"{me}.pem").read_bytes())
    return None if len(done) == 2 else "it does not speak TLS 1.3"


def reason(error: Exception, certificate: bytes = b"") -> str:
    """Return why a party's certificate is refused, as the end of a sentence; ``certificate`` is in PEM."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"it does not speak TLS 1.3 ({getattr(error, 'reason', None) or error})"
    if error.verify_code in (EXPIRED, EARLY):
        expired = error.verify_code == EXPIRED
        what = "its certificate has expired" if expired else "its certificate is not valid yet"
        return f"{what}{validity(certificate, expired)}"
    if error.verify_code == BROKEN_NAME:
        return error.verify_message
    return f"its certificate is not of the authority in {AUTHORITY}.pem ({error.verify_message})"


def validity(certificate: bytes, expired: bool) -> str:
    """Describe a certificate that does not hold today: its date where it is known, the clock here, the remedy."""
    from cryptography.x509 import load_pem_x509_certificates

    date = ""
    try:
        loaded = load_pem_x509_certificates(certificate)[0]
        end, begin = loaded.not_valid_after_utc, loaded.not_valid_before_utc
        if end < datetime.now(UTC) if expired else begin > datetime.now(UTC):
            date = f"{'on' if expired else 'before'} {end if expired else begin:%Y-%m-%d %H:%M} UTC; "
    except ValueError:
        pass
    remedy = "ask for a new one (python -m partywise network certificates --request), or correct the clock"
    late = "one of two clocks is wrong: the one here, or the one where it was made"
    return f" ({date}the clock here shows {datetime.now(UTC):%Y-%m-%d %H:%M} UTC): {remedy if expired else late}"
