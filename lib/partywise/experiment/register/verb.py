"""The verb ``claims``: read the cubes that entries name, write the register, list what is missing."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .printed_source import PrintedSource
    from .table import RegisterRow

MARKED = re.compile(r"(<!-- claims: begin -->\n).*?(<!-- claims: end -->)", re.DOTALL)


def claims(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Write ``claims.csv`` and ``claims.html`` into ``results/claims``, and what docs show; 1 if a cube is missing."""
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default results)")
    parser.add_argument("--write", type=Path, help="also write the CSV file of this folder, such as docs")
    options = parser.parse_args(words)
    results, docs = options.results, options.write
    from ..tables.rows import write_text
    from . import table
    from .numbers import Cubes
    from .printed_source import files, read
    from .register import missing, rows
    from .text import html, sentence

    printed = [read(path) for path in files()]
    cubes, folder = Cubes(results), results / "claims"
    register_rows = rows(printed, cubes)
    folder.mkdir(parents=True, exist_ok=True)
    table.write(folder / table.NAME, register_rows)
    write_text(folder / "claims.html", html(register_rows, fit_notes(printed)))
    print(f"{folder / table.NAME} and {folder / 'claims.html'}:\n{sentence(register_rows, fit_notes(printed))}")
    for line in missing(cubes):
        print(line)
    if docs is not None and not cubes.absent:
        document(register_rows, printed, docs)
        print(f"{docs / table.NAME} and the sentence of the README are written.")
    elif docs is not None:
        print(f"{docs} is left as it is: a register without these cubes would lack entries.")
    return 1 if cubes.absent else 0


def notable(printed: Sequence[PrintedSource]) -> list[str]:
    """Ids of the rows that the page shows, in the order of the documents."""
    return [name for file in sorted(printed, key=lambda source: source.path.name) for name in file.notable]


def notes(printed: Sequence[PrintedSource]) -> dict[str, str]:
    """Notes on all entries of a document, by document, where there are any."""
    return {file.document: file.note for file in printed if file.note}


def fit_notes(printed: Sequence[PrintedSource]) -> list[str]:
    """Clauses on what was fitted to the printed numbers, one per document in which something was."""
    return [file.fit_note for file in printed if file.fit_note]


def document(rows: Sequence[RegisterRow], printed: Sequence[PrintedSource], docs: Path) -> None:
    """Write the CSV file of the documentation and the sentence of the README."""
    from ..tables.rows import write_text
    from . import table
    from .text import sentence

    table.write(docs / table.NAME, rows)
    readme = docs.parent / "README.md"
    if readme.is_file():
        text = readme.read_text(encoding="utf-8")
        link = "[claims register](docs/artifact_appendix.md#main-results-and-claims)"
        line = f"{sentence(rows, fit_notes(printed))} ({link})"
        write_text(readme, MARKED.sub(lambda marks: f"{marks[1]}{line}\n{marks[2]}", text))
