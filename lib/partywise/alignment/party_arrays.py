"""Arrays of a party at the common records, checked before use: its columns, and vectors next to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def columns_of(block: Mapping[str, np.ndarray], rows: np.ndarray, names: Sequence[str], party: str) -> np.ndarray:
    """(n, p_k) columns of a party at the used records.

    names : of the party's columns; party : its name, for messages
    """
    X = np.asarray(block["X"])
    if X.ndim != 2 or X.shape[1] != len(names):
        raise ValueError(f"X of {party!r} has shape {X.shape}: give a column for each of its names {tuple(names)}.")
    _check_rows(f"X of {party!r}", len(X), rows)
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X of {party!r} holds {X.dtype} values: encode them as numbers, a factor as indicators.")
    columns = np.ascontiguousarray(X[rows], dtype=float)
    wrong = np.argwhere(~np.isfinite(columns))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"column {names[column]!r} of {party!r} has the value {columns[row, column]} in record {rows[row]}: fill "
            "or drop incomplete records first."
        )
    return columns


def vector_of(block: Mapping[str, np.ndarray], rows: np.ndarray, name: str, party: str) -> np.ndarray:
    """(n,) numbers that a party has in addition to its columns, such as a response, at the used records."""
    values = np.asarray(block[name])
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise ValueError(f"{name} of {party!r} has shape {values.shape} and type {values.dtype}: give (n,) numbers.")
    _check_rows(f"{name} of {party!r}", len(values), rows)
    return np.ascontiguousarray(values[rows], dtype=float)


def _check_rows(what: str, count: int, rows: np.ndarray) -> None:
    if not len(rows):
        raise ValueError(f"{what}: no record is used, give records to train on.")
    if count <= int(np.max(rows)):
        raise ValueError(
            f"{what} has {count} rows, record {int(np.max(rows))} is used: give all parties the same records, or let "
            "them be aligned by ids."
        )
