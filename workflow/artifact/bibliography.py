"""The source documents, the data sets and other literature: what a person wrote of them, joined with what is pinned."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from partywise.core.errors import ConfigError
from partywise.data.catalogue import RESOURCES
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.study import available, load

FILE = Path(__file__).with_name("bibliography.toml")


@dataclass(frozen=True)
class Document:
    """A source document: its description, and the file that the studies were written from or its ``state``.

    state : commit, version or number of what was read, where no file is kept; licence : its own terms of use
    """

    title: str
    kind: str
    type: str
    authors: list[dict[str, str]]
    reference: str
    bytes: int = 0
    sha256: str = ""
    state: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        if bool(self.sha256) == bool(self.state):
            raise ConfigError(f"{FILE.name}, {self.title!r}: give the SHA-256 of a file, or the state that was read.")

    @property
    def pin(self) -> str:
        """Hash or state that identifies the text, in Markdown."""
        return f"SHA-256 `{self.sha256}`" if self.sha256 else self.state


@dataclass(frozen=True)
class Original:
    """The original publication of the table of a data set, which a package redistributes."""

    title: str
    authors: list[dict[str, str]]
    reference: str
    year: int | None = None
    doi: str = ""


@cache
def documents() -> dict[str, Document]:
    """Return the documents by key: the number of a document, or the name of a published system."""
    return {number: Document(**entry) for number, entry in _read()["documents"].items()}


@cache
def originals() -> dict[str, Original]:
    """Return the originals by the name in the catalogue: one for every data set of the catalogue, and no others."""
    entries = {name: Original(**entry) for name, entry in _read()["datasets"].items()}
    if odd := set(entries) ^ set(RESOURCES):
        raise ConfigError(f"{FILE.name} and the catalogue differ in {', '.join(sorted(odd))}: describe it in both.")
    return entries


@cache
def literature() -> dict[str, dict[str, Any]]:
    """Return what the paper cites in addition to the documents: fields of BibTeX by key."""
    entries: dict[str, dict[str, Any]] = _read()["literature"]
    return entries


def _read() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def studies_of_documents() -> dict[str, list[str]]:
    """Studies of each document, by the keys in their ``references``."""
    texts = {name: load(name).references for name in available()}
    return {number: [name for name in texts if number in document_keys(texts[name])] for number in documents()}


def document_keys(references: str) -> list[str]:
    """Keys of the documents that a text of references names, a range of numbers included."""
    keys = sorted(documents())
    named = [key for key in keys if re.search(rf"\b{key}\b", references)]
    numbers = [key for key in named if key.isdigit()]
    if " to " in references and len(numbers) == 2:
        within = [key for key in keys if numbers[0] <= key <= numbers[1]]
        return within + [key for key in named if key not in within]
    return named


def studies_of_datasets(root: Path) -> dict[str, list[str]]:
    """Studies that use each data set, in the shipped configurations."""
    users: dict[str, set[str]] = {name: set() for name in RESOURCES}
    for path in configurations(root):
        for name, study, _ in cases(read_configuration(path)):
            users[name].add(study)
    return {name: sorted(studies) for name, studies in users.items()}


def configurations(root: Path) -> list[Path]:
    """Return the paths of the shipped configurations that need no files of a user."""
    return sorted(path for path in [root / "config.yaml", *root.glob("config/*.yaml")] if ".example" not in path.name)


def of_configuration(root: Path, name: str) -> list[str]:
    """Data sets of a shipped configuration, by the name of its results; none of another one."""
    path = root / ("config.yaml" if name == "default" else f"config/{name}.yaml")
    config = read_configuration(path) if path.exists() else {"studies": {}}
    return sorted({data for data, _, _ in cases(config)}) if config["studies"] else []


def cases(config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Data set, study and case of every case that reads one."""
    return [
        (name, study, label)
        for study, plan in plans(config).items()
        for label, case in plan.cases.items()
        for name in case.resources
    ]
