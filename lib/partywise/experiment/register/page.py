"""The register as one HTML file without network: a table that can be searched, and filtered by source and status."""

from __future__ import annotations

from collections.abc import Sequence

from ..tables.templates import render
from .table import RegisterRow
from .text import sentence
from .verdict import RULE, STATUSES

SHOWN = {
    "source": "source",
    "place": "place",
    "quantity": "quantity",
    "printed": "printed",
    "spread": "bracket",
    "reproduction": "ours",
    "se": "standard error",
    "replicates": "replicates",
    "z": "z",
    "within_5_percent": "within 5 %",
    "certified": "certified epsilon",
    "status": "status",
    "because": "because",
    "command": "command",
    "cpu_minutes": "CPU min",
}
NUMBERS = {"printed", "spread", "reproduction", "se", "replicates", "z", "certified", "cpu_minutes"}


def html(rows: Sequence[RegisterRow], fitted: Sequence[str] = ()) -> str:
    """The page; ``fitted`` as in `sentence`."""
    return render(
        "register/claims.html.jinja",
        title="Claims register",
        sentence=sentence(rows, fitted),
        rule=RULE,
        statuses=STATUSES,
        columns=SHOWN,
        numbers=NUMBERS,
        rows=rows,
    )
