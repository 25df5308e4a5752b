"""Cost of a whole run next to that of one fit: the distinct releases of all folds of a replicate together.

Folds that re-use a release pay for it once, folds that draw anew pay each, and a record pays for the folds that it
trains where the rows name them.  Replicates repeat the experiment; party
counts and epsilons are alternatives, of which a deployment runs one: none of them is ever added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..plan import Plan
from ..results.columns import CubeColumns

CELL, RUN = "epsilon_certified", "epsilon_certified_run"
LONG_NAME = "epsilon of the distinct releases of all folds of the replicate together, for the worst coalition"
# A target is calibrated to 1e-12; two accounts of the same releases agree better than this.
SAME = 1e-9


class ReplicateFits(NamedTuple):
    """Fits whose distinct releases are one account: all folds of a replicate."""

    case: str
    method: str
    replicate: int
    parties: int
    epsilon_target: float


class RunTotals:
    """Epsilon of a whole run among the columns of its fits, the same in all folds of a replicate.

    It is NaN where a replicate has several folds and its releases are not kept (``ledger_replicates``).  When ``close``
    is called, ``columns`` have the ``epsilon_certified`` of each fit.
    """

    def __init__(self, plan: Plan, columns: CubeColumns) -> None:
        self._plan, self._columns = plan, columns
        columns.described = {RUN: (LONG_NAME, "1"), **columns.described}
        columns.kinds[RUN] = {"float"}
        columns.number(RUN)

    def add(self, totals: Iterable[tuple[ReplicateFits, float]]) -> None:
        """Add what ``ledger.LedgerTables.add`` returns: one total for each replicate whose releases are kept."""
        values, places = self._columns.number(RUN), self._columns.places
        for (case, method, replicate, parties, epsilon), certified in totals:
            folds = range(self._plan.cases[case].folds)
            at = places.of((case, method, replicate, parties, folds, epsilon))
            values[np.searchsorted(places.cells, at).clip(max=len(values) - 1)] = certified

    def close(self) -> None:
        """A replicate of one fold costs what its fit costs, also where its releases are not kept."""
        places, values = self._columns.places, self._columns.number(RUN)
        names = places.labels["case"].tolist()
        single = [i for i, name in enumerate(names) if self._plan.cases[name].folds == 1]
        cases = places.cells // math.prod(places.shape[1:])
        alone = np.isnan(values) & np.isin(cases, single)
        values[alone] = self._columns.numbers[CELL][alone]


def costs_more(run: float, cell: float) -> bool:
    """Whether a run certifies another epsilon than each of its fits; False where one of them is undefined."""
    return bool(np.isfinite([run, cell]).all() and abs(run - cell) > SAME * abs(cell)) or (
        np.isinf(run) and np.isfinite(cell)
    )
