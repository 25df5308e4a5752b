"""The case of a person's own table: files to a replicate, by the settings alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...datasets.division import training_rows
from ...datasets.own.csv import TextTable
from ...datasets.own.matching import match_ids
from ...datasets.own.persons import number_persons
from ...datasets.own.records.load import (
    as_number,
    complete,
    contents,
    open_records,
    record_names,
    select_rows,
)
from ...datasets.own.records.persons import bounded, training_persons
from ...datasets.own.records.scale import feature_names, features
from ...datasets.own.rows import Rows
from ...errors import DataMissing
from .cases import draw_key, replicate
from .data import LabelData
from .own_settings import OwnSettings

LOG = logging.getLogger("partywise")


class Read(NamedTuple):
    """What all replicates share: X (N, k) with the intercept, labels, names of records, and persons (None: unknown)."""

    X: np.ndarray
    y: np.ndarray
    ids: tuple[str, ...]
    persons: tuple[str, ...] | None


def draw(
    settings: OwnSettings, spec: Any, rng_for: Callable[..., np.random.Generator], resources: Path
) -> dict[str, Any]:
    """What a replicate differs in: it splits the records anew, with all rows of a person on one side."""
    read = _read(settings, contents(tuple(settings.files.values())))
    if read.persons is None:
        train = training_rows(len(read.y), settings.test_share, rng_for("split"))
    else:
        train = training_persons(read.persons, settings.test_share, rng_for("split"))
    if train.all():
        raise DataMissing(f"test_share is {settings.test_share}: it leaves nobody to test on; bring more records.")
    return {"train": train, "key": draw_key(rng_for)}


def table(settings: OwnSettings, drawn: Mapping[str, Any]) -> LabelData:
    """Own data, read from their files."""
    read = _read(settings, contents(tuple(settings.files.values())))
    known: dict[str, Any] = {"ids": np.array(read.ids), "party_names": settings.party_names}
    if read.persons is not None:
        known["person"] = number_persons(read.persons)
    names = np.array(["intercept", *feature_names(settings.columns)])
    return replicate(read.X, read.y, names=names, **drawn, **known)


@lru_cache(maxsize=1)
def _read(settings: OwnSettings, files: tuple[tuple[str, bytes], ...]) -> Read:
    held, labels = _one_file(settings, dict(files)) if settings.file is not None else _two_files(settings, dict(files))
    if len(held.rows) < settings.min_records:
        raise DataMissing(
            f"{len(held.rows)} records are left where min_records is {settings.min_records}: bring more records, or "
            "lower min_records."
        )
    X = features([held], settings.columns, 0.0, clip=True)
    y, ids = _classes(labels, settings), record_names(held, settings.id, several=False)
    LOG.info("records: %d, of which %d are of class 1", len(y), int(y.sum()))
    persons = None if settings.user is None else tuple(held.column(settings.user))
    return Read(np.column_stack([np.ones(len(X)), X]), y, tuple(ids), persons)


def _feature_columns(settings: OwnSettings) -> list[str]:
    """Columns of the features' file that are read."""
    more = [settings.id, settings.user]
    return [*(column.name for column in settings.columns), *(name for name in more if name is not None)]


def _one_file(settings: OwnSettings, texts: dict[str, bytes]) -> tuple[TextTable, TextTable]:
    assert settings.file is not None
    whole = complete(
        open_records(settings.file, texts, settings), [*_feature_columns(settings), settings.label], settings
    )
    kept = bounded(whole, settings)
    return kept, kept


def _two_files(settings: OwnSettings, texts: dict[str, bytes]) -> tuple[TextTable, TextTable]:
    """Features and labels, row by row of the same record, in the order of the features' file."""
    assert settings.id is not None
    held = [settings.table_of(what) for what in ("features", "labels")]
    tables = [open_records(one.file, texts, settings) for one in held]
    rows: dict[str, Rows] = {
        one.holds: Rows(f"{one.party} ({one.file})", record_names(t, settings.id, several=True))
        for one, t in zip(held, tables, strict=True)
    }
    common = set(match_ids(rows, settings.match, settings.id))
    both = [
        complete(t, names, settings)
        for t, names in zip(tables, (_feature_columns(settings), [settings.id, settings.label]), strict=True)
    ]
    place = {name: i for i, name in enumerate(both[1].column(settings.id))}
    kept = [i for i, name in enumerate(both[0].column(settings.id)) if name in place and name in common]
    known = bounded(select_rows(both[0], kept), settings)
    return known, select_rows(both[1], [place[name] for name in known.column(settings.id)])


def _classes(table: TextTable, settings: OwnSettings) -> np.ndarray:
    """Labels (N,), 0 or 1; DataMissing for other entries, or one class only."""
    name, positive, texts = settings.label, settings.positive, table.column(settings.label)
    if positive is None:
        for text, line in zip(texts, table.lines, strict=True):
            if as_number(text) not in (0.0, 1.0):
                raise DataMissing(
                    f"{table.file}: {name} is {text!r} in row {line}: labels are 0 and 1; correct it, or name the "
                    "entry that counts as 1 under positive."
                )
        y = np.array([float(text) for text in texts])
    else:
        y = np.array([_is(text, positive) for text in texts], dtype=float)
        entries = list(dict.fromkeys(texts))
        if not y.any():
            raise DataMissing(
                f"{table.file}: {name} has no entry {positive!r}, which positive names: its entries are "
                f"{', '.join(entries[:5])}{', ...' if len(entries) > 5 else ''}; write it as it stands there."
            )
        others = [text for text in entries if not _is(text, positive)]
        if len(others) > 1:
            line = table.lines[texts.index(others[1])]
            raise DataMissing(
                f"{table.file}: {name} has the entries {', '.join(entries[:5])}{', ...' if len(entries) > 5 else ''} "
                f"({others[1]!r} in row {line}): a label has two; correct them, or bring a column of two classes."
            )
    if y.all() or not y.any():
        raise DataMissing(
            f"{table.file}: {name} is {texts[0]!r} in all {len(texts)} rows: both classes are needed; bring rows of "
            "the other one, or check that the column is the right one."
        )
    return y


def _is(text: str, positive: str | float) -> bool:
    return text == positive if isinstance(positive, str) else as_number(text) == positive
