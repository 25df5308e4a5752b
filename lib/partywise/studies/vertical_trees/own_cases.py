"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...datasets.own.rows import logged, read_files
from ...datasets.own.table_files import ColumnBlock
from ...datasets.tables import ColumnTable, Declared, levels
from .cases import replicate_of
from .data import TreeData
from .own_settings import TableSettings


def table(settings: TableSettings, spec: Any, rng_for: Callable[..., np.random.Generator], resources: Path) -> TreeData:
    """Own tables; a replicate splits the records anew."""
    return replicate_of(_table(settings, read_files(settings.tables)), settings, rng_for)


@lru_cache(maxsize=1)
def _table(settings: TableSettings, files: tuple[tuple[str, bytes], ...]) -> ColumnTable:
    """What all replicates share."""
    read, digests = logged(settings.tables, settings.matching, files)
    names = np.array([column.name for column in settings.columns])
    declared = tuple(map(_declared, settings.columns))
    return ColumnTable(read.X, read.y, names, declared, None, digests, (), read.ids, read.person)


def _declared(column: ColumnBlock) -> Declared:
    if column.levels is not None:
        return levels(len(column.levels), column.because)
    return Declared(column.edges, column.bounds, column.because)
