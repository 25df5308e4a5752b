"""Data of a configuration of the source: shipped tables by its names and by ours, and a table of its user."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

# Any: keys of settings.
from typing import Any

from ....data.descriptions import TABLES
from .keys import Keys

ROOT, TYPE = "data.root", "data.type"
# Name of the source for a shipped table; all others go by our own name.
CREDIT, CREDIT_TABLE = "credit", "credit_default"
OWN, GENERATED = "table", "vertical_fl_data"
# The table of Adult as its authors divided it, and its training rows.
ADULT_SPLIT, ADULT_TRAINING = "adult_split", 30_162


@dataclass(frozen=True)
class SourceData:
    """Source and settings of a case.

    source : of the case, ``dataset``, ``table`` or ``generated``
    dataset : shipped table; None for others
    settings : keys of the case; rows : that train at most
    records : of a table of the user; None for others, whose number is public
    """

    source: str
    dataset: str | None
    settings: dict[str, Any]
    rows: int = 0
    records: int | None = None


def table_names() -> tuple[str, ...]:
    """Names of the shipped tables whose columns have no parties of their own, the source's names among them."""
    names = (name for name, table in TABLES.items() if table.columns and not table.holders)
    return tuple(sorted((*names, CREDIT)))


def tree_data(keys: Keys, dims: Sequence[int]) -> SourceData:
    """Table and rows of trees."""
    name = keys.take(TYPE, str, allowed=(*table_names(), OWN))
    share = tested_share(keys)
    if name == OWN:
        settings, records = own_table(keys, dims)
        data = SourceData(OWN, None, settings | {"test_share": share}, records, records)
    else:
        # Where all of Adult trains, the authors' own division has test rows apart.
        data = shipped_table(keys, ADULT_SPLIT if name == "adult" and share == 0 else name, share, dims)
    fewer = keys.whole("vertical.data_size_for_debug", 0, 0)
    if fewer:
        data.settings["rows"] = fewer
    rows = fewer or data.rows
    return replace(data, rows=rows - int(data.settings.get("test_share", 0.0) * rows))


def shipped_table(keys: Keys, name: str, share: float | None, dims: Sequence[int]) -> SourceData:
    """A shipped table by a name of the source or by ours; ``share`` of its rows test where it has no own test rows."""
    note_root(keys)
    dataset = CREDIT_TABLE if name == CREDIT else name
    table = TABLES[dataset]
    rows = ADULT_TRAINING if dataset == ADULT_SPLIT else table.response(None).rows
    if name == CREDIT:
        keys.notes.append(f"{TYPE} is {name!r}: the table {dataset} is meant, whose copy here has {rows:,} rows.")
    if table.divided and share and "data.splits" in keys:
        keys.notes.append(f"data.splits has no effect: {dataset} has test rows of its own.")
    tests = {} if table.divided or share is None else {"test_share": share}
    return SourceData("dataset", dataset, tests | {"dims": list(dims)}, rows)


def own_table(keys: Keys, dims: Sequence[int]) -> tuple[dict[str, Any], int]:
    """Settings of a CSV file of all columns, the id first and the label last, and its number of rows."""
    file = keys.take(ROOT, str)
    form = "a CSV file whose columns are an id, the features in the order of vertical.dims, and the label"
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as handle:
            lines = csv.reader(handle)
            header = next(lines, [])
            rows = sum(1 for line in lines if line)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or "it is not CSV text"
        raise ValueError(f"{ROOT} is {file!r}: {TYPE} {OWN!r} needs {form} ({why}); name that file.") from None
    if len(header) != dims[-1] + 2:
        raise ValueError(
            f"{ROOT} is {file!r}: it has {len(header)} columns and vertical.dims ends with {dims[-1]}; give {form}."
        )
    features, names = header[1:-1], party_names(len(dims))
    tables = [
        {"party": party, "file": file, "columns": [{"name": column} for column in features[a:b]]}
        for party, (a, b) in zip(names, pairwise([0, *dims]), strict=True)
    ]
    return {"id": header[0], "response": header[-1], "response_party": names[-1], "tables": tables}, rows


def party_names(count: int) -> tuple[str, ...]:
    """Names of parties on a channel, the last of which has the labels."""
    return (*(f"passive {k}" for k in range(1, count)), "active")


def tested_share(keys: Keys) -> float:
    """Share of the rows that test."""
    splits = keys.numbers("data.splits", float, [0.8, 0.2])
    if len(splits) != 2 or abs(sum(splits) - 1) > 1e-9 or not 0 < splits[0] <= 1:
        raise ValueError(f"data.splits is {splits}: give the shares that train and that test, together 1.")
    return float(splits[1])


def note_root(keys: Keys) -> None:
    """Note a folder that has no effect."""
    if ROOT in keys:
        keys.notes.append(f"{ROOT} is {keys.take(ROOT, str)!r}: data are fetched into resources instead.")
