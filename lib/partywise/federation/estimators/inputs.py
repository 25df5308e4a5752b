"""Arrays and data frames that users give, as arrays that are checked, and their division among parties."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

# Any: the user's data frames.
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..parties import Party
from .parameters import DataConversionWarning


def numbers(name: str, value: ArrayLike, ndim: int, like: str, *, missing: bool = False) -> np.ndarray:
    """A finite float array of so many dimensions; an error that names it otherwise, TypeError for what is not a number.

    missing : whether cells may be NaN
    """
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} is sparse: give a dense array, {name}.toarray().")
    array = np.asarray(value)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} is complex. Complex data not supported: give {name}.real, or both parts as columns.")
    columns = getattr(value, "dtypes", ()) if getattr(value, "ndim", 1) == 2 else ()
    if array.dtype.kind in "mM" or any(dtype.kind in "mM" for dtype in columns):
        raise TypeError(f"{name} holds dates or times: give numbers, such as days since a public date.")
    try:
        array = np.ascontiguousarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} contains values that are not numbers ({error}){_text_column(value)}: encode them, a factor as "
            "indicators."
        ) from None
    if ndim == 2 and array.ndim == 2 and not array.shape[1]:
        raise ValueError(f"{name} has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.ndim != ndim or not array.size:
        more = f" Reshape your data: {name}.reshape(-1, 1) is one column, {name}.reshape(1, -1) one record."
        raise ValueError(f"{name} has shape {array.shape}: give {like}.{more if (array.ndim, ndim) == (1, 2) else ''}")
    refused = np.isinf(array) if missing else ~np.isfinite(array)
    if refused.any():
        place = np.argwhere(refused)[0].tolist()
        labels = getattr(value, "columns", None) if ndim == 2 else None
        column = "" if labels is None else f", column {str(labels[place[1]])!r}"
        raise ValueError(
            f"{name} holds values that are not finite, such as {array[tuple(place)]} at {place}{column}: fill or drop "
            "incomplete records (NaN, inf) first."
        )
    return array


def _text_column(frame: Any) -> str:
    """Name the first column of a data frame that holds no numbers, as the middle of a sentence."""
    dtypes = getattr(frame, "dtypes", None)
    if dtypes is None or not hasattr(frame, "columns"):
        return ""
    texts = [str(label) for label, dtype in zip(frame.columns, dtypes, strict=True) if dtype.kind not in "biuf"]
    return f" in column {texts[0]!r}" if texts else ""


def vector(name: str, value: ArrayLike, n: int) -> np.ndarray:
    """One value per record, shape (n,), of any type; a column is taken for one with a warning."""
    if value is None:
        raise ValueError(f"the estimator requires {name} to be passed, but the target {name} is None.")
    array = np.asarray(value)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected: give {name}.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: give (n,), one value a record.")
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} rows of X: give one per row.")
    return array


def check_index(X: Any, arrays: Mapping[str, Any]) -> None:
    """ValueError where a series has another index than the frame: records would be matched by their places."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    for name, array in arrays.items():
        if index is not None and hasattr(array, "iloc") and not index.equals(array.index):
            raise ValueError(
                f"{name} has another index than X: records are taken by position. Give {name}.loc[X.index], or arrays."
            )


def labels_of(y: ArrayLike, n: int, *, both: bool = True, many: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) as 0 and 1, and the two classes (2,): numbers 0 and 1, or any two labels, in order.

    Which labels there are counts as public. With ``many`` there may be more, 0 .. k-1. ValueError for more than two
    without, or for one alone; without ``both`` only where it is neither 0 nor 1, since an error would depend on private
    labels.
    """
    labels = vector("y", y, n)
    if labels.dtype.kind in "fcO" and any(value != value for value in labels.tolist()):
        raise ValueError("y holds labels that are not known (NaN): drop these records first.")
    classes = np.unique(labels)
    if set(classes.tolist()) <= {0, 1} and (len(classes) == 2 or not both):
        return labels.astype(float), np.array([False, True] if labels.dtype.kind == "b" else [0, 1])
    if labels.dtype.kind == "f" and np.any(classes != np.round(classes)):
        example = classes[classes != np.round(classes)][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds {float(example)!r}, which is not a label: labels are 0 or 1."
        )
    if len(classes) > 2 and many:
        return np.searchsorted(classes, labels).astype(float), classes
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"y holds {classes[:4].tolist()}: give two labels."
        )
    if len(classes) < 2:
        raise ValueError(f"y holds one class alone, {classes.tolist()}: give both labels.")
    return (labels == classes[1]).astype(float), classes


def column_labels(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame, or of one a party; None where there are none."""
    frames = X if isinstance(X, list | tuple) and X else [X]
    if not all(hasattr(frame, "columns") for frame in frames):
        return None
    return tuple(str(name) for frame in frames for name in frame.columns)


def check_parties(parties: object) -> None:
    """Raise TypeError unless parties are a number, or groups of columns or records."""
    groups = parties if isinstance(parties, Sequence | np.ndarray) and not isinstance(parties, str) else [""]
    if isinstance(parties, int | np.integer) or not any(
        isinstance(group, str) or np.ndim(group) != 1 for group in groups
    ):
        return
    raise TypeError(f"parties={parties!r}: give a number of parties, or the list of each, as in [[0, 1], [2]].")


def groups_of(
    parties: int | Sequence[Sequence[int]],
    count: int,
    split: Callable[[int, int], Iterable[Sequence[int]]],
    *,
    bare: int | None = None,
) -> list[tuple[int, ...]]:
    """Columns or rows of each party: as given, a partition of ``0 .. count - 1``, or ``split(count, parties)``.

    bare : place of the group that may be empty, of a party that holds the labels alone
    """
    check_parties(parties)
    if isinstance(parties, int | np.integer):
        if bare is None and not 1 <= parties <= count:
            raise ValueError(f"parties={parties} must lie in 1..{count}: each party holds at least one of {count}.")
        return [tuple(part) for part in split(count, int(parties))]
    names = [index for part in parties for index in part if isinstance(index, str)]
    if names:
        raise ValueError(
            f"parties name {names[0]!r}, and this protocol divides {count} rows or columns by number: give numbers, or "
            "take a protocol of parties that hold different columns."
        )
    groups = [tuple(int(index) for index in part) for part in parties]
    empty = any(not group for place, group in enumerate(groups) if place != bare)
    if empty or sorted(index for part in groups for index in part) != list(range(count)):
        raise ValueError(
            f"parties={groups if count < 20 else '...'} is not a partition of 0..{count - 1}: every number must be in "
            "exactly one group and no group may be empty."
        )
    return groups


def party(name: str, role: str, columns: Sequence[int] = (), **block: np.ndarray) -> Party:
    """A holder of arrays."""
    return Party(name, role, block, columns=tuple(columns))
