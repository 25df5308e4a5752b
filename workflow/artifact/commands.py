"""The table of ``docs/configuration.md``: the rows of the table of verbs."""

from __future__ import annotations

import re
from pathlib import Path

from partywise.core.verbs import page_rows

from .facts import text

PAGE = "docs/configuration.md"
MARKED = re.compile(r"(<!-- verbs: begin -->\n).*?(<!-- verbs: end -->)", re.DOTALL)


def page(root: Path) -> str:
    """The page with its table as the verbs are now."""
    rows = "".join(f"| `{command}` | {meaning} |\n" for command, meaning in page_rows())
    return MARKED.sub(lambda marks: f"{marks[1]}| command | what |\n|---|---|\n{rows}{marks[2]}", text(root, PAGE))
