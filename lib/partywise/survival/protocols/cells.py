"""What `table` and `scores` share: the released cells of all clients, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.statistics.whole import Whole
from ..certified.whole import whole_cells
from ..curves import survival_curve
from ..model import Estimate, PublicFacts
from ..ranks import noisy_log_rank
from ..records import Records
from ..tables import Relation, Table, cell_counts, chosen_bins, correct_sum, equal_edges
from .common import SERVER, NoisySums, ReleasedSum, local_rows, released_sum

CELLS = "cells"
Regroup = Callable[[Records], Records]


def as_they_are(records: Records) -> Records:
    """Records in the groups that they have."""
    return records


def edges_of(facts: PublicFacts, bins: int | None, records: int, mu: float, noise_factor: float) -> np.ndarray:
    """Edges of the cells: as public facts have them, else of equal width."""
    if facts.edges:
        return np.asarray(facts.edges, dtype=float)
    chosen = chosen_bins(records, min(mu, 1e6), noise_factor) if bins is None else bins
    return equal_edges(facts.horizon, chosen)


def local_cells(client: Party, edges: np.ndarray, groups: int, relation: Relation, regroup: Regroup) -> Whole:
    """Counts of the client's records by cell, which stay with it."""
    return whole_cells(cell_counts(regroup(local_rows(client)), edges, groups), relation)


def server_table(noisy: ReleasedSum, edges: np.ndarray, sd: float, records: int | None) -> Table:
    """The table of released counts."""
    return correct_sum(noisy.value, edges, sd, records)


def released_cells(
    run: Run, sums: NoisySums, edges: np.ndarray, mu: float, groups: int, regroup: Regroup = as_they_are
) -> tuple[ReleasedSum, Table]:
    """The released counts of all clients at the server, and their table.

    regroup : gives each record one of so many groups by itself
    """
    relation = sums.options.relation
    statistics = run.each(sums.clients, local_cells, edges, groups, relation, regroup)
    total = whole_cells(np.zeros((groups, 2 * len(edges) - 1), dtype=np.int64), relation)
    noisy = released_sum(run, sums, CELLS, statistics, total, mu, largest=sums.records)
    sd = math.sqrt(float(total.squares)) / mu * math.sqrt(sums.noise_factor)
    return noisy, run.at(SERVER, server_table, noisy, edges, sd, sums.records if relation == "replace_one" else None)


def server_estimate(table: Table, epsilon: float, clients: int) -> Estimate:
    """Curves of all groups and the log-rank test of the first two, from the table alone."""
    groups = len(table.cells)
    curves = tuple(survival_curve(table.group(group)) for group in range(groups))
    test = noisy_log_rank(table) if groups == 2 else None
    numbers = {"bins": table.bins, "noise_sd": table.sd, "determined_bins": table.determined_bins}
    return Estimate(epsilon, clients, curves, table, test, numbers=dict(numbers))
