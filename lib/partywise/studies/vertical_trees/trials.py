"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...core.randomness import stream
from ...data.columns.settings import RowSettings
from ...experiment.trial import Trial
from ...methods.trees.model import TreeEstimate
from ...models.criteria import CLASSES
from .cases import draw_score
from .data import TreeData

PARTIES, COLUMNS, PROBES = 2, 4, 64


def neighbours(
    data: TreeData, settings: RowSettings, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, TreeData]]:
    """One training record has the label, the columns of passive parties, or all of it replaced."""
    active = settings.active_index(PARTIES)
    passive = [j for k, group in enumerate(settings.groups(PARTIES)) if k != active for j in group]
    columns = passive if unit == "features" else list(range(data.X.shape[1]))
    ends = data.X.min(axis=0), data.X.max(axis=0)
    rows = np.flatnonzero(data.train)
    for number, i in enumerate([rows[0], rows[-1], *rng.permutation(rows)][:count]):
        y, X = data.y.copy(), data.X.copy()
        if unit != "features":
            y[i] = 1 - y[i] if data.criterion == CLASSES else ends[1][0] - y[i]
        if unit != "label":
            X[i, columns] = ends[number % 2][columns] if number % 3 < 2 else X[rng.choice(rows)][columns]
        yield f"record {i}", replace(data, y=y, X=X)


def answer(estimate: TreeEstimate) -> np.ndarray:
    """Scores of records that no replicate has."""
    X, _ = draw_score(PROBES, COLUMNS, stream(0, "vertical_trees", "probes"))
    return estimate.ensemble.scores(X)


TRIALS = {"generated": Trial("generated", {"n": 200, "d": COLUMNS}, (PARTIES,), 1.0, neighbours, answer)}
