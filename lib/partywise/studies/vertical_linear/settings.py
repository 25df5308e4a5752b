"""Settings of the cases of vertical linear models; checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...core.checks import Count, NotNegative, Positive, Range
from ...data.columns.settings import ColumnDatasetSettings, RowSettings
from ...models.criteria import CLASSES, NUMBERS


@dataclass(frozen=True, kw_only=True)
class LinearGeneratedSettings(RowSettings):
    """A linear predictor of features that are uniform on [-3, 3].

    n : rows, training and test together; d : features
    signal : standard deviation of the linear predictor; noise : of what is added to it in regression
    """

    n: Annotated[int, Range(4)] = 2000
    d: Count = 14
    signal: Positive = 2.0
    noise: NotNegative = 1.0

    labels_alone = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise != 1.0 and self.loss_in_force == CLASSES:
            raise ValueError(f"noise is {self.noise!r}: it is read with loss {NUMBERS!r} only; leave it out.")

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.d


@dataclass(frozen=True, kw_only=True)
class ScaledDatasetSettings(ColumnDatasetSettings):
    """A shipped table whose columns all have a public range; a category counts as the number of its level."""

    labels_alone = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if lacking := self.columns_without_bounds:
            raise ValueError(
                f"dataset is {self.dataset!r}: its column {self.column_names[lacking[0]]!r} has no public range, by "
                "which a linear model would scale it; take another table."
            )
