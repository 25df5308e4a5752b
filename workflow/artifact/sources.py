"""The page of the sources, the references of CITATION.cff and those of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from partywise.data.catalogue import RESOURCES
from partywise.experiment.tables.templates import pipe_table

from .bibliography import documents, literature, originals, studies_of_datasets, studies_of_documents
from .pins import citation_head

PAGE = "docs/sources.md"
CITATION = "CITATION.cff"
PAPER = "docs/paper/paper.bib"
MARK = "# References: written by ./run check --artifact --write from workflow/artifact/bibliography.toml."


def page(root: Path) -> str:
    """The whole of ``docs/sources.md``."""
    return "\n".join([*_documents(), *_datasets(root), *_pins(), ""])


def _documents() -> list[str]:
    users = studies_of_documents()
    rows = [
        (
            number,
            document.title,
            document.kind,
            _named(users[number]),
            document.pin,
        )
        for number, document in documents().items()
    ]
    head = ("document", "title, as printed there", "what it is", "studies", "what was read")
    notes = [
        f"- **{number}**: {document.reference}{_terms(document.licence)}" for number, document in documents().items()
    ]
    return [
        "# Sources",
        "",
        "This page lists the documents and data sets that the studies use, with hashes and licences.",
        "",
        pipe_table(head, rows),
        "",
        "The studies were written from these texts and restate these systems. None is part of the project, and none of",
        "their code was copied. The hash, or the state, identifies the text:",
        "",
        *notes,
        "",
    ]


def _terms(licence: str) -> str:
    return f" Licence: {licence}." if licence else ""


def _datasets(root: Path) -> list[str]:
    users = studies_of_datasets(root)
    rows = []
    for name, original in originals().items():
        resource = RESOURCES[name]
        doi = f" [doi:{original.doi}](https://doi.org/{original.doi})" if original.doi else ""
        year = f" ({original.year})" if original.year else ""
        people = ", ".join(_person(author) for author in original.authors)
        source = f"{people}{year}. *{original.title}*. {original.reference}{doi}"
        rows.append((f"`{name}`", source, resource.shape, resource.licence, _named(users[name])))
    return [
        "## Data sets",
        "",
        pipe_table(("data set", "original", "rows x columns", "licence", "studies"), rows),
        "",
        "The rule `fetch` downloads the package file that holds a data set and compares hashes before it is read.",
        '"Generally cited as" means that the package does not state the terms of the table. Ask before passing it on.',
        "Simulated data and the files in `config/example_data` are in the public domain.",
        "",
    ]


def _pins() -> list[str]:
    rows = []
    for name, resource in RESOURCES.items():
        package = f"{resource.package} {resource.version}"
        rows.append((f"`{name}`", package, f"`{resource.archive}`", f"`{resource.sha256}`"))
        rows += [(f"`{name}`", "", f"`{member.path}`", f"`{member.sha256}`") for member in resource.members]
    return [
        "## Files and hashes",
        "",
        pipe_table(("data set", "package", "file", "SHA-256"), rows),
        "",
        "The first line of a data set is the file of the package, the others are the members that are read.",
        "`./run check --artifact --write` makes this page from `lib/partywise/data/catalogue.toml` and",
        "`workflow/artifact/bibliography.toml`.",
    ]


def _named(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _person(author: dict[str, str]) -> str:
    return author.get("name") or f"{author['given-names']} {author['family-names']}"


def citation(root: Path) -> str:
    """``CITATION.cff`` with version, day and references written anew; what else is above the mark is kept."""
    text = (root / CITATION).read_text(encoding="utf-8")
    head = citation_head(root, text.partition(MARK)[0].rstrip("\n"))
    body = yaml.safe_dump({"references": references()}, sort_keys=False, allow_unicode=True, width=110)
    return f"{head}\n{MARK}\n{body}"


def references() -> list[dict[str, Any]]:
    """Documents, then data sets, as CFF 1.2.0 writes them."""
    entries: list[dict[str, Any]] = []
    for number, document in documents().items():
        pin = document.pin.replace("SHA-256", "sha256").replace("`", "")
        entries.append(
            {
                "type": document.type,
                "title": document.title,
                "authors": [dict(author) for author in document.authors],
                "notes": f"Source document {number}: {document.kind}; {pin}",
            }
        )
    for name, original in originals().items():
        resource = RESOURCES[name]
        entry = {"type": "data", "title": original.title, "authors": [dict(author) for author in original.authors]}
        entry |= {"year": original.year} if original.year else {}
        entry |= {"doi": original.doi} if original.doi else {}
        entry["notes"] = f"Data set {name}, read from {resource.package} {resource.version}; sha256 {resource.sha256}"
        entries.append(entry)
    return entries


def bibtex(root: Path) -> str:
    """``docs/paper/paper.bib``: the documents as ``doc000`` and so on, and the literature."""
    entries = {
        f"doc{number}": {
            "type": "misc",
            "title": document.title,
            "author": " and ".join(
                f"{{{_person(author)}}}" if "name" in author else _person(author) for author in document.authors
            ),
            "note": f"Source document {number}: {document.kind}",
        }
        for number, document in documents().items()
    }
    parts = ["% Written by ./run check --artifact --write from workflow/artifact/bibliography.toml."]
    for key, entry in (entries | literature()).items():
        rows = [f"  {name} = {{{value}}}" for name, value in entry.items() if name != "type"]
        parts.append(",\n".join([f"@{entry['type']}{{{key}", *rows]) + "\n}")
    return "\n\n".join(parts) + "\n"
