"""The cases of the label-private study: one replicate each, generated or dealt from a real table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...datasets.labelled import LabelledTable
from ...datasets.loaders import adult as adult_table
from ...datasets.loaders import body_fat as body_fat_table
from ...datasets.loaders import breast_cancer as breast_cancer_table
from ...datasets.loaders import late_flights as late_flights_table
from .data import LabelData, pack
from .generator import draw_logistic
from .settings import FlightsSettings, GeneratedSettings, TableSettings

Rng = Callable[..., np.random.Generator]
# Late flights, split by time: whole days; every month is on both sides, or its indicator could not be learned.
TRAINING_DAYS = 21
KEYS = 2**62


def generated(settings: GeneratedSettings, spec: Any, rng_for: Rng, resources: Path) -> LabelData:
    """One replicate of the generator; the coefficients are those of every replicate."""
    X, y, theta = draw_logistic(settings, rng_for("rows"))
    names = np.array(["intercept", *(f"x{j}" for j in range(1, settings.k))])
    return _replicate(X, y, _share(len(y), settings.test_share, rng_for), names, rng_for, theta=theta)


def adult(settings: TableSettings, spec: Any, rng_for: Rng, resources: Path) -> LabelData:
    """Adult: income above 50 000 dollars."""
    return _dealt(_adult(Path(resources) / adult_table.RESOURCE), settings, rng_for)


def breast_cancer(settings: TableSettings, spec: Any, rng_for: Rng, resources: Path) -> LabelData:
    """Breast cancer: benign tumours."""
    return _dealt(_breast_cancer(Path(resources) / breast_cancer_table.RESOURCE), settings, rng_for)


def body_fat(settings: TableSettings, spec: Any, rng_for: Rng, resources: Path) -> LabelData:
    """Body fat above 18 %."""
    return _dealt(_body_fat(Path(resources) / body_fat_table.RESOURCE), settings, rng_for)


def late_flights(settings: FlightsSettings, spec: Any, rng_for: Rng, resources: Path) -> LabelData:
    """Late arrivals of New York 2013, split by days of the month or at random."""
    return _dealt(_late_flights(Path(resources) / late_flights_table.RESOURCE), settings, rng_for)


# The replicates of one job read a table once.
_adult = lru_cache(maxsize=1)(adult_table.load)
_breast_cancer = lru_cache(maxsize=1)(breast_cancer_table.load)
_body_fat = lru_cache(maxsize=1)(body_fat_table.load)
_late_flights = lru_cache(maxsize=1)(late_flights_table.load)


def _dealt(table: LabelledTable, settings: TableSettings, rng_for: Rng) -> LabelData:
    """A replicate of a table: some of its rows or all, an intercept, and a split."""
    n = len(table.y)
    if settings.rows is not None and settings.rows > n:
        raise ValueError(f"rows is {settings.rows}: the table has {n}; leave it out for all of them.")
    rows = np.arange(n)
    if settings.rows is not None:
        rows = np.sort(rng_for("sample").choice(n, settings.rows, replace=False))
    if isinstance(settings, FlightsSettings) and settings.split == "time":
        train = table.block[rows] <= TRAINING_DAYS
    else:
        train = _share(len(rows), settings.test_share, rng_for)
    X = np.concatenate([np.ones((len(rows), 1)), table.X[rows]], axis=1)
    names = np.array(["intercept", *table.names])
    return _replicate(X, table.y[rows], train, names, rng_for, from_the_data=len(table.from_the_data))


def _share(n: int, test_share: float, rng_for: Rng) -> np.ndarray:
    """(n,) bool: a random share of the rows trains; 398 of 569 and 31 655 of 45 222 at 30 %."""
    train = np.zeros(n, dtype=bool)
    train[rng_for("split").permutation(n)[: n - int(np.ceil(test_share * n))]] = True
    return train


def _replicate(X, y, train, names, rng_for: Rng, *, theta=None, from_the_data: int = 0) -> LabelData:
    return LabelData(
        y=y.astype(np.uint8),
        **pack(X),
        train=train,
        theta=np.zeros(0) if theta is None else theta,
        feature_names=names,
        from_the_data=from_the_data,
        evaluation_key=int(rng_for("evaluation").integers(KEYS)),
    )
