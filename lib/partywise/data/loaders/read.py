"""Shipped tables and curves from their files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ..curves.descriptions import CURVES, CurveName
from ..curves.tables import CurveTable
from ..descriptions import TABLES, Name
from ..tables import Table
from . import abalone, adult, beijing, credit_default, flights, nyc, watch
from .party_tables import read

LOADERS = {
    "abalone": abalone.load,
    "activity": watch.load,
    "adult": adult.load,
    "adult_split": adult.load_split,
    "credit_default": credit_default.load,
    "flights": flights.load,
}
CURVE_LOADERS = {"beijing": beijing.load, "nyc": nyc.load}


@lru_cache(maxsize=1)
def read_table(name: Name, response: str | None, resources: Path) -> Table:
    """The table from the folder of all data sets; the replicates of one job read it once."""
    table = TABLES[name]
    folder = resources / table.resource
    return LOADERS[name](folder) if name in LOADERS else read.load(table, table.response(response), folder)


def read_curves(name: CurveName, response: str | None, resources: Path) -> CurveTable:
    """The curves from the folder of all data sets."""
    return CURVE_LOADERS[name](resources / CURVES[name].resource, response)
