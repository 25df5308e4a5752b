"""Choice of the rows of a table: those that are used, those of them that train, their folds, and those of clients."""

from __future__ import annotations

import numpy as np

from ..core.randomness import Rng
from .reading import require
from .shipped_table import ClientRows
from .tables import Table


def training_rows(n: int, test_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: a random share of the rows trains, at least one."""
    train = np.zeros(n, dtype=bool)
    train[rng.permutation(n)[: max(1, n - int(np.ceil(test_share * n)))]] = True
    return train


def fewer(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: so many random ones of some rows (n,) bool, and all others.

    The rows are all of a table that is divided afterwards, or those that train by a division of its own.
    """
    places = np.flatnonzero(rows)
    if count > len(places):
        raise ValueError(f"rows is {count}: there are {len(places)} rows; leave it out for all of them.")
    used = ~rows
    used[rng.choice(places, count, replace=False)] = True
    return used


def division(n: int, person: np.ndarray | None, test_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: a random share of the rows trains, or all rows of a random share of the persons.

    person : (n,) int, the person behind each row, or None if every row is one: no person is on both sides
    """
    if person is None:
        return training_rows(n, test_share, rng)
    persons, number = np.unique(person, return_inverse=True)
    return training_rows(len(persons), test_share, rng)[number]


def fold_order(n: int, person: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """(n,) places in a random order that `cut` makes folds of: one of every row, or one of all rows of a person."""
    if person is None:
        return rng.permutation(n)
    persons, number = np.unique(person, return_inverse=True)
    return rng.permutation(len(persons))[number]


def cut(order: np.ndarray, n_folds: int) -> np.ndarray:
    """(n,) fold of every row: the order is cut into folds as even as possible."""
    return order * n_folds // (int(order.max()) + 1)


def deal_rows(table: Table, settings: ClientRows, rng_for: Rng) -> list[np.ndarray]:
    """Numbers of the rows of each client: of its own where it is a natural one, or dealt from all of them."""
    count, n = settings.n_clients, settings.least_size
    if settings.natural:
        dealt = [np.flatnonzero(table.client == k) for k in range(count)]
    else:
        order = rng_for("sample").permutation(len(table.y))
        dealt = [order[k * n : (k + 1) * n] for k in range(count)]
    fewest, most = min(map(len, dealt)), max(map(len, dealt))
    bound = settings.rows_per_user or most
    require(n <= fewest and most <= bound, f"clients have {fewest} to {most} records where {n} to {bound} are expected")
    if not settings.natural or settings.n is None:
        return dealt
    names = settings.table.clients
    return [
        rows[np.sort(rng_for("sample", name).choice(len(rows), n, replace=False))]
        for name, rows in zip(names, dealt, strict=True)
    ]
