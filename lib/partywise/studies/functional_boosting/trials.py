"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ...audits.contract import changed_records
from ...experiment.trial import Trial
from .data import FunctionalData


def neighbours(
    data: FunctionalData, settings: object, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, FunctionalData]]:
    """All curves of one record, or its response, are others: besides the ways of others, each at its radius."""
    X, Y = data.X.copy(), data.Y.copy()
    if unit != "label":
        X[1] = data.radius[:, None] / np.sqrt(data.X.shape[2])
    if unit != "features":
        Y[1] = data.response_radius / np.sqrt(data.Y.shape[1])
    yield "record 1 at the radius", replace(data, X=X, Y=Y)
    for name, X, Y in changed_records(data.X, data.Y, unit, count - 1, rng):
        yield name, replace(data, X=X, Y=Y)


CURVES = {"n": 90, "p": 4, "n_basis_x": 6, "n_basis_y": 6, "active": (0, 1)}
TRIALS = {"curves": Trial("simulated", CURVES, (3, 1, 4), 8.0, neighbours, attrgetter("operators"))}
