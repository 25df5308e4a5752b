"""The cases of vertical trees: one replicate each, generated or dealt from a real table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...core.randomness import Rng
from ...data.column_facts import ColumnFacts
from ...data.columns.replicate import deal_table
from ...data.columns.settings import ColumnDatasetSettings, RowSettings
from ...data.loaders.read import read_table
from ...data.own.records import read_own_table
from ...data.tables import Table
from ...models.criteria import NUMBERS
from ...models.links import LOGIT
from .data import TreeData
from .own_settings import TreeTableSettings
from .study import TreeGeneratedSettings

# Every third generated column has so many whole numbers, and ties.
LEVELS = 10
TENTHS = tuple(k / 10 for k in range(1, 10))
HALVES = tuple(k + 0.5 for k in range(LEVELS - 1))


def draw_generated(settings: TreeGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> TreeData:
    """One replicate of the generator."""
    rng = rng_for("rows")
    X, score = draw_score(settings.n, settings.d, rng)
    score = settings.signal * score
    if settings.loss_in_force == NUMBERS:
        y = score + rng.standard_normal(settings.n)
    else:
        y = (rng.random(settings.n) < LOGIT.mean(score)).astype(float)
    names = np.array([f"x{j}" for j in range(settings.d)])
    table = Table(X, y, names, tuple(_column_facts(j) for j in range(settings.d)))
    return replicate_of(table, settings, rng_for)


def draw_dataset(settings: ColumnDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> TreeData:
    """A shipped table."""
    return replicate_of(read_table(settings.dataset, settings.response, Path(resources)), settings, rng_for)


def own_rows(settings: TreeTableSettings, drawn: Mapping[str, np.ndarray]) -> TreeData:
    """Rows of own tables, read from their files."""
    return select_rows(read_own_table(settings), settings, drawn)


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
    return np.asarray((uniform - 0.5) * np.sqrt(12))


def _column_facts(j: int) -> ColumnFacts:
    if j % 3 == 2:
        return ColumnFacts(HALVES, (0.0, LEVELS - 1.0), "the generator draws whole numbers from 0 to 9")
    return ColumnFacts(TENTHS, (0.0, 1.0), "the generator draws from [0, 1]")


def replicate_of(table: Table, settings: RowSettings, rng_for: Rng) -> TreeData:
    """A replicate of a table."""
    return select_rows(table, settings, deal_table(table, settings, rng_for))


def select_rows(table: Table, settings: RowSettings, drawn: Mapping[str, np.ndarray]) -> TreeData:
    """The replicate of a table that has these rows."""
    rows = drawn["kept"]
    return TreeData(
        y=table.y[rows],
        X=table.X[rows],
        train=drawn["train"],
        order=drawn["order"],
        ids=None if table.ids is None else table.ids[rows],
        names=table.names,
        column_facts=table.column_facts,
        criterion=settings.loss_in_force,
        classes=len(getattr(settings, "class_names", ())) or 2,
        response_bounds=getattr(settings, "response_bounds", None) if settings.loss_in_force == NUMBERS else None,
    )
