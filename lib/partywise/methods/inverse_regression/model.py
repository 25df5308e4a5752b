"""Public facts before a fit of sliced inverse regression, and the estimate that a fit returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from ...federation.folds import ProtocolSpec
from ...models.intervals import NOT_COMPUTED, Intervals
from ...models.kinds import Kind
from ...privacy.statistics.whole import step_bits
from .records import ArrayRecords, ClientRecords, RadiusSetting
from .slices import Slices

if TYPE_CHECKING:
    from .protocols.noise import Deviations


@dataclass(frozen=True, eq=False)
class SlicingFacts:
    """Facts that everyone knows before data are seen."""

    # Names and sizes n_k of all clients; the number of a client is its place among them.
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    # p, H, d.
    n_columns: int
    n_slices: int
    n_directions: int
    # Edges fixed in advance, or the classes.
    public_slices: Slices
    # (block, facts, settings, screening) -> `ClientRecords`: how a client reads what its block holds.
    records: Callable[..., ClientRecords] = ArrayRecords
    # How each column is distributed within slices, by its name and by its meaning; empty where it is not declared.
    kinds_of_columns: Mapping[str, Kind] = field(default_factory=dict)

    @cached_property
    def bits(self) -> int:
        """Bits of an entry of a record, the same at all clients: of the largest one."""
        return step_bits(max(self.sizes))

    def number(self, name: str) -> int:
        """Number of a client, part of the address of its noise."""
        return self._numbers[name]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


class SlicingOptions(Protocol):
    """Options that all protocols have: the statistic by which columns are screened."""

    @property
    def screened_by(self) -> str: ...


class SlicingCase(RadiusSetting, Protocol):
    """Settings of a case: clip, delta, screening and rows per person."""

    @property
    def delta(self) -> float: ...
    @property
    def release_delta(self) -> float: ...
    @property
    def claimed_delta(self) -> float: ...
    @property
    def epsilon_second(self) -> float | None: ...
    @property
    def screened(self) -> bool: ...
    @property
    def active(self) -> int:
        """Number of columns that stay after screening, unless the options set it."""

    @property
    def rows_per_user(self) -> int | None: ...
    def of_all(self, clients: int, /) -> SlicingCase: ...


@dataclass(frozen=True)
class Settings:
    """Constants that every protocol reads; ``delta`` is that of all releases of a client together."""

    radius: float
    delta: float
    epsilon_second: float | None
    active: int | None
    screened: bool
    rows_per_user: int | None

    def of_all(self, clients: int) -> Settings:
        """Return the settings for releases about all records of so many clients: delta stays as declared."""
        return self

    @property
    def releases(self) -> int:
        """Kinds of release of a client."""
        return 3 if self.screened else 2

    @property
    def release_delta(self) -> float:
        """Share of one release."""
        return self.delta / self.releases

    @property
    def claimed_delta(self) -> float:
        """Delta of the published claim, which adds delta for every release."""
        return self.delta * self.releases


Options = TypeVar("Options", covariant=True)
# What a protocol of this package may know besides the data, by its options.
SlicingSpec = ProtocolSpec[Options, object, SlicingCase, SlicingFacts]


@dataclass(frozen=True)
class SlicingEstimate:
    """Result of every method of the study."""

    # (p, d), only its span counts; NaN if the method found none.
    basis: np.ndarray
    # Sum of the claims of all kinds of release of a client.
    epsilon_claimed: float
    # Of the grid.
    epsilon: float
    clients: int
    # Those that screening kept, None without screening.
    columns: np.ndarray | None = None
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)
    # (p, d) standard deviation that the noise of privacy gives each entry of the basis, to first order and from
    # releases alone, given the columns that were kept; NaN in a direction that noise could produce; None without noise,
    # or where ``noise_errors_reason`` states why.
    noise_errors: np.ndarray | None = None
    # Of the direction of length 1, before clipping, where d = 1; and the upper 95 % bound of the projection loss.
    intervals: Intervals = NOT_COMPUTED
    loss_bound: float | None = None
    # Of the noise in what was released; None where a fit does not state them.
    sds: Deviations | None = None
    # "ok", or why the basis is not to be used, and the sentence that names the remedy.
    status: str = "ok"
    reason: str = ""
    noise_errors_reason: str = ""
    # Of an estimated dimension the p-value of every step, the last one that of one direction more.
    dimension_p_values: tuple[float, ...] = ()
