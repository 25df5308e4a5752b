"""The rows of a person: at most a public number of them is kept, and all of them are held out together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.errors import DataMissing
from ...division import training_rows
from ..csv import TextTable
from ..persons import first_rows, number_persons
from .load import select_rows
from .settings import OwnRecords


def bounded(table: TextTable, settings: OwnRecords) -> TextTable:
    """The first ``rows_per_user`` rows of every person, in the order of the file (see `first_rows`)."""
    if settings.user is None or settings.rows_per_user is None:
        return table
    return select_rows(table, first_rows(table.column(settings.user), settings.rows_per_user, table.file))


def one_client_each(persons: Sequence[Sequence[str]], places: Sequence[str], user: str) -> None:
    """DataMissing if a person has rows at two clients: their guarantees would compose, not hold side by side."""
    home = dict[str, str]()
    for names, place in zip(persons, places, strict=True):
        for person in dict.fromkeys(names):
            if person in home:
                raise DataMissing(
                    f"{user} {person!r} has rows at {home[person]} and at {place}: what is certified for a person "
                    "needs all their rows at one client; move them to one, or give namesakes different names."
                )
            home[person] = place


def training_persons(person: Sequence[str], test_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: the rows of a random share of the persons train; no person is on both sides."""
    return np.asarray(training_rows(len(set(person)), test_share, rng)[number_persons(person)])
