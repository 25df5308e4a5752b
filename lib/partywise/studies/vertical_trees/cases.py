"""The cases of vertical trees: one replicate each, generated or dealt from a real table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...datasets.division import division, fewer, fold_order
from ...datasets.loaders import abalone as abalone_table
from ...datasets.loaders import adult as adult_table
from ...datasets.loaders import adult_split as adult_split_table
from ...datasets.loaders import credit_default as credit_table
from ...datasets.tables import ColumnTable, Declared
from ...models.links import LOGIT
from ...randomness import Rng
from .data import TreeData
from .settings import (
    NUMBERS,
    AbaloneSettings,
    AdultSettings,
    AdultSplitSettings,
    CaseSettings,
    CreditSettings,
    GeneratedSettings,
    PartySettings,
)

# Every third generated column has so many whole numbers, and ties.
LEVELS = 10
TENTHS = tuple(k / 10 for k in range(1, 10))
HALVES = tuple(k + 0.5 for k in range(LEVELS - 1))


def generated(settings: GeneratedSettings, spec: Any, rng_for: Rng, resources: Path) -> TreeData:
    """One replicate of the generator."""
    rng = rng_for("rows")
    X, score = draw_score(settings.n, settings.d, rng)
    score = settings.signal * score
    if settings.loss == NUMBERS:
        y = score + rng.standard_normal(settings.n)
    else:
        y = (rng.random(settings.n) < LOGIT.mean(score)).astype(float)
    names = np.array([f"x{j}" for j in range(settings.d)])
    table = ColumnTable(X, y, names, tuple(_declared(j) for j in range(settings.d)), None, {}, ())
    return replicate_of(table, settings, rng_for)


def abalone(settings: AbaloneSettings, spec: Any, rng_for: Rng, resources: Path) -> TreeData:
    """Abalone: rings."""
    return replicate_of(_abalone(Path(resources) / abalone_table.RESOURCE), settings, rng_for)


def adult(settings: AdultSettings, spec: Any, rng_for: Rng, resources: Path) -> TreeData:
    """Adult: income above 50 000 dollars, split here."""
    return replicate_of(_adult(Path(resources) / adult_table.RESOURCE), settings, rng_for)


def adult_split(settings: AdultSplitSettings, spec: Any, rng_for: Rng, resources: Path) -> TreeData:
    """Adult as its authors split it."""
    return replicate_of(_adult_split(Path(resources) / adult_split_table.RESOURCE), settings, rng_for)


def credit_default(settings: CreditSettings, spec: Any, rng_for: Rng, resources: Path) -> TreeData:
    """Credit cards: default in the next month."""
    return replicate_of(_credit(Path(resources) / credit_table.RESOURCE), settings, rng_for)


# The replicates of one job read a table once.
_abalone = lru_cache(maxsize=1)(abalone_table.load)
_adult = lru_cache(maxsize=1)(adult_table.load_folded)
_adult_split = lru_cache(maxsize=1)(adult_split_table.load)
_credit = lru_cache(maxsize=1)(credit_table.load)


def draw_score(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, d) and a score (n,) of them with mean 0 and variance 1, to which both halves give the same.

    Column j of a half weighs 1 / (j + 1), as a line or as a step in turn; the first columns of the two halves
    interact, which no party sees alone.
    """
    X = rng.random((n, d))
    X[:, 2::3] = np.floor(LEVELS * X[:, 2::3])
    half = d - d // 2
    centred = np.empty((n, d))
    for j in range(d):
        values = (X[:, j] - (LEVELS - 1) / 2) / np.sqrt((LEVELS**2 - 1) / 12) if j % 3 == 2 else _unit(X[:, j])
        centred[:, j] = np.where(values > 0, 1.0, -1.0) if j % 2 else values
    weights = np.array([(-1.0) ** j / (j % half + 1) for j in range(d)])
    score = centred @ weights + centred[:, 0] * centred[:, half]
    return X, score / np.sqrt(weights @ weights + 1)


def _unit(uniform: np.ndarray) -> np.ndarray:
    """A uniform column of [0, 1] with mean 0 and variance 1."""
    return (uniform - 0.5) * np.sqrt(12)


def _declared(j: int) -> Declared:
    if j % 3 == 2:
        return Declared(HALVES, (0.0, LEVELS - 1.0), "the generator draws whole numbers from 0 to 9")
    return Declared(TENTHS, (0.0, 1.0), "the generator draws from [0, 1]")


def replicate_of(table: ColumnTable, settings: PartySettings, rng_for: Rng) -> TreeData:
    """A replicate of a table."""
    return select_rows(table, settings, deal(table, settings, rng_for))


def deal(table: ColumnTable, settings: PartySettings, rng_for: Rng) -> dict[str, np.ndarray]:
    """What a replicate differs in: which rows it has, which of them train, and the permutation of folds."""
    kept = np.ones(len(table.y), dtype=bool)
    if settings.data_size_for_debug:
        rows = kept if table.train is None else table.train
        kept = fewer(rows, settings.data_size_for_debug, rng_for("sample"))
    person = None if table.person is None else table.person[kept]
    if table.train is None:
        assert isinstance(settings, CaseSettings)
        train = division(int(kept.sum()), person, settings.test_share, rng_for("split"))
    else:
        train = table.train[kept]
    return {"kept": kept, "train": train, "order": fold_order(int(kept.sum()), person, rng_for("folds"))}


def select_rows(table: ColumnTable, settings: PartySettings, drawn: Mapping[str, np.ndarray]) -> TreeData:
    """The replicate of a table that has these rows."""
    kept = drawn["kept"]
    return TreeData(
        y=table.y[kept],
        X=table.X[kept],
        train=drawn["train"],
        order=drawn["order"],
        ids=None if table.ids is None else table.ids[kept],
        names=table.names,
        declared=table.declared,
        criterion=settings.loss,
    )
