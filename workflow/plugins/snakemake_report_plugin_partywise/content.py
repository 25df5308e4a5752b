"""Content of a report, from the files that Snakemake hands over: figures with captions, sections of the tables."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

# The label ``order`` (workflow/rules/study.smk) of the figure that comes before all others, below the table of studies.
FIRST = "first"
# The label ``records`` of a figure that shows single records of a person's own data.
OWN = "own"
TABLES = "tables.html"
SECTION = re.compile(r'<section id="([a-z-]+)">\n<h2>(.*?)</h2>\n(.*?)\n</section>\n', re.DOTALL)
# The part of a page that is a table (``tables/typeset.html.jinja``).
ROWS = re.compile(r'<section id="table">\n(.*?)\n</section>\n', re.DOTALL)
HEAD = re.compile(r"<thead><tr>(.*?)</tr></thead>", re.DOTALL)
RESULT = re.compile(r"<tr>(<td.*?)</tr>", re.DOTALL)
GUARANTEE = re.compile(r'<span class="guarantee">\s*(.*?)</span>', re.DOTALL)
# Results of a study in the first table.
MOST_RESULTS = 3
TITLE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)
# An SVG of more bytes gives way to its PNG where that is smaller.
LARGE = 300_000
MIME = {".svg": "image/svg+xml", ".png": "image/png"}


class TooOld(ValueError):
    """Tables that a version before the page wrote."""


@dataclass(frozen=True)
class Figure:
    """One figure: its study and name, its place in the report, its caption as HTML, its file: SVG, or a table."""

    study: str
    name: str
    order: str
    caption: str
    path: Path

    @property
    def words(self) -> str:
        """Its name with spaces."""
        return self.name.replace("_", " ")

    @property
    def anchor(self) -> str:
        """Its id in the page, the target of links."""
        return f"{self.study}-{self.name}"

    @property
    def alt(self) -> str:
        """The first sentence of the caption, for those who do not see the figure."""
        return re.split(r"(?<=[.:;]) ", text_of(self.caption), maxsplit=1)[0]

    @property
    def is_table(self) -> bool:
        """Whether it is rows and not an image."""
        return self.path.suffix == ".html"

    def table(self) -> str:
        """The rows of a table with their filter, as HTML."""
        match = ROWS.search(self.path.read_text(encoding="utf-8"))
        return match.group(1) if match else ""

    def source(self) -> str:
        """The drawing itself, in the address of an image."""
        png = self.path.with_suffix(".png")
        large = self.path.stat().st_size > LARGE and png.exists()
        path = min((self.path, png), key=lambda file: file.stat().st_size) if large else self.path
        return f"data:{MIME[path.suffix]};base64,{b64encode(path.read_bytes()).decode()}"


@dataclass(frozen=True)
class Part:
    """One section of the tables of a study, as HTML with a row a line."""

    key: str
    title: str
    body: str


@dataclass(frozen=True)
class Study:
    """One study: its title (as HTML), its figures in order, its sections by key, names of figures that stay out."""

    name: str
    title: str
    figures: tuple[Figure, ...]
    parts: dict[str, Part]
    withheld: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Its name with spaces."""
        return self.name.replace("_", " ")

    @property
    def tables(self) -> list[Part]:
        """Its sections except the overview."""
        return [part for key, part in self.parts.items() if key != "overview"]

    @property
    def head(self) -> str:
        """Head of its results, as HTML."""
        match = HEAD.search(self.parts["overview"].body)
        return match.group(1) if match else ""

    @property
    def results(self) -> list[str]:
        """Cells of its first results, as HTML."""
        return RESULT.findall(self.parts["overview"].body)[:MOST_RESULTS]

    @property
    def guarantee(self) -> str:
        """Its weakest guarantee, as HTML."""
        match = GUARANTEE.search(self.parts["overview"].body)
        return match.group(1) if match else ""


@dataclass(frozen=True)
class Run:
    """One run: name and file of its configuration, what it is about (HTML), its studies in order."""

    name: str
    configuration: str
    about: str
    studies: tuple[Study, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Figures of all studies."""
        return tuple(figure for study in self.studies for figure in study.figures)

    @property
    def lead(self) -> Figure | None:
        """The figure that comes before all others, if there is one."""
        return next((figure for figure in self.figures if figure.order == FIRST), None)


def run_of(records: Iterable[Any], files: Sequence[Path], about: str, own_records: bool = False) -> Run:
    """Sort the files that Snakemake's rules mark for the report.

    records : ``results/{name}/{study}/tables.html`` and ``results/{name}/figures/{study}/{figure}.svg`` or ``.html``
    files : the configuration files; about : the description of the workflow, as HTML
    own_records : whether figures that show single records of own data are part of the page
    """
    ordered = sorted(records, key=lambda record: (record.labels["order"] != FIRST, record.labels["order"]))
    tables = [Path(record.path) for record in ordered if Path(record.path).name == TABLES]
    withheld = [Path(record.path) for record in ordered if record.labels.get("records") == OWN and not own_records]
    drawn = [
        Figure(path.parent.name, path.stem, record.labels["order"], record.caption, path)
        for path, record in ((Path(record.path), record) for record in ordered)
        if path.name != TABLES and path not in withheld
    ]
    studies = [study_of(path, drawn, withheld) for path in tables]
    return Run(tables[0].parent.parent.name, ", ".join(map(relative, files)), about, tuple(studies))


def study_of(path: Path, drawn: Sequence[Figure], withheld: Sequence[Path]) -> Study:
    """Take the page of tables of a study apart, and pick its figures."""
    name = path.parent.name
    figures = tuple(figure for figure in drawn if figure.study == name)
    hidden = tuple(file.stem for file in withheld if file.parent.name == name)
    text = path.read_text(encoding="utf-8")
    parts = {key: Part(key, title, body) for key, title, body in SECTION.findall(text)}
    if "overview" not in parts:
        raise TooOld(f"{path} was written by a version before 0.7: run the same configuration again, then the report.")
    title = TITLE.search(text)
    return Study(name, title.group(1) if title else name, figures, parts, hidden)


def relative(path: Path) -> str:
    """A path from here, or the name of a file that lies elsewhere."""
    text = os.path.relpath(path)
    return path.name if text.startswith("..") else text


def text_of(html: str) -> str:
    """Return the text of HTML on one line."""
    pieces: list[str] = []
    parser = HTMLParser()
    parser.handle_data = pieces.append  # type: ignore[method-assign]
    parser.feed(html)
    return " ".join("".join(pieces).split())
