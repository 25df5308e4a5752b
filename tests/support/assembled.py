"""A cube in memory from blocks in memory: what the pipeline writes part by part, for tests that need no files."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import xarray as xr

from partywise.experiment.blocks import Corner
from partywise.experiment.plan import Plan
from partywise.experiment.results.columns import Columns
from partywise.experiment.results.header import header_of
from partywise.experiment.run_totals import RunTotals


def assemble(plan: Plan, corners: Iterable[Corner], totals: Iterable[Mapping[str, Any]] = ()) -> xr.Dataset:
    """Put every corner in its place and count every cell once; ``totals`` are the rows of ``tables.ledger_totals``.

    Returns
    -------
    Dataset
        Scalars over the six dims, NaN outside the design; text as integer flags; exhibits over (exhibit,
        own dims) with the labels of the fit beside them; ``status`` says what became of each cell.

    Raises
    ------
    CubeError
        Naming the first cell that is missing, duplicated or not in the plan.
    """
    corners = list(corners)
    columns = Columns(plan)
    for corner in corners:
        columns.add(corner)
    columns.check()
    run = RunTotals(plan, columns)
    run.add(totals)
    run.close()
    header = header_of(plan, columns, corners)
    every: dict[Hashable, Any] = dict(header.data_vars)
    every.update(columns.variables())
    return header.assign({name: every[name] for name in sorted(every, key=str)})
