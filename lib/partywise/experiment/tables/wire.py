"""Messages that cross the wire in one fit of each method."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypedDict

from ..blocks import Part
from ..plan import Plan
from .rows import inert

if TYPE_CHECKING:
    from ...federation.payloads import TranscriptRow

WIRE = ("messages", "from", "to", "what", "kind", "argument", "shape", "bytes")
NUMBER = re.compile(r"\d+")
NOTE = (
    "One fit of each method (replicate 0, fold 0, fewest parties, smallest epsilon), as the channel saw it. Equal "
    "messages share a line, in the order of the first of each; bytes are those of all."
)
PARAMETER = re.compile(r"(\w) = (?=[-+.\d]|inf|nan)")


@dataclass(frozen=True)
class FitMessages:
    """Messages of one fit, where they are listed, their number and their bytes."""

    case: str
    method: str
    parties: int
    epsilon: float
    messages: Sequence[TranscriptRow]
    count: int
    bytes: int


class WireFit(TypedDict):
    """Fields of a page on the messages of one method."""

    name: str
    setting: str
    messages: list[dict[str, str]]
    totals: str


class WireFields(TypedDict):
    """Fields of a page on all messages."""

    note: str
    fits: list[WireFit]


class Wire:
    """The table "what crosses the wire" of each method, from one fit: replicate 0, fold 0.

    Parts come in the order of case, method and number of parties.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._heard: list[FitMessages] = []

    def add(self, part: Part) -> None:
        """Take from a part what is shown of it: all messages for the fewest parties, else their number."""
        if not part.wire:
            return
        epsilon = min(part.wire)
        rows, last = part.wire[epsilon], self._heard[-1:]
        first_of_method = not last or (last[0].case, last[0].method) != (part.case, part.method)
        size = sum(row["bytes"] for row in rows)
        messages = rows if first_of_method else ()
        self._heard.append(FitMessages(part.case, part.method, part.parties, epsilon, messages, len(rows), size))

    def template_fields(self) -> WireFields:
        """Return the fields of a page or a Markdown file: a note, and name, setting, messages and totals per method."""
        fits = list[WireFit]()
        for (case, method), group in groupby(self._heard, key=lambda fit: (fit.case, fit.method)):
            by_parties = list(group)
            first = by_parties[0]
            totals = "; ".join(f"{fit.parties}: {fit.count} messages, {fit.bytes:,} bytes" for fit in by_parties)
            fits.append(
                {
                    "name": f"{case}, {method}",
                    "setting": f"{first.parties} parties, epsilon target {first.epsilon:g}.",
                    "messages": [message_row(same) for same in equal_messages(first.messages)],
                    "totals": f"Total by number of parties: {totals}.",
                }
            )
        return {"note": NOTE, "fits": fits}


def equal_messages(rows: Sequence[TranscriptRow]) -> list[list[TranscriptRow]]:
    """Messages that differ in nothing but numbers in the names of sender, receiver and value, first ones first."""
    groups: dict[tuple[str, ...], list[TranscriptRow]] = {}
    for row in rows:
        names = (NUMBER.sub("#", name) for name in (row["sender"], row["receiver"], row["name"]))
        argument = NUMBER.sub("#", row["argument"]) if row["kind"] == "cipher" else row["argument"]
        groups.setdefault((*names, row["kind"], argument, row["shape"]), []).append(row)
    return list(groups.values())


def message_row(same: Sequence[TranscriptRow]) -> dict[str, str]:
    """The row of some equal messages."""
    first = same[0]
    who = map(_span, zip(*((row["sender"], row["receiver"], row["name"]) for row in same), strict=True))
    argument = _plain(_span([row["argument"] for row in same]))
    size = sum(row["bytes"] for row in same)
    cells = (f"{len(same)} x", *who, first["kind"], argument, first["shape"], f"{size:,}")
    return dict(zip(WIRE, map(inert, map(str, cells)), strict=True))


def _span(names: Sequence[str]) -> str:
    """The first and the last of some names, or the one that all are."""
    distinct = list(dict.fromkeys(names))
    return distinct[0] if len(distinct) == 1 else f"{distinct[0]} ... {distinct[-1]}"


def _plain(argument: str) -> str:
    """A mechanism and its parameters in words and numbers."""
    return PARAMETER.sub(r"\1 ", argument).replace(" = ", " equals ").replace("_", " ")
