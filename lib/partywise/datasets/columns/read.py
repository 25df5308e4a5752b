"""A table of `partywise.datasets.columns.catalogue` from its files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ..loaders import abalone, adult, adult_split, credit_default
from ..loaders.party_tables import read
from ..public.tables import TABLES
from ..tables import ColumnTable
from .catalogue import Name, table_facts

LOADERS = {
    "abalone": abalone.load,
    "adult": adult.load_folded,
    "adult_split": adult_split.load,
    "credit_default": credit_default.load,
}


@lru_cache(maxsize=1)
def read_table(name: Name, response: str | None, resources: Path) -> ColumnTable:
    """The table from the folder of all data sets; the replicates of one job read it once."""
    facts = table_facts(name, response)
    folder = resources / facts.resource
    if name in LOADERS:
        return LOADERS[name](folder)
    found = read.load(TABLES[name], TABLES[name].response(response), folder)
    return ColumnTable(found.X, found.y, np.array(facts.names), facts.columns, None, found.sha256, found.notes)
