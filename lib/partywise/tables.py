"""What lies beside a cube: the ledger of all releases, and what crosses the wire."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from .checks import FORMULA
from .corners import Corner
from .files import replacing
from .plan import Plan
from .privacy.ledger import Ledger

GROUP = ("case", "method", "replicate", "parties", "epsilon_target")


def write_text(path: Path | str, text: str) -> None:
    """Write a text file in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_csv(path: Path | str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows that share their keys; an empty table keeps an empty file."""
    rows, handle = list(rows), io.StringIO()
    if rows:
        writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _inert(value) for key, value in row.items()} for row in rows)
    write_text(path, handle.getvalue())


def _inert(value: Any) -> Any:
    """Text on one line, and behind a quote what a spreadsheet would take for a formula; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    value = value if value.isprintable() else " ".join(value.split())
    if not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def ledgers(corners: Sequence[Corner]) -> Iterator[tuple[dict[str, Any], tuple[str, ...], Ledger]]:
    """The distinct releases of all folds together, for each case, method, replicate, party count and epsilon.

    Folds that re-use a release pay once, folds that draw anew pay each.  Different party counts and epsilons are
    alternatives, of which a deployment would run one: they are never added.
    """
    found: dict[tuple[Any, ...], tuple[tuple[str, ...], Ledger]] = {}
    for corner in corners:
        for (replicate, epsilon), events in corner.releases.items():
            key = (corner.case, corner.method, replicate, corner.parties, epsilon)
            _, ledger = found.setdefault(key, (corner.names, Ledger()))
            for event in events:
                ledger.append(event)
    for key, (names, ledger) in sorted(found.items(), key=lambda item: item[0]):
        yield dict(zip(GROUP, key, strict=True)), names, ledger


def ledger_rows(plan: Plan, corners: Sequence[Corner]) -> list[dict[str, Any]]:
    """One row for each release, hash-chained within its group."""
    return [
        {"study": plan.study.name, **group, **row} for group, _, ledger in ledgers(corners) for row in ledger.to_rows()
    ]


def ledger_totals(plan: Plan, corners: Sequence[Corner]) -> list[dict[str, Any]]:
    """What all folds of a replicate together cost: the worst view over the distinct releases."""
    rows = []
    for group, names, ledger in ledgers(corners):
        total = ledger.worst_total(names, plan.spec.unit, plan.delta(group["case"]))
        rows.append({"study": plan.study.name, **group, **vars(total), "ledger_sha256": ledger.digest})
    return rows


def wire_markdown(plan: Plan, corners: Sequence[Corner]) -> str:
    """The table "what crosses the wire" of each method, from one fit: replicate 0, fold 0."""
    lines = [f"# What crosses the wire: {plan.study.title}", ""]
    lines += [
        "One fit of each method (replicate 0, fold 0, fewest parties, smallest epsilon), as the channel saw it.",
        "",
    ]
    shown = sorted((c for c in corners if c.wire), key=lambda c: (c.case, c.method, c.parties))
    for (case, method), group in groupby(shown, key=lambda c: (c.case, c.method)):
        found = list(group)
        first, epsilon = found[0], min(found[0].wire)
        lines += [f"## {case}, {method}", "", f"{first.parties} parties, epsilon target {epsilon:g}.", ""]
        lines += ["| from | to | what | kind | argument | shape | bytes |", "|---|---|---|---|---|---|---|"]
        lines += [_wire_line(same) for same in _runs(first.wire[epsilon])]
        lines += ["", "Total by number of parties: " + "; ".join(map(_wire_total, found)) + ".", ""]
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


def _wire_total(corner: Corner) -> str:
    rows = corner.wire[min(corner.wire)]
    return f"{corner.parties}: {len(rows)} messages, {sum(row['bytes'] for row in rows):,} bytes"
