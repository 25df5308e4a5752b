"""What crosses the wire in one fit of each method, as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..blocks import Part
from ..plan import Plan


@dataclass(frozen=True)
class Heard:
    """What crossed the wire in one fit: its messages where they are shown, their number and their bytes."""

    case: str
    method: str
    parties: int
    epsilon: float
    messages: Sequence[Mapping[str, Any]]
    count: int
    bytes: int


class Wire:
    """The table "what crosses the wire" of each method, from one fit: replicate 0, fold 0.

    Parts come in the order of case, method and number of parties.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._heard: list[Heard] = []

    def add(self, part: Part) -> None:
        """Take from a part what is shown of it: all messages for the fewest parties, else their number."""
        if not part.wire:
            return
        epsilon = min(part.wire)
        rows, last = part.wire[epsilon], self._heard[-1:]
        shown = not last or (last[0].case, last[0].method) != (part.case, part.method)
        size = sum(row["bytes"] for row in rows)
        messages = rows if shown else ()
        self._heard.append(Heard(part.case, part.method, part.parties, epsilon, messages, len(rows), size))

    def markdown(self) -> str:
        """The table of each method."""
        lines = [f"# What crosses the wire: {self._plan.study.title}", ""]
        lines += [
            "One fit of each method (replicate 0, fold 0, fewest parties, smallest epsilon), as the channel saw it.",
            "",
        ]
        for (case, method), group in groupby(self._heard, key=lambda one: (one.case, one.method)):
            found = list(group)
            first = found[0]
            lines += [f"## {case}, {method}", "", f"{first.parties} parties, epsilon target {first.epsilon:g}.", ""]
            lines += ["| from | to | what | kind | argument | shape | bytes |", "|---|---|---|---|---|---|---|"]
            lines += [_wire_line(same) for same in _runs(first.messages)]
            totals = "; ".join(f"{one.parties}: {one.count} messages, {one.bytes:,} bytes" for one in found)
            lines += ["", f"Total by number of parties: {totals}.", ""]
        return "\n".join(lines)


def _runs(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Consecutive messages that differ in nothing but their name."""
    for _, same in groupby(rows, key=lambda r: (r["sender"], r["receiver"], r["kind"], r["argument"], r["shape"])):
        yield list(same)


def _wire_line(same: Sequence[Mapping[str, Any]]) -> str:
    first, last = same[0], same[-1]
    what = first["name"] if len(same) == 1 else f"{first['name']} to {last['name']} ({len(same)} messages)"
    size = sum(row["bytes"] for row in same)
    cells = (first["sender"], first["receiver"], what, first["kind"], first["argument"], first["shape"], f"{size:,}")
    # One line a row, whatever the text: split() also takes the line separators of Unicode.
    return "| " + " | ".join(" ".join(str(cell).split()).replace("|", "/") for cell in cells) + " |"
