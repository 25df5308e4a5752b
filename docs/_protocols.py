"""The page of sequence diagrams of the site, with its images: from the transcripts of small runs of every method.

``./run docs`` writes them below ``_generated``.  The image that pages outside the site show is committed:
``.venv/bin/python docs/_protocols.py`` writes it anew, and a test compares it with the run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from itertools import groupby
from pathlib import Path
from typing import Any

# The small cases that the tests run.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import every_protocol
from _sequence.drawing import draw
from _sequence.folding import fold_rows
from _sequence.steps import Step, arrows_of
from _sequence.wording import numbered_list, totals
from partywise.experiment.study import load
from partywise.experiment.trial import execution
from partywise.federation.run import simulate

PAGE, IMAGES = "diagrams", "protocols"
# The diagram of the pages that are read without a site: study, case and method.
EXAMPLE = ("sliced_inverse_regression", "rows", "cert")
EXAMPLE_FILE = Path(__file__).parent / "images" / "protocol.svg"
INTRODUCTION = """\
Every diagram is drawn from the transcript of one small run with a fixed seed. [How to read a
diagram](../data_protection.md#messages). Sizes and numbers of repetitions are those of the small run.
The list below a diagram has the same steps in words.
"""


@dataclass
class Diagram:
    """The messages of one method on one case, and the methods that send the same."""

    study: str
    protocol: str
    case: str
    method: str
    says: str
    names: tuple[str, ...]
    holders: tuple[str, ...]
    transcript: Sequence[Mapping[str, Any]] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    same: list[str] = field(default_factory=list)

    @property
    def image(self) -> str:
        """Name of its file."""
        return f"{self.study}-{self.case}-{self.method}.svg"

    @property
    def title(self) -> str:
        """Text for screen readers."""
        return f"Who sends what to whom: {self.study}, {self.method} on {self.case}"

    @property
    def key(self) -> tuple[Any, ...]:
        """The key that methods with the same messages share: everything except numbers."""
        seen = [
            (
                arrow.name.texts,
                arrow.kind,
                *(tuple(end.texts for end in ends) for ends in (arrow.senders, arrow.receivers)),
            )
            for arrow in arrows_of(self.steps)
        ]
        return self.study, self.protocol, tuple(dict.fromkeys(seen))


def diagrams() -> Iterator[Diagram]:
    """Every method of every study on its small cases."""
    for fit in every_protocol.fits():
        yield diagram_of(*fit)


def diagram_of(study: str, case: str, method: str) -> Diagram:
    """Run a method on a small case, and return what was sent."""
    planned = every_protocol.planned(study)
    chosen = planned.methods[method]
    run = execution(planned, case, method, every_protocol.generated(study, case))
    simulate(chosen.protocol.fit, run)
    rows, holders = run.channel.transcript(), tuple(party.name for party in run.parties)
    says = cleandoc(chosen.protocol.fit.target.__doc__ or "").partition("\n")[0]
    steps = fold_rows(rows, run.names)
    return Diagram(study, chosen.protocol_name, case, method, says, run.names, holders, rows, steps)


def draw_diagram(diagram: Diagram) -> str:
    """Return the image of a diagram as SVG."""
    return draw(diagram.steps, diagram.names, diagram.holders, diagram.title)


def distinct(candidates: Iterable[Diagram]) -> list[Diagram]:
    """The first of each that send the same, with the labels of all; protocol by protocol."""
    firsts: dict[tuple[Any, ...], Diagram] = {}
    for diagram in candidates:
        firsts.setdefault(diagram.key, diagram).same.append(diagram.method)
    places: dict[tuple[str, str], int] = {}
    for diagram in firsts.values():
        places.setdefault((diagram.study, diagram.protocol), len(places))
    return sorted(firsts.values(), key=lambda diagram: places[diagram.study, diagram.protocol])


def pages(selection: Sequence[Diagram]) -> dict[str, str]:
    """The page and its images, by their paths below the folder of documents."""
    files = {f"{IMAGES}/{diagram.image}": draw_diagram(diagram) for diagram in selection if diagram.transcript}
    parts = ["# All protocols", "", INTRODUCTION]
    for study, group in groupby(selection, key=lambda diagram: diagram.study):
        parts += [f"## {study}", "", f"{load(study).title}: [page of the study](../{study}.md).", ""]
        for protocol, variants in groupby(group, key=lambda diagram: diagram.protocol):
            members = list(variants)
            parts += [f"### {study}: {protocol}", "", members[0].says, ""]
            for diagram in members:
                parts += _section(diagram)
    return {f"{PAGE}.md": "\n".join(parts).rstrip() + "\n"} | files


def _section(diagram: Diagram) -> list[str]:
    """A diagram, and its steps as a list that opens."""
    labels = [f"`{label}`" for label in dict.fromkeys(diagram.same)]
    also = f" The same messages with other numbers: {', '.join(labels[1:])}." if labels[1:] else ""
    lead = f"Method {labels[0]} on the case `{diagram.case}`"
    if not diagram.transcript:
        return [f"{lead}: no message.{also}", ""]
    return [
        f"{lead}: {totals(diagram.steps)}.{also}",
        "",
        f"![{diagram.title}. The list below has the same steps.]({IMAGES}/{diagram.image})",
        "",
        "<details><summary>The steps as a list</summary>",
        "",
        numbered_list(diagram.steps),
        "",
        "</details>",
        "",
    ]


def write(folder: Path) -> None:
    """Write the page and its images below a folder; what would not change is left alone."""
    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    for name, text in pages(distinct(diagrams())).items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def example() -> str:
    """Return the committed image."""
    return draw_diagram(diagram_of(*EXAMPLE))


if __name__ == "__main__":
    EXAMPLE_FILE.write_text(example(), encoding="utf-8")
