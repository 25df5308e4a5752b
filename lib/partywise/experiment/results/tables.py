"""What lies beside a cube: the ledger of all releases, and what crosses the wire."""

from __future__ import annotations

import csv
import io
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...checks import FORMULA
from ...files import replacing
from ...privacy.ledger.ledger import Ledger
from ..blocks import Part
from ..plan import Plan

GROUP = ("case", "method", "replicate", "parties", "epsilon_target")


def write_text(path: Path | str, text: str) -> None:
    """Write a text file in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_csv(path: Path | str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows that share their keys, one by one; an empty table keeps an empty file."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer: csv.DictWriter[str] | None = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(handle, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow({key: _inert(value) for key, value in row.items()})


class SortedRows:
    """Rows of a CSV file that come in groups out of order; what waits for its turn lies on the disk.

    Parameters
    ----------
    handle : binary file
        Of the CSV file; the rows of ``add`` reach it at the next ``flush``, in the order of their keys.
    folder : Path
        Where they wait.
    """

    def __init__(self, handle: IO[bytes], folder: Path) -> None:
        self._handle, self._begun = handle, False
        self._waiting = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the tables
        self._keys, self._lengths = array("d"), array("q")

    def add(self, key: tuple[float, float, float], rows: Sequence[Mapping[str, Any]]) -> None:
        """The rows of one group."""
        if not rows:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._begun:
            writer.writerow(rows[0])
            self._handle.write(text.getvalue().encode())
            text.seek(0)
            text.truncate()
            self._begun = True
        # Rows of a ledger share their keys and the order of these; there may be a million.
        writer.writerows([_inert(value) for value in row.values()] for row in rows)
        self._keys.extend(key)
        self._lengths.append(self._waiting.write(text.getvalue().encode()))

    def flush(self) -> None:
        """Write what waits."""
        keys, lengths = np.array(self._keys).reshape(-1, 3), np.array(self._lengths)
        starts = np.cumsum(lengths) - lengths
        for i in np.lexsort(keys.T[::-1]).tolist():
            self._waiting.seek(starts[i])
            self._handle.write(self._waiting.read(lengths[i]))
        self._waiting.seek(0)
        self._waiting.truncate()
        self._keys, self._lengths = array("d"), array("q")

    def close(self) -> None:
        """Write what waits and let go of the disk."""
        self.flush()
        self._waiting.close()


class LedgerTables:
    """The ledger of a study and its totals, as files that grow part by part.

    ``add`` takes parts that share case, method and number of parties, and hold all folds of their replicates; cases
    and methods come in order.
    """

    def __init__(self, plan: Plan, ledger: IO[bytes], totals: IO[bytes], folder: Path) -> None:
        self._plan, self._of = plan, ("", "")
        self._ledger, self._totals = SortedRows(ledger, folder), SortedRows(totals, folder)

    def add(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """Write the releases of some parts; returns the rows of their totals."""
        if self._of != (parts[0].case, parts[0].method):
            self._of = (parts[0].case, parts[0].method)
            self._ledger.flush()
            self._totals.flush()
        totals = []
        for group, names, ledger in ledgers(parts):
            key = (group["replicate"], group["parties"], group["epsilon_target"])
            self._ledger.add(key, ledger_rows(self._plan, group, ledger))
            totals.append(ledger_total(self._plan, group, names, ledger))
            self._totals.add(key, totals[-1:])
        return totals

    def close(self) -> None:
        """Write what waits for its turn."""
        self._ledger.close()
        self._totals.close()


def _inert(value: Any) -> Any:
    """Text on one line, and behind a quote what a spreadsheet would take for a formula; numbers stay numbers."""
    return _inert_text(value) if isinstance(value, str) else value


@lru_cache(maxsize=10_000)
def _inert_text(value: str) -> str:
    """Most texts of a ledger stand in many rows."""
    value = value if value.isprintable() else " ".join(value.split())
    if not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def ledgers(parts: Sequence[Part]) -> Iterator[tuple[dict[str, Any], tuple[str, ...], Ledger]]:
    """The distinct releases of all folds together, for each case, method, replicate, party count and epsilon.

    Folds that re-use a release pay once, folds that draw anew pay each.  Different party counts and epsilons are
    alternatives, of which a deployment would run one: they are never added.
    """
    found: dict[tuple[Any, ...], tuple[tuple[str, ...], Ledger]] = {}
    for part in parts:
        for (replicate, epsilon), events in part.releases.items():
            key = (part.case, part.method, replicate, part.parties, epsilon)
            _, ledger = found.setdefault(key, (part.names, Ledger()))
            for event in events:
                ledger.append(event)
    for key, (names, ledger) in sorted(found.items(), key=lambda item: item[0]):
        yield dict(zip(GROUP, key, strict=True)), names, ledger


def ledger_rows(plan: Plan, group: Mapping[str, Any], ledger: Ledger) -> list[dict[str, Any]]:
    """One row for each release of a group, hash-chained within it."""
    return [{"study": plan.study.name, **group, **row} for row in ledger.to_rows()]


def ledger_total(plan: Plan, group: Mapping[str, Any], names: tuple[str, ...], ledger: Ledger) -> dict[str, Any]:
    """What all folds of a replicate together cost: the worst view over the distinct releases."""
    persons = plan.rows_per_user(group["case"])
    total = ledger.worst_total(names, plan.spec.unit, plan.delta(group["case"]), rows_per_user=persons)
    return {"study": plan.study.name, **group, **vars(total), "ledger_sha256": ledger.digest}


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
