"""Facts about the data sets of the source's examples."""

from __future__ import annotations

from typing import Literal

from ....data.fetch import fetch_folder
from ....data.loaders import abalone, adult


def features(dataset: Literal["adult", "abalone"]) -> float:
    """Columns of a data set without its response."""
    load = {"adult": adult.load, "abalone": abalone.load}[dataset]
    return float(load(fetch_folder(dataset)).X.shape[1])


def abalone_rows() -> float:
    """Shells."""
    return float(len(abalone.load(fetch_folder(abalone.RESOURCE)).y))
