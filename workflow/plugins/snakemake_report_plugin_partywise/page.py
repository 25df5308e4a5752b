"""The page: one file of HTML that needs no network.

Tables that are too long for it end after some rows, with a sentence that names the file of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from partywise.experiment.tables.findings import USUAL
from partywise.experiment.tables.templates import environment

from .content import FIRST, Run

HERE = Path(__file__).resolve().parent
# Rows of a study in the table that opens the page, whose section has all of them, and bytes of all tables together.
MOST_ROWS, ROOM = 3, 700_000
# What the rows that are left out belong to.
FILES = {
    "summary": "summary.csv",
    "what-crosses-the-wire": "wire.md",
    "ledger": "ledger_totals.csv",
    "columns": "dictionary.csv",
}
CUBE = "the attributes of cube.nc"


def page(run: Run) -> str:
    """The page of a run."""
    sizes = {
        f"{study.name} {key}": len(part.body.encode()) for study in run.studies for key, part in study.parts.items()
    }
    return (
        environment(HERE)
        .get_template("report.html.jinja")
        .render(
            run=run,
            usual=f"{USUAL:g}",
            most_results=MOST_ROWS,
            first=FIRST,
            room=room_for_each(sizes, ROOM),
            shortened=shortened,
        )
    )


def room_for_each(sizes: Mapping[str, int], room: int) -> int:
    """The largest size to which all can be cut so that together they fit: small ones stay whole."""
    left, waiting = room, sorted(sizes.values())
    while waiting and waiting[0] * len(waiting) <= left:
        left -= waiting.pop(0)
    return left // len(waiting) if waiting else max(sizes.values(), default=0)


def shortened(body: str, key: str, room: int) -> str:
    """The first lines of a section, closed again, with a sentence on where the others are."""
    if len(body.encode()) <= room:
        return body
    lines: list[str] = []
    for line in body.splitlines():
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    head = "\n".join(lines)
    if head.count("<tbody>") > head.count("</tbody>"):
        lines.append("</tbody></table></div>")
    if head.count("<pre>") > head.count("</pre>"):
        lines.append("</pre>")
    lines.append(f"<p>There is more than a page holds: all of it is in {FILES.get(key, CUBE)} of this study.</p>")
    return "\n".join(lines)
