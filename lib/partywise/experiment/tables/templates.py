"""Pages and tables by the Jinja2 templates of the rooms of ``experiment``: HTML is escaped, Markdown is not.

A figure of a study that is a table is a `TypesetTable`: one page of HTML and one CSV file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .rows import inert, write_csv, write_text
from .summary import MOST_ROWS

FOLDER = Path(__file__).resolve().parents[1]


def environment(*folders: Path) -> Environment:
    """Templates of some folders before those of ``experiment``; a name that no value has is an error."""
    templates = Environment(
        loader=FileSystemLoader([*folders, FOLDER]),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"cell": cell, "short": short}
    templates.globals |= {"pipe_table": pipe_table, "most_rows": MOST_ROWS}
    return templates


def pipe_table(head: Sequence[str], rows: Iterable[Mapping[str, object] | Iterable[object]]) -> str:
    """A table in Markdown, each row on one line; a pipe inside a cell is escaped."""
    texts = [[str(value) for value in (row.values() if isinstance(row, Mapping) else row)] for row in rows]
    # split() also takes the line separators of Unicode.
    cells = [[" ".join(text.split()).replace("|", r"\|") for text in row] for row in texts]
    first, *others = [f"| {' | '.join(line)} |" for line in (head, *cells)]
    return "\n".join([first, "|" + "---|" * len(head), *others])


def short(value: object) -> str:
    """A number in four digits, anything else as text."""
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return str(value)


def cell(value: object) -> tuple[str, bool]:
    """The text of a value in a table, and whether it is a number."""
    text = inert(short(value))
    return text, isinstance(value, int | float) or text[:1].isdigit() or text == "∞"


ENVIRONMENT = environment()


def render(name: str, **values: object) -> str:
    """The text of a template, by its path below ``experiment``."""
    return ENVIRONMENT.get_template(name).render(values)


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
    write_csv(csv, table.rows)
    page = render(
        "tables/typeset.html.jinja", title=table.title, rows=table.rows, notes=table.notes, file=Path(csv).name
    )
    write_text(html, page)
