"""Facts about the data sets of the source's examples."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ....datasets.loaders import abalone, adult

RESOURCES = Path("resources")


def features(dataset: Literal["adult", "abalone"]) -> float:
    """Columns of a data set without its response."""
    load = {"adult": adult.load_folded, "abalone": abalone.load}[dataset]
    return float(load(RESOURCES / dataset).X.shape[1])


def abalone_rows() -> float:
    """Shells."""
    return float(len(abalone.load(RESOURCES / abalone.RESOURCE).y))
