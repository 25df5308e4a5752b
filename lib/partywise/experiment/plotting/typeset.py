"""A figure of a study that is a table: rows with a title and notes, as one page of HTML and one CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ..tables.markup import filtered
from ..tables.page import html_page
from ..tables.rows import write_csv, write_text

# The part of the page that a report takes over.
SECTION = "table"


@dataclass(frozen=True)
class Table:
    """What a figure with ``output="table"`` returns.

    title : one line
    rows : of the CSV file, which share their keys; the page shows their numbers in four digits
    notes : sentences under the table
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()


def save_table(table: Table, html: Path | str, csv: Path | str) -> None:
    """Write a table as a page and as rows, byte for byte the same on every call."""
    write_csv(csv, table.rows)
    write_text(html, html_page(table.title, f'<section id="{SECTION}">\n{_body(table, Path(csv).name)}\n</section>\n'))


def _body(table: Table, file: str) -> str:
    """Rows under their filter, then the notes; of a table without rows the notes alone."""
    notes = "\n".join(f"<p>{escape(note)}</p>" for note in table.notes)
    if not table.rows:
        return notes
    return f"{filtered(table.rows, file)}\n{notes}"
