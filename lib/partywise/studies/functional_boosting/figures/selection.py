"""Table of the predictors that a fit touches: most shares are 0 or 1, which a picture of points does not show."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ....experiment.plotting.select import title
from ....experiment.plotting.series import Series, replicates_of, series
from ....experiment.tables.templates import TypesetTable
from .parties import LEARNERS, NONE, busiest_case, learners

SHARES = {"sensitivity": "active predictors touched (%)", "specificity": "inactive predictors left alone (%)"}
HEADING = "Which predictors does a fit touch?"


def selection_quality(cube: xr.Dataset) -> TypesetTable:
    """Table of the predictors that a fit touches, by number of parties J, learner and noise.

    Share of the active predictors that were touched (sensitivity), and of the inactive ones that were left alone
    (specificity); 100 % is best in both. Means over {replicates}, with standard errors. A learner of a party touches
    all predictors of that party, active or not.
    """
    case = busiest_case(cube)
    if case is None:
        return TypesetTable(HEADING, (), (NONE,))
    groups = learners(cube, case)
    if not groups:
        return TypesetTable(HEADING, (), ("No method with released curves in this configuration.",))
    rows = [row for kind, methods in groups.items() for method in methods for row in _rows(cube, case, kind, method)]
    notes = (
        f"{title(cube, 'case', case)}: means over {replicates_of(cube, [case])}, SE: standard error of the mean.",
        "A learner of a party touches all predictors of that party, active or not.",
    )
    return TypesetTable(HEADING, rows, notes)


def _rows(cube: xr.Dataset, case: str, kind: str, method: str) -> list[dict[str, object]]:
    """A row per number of parties."""
    shares = {words: series(cube, name, case, method, "parties") for name, words in SHARES.items()}
    counts = sorted({float(x) for line in shares.values() for x in line.x})
    rows = []
    for count in counts:
        row: dict[str, object] = {
            "learner": LEARNERS[kind],
            "method": title(cube, "method", method),
            "parties J": int(count),
        }
        for words, line in shares.items():
            row |= {words: _percent(line, line.mean, count), f"SE of {words}": _percent(line, line.se, count)}
        rows.append(row)
    return rows


def _percent(line: Series, values: np.ndarray, count: float) -> float | str:
    """Per cent with one decimal at a number of parties; blank without a number."""
    at_count = values[line.x == count]
    return round(100 * float(at_count[0]), 1) if len(at_count) and np.isfinite(at_count[0]) else ""
