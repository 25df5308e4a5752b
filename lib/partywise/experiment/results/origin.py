"""The origin of what a job wrote: a fingerprint of all that it was made of, and digests of the files.

Times of files say nothing: a branch switch, a copy or an archive changes them all. An origin lies beside the results
and travels with them, so that whoever unpacks them can tell what is current from what is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...files import replacing


@dataclass(frozen=True)
class Origin:
    """What the outputs of a job were made of.

    fingerprint : SHA-256 of what the job was told and of the fingerprints of the jobs before it
    outputs : name of each file that it wrote, without folders, and its SHA-256; folders may be renamed
    """

    fingerprint: str
    outputs: Mapping[str, str]

    def write(self, path: Path | str) -> None:
        """Keep it, whole or not at all."""
        content = {"fingerprint": self.fingerprint, "outputs": dict(self.outputs)}
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def fingerprint_of(told: str, before: Iterable[str] = ()) -> str:
    """Fingerprint of a job: SHA-256 of what it was told and of the fingerprints of the jobs whose outputs it reads."""
    return hashlib.sha256("\n".join([told, *before]).encode()).hexdigest()


def read_origin(path: Path | str) -> Origin | None:
    """A stored origin; None where there is none that can be read."""
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
        return Origin(str(held["fingerprint"]), {str(name): str(digest) for name, digest in held["outputs"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_origin(path: Path | str, told: str, outputs: Iterable[Path | str], before: Iterable[Path | str] = ()) -> None:
    """Write the origin of a job that ends.

    Parameters
    ----------
    path : path
        Of the origin; where it is among the outputs it leaves itself out.
    told : str
        Digest of the code, the packages, the parameters and the files from outside that the job was given.
    outputs : iterable of path
        What it wrote.
    before : iterable of path
        Origins of the jobs whose outputs it read: as they are, so that it claims nothing that they do not hold. One
        that cannot be read gives a fingerprint that no job will ever have.
    """
    held = [read_origin(one) for one in before]
    made_of = fingerprint_of(told, ["none" if one is None else one.fingerprint for one in held])
    Origin(made_of, {Path(name).name: sha256(name) for name in outputs if str(name) != str(path)}).write(path)


def is_current(path: Path | str, fingerprint: str, outputs: Iterable[Path | str]) -> bool:
    """Whether outputs are what a job with this fingerprint wrote: by their contents, whatever the times of files.

    Parameters
    ----------
    path : path
        Of the origin.
    fingerprint : str
        Of the job as it would run now.
    outputs : iterable of path
        Files that are there, without the origin.
    """
    held = read_origin(path)
    if held is None or held.fingerprint != fingerprint:
        return False
    return all(held.outputs.get(Path(name).name) == sha256(name) for name in outputs)


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's content."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
