"""Contributions and updates as a filter takes them: rows of floats, arrays by name, and what passes as public."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...privacy.accounted_values import Public


def finite_rows(contributions: ArrayLike) -> np.ndarray:
    """Contributions as floats, with zeros in place of every row that holds something else; errors by type and shape."""
    array = np.asarray(contributions)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"contributions of type {array.dtype} are not real numbers; give one row of floats per unit.")
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(
            f"contributions have shape {array.shape}; give one row per protected unit, shape (n, D): a whole update is "
            "one row, update[None]."
        )
    with np.errstate(over="ignore"):
        rows = array.astype(float)
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    return rows


def flat_update(values: Mapping[str, np.ndarray], public: Collection[str]) -> tuple[np.ndarray, list[str]]:
    """Entries (D,) of all arrays that are not public, in the order of their names, and these names."""
    private = sorted(set(values) - set(public))
    for name in private:
        if values[name].dtype.kind != "f":
            raise TypeError(
                f"array {name!r} of type {values[name].dtype} is not of floating-point numbers, so that noise "
                "would change what it means: leave it out of the update, or name it, "
                f"public={{{name!r}: 'because ...'}}."
            )
    if not sum(values[name].size for name in private):
        raise ValueError(f"update={sorted(values)} holds no number to release: nothing leaves.")
    return np.concatenate([values[name].ravel() for name in private], dtype=float), private


def with_released(values: Mapping[str, np.ndarray], private: Sequence[str], noisy: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays, those that are private from their released entries (D,), in names, order, shapes and types of old."""
    ends = np.cumsum([values[name].size for name in private])
    parts = dict(zip(private, np.split(noisy, ends[:-1]), strict=True))
    with np.errstate(over="ignore"):
        return {
            name: parts[name].reshape(old.shape).astype(old.dtype) if name in parts else old
            for name, old in values.items()
        }


def reasons(public: Mapping[str, str] | None) -> Mapping[str, str]:
    """Names of what passes as it is, each with its argument; ValueError where one has none."""
    named = dict(public or {})
    for name, because in named.items():
        Public(name, because)
    return named


def public_numbers(
    values: Mapping[str, object], public: Mapping[str, str], *, texts: bool = False
) -> dict[str, float | str]:
    """Values under public names, in the order of these; ValueError where one is not a number.

    With ``texts`` a text passes as an empty one, for receivers that ask for its name.
    """
    passed = dict[str, float | str]()
    for name in public:
        if name not in values:
            continue
        value = values[name]
        if texts and isinstance(value, str):
            passed[name] = ""
        elif isinstance(value, np.integer | np.floating):
            passed[name] = value.item()
        elif isinstance(value, int | float) and not isinstance(value, bool):
            passed[name] = value
        else:
            raise ValueError(f"public value {name!r} is of type {type(value).__name__}: numbers pass, nothing else.")
    return passed
