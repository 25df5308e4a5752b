"""The rules of CFF 1.2.0 that CITATION.cff can break: required keys, known keys, types, persons and hashes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml

REQUIRED = {"cff-version", "message", "title", "authors"}
KNOWN = REQUIRED | {
    "type",
    "version",
    "date-released",
    "license",
    "references",
    "abstract",
    "commit",
    "doi",
    "identifiers",
}
KNOWN |= {
    "keywords",
    "license-url",
    "preferred-citation",
    "repository",
    "repository-artifact",
    "repository-code",
    "url",
}
OF_REFERENCE = {"type", "title", "authors", "notes", "year", "doi", "url", "license", "status"}
# Types of works that a reference of this project may have, of the forty that the standard knows.
TYPES = {"article", "book", "data", "generic", "report", "software", "unpublished"}
DOI = re.compile(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")


def read(path: Path) -> dict[str, Any]:
    """The file as keys and values; nothing where it is not a mapping."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def oddities(cff: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each violation of the standard."""
    return [*_top(cff), *(odd for entry in cff.get("references", []) for odd in _reference(entry))]


def _top(cff: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{key} is absent" for key in sorted(REQUIRED - {"authors"} - set(cff)))
    yield from (f"{key} is not a key of a citation" for key in sorted(set(cff) - KNOWN))
    if cff.get("cff-version") != "1.2.0":
        yield f"cff-version is {cff.get('cff-version')!r}: it must be 1.2.0"
    if cff.get("type", "software") not in ("software", "dataset"):
        yield f"type is {cff['type']!r}: software or dataset"
    if "date-released" in cff and not isinstance(cff["date-released"], date):
        yield f"date-released is {cff['date-released']!r}: write YYYY-MM-DD"
    if not cff.get("authors"):
        yield "authors is absent or empty"
    yield from _people(cff)


def _reference(entry: Mapping[str, Any]) -> Iterator[str]:
    title = entry.get("title", "a reference")
    yield from (f"{title}: {key} is absent" for key in ("authors", "title", "type") if not entry.get(key))
    yield from (f"{title}: {key} is not a key of a reference" for key in sorted(set(entry) - OF_REFERENCE))
    if entry.get("type") not in TYPES:
        yield f"{title}: type is {entry.get('type')!r}"
    if "doi" in entry and not DOI.fullmatch(str(entry["doi"])):
        yield f"{title}: doi is {entry['doi']!r}"
    if "year" in entry and not isinstance(entry["year"], int):
        yield f"{title}: year is {entry['year']!r}"
    yield from _people(entry)


def _people(entry: Mapping[str, Any]) -> Iterator[str]:
    """A person has names, an entity has one."""
    for author in entry.get("authors") or []:
        if not (set(author) == {"name"} or {"given-names", "family-names"} <= set(author)):
            yield f"{entry.get('title')}: author {author!r} has neither a name nor given and family names"
