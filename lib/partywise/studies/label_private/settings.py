"""Settings of the cases of the label-private study; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite


def number(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Raise a named error unless low <= value <= high and it is finite."""
    if not (isfinite(value) and low <= value <= high):
        raise ValueError(f"{name} is {value}: it must lie in [{low:g}, {high:g}].")


@dataclass(frozen=True)
class CaseSettings:
    """What every case may set.

    test_share : share of the rows that are held out
    delta : delta of this case instead of the study's, for data so small that 1e-5 is below any use
    tau : standard deviation of the logits over the rows that the planner assumes
    """

    test_share: float = 0.3
    delta: float | None = None
    tau: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.test_share < 1:
            raise ValueError(f"test_share is {self.test_share}: it must lie between 0 and 1.")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta}: it must lie in (0, 1), well below 1 / n.")
        if not (isfinite(self.tau) and self.tau > 0):
            raise ValueError(f"tau is {self.tau}: it must be a positive finite number.")


@dataclass(frozen=True)
class GeneratedSettings(CaseSettings):
    """A logistic model with k features (the intercept counts).

    n : rows, training and test together; k : features with the intercept
    dependence : correlation of the latent variables; rarest : prevalence of the rarest indicator
    signal : standard deviation of the logit; positive : share of positive labels
    """

    n: int = 50_000
    k: int = 20
    dependence: float = 0.0
    rarest: float = 0.065
    signal: float = 1.79
    positive: float = 0.357

    def __post_init__(self) -> None:
        super().__post_init__()
        number("n", self.n, 4)
        number("k", self.k, 2)
        number("signal", self.signal, 0)
        for name in ("rarest", "positive"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must lie between 0 and 1.")
        if not 0 <= self.dependence < 1:
            raise ValueError(f"dependence is {self.dependence}: it must lie in [0, 1).")


@dataclass(frozen=True)
class TableSettings(CaseSettings):
    """A real table. rows : use only this many rows, drawn anew for each replicate; None for all."""

    rows: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows is not None:
            number("rows", self.rows, 4)


@dataclass(frozen=True)
class FlightsSettings(TableSettings):
    """Late flights. split : ``time`` (January to August train, the rest tests) or ``random``."""

    split: str = "time"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.split not in ("time", "random"):
            raise ValueError(f"split is {self.split!r}: it must be 'time' or 'random'.")
