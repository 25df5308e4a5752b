"""The provenance record of a job: a fingerprint of all its inputs, and digests of the files that it wrote.

A record lies next to the results and travels with them, so that a reader who unpacks them knows what is current and
what is not.  It is written by a job that used what its run was planned with, and by no other.  Of own data it holds
digests of private files: it stays with their owner, and a crate has it without them (`crate.content`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import InputChanged
from ...core.files import replacing
from .sources import changed_sources


@dataclass(frozen=True)
class ProvenanceRecord:
    """Fingerprint of the inputs of a job and digests of its outputs.

    fingerprint : SHA-256 of its inputs, as one digest, and of the fingerprints of the jobs before it
    outputs : name of each file that it wrote, without folders, and its SHA-256; folders may be renamed
    """

    fingerprint: str
    outputs: Mapping[str, str]


def fingerprint_of(inputs_digest: str, before: Iterable[str] = ()) -> str:
    """SHA-256 of the digest of a job's inputs and of the fingerprints of the jobs whose outputs it reads."""
    return hashlib.sha256("\n".join([inputs_digest, *before]).encode()).hexdigest()


def read_record(path: Path | str) -> ProvenanceRecord | None:
    """A stored record; None where there is none that can be read."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return ProvenanceRecord(
            str(content["fingerprint"]), {str(name): str(digest) for name, digest in content["outputs"].items()}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_record(
    path: Path | str, fingerprint: str, outputs: Iterable[Path | str], runs_apart: Iterable[str] = ()
) -> None:
    """Write the record of a job that ends, with the digests of ``outputs``, and which distributed runs it took."""
    digests = {Path(name).name: sha256(name) for name in outputs}
    with replacing(path) as temporary:
        content: dict[str, object] = {"fingerprint": fingerprint, "outputs": digests}
        content |= {"runs_apart": runs} if (runs := list(runs_apart)) else {}
        temporary.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def is_current(path: Path | str, fingerprint: str, outputs: Iterable[Path | str]) -> bool:
    """Whether outputs that are there are what a job with this fingerprint wrote, by the record at ``path``."""
    record = read_record(path)
    if record is None or record.fingerprint != fingerprint:
        return False
    return all(record.outputs.get(Path(name).name) == sha256(name) for name in outputs)


def digest_before(record: Path | str, fingerprint: str, file: Path | str) -> str:
    """SHA-256 of a file that a job before wrote, by its record."""
    stored = read_record(record)
    if stored is None or stored.fingerprint != fingerprint:
        raise InputChanged(f"{file} was made of other code or data than this run was planned with: run again.")
    return stored.outputs.get(Path(file).name, "")


def digests_before(
    inputs_digest: str, fingerprint: str, records: Iterable[Path | str], files: Iterable[Path | str]
) -> dict[str, str]:
    """SHA-256 of the file that each job before wrote, by its record, in the same order."""
    stored = [read_record(path) or ProvenanceRecord("", {}) for path in records]
    if fingerprint_of(inputs_digest, [record.fingerprint for record in stored]) != fingerprint:
        raise InputChanged(
            "A job before this one was made of other code or data than this run was planned with: run again."
        )
    return {str(path): record.outputs.get(Path(path).name, "") for record, path in zip(stored, files, strict=True)}


@contextmanager
def as_planned(sources: Mapping[str, str], files: Mapping[str, str]) -> Iterator[None]:
    """The work of a job, which uses what its run was planned with."""
    states = {path: _state(path) for path in files}
    _refuse([*changed_sources(sources), *(path for path, digest in files.items() if _digest(path) != digest)])
    try:
        yield
    finally:
        _refuse([*changed_sources(sources), *(path for path in files if _state(path) != states[path])])


def _refuse(changed: list[str]) -> None:
    """Raise for files that changed."""
    if changed:
        more = f" (and {len(changed) - 1} more files)" if len(changed) > 1 else ""
        raise InputChanged(f"{changed[0]}{more} was changed while this run was under way: run again.")


def _state(path: str) -> tuple[int, ...]:
    """State of a file that every write changes; read from an open file, for which a network file system looks anew."""
    with suppress(OSError), open(path, "rb") as handle:
        about = os.fstat(handle.fileno())
        return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    return ()


def _digest(path: str) -> str:
    """SHA-256 of a file; empty where it cannot be read."""
    with suppress(OSError):
        return sha256(path)
    return ""


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's content."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
