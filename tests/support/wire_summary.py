"""One row per method of what crosses in a run: messages, and bytes of each kind; for the tables on pages of studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

KINDS = ("clear", "cipher", "release", "public")
HEAD = ("| method | messages | " + " | ".join(KINDS) + " |", "|---|---|" + "---|" * len(KINDS))


def row(method: str, transcript: Iterable[Mapping[str, Any]]) -> str:
    """Return the row of a method; a kind that it does not send has an empty cell."""
    sizes: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for message in transcript:
        sizes[message["kind"]].append(message["bytes"])
    cells = [f"{sum(of):,}" if of else "" for of in sizes.values()]
    return "| " + " | ".join((method, str(sum(map(len, sizes.values()))), *cells)) + " |"


def replaced(text: str, begin: str, end: str, rows: Iterable[str]) -> str:
    """Return a page with the table between two marks as it is now."""
    head, rest = text.split(begin)
    return head + "\n".join([begin, *HEAD, *rows, end]) + rest.split(end)[1]
