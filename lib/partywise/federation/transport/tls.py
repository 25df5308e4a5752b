"""Who a party is on a network: its certificate, checked both ways by TLS 1.3 against one authority."""

from __future__ import annotations

import re
import ssl
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...checks import name_problem

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

    Notes
    -----
    Another name for every name: bytes (UTF-8) that DNS does not tell apart or does not know are written as two digits,
    after ``x--`` at the beginning: "klinik a" is ``x--klinik-20a``.
    """
    return name if PLAIN.fullmatch(name) and not name.startswith(WRITTEN) else written_name(name)


def written_name(name: str) -> str:
    """A name in small letters, digits and hyphens, which no plain name begins as."""
    letters = (chr(byte) if re.fullmatch(rb"[a-z0-9]", bytes([byte])) else f"-{byte:02x}" for byte in name.encode())
    return WRITTEN + "".join(letters)


def site_name(name: str) -> str:
    """The name of a party's site in a project of NVFlare, and the common name of the certificate that it has there.

    As `host_name`, but for names that NVFlare keeps for its own server.
    """
    return written_name(name) if name in SERVERS else host_name(name)


def check_names(names: Sequence[str]) -> None:
    """ValueError unless every name can be that of a certificate and of its file, and of one party only."""
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
    own = {form: name for name in names for form in (host_name(name), written_name(name)) if form != name}
    if taken := sorted(own.keys() & set(names)):
        raise ValueError(f"name={taken[0]!r} of a party is how that of {own[taken[0]]!r} is written: choose another.")
    twice = {name for name in names if [other.lower() for other in names].count(name.lower()) > 1}
    if twice:
        raise ValueError(f"names={sorted(twice)} of parties are the same, or differ in capitals alone: choose others.")


def server_context(folder: Path, me: str) -> ssl.SSLContext:
    """What a party shows to who connects to it, and asks for."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, folder, me)
    context.verify_mode = ssl.CERT_REQUIRED
    # Every connection shows its certificate: none is resumed.
    context.num_tickets = 0
    return context


def client_context(folder: Path, me: str) -> ssl.SSLContext:
    """What a party shows to whom it connects to, and asks for."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, folder, me)
    context.hostname_checks_common_name = False
    return context


def _context(protocol: int, folder: Path, me: str) -> ssl.SSLContext:
    authority, certificate, key = (folder / name for name in (f"{AUTHORITY}.pem", f"{me}.pem", f"{me}.key"))
    for path in (authority, certificate, key):
        if not path.is_file():
            raise FileNotFoundError(
                f"certificates={folder} has no file {path.name}: put it there, or make all with the verb certificates."
            )
    if stat.S_IMODE(key.stat().st_mode) & 0o077:
        raise PermissionError(f"{key} can be read by others than its owner: chmod 600 {key.name}.")
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(authority)
        # Nobody is there to be asked for the password of a key.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise ValueError(
            f"certificates={folder}: {authority.name}, {certificate.name} and {key.name} are no authority, certificate "
            f"and its key ({error.reason or 'it has a password'}): make or ask for them anew."
        ) from error
    return context


def common_name(certificate: Mapping[str, Any] | None) -> str:
    """The one common name in a peer's checked certificate; "" if it has none or several."""
    fields = [field for part in (certificate or {}).get("subject", ()) for field in part]
    names = [value for key, value in fields if key == "commonName"]
    return names[0] if len(names) == 1 else ""


def own_problem(server: ssl.SSLContext, client: ssl.SSLContext, me: str) -> str | None:
    """Why nobody accepts this party's own certificate, as the end of a sentence; None if all would.

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
            return reason(error, me)
    return None if len(done) == 2 and common_name(ends[1].getpeercert()) == me else f"its common name is not {me!r}"


def reason(error: Exception, name: str) -> str:
    """Why a certificate that should be a party's is refused, as the end of a sentence."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"it does not speak TLS 1.3 ({getattr(error, 'reason', None) or error})"
    if error.verify_code == EXPIRED:
        return "its certificate has expired"
    if error.verify_code == EARLY:
        return "its certificate is not valid yet"
    if error.verify_code == BROKEN_NAME:
        return f"its certificate is not that of {name!r}"
    return f"its certificate is not of the authority in {AUTHORITY}.pem ({error.verify_message})"
