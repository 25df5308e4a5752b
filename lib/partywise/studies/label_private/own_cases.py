"""The case of a person's own table: files to a replicate, by the settings alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from ...core.errors import DataMissing
from ...core.notes import cached_reader
from ...data.division import training_rows
from ...data.own.columns import class_labels, feature_names, features
from ...data.own.csv import TextTable
from ...data.own.records import (
    Rows,
    bounded,
    check_count,
    complete,
    contents,
    match_ids,
    number_persons,
    open_table,
    record_names,
    select_rows,
    training_persons,
)
from .cases import draw_key, replicate
from .data import LabelData
from .own_settings import OwnLabelSettings

LOG = logging.getLogger("partywise")


class Read(NamedTuple):
    """Data of all replicates: X (N, k) with the intercept, labels, names of records, and persons (None: unknown)."""

    X: np.ndarray
    y: np.ndarray
    ids: tuple[str, ...]
    persons: tuple[str, ...] | None


class Split(TypedDict):
    """Mask of the records that train, and the root of the evaluator's randomness."""

    train: np.ndarray
    key: int


def draw(
    settings: OwnLabelSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> Split:
    """Draw the split of a replicate, which divides the records anew, with all rows of a person on one side."""
    read = _read(settings, contents(settings.files.values()))
    if read.persons is None:
        train = training_rows(len(read.y), settings.test_share, rng_for("split"))
    else:
        train = training_persons(read.persons, settings.test_share, rng_for("split"))
    if train.all():
        raise DataMissing(f"test_share is {settings.test_share}: it leaves no records to test on; bring more records.")
    return {"train": train, "key": draw_key(rng_for)}


def table(settings: OwnLabelSettings, drawn: Split) -> LabelData:
    """Own data, read from their files."""
    read = _read(settings, contents(settings.files.values()))
    names = np.array(["intercept", *feature_names(settings.columns)])
    data = replicate(read.X, read.y, drawn["train"], names, drawn["key"])
    person = data.person if read.persons is None else number_persons(read.persons)
    return replace(data, ids=np.array(read.ids), party_names=settings.party_names, person=person)


@cached_reader
def _read(settings: OwnLabelSettings, files: tuple[tuple[str, bytes], ...]) -> Read:
    table, labels = _one_file(settings, dict(files)) if settings.file is not None else _two_files(settings, dict(files))
    check_count(len(table.rows), settings)
    X = features([table], settings.columns, 0.0, clip=True)
    y = class_labels(labels, settings.response, settings.positive)
    ids = record_names(table, settings.features_id, several=False)
    LOG.info("records: %d, of which %d are of class 1", len(y), int(y.sum()))
    persons = None if settings.user is None else tuple(table.column(settings.user))
    return Read(np.column_stack([np.ones(len(X)), X]), y, tuple(ids), persons)


def _one_file(settings: OwnLabelSettings, texts: dict[str, bytes]) -> tuple[TextTable, TextTable]:
    whole = open_table(settings, None, texts, settings.file)
    table = bounded(complete(whole, [*_feature_columns(settings, settings.id), settings.response], settings), settings)
    return table, table


def _two_files(settings: OwnLabelSettings, texts: dict[str, bytes]) -> tuple[TextTable, TextTable]:
    """Features and labels, row by row of the same record, in the order of the features' file."""
    blocks = settings.roles
    tables = [open_table(settings, block, texts) for block in blocks]
    keys = [settings.id_of(block) or "" for block in blocks]
    rows: dict[str, Rows] = {
        block.party: Rows(f"{block.party} ({block.file})", record_names(t, key, several=True))
        for block, t, key in zip(blocks, tables, keys, strict=True)
    }
    common = set(match_ids(rows, settings.match, keys[0]))
    wanted = (_feature_columns(settings, keys[0]), [keys[1], settings.response])
    features, labels = (complete(t, names, settings) for t, names in zip(tables, wanted, strict=True))
    place = {name: i for i, name in enumerate(labels.ids(keys[1]))}
    positions = [i for i, name in enumerate(features.ids(keys[0])) if name in place and name in common]
    known = bounded(select_rows(features, positions), settings)
    return known, select_rows(labels, [place[name] for name in known.ids(keys[0])])


def _feature_columns(settings: OwnLabelSettings, id: str | None) -> list[str]:
    """Columns of the features' file that are read."""
    return [*(column.name for column in settings.columns), *(name for name in (id, settings.user) if name is not None)]
