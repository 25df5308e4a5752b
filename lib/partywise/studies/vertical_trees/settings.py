"""Settings of the cases of vertical trees; checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...core.checks import NotNegative, Range
from ...data.columns.settings import RowSettings


@dataclass(frozen=True, kw_only=True)
class TreeGeneratedSettings(RowSettings):
    """A score of uniform columns and columns of ten whole numbers, informative in both halves of the columns.

    n : rows, training and test together; d : columns
    signal : standard deviation of the score, which is the log odds of a label 1, or is added to noise of variance 1
    """

    n: Annotated[int, Range(4)] = 2000
    d: Annotated[int, Range(2)] = 14
    signal: NotNegative = 2.0

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.d
