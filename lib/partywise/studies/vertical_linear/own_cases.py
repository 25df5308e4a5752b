"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...core.randomness import Rng
from ...data.columns.replicate import deal_table
from ...data.own.records import read_own_table
from .cases import scale_table
from .data import LinearData
from .own_settings import LinearTableSettings


def draw(settings: LinearTableSettings, spec: object, rng_for: Rng, resources: Path) -> dict[str, np.ndarray]:
    """Draw what replicates differ in: the split of the records."""
    return deal_table(read_own_table(settings), settings, rng_for)


def table(settings: LinearTableSettings, drawn: Mapping[str, np.ndarray]) -> LinearData:
    """Own tables, read from their files."""
    return scale_table(read_own_table(settings), settings, drawn, settings.response_bounds)
