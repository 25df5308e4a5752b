"""Protocol: Cox regression with a hazard that is constant within public bins, by sums that are opened.

No event time crosses, and the sums of clients are those of all records; but they are opened, so nothing is protected.

Message   from, to          payload
counts    clients, server   `Clear`: counts of public cells
sums      clients, server   `newton_sums`, of exposure_times in bins
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..curves import survival_curves
from ..exact import exposure_sums
from ..model import Numbers, SurvivalEstimate, SurvivalFacts
from ..options import PiecewiseOptions
from ..tables import CellTable, cell_counts, correct_sum
from .common import SERVER, local_rows
from .newton_sums import newton, server_answer


def local_counts(client: Party, edges: np.ndarray, groups: int) -> Clear:
    """Counts of the client's records by cell, as they are."""
    return Clear(cell_counts(local_rows(client, edges[-1]), edges, groups), units=("row",), owner=client.name)


def server_table(counts: Sequence[np.ndarray], edges: np.ndarray) -> CellTable:
    """The table of all clients."""
    return correct_sum(np.sum(counts, axis=0), edges, 0.0, None)


def server_curves(table: CellTable, clients: int) -> SurvivalEstimate:
    """Curves of all groups at the edges of the bins."""
    numbers: Numbers = {"bins": table.bins, "times_sent": 0}
    return SurvivalEstimate(clients=clients, curves=survival_curves(table), numbers=numbers)


def server_events(table: CellTable) -> np.ndarray:
    """Events (B,) of all groups."""
    return table.events.sum(axis=0).astype(int)


def fit(run: Run) -> SurvivalEstimate:
    """Counts of cells, and sums over exposure_times at each Newton step."""
    facts: SurvivalFacts = run.spec.public
    options: PiecewiseOptions = run.spec.options
    edges = facts.cell_edges(options.bins)
    counts = run.gather(run.parties, SERVER, "counts", local_counts, edges, facts.groups)
    table = run.at(SERVER, server_table, counts, edges)
    estimate = run.at(SERVER, server_curves, table, len(run.parties))
    if facts.covariates == 0:
        return estimate
    fitted = newton(run, edges, run.at(SERVER, server_events, table), (exposure_sums,), ("counts",))
    return run.at(SERVER, server_answer, estimate, *fitted, 0, facts.names)
