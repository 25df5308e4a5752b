"""Checks of options and settings: one sentence with name, value and what is allowed.

Standard library only: the pipeline checks a configuration with them before any job.
"""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import entry_points
from math import inf, isfinite
from numbers import Real
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

# One value of a cell, and what a file of YAML or JSON holds.
Scalar = float | int | bool | str | None
Json = Scalar | Sequence["Json"] | Mapping[str, "Json"]

# What a study may protect.  The ledger also answers for persons with several rows, where the settings of a case bound
# how many: a study whose sources do so adds these units.
Unit = Literal["row", "label", "features"]
UserUnit = Literal["row", "label", "features", "user"]
# A spreadsheet takes text that begins with one of these for a formula.
FORMULA = ("=", "+", "-", "@")


@dataclass(frozen=True)
class Range:
    """Range of a number, as part of the type of a field: ``Annotated[int, Range(1, 100)]``.

    low, high : bounds; ends : which of them belong to it, as in ``(]``; finite : whether infinity is refused
    advice : what else to know, at the end of the message
    """

    low: float = -inf
    high: float = inf
    ends: str = "[]"
    finite: bool = True
    advice: str = ""

    def problem(self, value: float) -> str:
        """Return what the number must be, as the end of a sentence; empty if it is."""
        above = value > self.low or (value == self.low and self.ends[0] == "[")
        below = value < self.high or (value == self.high and self.ends[1] == "]")
        if above and below and (isfinite(value) or not self.finite):
            return ""
        return self._requirement(value) + (f", {self.advice}" if self.advice else "")

    def _requirement(self, value: float) -> str:
        if self.high < inf:
            return f"it must lie in {self.ends[0]}{self.low:g}, {self.high:g}{self.ends[1]}"
        if self.ends[0] == "(":
            return "it must be a positive finite number" if self.finite else f"it must be greater than {self.low:g}"
        if self.low == -inf:
            return "it must be a finite number"
        return f"it must be {'' if isinstance(value, int) else 'a finite number of '}at least {self.low:g}"


# Entry points by which other packages register ciphers: docs/own_method.md states what their classes have.
CIPHERS = "partywise.ciphers"


def registered_cipher(name: str) -> type | None:
    """The class that an installed package registers as a cipher of this name; None if there is none."""
    entry = next(iter(entry_points(group=CIPHERS, name=name)), None)
    return None if entry is None else cast(type, entry.load())


@dataclass(frozen=True)
class OneOfCiphers:
    """A cipher, as part of the type of a field: one of ours, or one that another package registers."""

    library: tuple[str, ...]

    def problem(self, name: str) -> str:
        """Return what the cipher must be, as the end of a sentence; empty if it is."""
        if name in self.library or registered_cipher(name) is not None:
            return ""
        return f"it must be one of {', '.join(self.library)}, or the name of an entry point of {CIPHERS}"


class Matrix(tuple[Any, ...]):
    """Rows of numbers, or several matrices of one shape: a public constant of an option.

    Nested tuples, so that options that hold one compare and hash; their text is the shape and the SHA-256 of the
    numbers, by which titles, cubes and statements name them.
    """

    __slots__ = ()

    @classmethod
    def of(cls, name: str, value: object) -> Matrix:
        """Make a matrix from nested lists or an array; a named error for rows of different lengths, or other values."""
        rows = _lists(value)
        several = bool(rows) and isinstance(rows[0], list | tuple) and isinstance((*rows[0], 0)[0], list | tuple)
        matrices = [_rows(matrix) for matrix in (rows if several else (rows,))]
        if not matrices[0] or any(list(map(len, matrix)) != list(map(len, matrices[0])) for matrix in matrices):
            raise ValueError(f"{name} is {value!r}: give rows of numbers of one length, or a list of such matrices.")
        return cls(matrices if several else matrices[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of matrices (if there are several), rows and columns."""
        inner = self[0]
        return (len(self), len(inner), len(inner[0])) if isinstance(inner[0], tuple) else (len(self), len(inner))

    @property
    def digest(self) -> str:
        """SHA-256 of the numbers, hexadecimal."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"matrix {' x '.join(map(str, self.shape))}, sha256 {self.digest}"

    __str__ = __repr__


def _lists(value: Any) -> Any:
    """Lists and arrays as lists, also inside each other; no list for anything else on the first level."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(listed, list | tuple):
        return ()
    return [_lists(entry) if hasattr(entry, "tolist") or isinstance(entry, list | tuple) else entry for entry in listed]


def _rows(matrix: object) -> tuple[tuple[float, ...], ...]:
    """Rows of one matrix; none where it is something else."""
    rows = matrix if isinstance(matrix, list | tuple) else ()
    numbers = [entry for row in rows for entry in (row if isinstance(row, list | tuple) else (None,))]
    if len({len(row) for row in rows if isinstance(row, list | tuple)}) != 1 or not numbers:
        return ()
    if not all(isinstance(entry, int | float) and not isinstance(entry, bool) for entry in numbers):
        return ()
    return tuple(tuple(map(float, row)) for row in rows)


# Who draws noise on products of several parties' columns: each party all of it, or a place without data.
Dealer = Literal["none", "dealer"]
# Who adds the noise of a sum over clients: a share each, each to its own sum, or an assumed secure aggregation.
Noise = Literal["shared", "local", "central"]
# Smaller moduli were factored, or may be soon; tests lower this for speed.
LEAST_KEY_SIZE = 2048
KeySize = Annotated[int, Range(256, 16384)]
Count = Annotated[int, Range(1)]
Natural = Annotated[int, Range(0)]
Positive = Annotated[float, Range(0, ends="(]")]
NotNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1, "()")]
Probability = Annotated[float, Range(0, 1, "(]")]
Delta = Annotated[float, Range(0, 1, "()", advice="well below 1 / n")]


def check_fields(values: object) -> None:
    """Raise a named error for the first field of a dataclass whose value its type does not allow."""
    cls: Any = type(values)
    for name, hint in field_types(cls).items():
        for where, value, problem in _problems(name, getattr(values, name), hint):
            raise ValueError(f"{where} is {value!r}: {problem}.")


class CheckedFields:
    """Base of dataclasses whose fields are checked as they are made."""

    def __post_init__(self) -> None:
        check_fields(self)


@cache
def field_types(cls: type) -> dict[str, Any]:
    """Types of the fields of a dataclass, with their ranges."""
    hints = get_type_hints(cls, include_extras=True)
    return {entry.name: hints[entry.name] for entry in fields(cls)}


def _problems(
    where: str, value: Any, hint: Any, limit: Range | OneOfCiphers | None = None
) -> Iterator[tuple[str, Any, str]]:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _problems(where, value, args[0], args[1])
    elif origin in (Union, types.UnionType):
        # Without a value, or of several types: the one that the value has.
        holds = next((kind for kind in (tuple, dict) if isinstance(value, kind)), None)
        kinds = [arg for arg in args if ((get_origin(arg) or arg) in (tuple, dict)) == (holds is not None)]
        # A word or a number: the one of both that it is.
        words = [arg for arg in kinds if get_origin(arg) is Literal]
        if words and float in [get_args(arg)[0] if get_origin(arg) is Annotated else arg for arg in kinds]:
            kinds = words if isinstance(value, str) else [arg for arg in kinds if arg not in words]
        if value is not None:
            yield from (
                fault for kind in kinds if kind is not types.NoneType for fault in _problems(where, value, kind)
            )
    elif origin is tuple:
        inner = [args[0]] * len(value) if args[-1] is Ellipsis else args
        for i, (entry, kind) in enumerate(zip(value, inner, strict=False)):
            yield from _problems(f"{where}[{i}]", entry, kind)
    elif origin is Literal and value not in args:
        yield where, value, f"it must be one of {', '.join(map(str, args))}"
    elif hint is int and not float(value).is_integer():
        yield where, value, "it must be a whole number"
    elif limit is not None and (problem := limit.problem(value)):
        yield where, value, problem


def name_problem(name: str) -> str | None:
    """Why a name cannot be used in tables and ledgers as it is, as the end of a sentence; None where it can."""
    if not name.isprintable():
        return "line separators, tabs and control characters break tables; leave them out"
    if ";" in name:
        return "';' separates names in the ledger; choose another character"
    return "a spreadsheet takes what begins so for a formula; begin otherwise" if name[:1] in FORMULA else None


def check_name(key: str, name: str) -> None:
    """Raise a named error for a name that is blank or cannot be used in tables and ledgers as it is."""
    problem = name_problem(name)
    if problem or not name.strip():
        raise ValueError(f"{key} is {name!r}: {problem or 'give a name'}.")


def check_numbers(**values: object) -> None:
    """Raise TypeError for the first argument that is neither a number nor None."""
    for name, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            remedy = "write it without quotes, with a decimal point" if isinstance(value, str) else "give one number"
            raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}: {remedy}.")


def positive(**values: float | None) -> None:
    """Raise a named error for the first given argument that is not a positive finite number."""
    check_numbers(**values)
    for name, value in values.items():
        if value is not None and not (isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value}: it must be a positive finite number.")


def places_of(dealer: Dealer) -> tuple[str, ...]:
    """The place that an option ``dealer`` adds to those of the protocol."""
    return () if dealer == "none" else (dealer,)


def check_dealer(options: Any) -> None:
    """Raise a named error for keys that no dealer needs, or of a length that none is drawn with."""
    if options.dealer != "none":
        check_unread_options(options, ("cipher", "key_size"), "dealer 'none'")
    check_key_size(options.key_size)


def check_key_size(bits: int) -> None:
    """ValueError if the modulus of a key is too short, or of a length that no key has."""
    if bits < LEAST_KEY_SIZE:
        raise ValueError(f"key_size is {bits}: it must be at least {LEAST_KEY_SIZE}, shorter keys break.")
    check_key_length(bits)


def check_key_length(bits: int) -> None:
    """ValueError if no key of so many bits is drawn; keys that need not protect, as in attacks, need no more checks."""
    if bits % 16:
        raise ValueError(f"key_size is {bits}: it must be a multiple of 16.")


def check_unread_options(options: object, names: Collection[str], reader: str) -> None:
    """Raise a named error for the first of the options that was changed although nothing reads it here."""
    for entry in fields(options):  # type: ignore[arg-type]
        value = getattr(options, entry.name)
        if entry.name in names and value != entry.default:
            raise ValueError(f"{entry.name} is {value!r}: it is read with {reader} only; leave it out.")
