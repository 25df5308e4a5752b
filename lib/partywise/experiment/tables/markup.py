"""Tables as HTML: one row a line, so that whoever shows a page can shorten it; text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from .rows import inert
from .summary import MOST_ROWS


def table(rows: Sequence[Mapping[str, Any]], *, keys: bool = False) -> str:
    """Rows under the names of their columns; with ``keys`` the first three columns stay in view."""
    if not rows:
        return "<p>Nothing in this configuration.</p>"
    head = "".join(f'<th scope="col">{escape(str(key))}</th>' for key in rows[0])
    body = "\n".join("<tr>" + "".join(map(_cell, row.values())) + "</tr>" for row in rows)
    named = ' class="keys"' if keys else ""
    body = f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody>"
    return f'<div class="wide" tabindex="0"><table{named}>{body}</table></div>'


def _cell(value: Any) -> str:
    text = inert(short(value))
    number = isinstance(value, int | float) or text[:1].isdigit() or text == "∞"
    return f'<td class="number">{escape(text)}</td>' if number else f"<td>{escape(text)}</td>"


def filtered(rows: Sequence[Mapping[str, Any]], file: str, *, keys: bool = False) -> str:
    """A table with a field above it, for words that a row must have; ``file`` has the rows that find no room."""
    hint = "words to keep, such as: moments 6"
    more = f"<p>The first {MOST_ROWS} rows: all of them are in {file}.</p>" if len(rows) > MOST_ROWS else ""
    rows = rows[:MOST_ROWS]
    return f'{more}<p><input data-rows aria-label="rows to keep" placeholder="{hint}"></p>\n{table(rows, keys=keys)}'


def markdown(text: str) -> str:
    """Headings, paragraphs and pipe tables; nothing else occurs in the wire table."""
    out = []
    for piped, group in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        lines = list(group)
        if piped:
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            out.append(table([dict(zip(cells[0], row, strict=True)) for row in cells[2:]]))
            continue
        out += [_paragraph(line) for line in lines if line]
    return "\n".join(out)


def _paragraph(line: str) -> str:
    if line.startswith("## "):
        return f"<h3>{escape(line[3:])}</h3>"
    return f"<p>{escape(line.lstrip('# '))}</p>"


def short(value: Any) -> str:
    """A number in four digits, anything else as text."""
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return str(value)
