"""Public facts of a run: the folds and halves of records, and what a protocol knows in addition to the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np


@dataclass(frozen=True)
class Fold:
    """One held-out fold of a fixed assignment ``of`` (N,), which is -1 for records that are never tested."""

    of: np.ndarray
    held_out: int
    n_folds: int

    @cached_property
    def train(self) -> np.ndarray:
        """(N,) bool, the training records; all of them where one fold holds every record."""
        train = self.of != self.held_out
        return train if train.any() else np.ones(len(self.of), dtype=bool)

    @cached_property
    def parity(self) -> np.ndarray:
        """(N,) parity of the position inside the own fold: 0 is half A, 1 is half B."""
        parity = np.empty(len(self.of), dtype=int)
        for f in np.unique(self.of):
            inside = np.flatnonzero(self.of == f)
            parity[inside] = np.arange(len(inside)) % 2
        return parity

    def half(self, which: int) -> np.ndarray:
        """(N,) bool, training records of half A (0) or B (1)."""
        return self.train & (self.parity == which)

    def chunk(self, fold: int, which: int) -> np.ndarray:
        """(N,) bool, the records of one fold and one half, training or not."""
        return (self.of == fold) & (self.parity == which)

    @property
    def training_folds(self) -> tuple[int, ...]:
        """The folds that train, -1 included where records are never tested."""
        return tuple(int(f) for f in np.unique(self.of[self.train]))


Options = TypeVar("Options", covariant=True)
Constants = TypeVar("Constants", covariant=True)
Settings = TypeVar("Settings", covariant=True)
Facts = TypeVar("Facts", covariant=True)


class ProtocolSpec(Protocol[Options, Constants, Settings, Facts]):
    """Options of the method, constants of the study, settings of the case, public facts."""

    @property
    def options(self) -> Options: ...
    @property
    def study(self) -> Constants: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def public(self) -> Facts: ...


@dataclass(frozen=True)
class Spec(Generic[Options, Constants, Settings, Facts]):
    """Specification of a run: all that a protocol may know in addition to the data.

    options : of the method; study, settings : constants that hold for all methods; public : what everyone knows
    """

    options: Options
    study: Constants
    settings: Settings
    public: Facts


class DeltaConstant(Protocol):
    """Constants that hold the delta of every epsilon."""

    @property
    def delta(self) -> float: ...
