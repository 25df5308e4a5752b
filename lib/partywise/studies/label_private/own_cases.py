"""The case of a person's own table: files to a replicate, by the settings alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from ...core.errors import DataMissing
from ...core.randomness import draw_root
from ...data.division import division
from ...data.own.columns import class_labels, feature_names, features
from ...data.own.csv import TextTable
from ...data.own.records import (
    NamedIds,
    bounded,
    check_count,
    complete,
    match_ids,
    number_persons,
    open_table,
    reader_of_files,
    record_names,
    select_rows,
)
from .cases import replicate
from .data import LabelData
from .own_settings import OwnLabelSettings

LOG = logging.getLogger("partywise")


class Read(NamedTuple):
    """Data of all replicates: X (N, k) with the intercept, labels, names and persons of records (None: unknown)."""

    X: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    person: np.ndarray | None


class Split(TypedDict):
    """Mask of the records that train, and the root of the evaluator's randomness."""

    train: np.ndarray
    key: int


def draw(
    settings: OwnLabelSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> Split:
    """Draw the split of a replicate, which divides the records anew, with all rows of a person on one side."""
    read = _read(settings)
    train = division(len(read.y), read.person, settings.test_share, rng_for("split"))
    if train.all():
        raise DataMissing(f"test_share is {settings.test_share}: it leaves no records to test on; bring more records.")
    return {"train": train, "key": draw_root(rng_for("evaluation"))}


def table(settings: OwnLabelSettings, drawn: Split) -> LabelData:
    """Own data, read from their files."""
    read = _read(settings)
    names = np.array(["intercept", *feature_names(settings.columns)])
    variables = [
        -1 if column.levels is None else place for place, column in enumerate(settings.columns) for _ in column.names
    ]
    data = replicate(read.X, read.y, drawn["train"], names, drawn["key"], variables=variables)
    person = data.person if read.person is None else read.person
    return replace(data, ids=read.ids, party_names=settings.party_names, person=person)


@reader_of_files
def _read(settings: OwnLabelSettings, texts: Mapping[str, bytes]) -> Read:
    table, labels = _feature_and_label_rows(settings, texts)
    check_count(len(table.rows), settings)
    X = features([table], settings.columns, 0.0, clip=True)
    y = class_labels(labels, settings.response, settings.positive)
    ids = record_names(table, settings.holders[0].roles.get("id"), several=False)
    LOG.info("records: %d, of which %d are of class 1", len(y), int(y.sum()))
    person = None if settings.user is None else number_persons(table.column(settings.user))
    return Read(np.column_stack([np.ones(len(X)), X]), y, np.array(ids), person)


def _feature_and_label_rows(settings: OwnLabelSettings, texts: Mapping[str, bytes]) -> tuple[TextTable, TextTable]:
    """Features and labels, row by row of the same record, in the order of the features' file."""
    holders = settings.holders
    tables = [open_table(settings, holder, texts) for holder in holders]
    if len(holders) == 1:
        table = bounded(complete(tables[0], holders[0].names, settings), settings)
        return table, table
    keys = [holder.roles["id"] for holder in holders]
    named = [
        NamedIds(holder.label, record_names(table, key, several=True))
        for holder, table, key in zip(holders, tables, keys, strict=True)
    ]
    common = set(match_ids(named, settings.match, keys[0]))
    features, labels = (complete(table, holder.names, settings) for table, holder in zip(tables, holders, strict=True))
    place = {name: i for i, name in enumerate(labels.ids(keys[1]))}
    positions = [i for i, name in enumerate(features.ids(keys[0])) if name in place and name in common]
    known = bounded(select_rows(features, positions), settings)
    return known, select_rows(labels, [place[name] for name in known.ids(keys[0])])
