"""Precision of estimates before data: what a design (`partywise.experiment.design`) asks of a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...core.randomness import Rng
from ...models.intervals import REASONS
from ..parties import Party, split_rows

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Two-sided normal quantile of intervals of 95 %, and the quantile of a power of 80 %.
NORMAL_95, NORMAL_80 = 1.959963984540054, 0.8416212335729143


@dataclass(frozen=True, eq=False)
class Precision:
    """Half-widths (t,) of the 95 % intervals of the targets.

    values : (t,) expected values; half_widths : over records and noise; without_noise : over records alone
    excess : error of what must be seen, over its limit; above 1 an estimate has no intervals
    """

    values: np.ndarray
    half_widths: np.ndarray
    without_noise: np.ndarray
    excess: float = 0.0

    @property
    def is_identified(self) -> bool:
        """Whether what is released stands out of its noise."""
        return self.excess <= 1


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Records drawn from a declared model: parties with their blocks, and what everyone knows.

    settings : constants of the case, a dataclass with a ``delta`` that the design sets; None of methods that have none
    """

    parties: Sequence[Party]
    public: object
    settings: DataclassInstance | None = None


class PrecisionModel(Protocol):
    """Declared model of records: a dataclass of the keys under ``model``, one per method that is designed."""

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of all targets, those that are asked for first; ValueError for one that it does not have."""
        ...

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, divided among the parties."""
        ...

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the precision of targets over ``n`` records, with the noise of an estimate on made-up ones.

        is_rough : whether a search asks, which corrects what it found by the whole precision
        """
        ...

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision that an estimate reports of itself."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        ...

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations, without its full stop."""
        ...

    @property
    def measured_in(self) -> str:
        """Unit of the targets, empty without one."""
        ...


def made_up_clients(arrays: Mapping[str, np.ndarray], n: int, count: int) -> list[Party]:
    """Clients that hold the rows of arrays in contiguous runs."""
    return [
        Party(f"client {k}", "client", {name: array[rows.start : rows.stop] for name, array in arrays.items()})
        for k, rows in enumerate(split_rows(n, count), 1)
    ]


def interval_fault(options: type) -> str:
    """Return why estimates of a protocol never have intervals, as the end of a sentence; empty where they may."""
    name = getattr(options, "no_interval", "later")
    return "" if name == "later" else f" and has no intervals ({REASONS[name]})"


def require_because(because: str, public: str) -> None:
    """Raise a `ValueError` without a reason; ``public`` states what is public, with an example of a reason."""
    if not because.strip():
        raise ValueError(f"because is missing: state where {public}.")


def mid_quantiles(values: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Return quantiles (s, t) of columns (m, t) by their mid-distribution functions, in which ties do not jump."""
    quantiles = []
    for column in values.T:
        levels, sizes = np.unique(column, return_counts=True)
        quantiles.append(np.interp(shares, (np.cumsum(sizes) - sizes / 2) / len(column), levels))
    return np.array(quantiles).T
