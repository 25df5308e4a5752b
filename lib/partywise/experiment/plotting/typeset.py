"""A figure of a study that is a table: rows with a title and notes, as one page of HTML and one CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..tables.rows import write_csv, write_text


@dataclass(frozen=True)
class TypesetTable:
    """Table that a figure with ``output="table"`` returns.

    title : one line
    rows : of the CSV file, which share their keys; the page shows their numbers in four digits
    notes : sentences under the table
    """

    title: str
    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str] = ()


def save_table(table: TypesetTable, html: Path | str, csv: Path | str) -> None:
    """Write a table as a page and as rows, byte for byte the same on every call."""
    from ..tables.templates import render

    write_csv(csv, table.rows)
    page = render(
        "tables/typeset.html.jinja", title=table.title, rows=table.rows, notes=table.notes, file=Path(csv).name
    )
    write_text(html, page)
