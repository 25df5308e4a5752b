"""The page: one file of HTML that needs no network."""

from __future__ import annotations

from pathlib import Path

from partywise.experiment.tables.templates import environment

from .content import FIRST, Run
from .shorten import room_for_each, shortened

HERE = Path(__file__).resolve().parent
# Lines of the table that opens the page, and bytes of all tables together.
MOST_LINES, ROOM = 10, 2_800_000


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
            shown=run.studies if len(run.studies) <= MOST_LINES else run.studies[: MOST_LINES - 1],
            first=FIRST,
            room=room_for_each(sizes, ROOM),
            shortened=shortened,
        )
    )
