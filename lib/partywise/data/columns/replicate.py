"""A replicate of records whose columns lie at several parties: which rows it has, their folds, and the parties."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.randomness import Rng
from ...federation.parties import Party
from ...models.criteria import CLASSES, NUMBERS, Criterion
from ..division import cut, division, fewer, fold_order
from ..tables import Table
from .settings import ColumnSettings, RowSettings


def deal(
    n: int,
    settings: RowSettings,
    rng_for: Rng,
    *,
    person: np.ndarray | None = None,
    train: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Deal a replicate of n rows: the rows that it has, those of them that train, and the permutation of folds.

    person : (n,) int, the person behind each row; train : (n,) bool, where the table comes with its own division
    """
    selection = np.ones(n, dtype=bool)
    if settings.rows:
        selection = fewer(selection if train is None else train, settings.rows, rng_for("sample"))
    person = None if person is None else person[selection]
    rows = int(selection.sum())
    trains = division(rows, person, settings.test_share, rng_for("split")) if train is None else train[selection]
    return {"kept": selection, "train": trains, "order": fold_order(rows, person, rng_for("folds"))}


def deal_table(table: Table, settings: RowSettings, rng_for: Rng) -> dict[str, np.ndarray]:
    """Deal a replicate of a table, as `deal` does for n rows."""
    return deal(len(table.y), settings, rng_for, person=table.person, train=table.train)


def folds_of(train: np.ndarray, order: np.ndarray, n_folds: int) -> np.ndarray:
    """(n,) fold of every row: one fold holds the test rows and the others never test, several cut a permutation."""
    return np.where(train, -1, 0) if n_folds == 1 else cut(order, n_folds)


def split_columns(
    X: np.ndarray, labels: Mapping[str, np.ndarray], n_parties: int, settings: ColumnSettings
) -> list[Party]:
    """The parties in the order of their columns; one of them, the active one, has the labels (n,) too."""
    active, names, parties = settings.active_index(n_parties), settings.party_names(n_parties), []
    for number, (name, columns) in enumerate(zip(names, settings.groups(n_parties), strict=True)):
        block = {"X": np.ascontiguousarray(X[:, list(columns)])} | (dict(labels) if number == active else {})
        parties.append(Party(name, "active" if number == active else "passive", block, columns))
    return parties


def check_values(X: np.ndarray, y: np.ndarray, loss: Criterion, classes: int = 2) -> None:
    """ValueError for a value that is not finite, and for a label that is not 0 .. classes - 1 where there are some."""
    for name, values in (("y", y), ("X", X)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has a value that is not finite: complete the record or leave it out.")
    if loss == CLASSES and not np.isin(y, np.arange(classes)).all():
        other = y[~np.isin(y, np.arange(classes))][0]
        if classes > 2:
            raise ValueError(f"y has the label {other:g}: loss {CLASSES!r} takes 0 to {classes - 1} here.")
        raise ValueError(
            f"y has the label {other:g}: loss {CLASSES!r} takes 0 and 1; code the two classes so, or use {NUMBERS!r}."
        )
