"""Models of scaled columns in the units of the owner's files: public bounds alone lead back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..grammar import ColumnBlock


class FeatureScale(NamedTuple):
    """Scale of every feature, (d,) each: the fitted one is ``slope`` times the one in the file, plus ``shift``."""

    slope: np.ndarray
    shift: np.ndarray

    def coefficients(self, fitted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (d, ...) of features in the files, and what the constant gains (...,), from the fitted ones."""
        return (fitted.T * self.slope).T, self.shift @ fitted


def scale_of(columns: Sequence[ColumnBlock], low: float) -> FeatureScale:
    """Scale of columns whose bounds, and whose indicators of levels, became [low, 1]."""
    slope, shift = list[float](), list[float]()
    for column in columns:
        least, width, times = 0.0, 1.0, 1
        if column.levels is not None:
            times = len(column.levels) - 1
        elif column.bounds is not None:
            least, width = column.bounds[0], column.bounds[1] - column.bounds[0]
        else:
            raise ValueError(f"column {column.name!r} has neither bounds nor levels: it has no public scale.")
        slope += [(1 - low) / width] * times
        shift += [low - (1 - low) * least / width] * times
    return FeatureScale(np.array(slope), np.array(shift))


def feature_rows(columns: Sequence[ColumnBlock]) -> list[dict[str, object]]:
    """Source of each feature: the column of the file, and its bounds or the level for which it is 1."""
    rows = list[dict[str, object]]()
    for column in columns:
        if column.levels is None:
            rows.append({"column": column.name, "bounds": column.bounds})
        else:
            rows += [{"column": column.name, "level": level} for level in column.levels[1:]]
    return rows
