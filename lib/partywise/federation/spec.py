"""What a protocol may know besides the data, whoever runs it: an estimator, or a cell of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

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
    """What a protocol may know besides the data.

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
