"""Public facts before a gradient is taken, and the estimate of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...privacy.accounted_values import AccountedValue

# What is reported of a fit.
Numbers = Mapping[str, float | int | bool | str | None]


@dataclass(frozen=True)
class LinearFacts:
    """Public facts before any data are seen.

    names : of the columns of all parties, by their global numbers
    bounds : largest absolute value of every column (d,), and where it comes from; None where none is declared
    label_bound : largest absolute value of the response; None where none is declared. Labels 0 and 1 need none.
    """

    names: tuple[str, ...]
    bounds: AccountedValue | None = None
    label_bound: AccountedValue | None = None


@dataclass(frozen=True)
class Path:
    """Coefficients along the rounds.

    rounds : (e,) int, after how many; coefficients : (e, 1 + d), the intercept first
    """

    rounds: np.ndarray
    coefficients: np.ndarray


@dataclass(frozen=True)
class LinearEstimate:
    """Estimate that every protocol of vertical linear models returns.

    coefficients : (1 + d,) of all parties together, the intercept first (0 where there is none), by the global numbers
        of the columns, as only an evaluator sees them
    epsilon_claimed : infinity, the source claims nothing in numbers
    path : along the rounds; None of a fit without rounds
    batches : numbers among the training rows of each step, drawn without a look at the data
    key_holder_view : (s, d) what the key holder opened in the first round, a row per vector; None where there is none
    numbers : further scalars of the fit (counts of operations, ...)
    status, reason : whether Newton's steps reached their optimum, and what to give where they did not
    part : places among the coefficients of those that a party knows, where it is its part alone; others are nan
    """

    coefficients: np.ndarray
    epsilon_claimed: float = float("inf")
    path: Path | None = None
    batches: tuple[np.ndarray, ...] = ()
    key_holder_view: np.ndarray | None = None
    numbers: Numbers = field(default_factory=dict)
    status: str = "ok"
    reason: str = ""
    part: tuple[int, ...] | None = None

    def scores(self, X: np.ndarray) -> np.ndarray:
        """(n,) linear predictors of the rows of X (n, d)."""
        return X @ self.coefficients[1:] + self.coefficients[0]
