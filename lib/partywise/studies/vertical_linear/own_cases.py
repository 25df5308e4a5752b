"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...datasets.column_facts import ColumnFacts
from ...datasets.own.grammar import ColumnBlock
from ...datasets.own.indicators import indicator_names, indicators
from ...datasets.own.records.load import contents
from ...datasets.own.rows import read_records
from ...datasets.tables import Table
from .cases import deal_table, scale_table
from .data import LinearData
from .own_settings import TableSettings


def draw(
    settings: TableSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> dict[str, np.ndarray]:
    """What a replicate differs in: it splits the records anew."""
    return deal_table(_table(settings, contents(settings.files.values())), settings, rng_for)


def table(settings: TableSettings, drawn: Mapping[str, np.ndarray]) -> LinearData:
    """Own tables, read from their files."""
    return scale_table(_table(settings, contents(settings.files.values())), settings, drawn, settings.response_bounds)


@lru_cache(maxsize=1)
def _table(settings: TableSettings, files: tuple[tuple[str, bytes], ...]) -> Table:
    """What all replicates share: numbers as they are, a category as an indicator of each level but the first."""
    read, digests = read_records(settings, files)
    features: list[tuple[str, ColumnFacts, np.ndarray]] = []
    for values, column in zip(read.X.T, settings.columns, strict=True):
        features += _features(values, column)
    names, column_facts, columns = zip(*features, strict=True)
    X = np.column_stack(columns)
    return Table(X, read.y, np.array(names), column_facts, digests, ids=read.ids, person=read.person)


def _features(values: np.ndarray, column: ColumnBlock) -> list[tuple[str, ColumnFacts, np.ndarray]]:
    """Name, declared range and values of what a column becomes."""
    column_facts = ColumnFacts(None, column.bounds if column.levels is None else (0.0, 1.0), column.because)
    named = zip(indicator_names(column), indicators(values, column), strict=True)
    return [(name, column_facts, part) for name, part in named]
