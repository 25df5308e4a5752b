"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ...experiment.trial import Trial
from .data import LabelData


def neighbours(
    data: LabelData, settings: object, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, LabelData]]:
    """One label flips, that of the longest, the shortest or another record; with the row, its features too."""
    rows = np.flatnonzero(data.train)
    order = rows[np.argsort(np.linalg.norm(data.X[rows], axis=1))]
    for number, i in enumerate([rows[0], rows[-1], order[0], order[-1], *rng.permutation(rows)][:count]):
        y, numeric = data.y.copy(), data.numeric.copy()
        if unit != "features":
            y[i] ^= 1
        if unit != "label":
            # Column 0 is the intercept.
            numeric[i, 1:] = number % 2
        yield f"record {i}", replace(data, y=y, numeric=numeric)


TRIALS = {"generated": Trial("generated", {"n": 300, "k": 4}, (2,), 1.0, neighbours, attrgetter("theta"))}
