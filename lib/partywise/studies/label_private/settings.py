"""Settings of the cases of the label-private study; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.checks import CheckedFields, Delta, NotNegative, Positive, Range, Share
from ...data.shipped_table import ShippedTable

Rows = Annotated[int, Range(4)]
# Runs of a trainer with mini-batches over which its path is averaged.
PATH_RUNS = 5


@dataclass(frozen=True)
class LabelCaseSettings(CheckedFields):
    """Settings that every case may have.

    test_share : share of the rows that are held out
    delta : delta of this case instead of the study's, for data so small that 1e-5 is below any use
    tau : standard deviation of the logits over the rows that the planner assumes
    """

    test_share: Share = 0.3
    delta: Delta | None = None
    tau: Positive = 2.0


@dataclass(frozen=True)
class LabelGeneratedSettings(LabelCaseSettings):
    """A logistic model with k features (the intercept counts).

    n : rows, training and test together; k : features with the intercept
    dependence : correlation of the latent variables; rarest : prevalence of the rarest indicator
    signal : standard deviation of the logit; positive : share of positive labels
    """

    n: Rows = 50_000
    k: Annotated[int, Range(2)] = 20
    dependence: Annotated[float, Range(0, 1, "[)")] = 0.0
    rarest: Share = 0.065
    signal: NotNegative = 1.79
    positive: Share = 0.357


@dataclass(frozen=True, kw_only=True)
class LabelDatasetSettings(LabelCaseSettings, ShippedTable):
    """A shipped table with labels 0 and 1; a category counts as the number of its level.

    rows : use only this many rows, drawn anew for each replicate; None for all
    split : ``own``, that of the table where it has test rows of its own, or ``random``
    """

    rows: Rows | None = None
    split: Literal["own", "random"] = "own"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.response_facts.n_classes != 2:
            raise ValueError(f"dataset is {self.dataset!r}: its response is not a label 0 or 1; take another.")
