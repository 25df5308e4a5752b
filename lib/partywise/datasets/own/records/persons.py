"""The rows of a person: at most a public number of them is kept, and all of them are held out together."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from ....errors import DataMissing
from ...division import training_rows
from ..csv import TextTable
from .load import chosen, numbered
from .settings import OwnRecords

__all__ = ["bounded", "one_client_each", "training_persons"]

LOG = logging.getLogger("partywise")


def bounded(table: TextTable, settings: OwnRecords) -> TextTable:
    """The first ``rows_per_user`` rows of every person, in the order of the file; the log counts the others.

    Which rows of a person stay depends on that person's rows alone, so that a neighbour, whose person has other
    entries, differs in at most so many rows.
    """
    if settings.user is None or settings.rows_per_user is None:
        return table
    seen, kept = dict[str, int](), list[int]()
    for place, person in enumerate(table.column(settings.user)):
        seen[person] = seen.get(person, 0) + 1
        if seen[person] <= settings.rows_per_user:
            kept.append(place)
    LOG.info(
        "%s: %d of %d rows are beyond rows_per_user %d and left out; %d persons, at most %d rows of one",
        *(table.file, len(table.rows) - len(kept), len(table.rows), settings.rows_per_user, len(seen)),
        max(seen.values(), default=0),
    )
    return chosen(table, kept)


def one_client_each(persons: Sequence[Sequence[str]], places: Sequence[str], user: str) -> None:
    """DataMissing if a person has rows at two clients: these would then compose, and not stand side by side."""
    home = dict[str, str]()
    for own, place in zip(persons, places, strict=True):
        for person in dict.fromkeys(own):
            if person in home:
                raise DataMissing(
                    f"{user} {person!r} has rows at {home[person]} and at {place}: what is certified for a person "
                    "needs all their rows at one client; move them to one, or tell namesakes apart."
                )
            home[person] = place


def training_persons(person: Sequence[str], test_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: the rows of a random share of the persons train; nobody is on both sides."""
    found = numbered(person)
    return training_rows(len(found.texts), test_share, rng)[found.number]
