"""Terms of a row: names, the table of units, and noise in shares against those who know some of the shares."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

# Between the names of a row, as it is written.
JOIN = ";"


def exposure_of(units: Collection[str], depends_on: Collection[str], question: str, *, unprotected: bool) -> float:
    """0, 1 (the row's own cost) or infinity for a question: the table of units.

    A release about whole rows covers any part of a row. A release about one field costs nothing for the other
    field if it does not read it, and proves nothing about it if it does. A value without protection names its units.
    """
    if unprotected:
        return math.inf if question in ("row", "user") or {*units} & {question, "row", "user"} else 0
    (unit,) = units
    if unit in ("row", "user", question):
        return 1
    if question in ("row", "user"):
        return 1 if {*depends_on} == {unit} else math.inf
    return math.inf if question in depends_on else 0


def weight_outside(weights: Mapping[str, Fraction], view: Collection[str]) -> Fraction:
    """Weight of the shares of the noise that some names do not know."""
    return sum((weight for name, weight in weights.items() if name not in view), Fraction(0))


def honest_weight(weights: Mapping[str, Fraction], view: frozenset[str]) -> Fraction:
    """Weight of the shares that a coalition does not know."""
    return weight_outside(weights, known_shares(weights, view))


def known_shares(weights: Mapping[str, Fraction], view: frozenset[str]) -> frozenset[str]:
    """A coalition as it knows the shares of an event: of all of them it knows all except the smallest."""
    if view.issuperset(weights):
        return view - {min(weights, key=lambda name: (weights[name], name))}
    return view


def over_root(mu: float, honest: Fraction) -> float:
    """mu / sqrt(honest), rounded up."""
    if mu in (0.0, math.inf):
        return mu
    if honest == 0:
        return math.inf
    quotient, target = mu / math.sqrt(honest), Fraction(mu) ** 2
    while Fraction(quotient) ** 2 * honest < target:
        quotient = math.nextafter(quotient, math.inf)
    return quotient


def names_of(argument: str, value: str | Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple; TypeError for a single one, ValueError for one that would not be read back."""
    if value == "*":
        return ("*",)
    if isinstance(value, str):
        raise TypeError(f"{argument}={value!r} must be a tuple of names; write ({value!r},).")
    names = tuple(value)
    try:
        plain = _plain(names)
    except TypeError:  # no names, as lists cannot be looked up
        plain = False
    if not plain:
        raise ValueError(f"{argument}={names!r} must be non-empty names without {JOIN!r}.")
    return names


@lru_cache(maxsize=64)
def _plain(names: tuple[str, ...]) -> bool:
    """Whether all are names; asked once for an audience of thousands that thousands of rows have."""
    return all(isinstance(name, str) and name and JOIN not in name for name in names)
