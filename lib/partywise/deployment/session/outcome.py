"""Outcome of a run at one party: plain values, and a digest that any process computes alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from types import SimpleNamespace

import numpy as np

from ...federation.cipher import Cipher
from ...federation.codec import encode
from ...federation.identity import join_parts
from ...federation.parties import Party
from ...federation.place_checks import LocatedValue, Nobody, PlacedRun, PlaceReport, together, whole_and_parts
from ...federation.places import PlaceValues
from ...federation.run import Run


@dataclass(frozen=True, eq=False)
class Outcome:
    """Return value of ``fit`` in the process of one party: in ``value`` what is held elsewhere is absent.

    run : id of the run, empty for a simulation
    steps : messages and reserved rows of the whole run
    platforms : how the platforms of the parties differ, in one sentence, or empty
    salt : random digits that stay with the party (`commitment`), empty for a simulation
    """

    place: str
    value: object
    run: str = ""
    steps: int = 0
    platforms: str = ""
    salt: str = ""

    @property
    def plain_values(self) -> object:
        """The values that this place holds, as mappings, lists, arrays, numbers and text (`plain`)."""
        return plain(self.value, self.place)

    @property
    def digest(self) -> str:
        """SHA-256 of what this place holds: the same from a process of its own and from a simulation of all.

        It stays with the party: with it, a reader could find a count of records among the values by trying all counts.
        """
        return hashlib.sha256(encode(self.plain_values)).hexdigest()

    @property
    def commitment(self) -> str:
        """Salted digest for other parties: without the salt it reveals nothing."""
        return commitment_to(self.digest, self.salt)


def commitment_to(digest: str, salt: str) -> str:
    """Return the salted digest of an outcome."""
    return hashlib.sha256(join_parts("partywise outcome 1", salt, digest)).hexdigest()


def outcomes(fit: Callable[[object], object], run: Run) -> dict[str, Outcome]:
    """Simulate a run in one process, checking the place of every value, and return the outcome of each place."""
    placed = PlacedRun(run, whole=False)
    value = fit(placed)
    return {name: Outcome(name, value, steps=placed.steps) for name in run.names}


def estimate_of(outcomes_of_places: Sequence[Outcome]) -> object:
    """Assemble the estimate from the outcomes of all places."""
    return together([outcome.value for outcome in outcomes_of_places])


def estimate_places(value: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the places that have all of the estimate, and those that have a part: alike in any process."""
    whole, parts = whole_and_parts(value)
    everybody = sorted(whole.places) if isinstance(whole, LocatedValue) else []
    some = parts.values if isinstance(parts, PlaceValues) else ()
    return tuple(everybody), tuple(sorted(set(some) - set(everybody)))


def places_ahead(fit: Callable[[object], object], run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return `estimate_places` before a run: the program is followed without data. NobodyHere if values steer it."""
    return estimate_places(fit(PlacedRun(run, [""], Nobody(), whole=False)))


def plain(value: object, place: str) -> object:
    """Return the part of a value that a place holds, in plain form; TypeError for what has none."""
    if isinstance(value, PlaceReport):
        local = {} if value.parts is None else {"part": plain(value.parts, place)}
        return {"assembled by": _title(value.function), "from": [plain(item, place) for item in value.values], **local}
    if isinstance(value, LocatedValue):
        local = {"value": plain(value.values[place], place)} if place in value.values else {}
        return {"places": sorted(value.places)} | local
    if isinstance(value, PlaceValues):
        return {"each": {name: plain(item, place) for name, item in value.values.items()}}
    if isinstance(value, Party):
        return {"party": value.name}
    if is_dataclass(value) and not isinstance(value, type | Cipher):
        return {"type": _title(type(value))} | {f.name: plain(getattr(value, f.name), place) for f in fields(value)}
    if isinstance(value, SimpleNamespace):
        return {"namespace": plain(vars(value), place)}
    if isinstance(value, Mapping):
        return {"mapping": [[plain(key, place), plain(item, place)] for key, item in value.items()]}
    if isinstance(value, AbstractSet):
        return {"set": sorted(encode(plain(item, place)) for item in value)}
    if isinstance(value, list | tuple):
        return [plain(item, place) for item in value]
    if isinstance(value, np.ndarray):
        return np.asarray(value, order="C")
    if isinstance(value, np.generic | str | bytes | bool | int | float | Cipher) or value is None:
        return value
    if callable(value):
        return {"function": _title(value)}
    raise TypeError(f"a {type(value).__name__} at {place!r} has no plain form; let fit return arrays and numbers.")


def _title(of: object) -> str:
    return getattr(of, "__qualname__", type(of).__qualname__)
