"""A study that lives outside the package: the mean of a column that clients release with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

from partywise.experiment.study import Figure, Lazy, Protocol, Source, Study


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


@dataclass(frozen=True)
class MeanOptions:
    """Values are clipped to [-bound, bound]."""

    bound: float = 1.0
    uses_epsilon = True

    def __post_init__(self) -> None:
        if not self.bound > 0:
            raise ValueError(f"bound is {self.bound}: it must be positive.")


STUDY = Study(
    name="private_means",
    title="Private means",
    references="none: a study of the tests",
    spec=Spec,
    sources={"normal": Source(Settings, Lazy("own_study.numerics:generate"))},
    methods={"noisy_mean": Protocol(MeanOptions, Lazy("own_study.protocol:fit"), extra=("server",))},
    data=Lazy("own_study.numerics:Data"),
    split=Lazy("own_study.numerics:split"),
    folds=Lazy("own_study.numerics:folds"),
    metrics=Lazy("own_study.numerics:metrics"),
    variables={"error": ("distance of the estimate from the mean of the case", "1"), "n_protected": ("records", "1")},
    figures={"errors": Figure("own_study.figures:errors")},
    summary=("error",),
)
