"""What a whole run costs beside what one fit costs: the distinct releases of all folds of a replicate together.

Folds that re-use a release pay for it once, folds that draw anew pay each.  Replicates repeat the experiment; party
counts and epsilons are alternatives, of which a deployment runs one: none of them is ever added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .cube import DIMS
from .plan import Plan

CELL, RUN = "epsilon_certified", "epsilon_certified_run"
LONG_NAME = "epsilon of the distinct releases of all folds of the replicate together, for the worst view"
# A target is calibrated to 1e-12; two accounts of the same releases agree better than this.
SAME = 1e-9


def run_total(
    plan: Plan, labels: Mapping[str, np.ndarray], cell: xr.Variable, totals: Iterable[Mapping[str, Any]]
) -> xr.Variable:
    """Epsilon of a whole run over the six dims, the same in all folds of a replicate.

    Parameters
    ----------
    plan : Plan
    labels : mapping
        Labels of the six dims.
    cell : Variable
        ``epsilon_certified`` of each fit, over the six dims.
    totals : iterable of rows
        Of ``tables.ledger_totals``: one for each replicate whose releases are kept.

    Returns
    -------
    Variable
        NaN outside the design, and where a replicate has several folds and its releases are not kept
        (``ledger_replicates``).
    """
    several = [plan.cases[name].folds > 1 for name in labels["case"].tolist()]
    values = np.array(cell.values, dtype=float)
    values[several] = np.nan
    at = {dim: {label: i for i, label in enumerate(labels[dim].tolist())} for dim in DIMS}
    for row in totals:
        case, method, replicate, parties = (at[dim][row[dim]] for dim in ("case", "method", "replicate", "parties"))
        tested = slice(plan.cases[row["case"]].folds)
        values[case, method, replicate, parties, tested, at["epsilon"][row["epsilon_target"]]] = row[CELL]
    attributes = {"long_name": LONG_NAME, "units": "1"}
    return xr.Variable(DIMS, values, attributes, {"dtype": "float64", "_FillValue": np.nan})


def costs_more(run: float, cell: float) -> bool:
    """Whether a run certifies another epsilon than each of its fits; False where one of them is undefined."""
    return bool(np.isfinite([run, cell]).all() and abs(run - cell) > SAME * abs(cell)) or (
        np.isinf(run) and np.isfinite(cell)
    )
