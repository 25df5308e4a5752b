"""The ledger of all releases next to a cube, and what the folds of each replicate cost together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from ...core.checks import Scalar
from ...privacy.ledger.ledger import Ledger
from ..blocks import Part
from ..plan import Plan
from .rows import SortedRows
from .run_totals import CELL, ReplicateFits


class LedgerTables:
    """The ledger of a study and its totals, as files that grow part by part.

    ``add`` takes parts that share case, method and number of parties, and hold all folds of their replicates; cases
    and methods come in order.
    """

    def __init__(self, plan: Plan, ledger: IO[bytes], totals: IO[bytes], folder: Path) -> None:
        self._plan, self._of = plan, ("", "")
        self._ledger, self._totals = SortedRows(ledger, folder), SortedRows(totals, folder)

    def add(self, parts: Sequence[Part]) -> list[tuple[ReplicateFits, float]]:
        """Write the releases of some parts; returns what each group of them is certified for."""
        if self._of != (parts[0].case, parts[0].method):
            self._of = (parts[0].case, parts[0].method)
            self._ledger.flush()
            self._totals.flush()
        totals = []
        for group, names, ledger in ledgers(parts):
            key = (group.replicate, group.parties, group.epsilon_target)
            self._ledger.add(key, ledger_rows(self._plan, group, ledger))
            total = ledger_total(self._plan, group, names, ledger)
            self._totals.add(key, [total])
            certified = total[CELL]
            assert isinstance(certified, float)
            totals.append((group, certified))
        return totals

    def close(self) -> None:
        """Write what waits for its turn."""
        self._ledger.close()
        self._totals.close()


def ledgers(parts: Sequence[Part]) -> Iterator[tuple[ReplicateFits, tuple[str, ...], Ledger]]:
    """The distinct releases of all folds together, for each case, method, replicate, party count and epsilon.

    Folds that re-use a release pay once, folds that draw anew pay each; a record pays for those that read its cell
    (`Event.cells`).  Different party counts and epsilons are
    alternatives, of which a deployment would run one: they are never added.
    """
    groups: dict[ReplicateFits, tuple[tuple[str, ...], Ledger]] = {}
    for part in parts:
        for (replicate, epsilon), events in part.releases.items():
            key = ReplicateFits(part.case, part.method, replicate, part.parties, epsilon)
            _, ledger = groups.setdefault(key, (part.names, Ledger()))
            for event in events:
                ledger.append(event)
    for key, (names, ledger) in sorted(groups.items(), key=lambda item: item[0]):
        yield key, names, ledger


def ledger_rows(plan: Plan, group: ReplicateFits, ledger: Ledger) -> list[dict[str, object]]:
    """One row for each release of a group, hash-chained within it."""
    return [{"study": plan.study.name, **group._asdict(), **row} for row in ledger.to_rows()]


def ledger_total(plan: Plan, group: ReplicateFits, names: tuple[str, ...], ledger: Ledger) -> dict[str, Scalar]:
    """Total cost of all folds of a replicate together: the worst coalition over the distinct releases."""
    persons, delta = plan.rows_per_user(group.case), plan.delta(group.case, group.method, group.parties)
    total = ledger.worst_total(names, plan.spec.unit, delta, rows_per_user=persons)
    return {"study": plan.study.name, **group._asdict(), **total.to_row(), "ledger_sha256": ledger.digest}
