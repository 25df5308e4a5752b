"""Entities of RO-Crate metadata as plain data: authors, files with their digests, values, references."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partywise.experiment.results.provenance_record import sha256

Entity = dict[str, Any]

# How files are encoded, by the ends of their names; what is none of these is plain text.
ENCODINGS = {
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".nc": "application/x-netcdf",
    ".pdf": "application/pdf",
    ".pem": "application/x-pem-file",
    ".png": "image/png",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
}


@dataclass(frozen=True)
class Item:
    """A file of a crate.

    path : in the crate; source : the file, or its bytes; about : what it is, in a sentence
    parameter : of which output of the workflow it is; empty for what is none
    """

    path: str
    source: Path | bytes
    about: str
    parameter: str = ""

    @property
    def size(self) -> int:
        """Bytes of it."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    @property
    def digest(self) -> str:
        """Its SHA-256."""
        return hashlib.sha256(self.source).hexdigest() if isinstance(self.source, bytes) else sha256(self.source)


def entity(identity: str, kind: str | list[str], /, **properties: object) -> Entity:
    """Return an entity, without properties that are empty."""
    return {"@id": identity, "@type": kind} | {
        key: value for key, value in properties.items() if value not in (None, [], "")
    }


def refer(names: Iterable[str]) -> Any:
    """References to entities: one as it is, several as a list, as RO-Crate asks for it."""
    references = [{"@id": name} for name in names]
    return references[0] if len(references) == 1 else references


def file_entity(item: Item, kind: str | list[str] = "File", **properties: object) -> Entity:
    """A file with its size and SHA-256."""
    return entity(
        item.path,
        kind,
        name=Path(item.path).name,
        description=item.about,
        encodingFormat=ENCODINGS.get(Path(item.path).suffix, "text/plain"),
        contentSize=str(item.size),
        sha256=item.digest,
        exampleOfWork=refer([f"#{item.parameter}"]) if item.parameter else None,
        **properties,
    )


def value_entity(name: str, value: object, **properties: object) -> Entity:
    """A number or a text with its name."""
    return entity(f"#{name}", "PropertyValue", name=name, value=value, **properties)


def author(cited: Mapping[str, str]) -> Entity:
    """An author of CITATION.cff in the words of schema.org: a person has two names, an organization one."""
    identity = {"@id": cited["orcid"]} if "orcid" in cited else {}
    if "name" in cited:
        return identity | {"@type": "Organization", "name": cited["name"]}
    forename, family = cited["given-names"], cited["family-names"]
    return identity | {"@type": "Person", "name": f"{forename} {family}", "givenName": forename, "familyName": family}
