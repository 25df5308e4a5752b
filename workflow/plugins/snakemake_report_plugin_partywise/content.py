"""Content of a report, from the files that Snakemake hands over: findings, figures and sections of tables."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image

from partywise.experiment.tables.findings import Findings, weakest_guarantee

# The label ``order`` (workflow/rules/study.smk) of the figure that comes before all others, below the table of results.
FIRST = "first"
# The label ``records`` of a figure that shows single records of a person's own data.
OWN = "own"
# The label ``state`` of an output that a run would make again.
OLD = "old"
TABLES, FINDINGS = "tables.html", "findings.json"
SECTION = re.compile(r'<section id="([a-z-]+)">\n<h2>(.*?)</h2>\n(.*?)\n</section>\n', re.DOTALL)
# The part of a page that is a table (``tables/typeset.html.jinja``).
ROWS = re.compile(r'<section id="table">\n(.*?)\n</section>\n', re.DOTALL)
TITLE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)
# Title of a drawing, its finding or question (`partywise.experiment.plotting.save.describe`), and its width in points.
DRAWING_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
DRAWING_WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)pt"')
# An SVG of more bytes gives way to its PNG, with as many colours; a CSV file of more bytes is named and not contained.
LARGE, COLOURS, LARGE_DATA = 300_000, 256, 50_000
# Characters that an address of data may hold as they are, and those of an image, which a page writes in quotes.
SAFE = "!$'()*+,-./:;=?@_~"
SAFE_IN_IMAGES = f"{SAFE} <>"
# Pixels of a point.
PIXELS = 96 / 72


class TooOld(ValueError):
    """Results that a version before the report wrote."""


@dataclass(frozen=True)
class Figure:
    """One figure: its study and name, its place in the report, its caption as HTML, its file: SVG, or a table.

    is_old : whether a run would make it again, and not its results
    """

    study: str
    name: str
    order: str
    caption: str
    path: Path
    is_old: bool = False

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
        """Its finding or question, for those who do not see it; without one the first sentence of the caption."""
        match = DRAWING_TITLE.search(self._head)
        title = " ".join(unescape(match.group(1)).split()) if match else ""
        return title or re.split(r"(?<=[.:;]) ", text_of(self.caption), maxsplit=1)[0]

    @property
    def width(self) -> int:
        """Pixels of the width at which its text has the size that it was drawn with; 0 where that is unknown."""
        match = DRAWING_WIDTH.search(self._head)
        return round(float(match.group(1)) * PIXELS) if match else 0

    @property
    def _head(self) -> str:
        """The first lines of the drawing."""
        with self.path.open(encoding="utf-8") as handle:
            return handle.read(4000)

    @property
    def data(self) -> Path:
        """Its CSV file: the values that are drawn, or all rows of a table."""
        return self.path.with_suffix(".csv")

    def download(self) -> str:
        """Content of its CSV file in the address of a link; empty of a large one, or none."""
        if not self.data.exists() or self.data.stat().st_size > LARGE_DATA:
            return ""
        return f"data:text/csv;charset=utf-8,{quote(self.data.read_bytes(), safe=SAFE)}"

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
        if self.path.stat().st_size > LARGE and (png := self.path.with_suffix(".png")).exists():
            return f"data:image/png;base64,{b64encode(with_fewer_colours(png)).decode()}"
        return f"data:image/svg+xml;charset=utf-8,{quote(self.path.read_bytes(), safe=SAFE_IN_IMAGES)}"


def with_fewer_colours(path: Path) -> bytes:
    """A PNG with a palette: a third of the bytes of one with all colours."""
    written = BytesIO()
    with Image.open(path) as image:
        image.convert("RGB").quantize(COLOURS).save(written, "PNG", optimize=True)
    return written.getvalue()


@dataclass(frozen=True)
class Part:
    """One section of the tables of a study, as HTML with a row a line."""

    key: str
    title: str
    body: str


@dataclass(frozen=True)
class Missing:
    """An output that the results lack: the study, its name (empty of all of a study), and the log of its job."""

    study: str
    name: str
    log: str

    @property
    def words(self) -> str:
        """Its name with spaces."""
        return self.name.replace("_", " ")


@dataclass(frozen=True)
class Study:
    """One study: its title (as HTML), findings, figures in order, sections by key.

    withheld : names of figures that stay out since they show single records; missing : figures that the results lack
    is_old : whether a run would make its results again
    """

    name: str
    title: str
    findings: Findings
    figures: tuple[Figure, ...]
    parts: dict[str, Part]
    withheld: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    is_old: bool = False

    @property
    def words(self) -> str:
        """Its name with spaces."""
        return self.name.replace("_", " ")

    @property
    def tables(self) -> list[Part]:
        """Its sections except the overview."""
        return [part for key, part in self.parts.items() if key != "overview"]


@dataclass(frozen=True)
class Run:
    """One run: name and file of its configuration, how to read it (HTML), its studies in order.

    missing : studies that the results lack
    """

    name: str
    configuration: str
    about: str
    studies: tuple[Study, ...]
    missing: tuple[Missing, ...] = ()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Figures of all studies."""
        return tuple(figure for study in self.studies for figure in study.figures)

    @property
    def lead(self) -> Figure | None:
        """The figure that comes before all others, if there is one."""
        return next((figure for figure in self.figures if figure.order == FIRST), None)

    @property
    def findings(self) -> list[Findings]:
        """Findings of all studies."""
        return [study.findings for study in self.studies]

    @property
    def fits(self) -> int:
        """Number of all fits."""
        return sum(findings.fits for findings in self.findings)

    @property
    def weakest(self) -> str:
        """The weakest guarantee of all studies, a sentence."""
        return weakest_guarantee(self.findings)


def run_of(
    records: Iterable[Any], files: Sequence[Path], about: str, own_records: bool = False, missing: Iterable[str] = ()
) -> Run:
    """Sort the files that Snakemake's rules mark for the report.

    records : ``results/{name}/{study}/tables.html`` and ``results/{name}/figures/{study}/{figure}.svg`` or ``.html``
    files : the configuration files; about : the description of the workflow, as HTML
    own_records : whether figures that show single records of own data are part of the page
    missing : what the results lack: ``study`` or ``study/figure``
    """
    ordered = sorted(records, key=lambda record: (record.labels["order"] != FIRST, record.labels["order"]))
    tables = {Path(record.path): record for record in ordered if Path(record.path).name == TABLES}
    top = next(iter(tables)).parent.parent
    old = {path.parent.name for path, record in tables.items() if is_old(record)}
    lacking, withheld, drawn = [missing_of(name, top) for name in missing], list[Path](), list[Figure]()
    for record in ordered:
        path = Path(record.path)
        study = path.parent.name
        if path in tables:
            continue
        if record.labels.get("records") == OWN and not own_records:
            withheld.append(path)
            continue
        alone = is_old(record) and study not in old
        drawn.append(Figure(study, path.stem, record.labels["order"], record.caption, path, alone))
    studies = tuple(study_of(path, drawn, withheld, lacking, path.parent.name in old) for path in tables)
    whole = tuple(entry for entry in lacking if not entry.name)
    return Run(top.name, ", ".join(map(relative, files)), about, studies, whole)


def is_old(record: Any) -> bool:
    """Whether a run would make a file again."""
    return bool(record.labels.get("state") == OLD)


def missing_of(name: str, top: Path) -> Missing:
    """Return a missing study or figure by its name, with the log of the job that makes it."""
    study, _, figure = name.partition("/")
    log = f"logs/{study}/figure/{figure}.log" if figure else f"logs/{study}"
    return Missing(study, figure, f"{top}/{log}")


def study_of(
    path: Path, drawn: Sequence[Figure], withheld: Sequence[Path], missing: Sequence[Missing], old: bool
) -> Study:
    """Take the page of tables of a study apart, and pick its figures."""
    name, findings = path.parent.name, path.with_name(FINDINGS)
    if not findings.exists():
        raise TooOld(f"{path.parent} has no {FINDINGS}: run the same configuration again, then the report.")
    text = path.read_text(encoding="utf-8")
    title = TITLE.search(text)
    return Study(
        name=name,
        title=title.group(1) if title else name,
        findings=Findings.of(findings.read_text(encoding="utf-8")),
        figures=tuple(figure for figure in drawn if figure.study == name),
        parts={key: Part(key, heading, body) for key, heading, body in SECTION.findall(text)},
        withheld=tuple(file.stem for file in withheld if file.parent.name == name),
        missing=tuple(entry for entry in missing if entry.study == name and entry.name),
        is_old=old,
    )


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
