"""Laws that the source prints, worked out, and facts about the data sets of its examples."""

from __future__ import annotations

from math import exp, log
from pathlib import Path
from typing import Literal

import numpy as np

from ....datasets.loaders import abalone, adult

RESOURCES = Path("resources")


def bucket_epsilon(buckets: int, epsilon: float) -> float:
    """Log of keeping a bucket, p, over coming to it from another one, (1 - p) / (b - 1)."""
    stays = exp(epsilon) / (exp(epsilon) + buckets - 1)
    return log(stays / ((1 - stays) / (buckets - 1)))


def global_total_error(high: int, epsilon: float = 2.0) -> float:
    """Largest difference of a row of the printed law on 1..high to the total 1."""
    values = np.arange(1, high + 1)
    weights = np.exp(-np.abs(values[:, None] - values) * epsilon / 2)
    return float(np.abs((weights / weights.sum(axis=1, keepdims=True)).sum(axis=1) - 1).max())


def features(dataset: Literal["adult", "abalone"]) -> float:
    """Columns of a data set without its response."""
    load = {"adult": adult.load_folded, "abalone": abalone.load}[dataset]
    return float(load(RESOURCES / dataset).X.shape[1])


def abalone_rows() -> float:
    """Shells."""
    return float(len(abalone.load(RESOURCES / abalone.RESOURCE).y))
