"""Shipped curves from their files."""

from __future__ import annotations

from pathlib import Path

from ..curves.descriptions import CURVES, CurveName
from ..curves.tables import CurveTable
from . import beijing, nyc

LOADERS = {"beijing": beijing.load, "nyc": nyc.load}


def read_curves(name: CurveName, response: str | None, resources: Path) -> CurveTable:
    """The curves from the folder of all data sets."""
    return LOADERS[name](resources / CURVES[name].resource, response)
