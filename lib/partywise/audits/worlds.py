"""Replicates of the audit study: two pairs of neighbours, one made to hurt and one from ordinary data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..core.checks import Scalar

WORLDS = ("worst", "its neighbour", "ordinary", "its neighbour")


class World(NamedTuple):
    """One data set: features (n, p) and labels (n,)."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class AuditData:
    """Features (4, n, p) and labels (4, n) in the order of `WORLDS`: each pair of data sets differs in one record."""

    x: np.ndarray
    y: np.ndarray

    def __post_init__(self) -> None:
        if self.x.ndim != 3 or len(self.x) != len(WORLDS) or self.y.shape != self.x.shape[:2]:
            raise ValueError(
                f"x and y have shapes {self.x.shape} and {self.y.shape}: they must be (4, n, p) and (4, n)."
            )

    def public(self) -> None:
        """Nothing of the data is public; parameters are settings of the case."""

    def n_changed(self) -> tuple[int, int]:
        """Number of records in which each pair differs."""
        moved = np.any(self.x[0::2] != self.x[1::2], axis=2) | (self.y[0::2] != self.y[1::2])
        worst, ordinary = moved.sum(axis=1)
        return int(worst), int(ordinary)


@dataclass(frozen=True)
class AuditEstimate:
    """Estimate of an audit.

    epsilon_claimed : by the formula of the source (0: claimed to cost nothing; nan: no claim)
    numbers : scalars for the cube; curves : (2, points) false- and true-positive rates, or None
    """

    epsilon_claimed: float
    numbers: dict[str, Scalar] = field(default_factory=dict)
    curves: np.ndarray | None = None
