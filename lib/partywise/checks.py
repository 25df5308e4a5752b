"""Checks of options and settings: one sentence with name, value and what is allowed.

Standard library only: the pipeline checks a configuration with them before any job.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from math import isfinite

# What a study may protect.  The ledger also answers for a person with several rows, but only when told how many; no
# cell tells it, so that every epsilon of that unit would be infinite.
UNITS = ("row", "label", "features")
# A spreadsheet takes text that begins with one of these for a formula.
FORMULA = ("=", "+", "-", "@")


def one_of(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise a named error unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(map(str, allowed))}.")


def name_problem(name: str) -> str | None:
    """Why a name cannot stand in tables and ledgers as it is, as the end of a sentence; None where it can."""
    if not name.isprintable():
        return "line separators, tabs and control characters break tables; leave them out"
    if ";" in name:
        return "';' separates names in the ledger; choose another character"
    return "a spreadsheet takes what begins so for a formula; begin otherwise" if name[:1] in FORMULA else None


def check_name(key: str, name: str) -> None:
    """Raise a named error for a name that is blank or cannot stand in tables and ledgers as it is."""
    problem = name_problem(name)
    if problem or not name.strip():
        raise ValueError(f"{key} is {name!r}: {problem or 'give a name'}.")


def at_least(**values: tuple[float, float]) -> None:
    """Raise a named error for the first argument that is below its bound or not finite."""
    for name, (value, bound) in values.items():
        if not (isfinite(value) and value >= bound):
            raise ValueError(f"{name} is {value}: it must be a finite number of at least {bound:g}.")


def whole(**values: float | None) -> None:
    """Raise a named error for the first argument that is given and is not a whole number."""
    for name, value in values.items():
        if value is not None and value != int(value):
            raise ValueError(f"{name} is {value}: it must be a whole number.")


def positive(**values: float | None) -> None:
    """Raise a named error for the first given argument that is not a positive finite number."""
    for name, value in values.items():
        if value is not None and not (isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value}: it must be a positive finite number.")


def unread(options: object, names: Collection[str], reader: str) -> None:
    """Raise a named error for the first of the options that was changed although nothing reads it here."""
    for entry in fields(options):  # type: ignore[arg-type]
        value = getattr(options, entry.name)
        if entry.name in names and value != entry.default:
            raise ValueError(f"{entry.name} is {value!r}: it is read with {reader} only; leave it out.")


def not_negative(**values: float) -> None:
    """Raise a named error for the first argument that is negative or not finite."""
    for name, value in values.items():
        if not (isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value}: it must be a finite number of at least 0.")


def valid_unit(unit: str) -> None:
    """Raise a named error unless ``unit`` is what a study may protect."""
    one_of("unit", unit, UNITS)


def valid_delta(delta: float) -> None:
    """Raise a named error unless ``delta`` is the delta of an epsilon."""
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}: it must lie in (0, 1), well below 1 / n.")
