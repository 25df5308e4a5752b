"""The files of a release folder: how they are read with care, what is signed, and whose certificates may sign."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

# Any: JSON that somebody else wrote.
from typing import Any

from ..identity import join_parts
from ..transport.credential import Credential, signature_problem

STATEMENT, TEXT, SIGNATURES = "statement.json", "statement.md", "signatures.json"
MEASUREMENTS, ESTIMATE, CONFIGURATION = "measurements.csv", "estimate.csv", "configuration.json"
CERTIFICATES, REGISTRATION, AUTHORITY = "certificates", "registration", "authority.pem"
# Files of which a statement holds the digests.
DATA = (CONFIGURATION, ESTIMATE, MEASUREMENTS)
# Bytes of the largest file that is read.
LARGEST = 2**28
TIME = "%Y-%m-%dT%H:%M:%SZ"


class FileProblem(ValueError):
    """What is wrong with a file of the folder, as a sentence."""


def digest_of(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def encode_json(value: object) -> bytes:
    """JSON with sorted keys, UTF-8, numbers that are finite (infinity is the text "inf")."""
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def decode_json(name: str, data: bytes) -> Any:
    """Inverse of `encode_json`; FileProblem for keys that occur twice, numbers that are not finite, other encodings."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise FileProblem(f"{name} has a key that occurs twice")
        return found

    def refuse(word: str) -> float:
        raise FileProblem(f"{name} holds {word}, which is not a finite number")

    def number(digits: str) -> float:
        return value if math.isfinite(value := float(digits)) else refuse(digits)

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse, parse_float=number)
    except FileProblem:
        raise
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{name} cannot be read as JSON in UTF-8 ({type(error).__name__})") from None


def read_folder(folder: Path) -> dict[str, bytes]:
    """All files by their names below a folder; FileProblem for one that is too large, or is no plain file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise FileProblem(f"{name} is no plain file")
        if path.is_file():
            if path.stat().st_size > LARGEST:
                raise FileProblem(f"{name} has more than {LARGEST} bytes")
            found[name] = path.read_bytes()
    return found


def statement_words(statement: bytes) -> bytes:
    """What the owners of the data sign: the bytes of the statement, whatever another reader makes of them."""
    return join_parts("partywise statement 1", digest_of(statement))


def commitment(nonce: bytes, chain: str) -> str:
    """What binds a published result to an account, of which it says nothing without the random bytes."""
    return digest_of(join_parts("partywise account 1", nonce, chain))


def now() -> str:
    """The time of this machine, to the second."""
    return datetime.now(UTC).strftime(TIME)


def registration_words(told: Mapping[str, object]) -> bytes:
    """What a party signs before its data are opened."""
    return join_parts(
        "partywise registration 1", *(str(told[key]) for key in ("configuration", "code", "name", "time"))
    )


def register(credential: Credential, name: str, configuration: str, code: str) -> bytes:
    """The registration of a party, signed now."""
    told = {"configuration": configuration, "code": code, "name": name, "time": now()}
    return encode_json(told | credential.sign(registration_words(told)))


def registration_problem(
    file: str, data: bytes, name: str, configuration: str, code: str, authority: str, hosts: Mapping[str, str]
) -> str:
    """Why a file is not the registration of a party for this very run, as a sentence; empty if it is.

    hosts : of all parties, by which certificates may name them
    """
    told = decode_json(file, data)
    if not isinstance(told, dict) or set(told) != {"configuration", "code", "name", "time", "certificate", "signature"}:
        return f"{file} is no registration"
    for key, wanted in (("name", name), ("configuration", configuration), ("code", code)):
        if told[key] != wanted:
            return f"{file} is of another {key} ({str(told[key])[:12]}) than {wanted[:12]}"
    if not is_time(told["time"]):
        return f"{file} has no time"
    at = datetime.strptime(told["time"], TIME).replace(tzinfo=UTC)
    problem = signature_problem(name, registration_words(told), told, hosts, authority, at)
    return f"{file} {problem}" if problem else ""


def is_time(text: object) -> bool:
    """Whether a text is a time as `now` writes it."""
    try:
        return isinstance(text, str) and datetime.strptime(text, TIME).strftime(TIME) == text
    except ValueError:
        return False


def checked_at(began: str, ended: str) -> datetime:
    """When certificates must hold: when the last day began, or the run if that was later."""
    return max(datetime.strptime(f"{ended}T00:00:00Z", TIME), datetime.strptime(began, TIME)).replace(tzinfo=UTC)
