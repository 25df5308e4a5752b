"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...datasets.column_facts import ColumnFacts, levels
from ...datasets.own.grammar import ColumnBlock
from ...datasets.own.records.load import contents
from ...datasets.own.rows import read_records
from ...datasets.tables import Table
from .cases import deal_table, select_rows
from .data import TreeData
from .own_settings import TableSettings


def draw(
    settings: TableSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> dict[str, np.ndarray]:
    """What a replicate differs in: it splits the records anew."""
    return deal_table(_table(settings, contents(settings.files.values())), settings, rng_for)


def table(settings: TableSettings, drawn: Mapping[str, np.ndarray]) -> TreeData:
    """Own tables, read from their files."""
    return select_rows(_table(settings, contents(settings.files.values())), settings, drawn)


@lru_cache(maxsize=1)
def _table(settings: TableSettings, files: tuple[tuple[str, bytes], ...]) -> Table:
    """What all replicates share."""
    read, digests = read_records(settings, files)
    names = np.array([column.name for column in settings.columns])
    column_facts = tuple(map(_column_facts, settings.columns))
    return Table(read.X, read.y, names, column_facts, digests, ids=read.ids, person=read.person)


def _column_facts(column: ColumnBlock) -> ColumnFacts:
    if column.levels is not None:
        return levels(len(column.levels), column.because)
    return ColumnFacts(column.edges, column.bounds, column.because)
