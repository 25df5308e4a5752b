"""How far one unit moves a statistic of whole numbers: a closed list of formulas, in exact arithmetic.

L is the squared length of a record in steps. Whoever reads a published sensitivity computes it again from L and the
worth of a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

# Any: exact numbers, whole or fractions, and JSON that somebody else wrote.
from typing import Any

import numpy as np

from ...privacy.ledger.event import Event
from ...privacy.statistics.whole import Whole, gram_squares, root_up

# Squared move in steps of records of squared length L; how the sources of certificates begin.
FORMULAS: Mapping[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "gram": (gram_squares, ("2 S^4", "sqrt(2)")),
    "sum": (lambda length: 4 * length, ("slice sums",)),
    "dots": (lambda length: length, ("",)),
}
# Of a mechanism whose noise is no Gaussian: entries that a unit can move, each of which is noised by itself.
ENTRIES = "entries"
# What no formula of the list gives.
STATED = "stated"
# How far a printed sensitivity may be from what its formula gives, relatively.
PRINTED = 1e-12


def formula_of(event: Event, statistic: object) -> tuple[str, dict[str, object]]:
    """Name of the formula behind the sensitivity of a release, and what goes in."""
    if event.mu is None or event.sensitivity is None:
        return ENTRIES, {"entries": event.sensitivity}
    if isinstance(statistic, Whole):
        step, squares = statistic.step, statistic.squares
    else:
        step = float(np.min(getattr(statistic, "units", 1.0))) * (1 << _finer(event))
        squares = Fraction(event.sensitivity) ** 2 / Fraction(step) ** 2
    for name, (formula, words) in FORMULAS.items():
        if event.certificate.startswith(words):
            length: int | str = _inverse(formula, squares)
            if name == "dots" and isinstance(statistic, Whole):
                length = str(squares)
            inputs: dict[str, object] = {"squared_length": length, "step": step}
            if is_printed(event.sensitivity, sensitivity(name, inputs)):
                return name, inputs
    return STATED, {}


def sensitivity(name: str, inputs: Mapping[str, Any]) -> float:
    """The sensitivity by a formula of the list, rounded up; ValueError for a formula or inputs that are not of it."""
    if name == ENTRIES:
        entries = inputs["entries"]
        if type(entries) not in (int, float) or not entries >= 0:
            raise ValueError(f"entries={entries!r} is not a number of entries")
        return float(entries)
    if name not in FORMULAS:
        raise ValueError(f"{name!r} is not in the list of formulas")
    length, step = inputs["squared_length"], inputs["step"]
    if type(length) not in (int, str) or not isinstance(step, float) or not 0 <= step < math.inf:
        raise ValueError(f"squared_length={length!r}, step={step!r} are no squared length and step")
    squares = Fraction(FORMULAS[name][0](Fraction(length)))
    if squares < 0:
        raise ValueError(f"squared_length={length!r} is negative")
    return root_up(squares, step) if squares and step else 0.0


def is_printed(printed: float, computed: float) -> bool:
    """Whether a sensitivity is what its formula gives, but for its last digits."""
    return abs(printed - computed) <= PRINTED * computed


def deviation_of(event: Event, copies: int = 1) -> float | None:
    """Standard deviation of all noise in an entry: that of the mu that is stated, of all shares; None without a mu."""
    if not event.mu or event.sensitivity is None:
        return None
    total = sum(event.weights.values(), Fraction(0)) if event.shares else Fraction(1)
    return event.sensitivity / event.mu * math.sqrt(total * copies)


def _finer(event: Event) -> int:
    """Bits by which the steps of shared noise were made finer, as its certificate says."""
    _, _, told = event.certificate.partition("finer by ")
    return int(told.split()[0]) if told else 0


def _inverse(formula: Callable[[int], int], squares: Fraction) -> int:
    """The whole number nearest to where a formula of a growing function gives this."""
    low, high = 0, 1
    while formula(high) < squares:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if formula(middle) <= squares else (low, middle)
    return min((low, high), key=lambda one: abs(formula(one) - squares))
