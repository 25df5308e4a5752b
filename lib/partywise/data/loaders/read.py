"""A shipped table from its files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ..descriptions import TABLES, Name
from ..tables import Table
from . import abalone, adult, adult_split, credit_default, flights, watch
from .party_tables import read

LOADERS = {
    "abalone": abalone.load,
    "activity": watch.load,
    "adult": adult.load,
    "adult_split": adult_split.load,
    "credit_default": credit_default.load,
    "flights": flights.load,
}


@lru_cache(maxsize=1)
def read_table(name: Name, response: str | None, resources: Path) -> Table:
    """The table from the folder of all data sets; the replicates of one job read it once."""
    table = TABLES[name]
    folder = resources / table.resource
    return LOADERS[name](folder) if name in LOADERS else read.load(table, table.response(response), folder)
