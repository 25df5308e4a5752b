"""A study that lives outside the package: the mean of a column that clients release with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

from partywise.experiment.study import Figure, Protocol, Source, Study

from .measures import MeanMeasures
from .options import MeanOptions


@dataclass(frozen=True)
class Spec:
    """Constants of the study."""

    delta: float = 1e-5
    unit: str = "row"


@dataclass(frozen=True)
class Settings:
    """A case: records of all clients together, and the mean of their column."""

    n: int = 600
    mean: float = 0.25


STUDY = Study(
    __name__,
    name="private_means",
    title="Private means",
    references="none: a study of the tests",
    spec=Spec,
    sources={"normal": Source(Settings)},
    methods={"noisy_mean": Protocol(MeanOptions, extra=("server",))},
    measures=MeanMeasures,
    figures={"errors": Figure()},
)
