"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...core.randomness import Rng
from ...data.columns.replicate import deal_table
from ...data.own.records import read_own_table
from .cases import select_rows
from .data import TreeData
from .own_settings import TreeTableSettings


def draw(settings: TreeTableSettings, spec: object, rng_for: Rng, resources: Path) -> dict[str, np.ndarray]:
    """Draw what replicates differ in: the split of the records."""
    return deal_table(read_own_table(settings), settings, rng_for)


def table(settings: TreeTableSettings, drawn: Mapping[str, np.ndarray]) -> TreeData:
    """Own tables, read from their files."""
    return select_rows(read_own_table(settings), settings, drawn)
