"""The rows of one person: a public number of them counts, and `partywise.data.division` holds them out together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.notes import note_left_out


def first_rows(persons: Sequence[str], most: int, what: str) -> list[int]:
    """Places of the first ``most`` rows of every person, in order; the log counts the others.

    Which rows of a person stay depends on the order of rows alone, so that a neighbour, whose person has other entries,
    differs in at most so many rows.

    what : the file, for the log
    """
    seen, places = dict[str, int](), list[int]()
    for place, person in enumerate(persons):
        seen[person] = seen.get(person, 0) + 1
        if seen[person] <= most:
            places.append(place)
    why = f"which are beyond rows_per_user {most} of {len(seen)} persons"
    note_left_out(what, len(persons), len(persons) - len(places), why)
    return places


def number_persons(persons: Sequence[str]) -> np.ndarray:
    """(n,) numbers of the persons, in the order in which they appear."""
    place = {person: k for k, person in enumerate(dict.fromkeys(persons))}
    return np.array([place[person] for person in persons], dtype=int)


def of_persons(most: int | None) -> str:
    """Bound on the records of a person, as a part of a message about the number of records; empty without one."""
    return "" if most is None else f", at most {most} of a person (rows_per_user),"
