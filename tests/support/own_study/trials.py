"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from partywise.experiment.trial import Trial

from .data import Data


def neighbours(
    data: Data, settings: Any, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, Data]]:
    """Another value of one record, and none in the unit of labels: there are no labels."""
    for number, i in enumerate(() if unit == "label" else rng.permutation(len(data.x))[:count]):
        x = data.x.copy()
        x[i] = (-1e3, 0.0, 1e3)[number % 3]
        yield f"record {i}", replace(data, x=x)


TRIALS = {"normal": Trial("normal", {"n": 60}, (2, 3), 1.0, neighbours, lambda estimate: np.array([estimate.mean]))}
