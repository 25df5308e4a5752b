"""The cases of the vertical linear study: one replicate each, generated or dealt from a real table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np

from ...core.randomness import Rng
from ...data.columns.replicate import deal, deal_table
from ...data.columns.settings import RowSettings
from ...data.loaders.read import read_table
from ...data.own.records import read_own_table
from ...data.tables import Table
from ...models.criteria import CLASSES
from ...models.links import LOGIT
from .data import LinearData
from .own_settings import LinearTableSettings
from .study import LinearGeneratedSettings, ScaledDatasetSettings

# Generated features lie in [-BOUND, BOUND], responses in so many of their standard deviations.
BOUND, DEVIATIONS = 3.0, 6.0


class SelectedRows(TypedDict):
    """Fields of the data that the rows of a replicate decide."""

    X: np.ndarray
    y: np.ndarray
    ids: np.ndarray | None
    train: np.ndarray
    order: np.ndarray


def draw_generated(settings: LinearGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> LinearData:
    """Uniform features, coefficients of all replicates alike, labels by a logistic model or numbers with noise."""
    n, d = settings.n, settings.d
    X = rng_for("features").uniform(-BOUND, BOUND, size=(n, d))
    beta = rng_for("coefficients", shared=True).standard_normal(d)
    # A linear predictor of uniform features has the variance |beta|^2 bound^2 / 3.
    eta = X @ (beta * settings.signal / (np.linalg.norm(beta) * BOUND / np.sqrt(3)))
    label_bound = 1.0
    if settings.loss_in_force == CLASSES:
        y = (rng_for("labels").random(n) < LOGIT.mean(eta)).astype(float)
    else:
        label_bound = DEVIATIONS * float(np.hypot(settings.signal, settings.noise))
        y = np.clip(eta + settings.noise * rng_for("labels").standard_normal(n), -label_bound, label_bound)
    rows = deal(n, settings, rng_for)
    return LinearData(
        **select_rows(X, y, rows),
        names=np.array([f"x{j}" for j in range(d)]),
        bounds=np.full(d, BOUND),
        label_bound=label_bound,
        because="range of the generator, a setting",
        criterion=settings.loss_in_force,
    )


def draw_dataset(settings: ScaledDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> LinearData:
    """A shipped table; a number that is predicted is fitted as one from -1 to 1."""
    table = read_table(settings.dataset, settings.response, Path(resources))
    return scale_table(table, settings, deal_table(table, settings, rng_for), settings.response_bounds)


def own_rows(settings: LinearTableSettings, drawn: Mapping[str, np.ndarray]) -> LinearData:
    """Rows of own tables, read from their files."""
    return scale_table(read_own_table(settings), settings, drawn, settings.response_bounds)


def scale_table(
    table: Table,
    settings: RowSettings,
    drawn: Mapping[str, np.ndarray],
    response: tuple[float, float] | None = None,
) -> LinearData:
    """A replicate of a table whose columns are mapped to [-1, 1] by their declared ranges; values outside are clipped.

    drawn : which rows it has, as `deal` draws them
    response : declared range of y, which is mapped alike; None for labels 0 and 1
    """
    ranges = []
    for name, column in zip(table.names, table.column_facts, strict=True):
        if column.bounds is None:
            raise ValueError(f"column {name} has no declared range: nothing public scales it; leave it out.")
        ranges.append(column.bounds)
    low, high = np.array(ranges).T
    X = np.clip((2 * table.X - low - high) / (high - low), -1, 1)
    y, scale = table.y, 1.0
    if response is not None:
        least, greatest = response
        y, scale = np.clip((2 * y - least - greatest) / (greatest - least), -1, 1), (greatest - least) / 2
    return LinearData(
        **select_rows(X, y, drawn, table.ids),
        names=table.names,
        bounds=np.ones(X.shape[1]),
        label_bound=1.0,
        because="declared ranges of the columns, which become [-1, 1]",
        criterion=settings.loss_in_force,
        label_scale=scale,
    )


def select_rows(
    X: np.ndarray, y: np.ndarray, drawn: Mapping[str, np.ndarray], ids: np.ndarray | None = None
) -> SelectedRows:
    """The rows that a replicate has, as fields of its data."""
    rows, row_ids = drawn["kept"], None if ids is None else ids[drawn["kept"]]
    return {"X": X[rows], "y": y[rows], "ids": row_ids, "train": drawn["train"], "order": drawn["order"]}
