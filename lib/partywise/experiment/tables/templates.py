"""Pages and tables by the Jinja2 templates of the rooms of ``experiment``: HTML is escaped, Markdown is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .rows import inert
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
