"""Files of a release folder: how they are read with care, what is signed, and whose certificates may sign."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ...core.documents import LARGEST, TIME, FileProblem, decode_json, digest_of, encode_json, is_time, now
from ...federation.identity import join_parts
from ..wire.credential import Credential, signature_problem

STATEMENT, TEXT, SIGNATURES = "statement.json", "statement.md", "signatures.json"
MEASUREMENTS, ESTIMATE, CONFIGURATION = "measurements.csv", "estimate.csv", "configuration.json"
CERTIFICATES, REGISTRATION, AUTHORITY = "certificates", "registration", "authority.pem"
# Files of which a statement holds the digests, and names of those that a study publishes next to its estimate.
DATA = (CONFIGURATION, ESTIMATE, MEASUREMENTS)
EXHIBIT = re.compile(r"[a-z][a-z0-9_]*\.(csv|html)")


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder, by name; FileProblem for one that is too large or not a plain file."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise FileProblem(f"{name} is not a plain file")
        if path.is_file():
            if path.stat().st_size > LARGEST:
                raise FileProblem(f"{name} has more than {LARGEST} bytes")
            contents[name] = path.read_bytes()
    return contents


def statement_words(statement: bytes) -> bytes:
    """Bytes that the owners of the data sign, which fix those of the statement."""
    return join_parts("partywise statement 1", digest_of(statement))


def commitment(nonce: bytes, chain: str) -> str:
    """Commitment of a published result to an account: without the random bytes it reveals nothing of it."""
    return digest_of(join_parts("partywise account 1", nonce, chain))


def registration_words(registration: Mapping[str, object]) -> bytes:
    """Bytes that a party signs before its data are opened."""
    return join_parts(
        "partywise registration 1", *(str(registration[key]) for key in ("configuration", "code", "name", "time"))
    )


def register(credential: Credential, name: str, configuration: str, code: str) -> bytes:
    """Return the registration of a party, signed now."""
    registration = {"configuration": configuration, "code": code, "name": name, "time": now()}
    return encode_json(registration | credential.sign(registration_words(registration)))


def registration_problem(
    file: str, data: bytes, name: str, configuration: str, code: str, authority: str, hosts: Mapping[str, str]
) -> str:
    """Return why a file is not the registration of a party for this very run; empty if it is.

    hosts : of all parties, by which certificates may name them
    """
    registration = decode_json(file, data)
    if not isinstance(registration, dict) or set(registration) != {
        "configuration",
        "code",
        "name",
        "time",
        "certificate",
        "signature",
    }:
        return f"{file} is not a registration"
    for key, wanted in (("name", name), ("configuration", configuration), ("code", code)):
        if registration[key] != wanted:
            return f"{file} is of another {key} ({str(registration[key])[:12]}) than {wanted[:12]}"
    if not is_time(registration["time"]):
        return f"{file} has no time"
    at = datetime.strptime(registration["time"], TIME).replace(tzinfo=UTC)
    problem = signature_problem(name, registration_words(registration), registration, hosts, authority, at)
    return f"{file} {problem}" if problem else ""


def checked_at(began: str, ended: str) -> datetime:
    """Return when certificates must hold: when the last day began, or the run if that was later."""
    return max(datetime.strptime(f"{ended}T00:00:00Z", TIME), datetime.strptime(began, TIME)).replace(tzinfo=UTC)
