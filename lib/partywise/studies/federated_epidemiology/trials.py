"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...experiment.trial import Trial
from ...methods.epidemiology.cohort import draw_cohort
from ...methods.epidemiology.model import EpidemiologyEstimate
from .data import EpidemiologyData
from .settings import EpidemiologyGeneratedSettings

# Values of numeric columns of a neighbour's record: within public ranges, at their ends and far beyond them.
EXTREMES = (0.0, 20.0, 90.0, 1e300, np.nan)


def neighbours(
    data: EpidemiologyData, settings: EpidemiologyGeneratedSettings, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, EpidemiologyData]]:
    """One record is replaced by one whose numbers are extreme, and whose other entries are those of a new record."""
    for number in range(count):
        place, value = int(rng.integers(len(data))), EXTREMES[number % len(EXTREMES)]
        columns = {name: column.copy() for name, column in data.columns.items()}
        for name, entry in draw_cohort(1, rng).items():
            columns[name][place] = value if name in ("age", "body mass", "score", "years") else entry[0]
        yield f"a record with the numbers {value:g}", replace(data, columns=columns)


def answer(estimate: EpidemiologyEstimate) -> np.ndarray:
    """Sums of all items, in steps."""
    return estimate.sums


TRIALS = {"cohort": Trial("generated", {"n": 300}, (3, 1), 2.0, neighbours, answer)}
