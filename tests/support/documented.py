"""Runs the Python blocks of a page in one namespace, and compares what each prints with the block of text under it.

Alone (``python documented.py PAGE``) it needs the standard library and what the page imports.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FENCED = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)
EXTRA = "# Needs "


def examples(page: Path) -> Iterator[tuple[str, str | None]]:
    """Every block of code with the text under it."""
    blocks = [(kind, body) for kind, body in FENCED.findall(page.read_text(encoding="utf-8"))]
    for place, (kind, body) in enumerate(blocks):
        if kind == "python":
            following = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
            yield body, following[1] if following[0] == "text" else None


def run(page: Path, *, extras: bool) -> list[str]:
    """What differs: block, expected and printed text; without ``extras`` what needs more than numpy is left out."""
    names: dict[str, object] = {"__name__": "__documented__"}
    wrong = []
    for code, expected in examples(page):
        if code.startswith(EXTRA) and not extras:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if expected is None or printed.getvalue() != expected:
            wrong.append(f"{code}\nexpected:\n{expected}\nprinted:\n{printed.getvalue()}")
    return wrong


if __name__ == "__main__":
    differences = run(Path(sys.argv[1]), extras="--extras" in sys.argv)
    print("\n".join(differences))
    sys.exit(bool(differences))
