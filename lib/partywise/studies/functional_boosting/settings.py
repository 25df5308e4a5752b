"""Settings of the cases of the functional studies; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ...checks import at_least, one_of, positive
from .simulation_settings import SimulationSettings


@dataclass(frozen=True)
class SimulatedSettings(SimulationSettings):
    """The generator with a split of its predictors.

    split : ``round_robin``, ``contiguous`` or ``explicit`` (with ``groups``, a partition of 0..p-1)
    radius : public clipping radius; by default the 95 % point of the norm of a white curve, sqrt(chi2_Q^{-1}(.95))
    fold_rule : ``balanced`` (fold of record i = floor(i K / N)) or ``published`` (floor(N / K) each, rest never tested)
    n_test : fresh records only for testing (then the grid has 1 fold and all n records train)
    references : data sets for the reference models of the membership attack (0: no attack)
    """

    split: str = "round_robin"
    groups: tuple[tuple[int, ...], ...] = ()
    radius: float | None = None
    fold_rule: str = "balanced"
    n_test: int = 0
    references: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("split", self.split, ("round_robin", "contiguous", "explicit"))
        one_of("fold_rule", self.fold_rule, ("balanced", "published"))
        at_least(references=(self.references, 0), n_test=(self.n_test, 0))
        check_explicit(self.split, self.groups, self.p)
        check_basis(self.basis, n_basis_x=self.n_basis_x, n_basis_y=self.n_basis_y)
        low, high = self.domain
        if not (isfinite(low) and isfinite(high) and low < high):
            raise ValueError(f"domain is {self.domain}: it must be finite and increasing.")
        if self.radius is not None:
            positive(radius=self.radius)

    @property
    def n_predictors(self) -> int:
        """p."""
        return self.p

    @property
    def n_blocks(self) -> int:
        """Number of units that folds hold out together: records."""
        return self.n

    @property
    def n_active(self) -> int | None:
        """Number of active predictors."""
        return len(self.active)

    @property
    def party_counts(self) -> tuple[int, ...] | None:
        """Numbers of parties the split allows; None for any."""
        return (len(self.groups),) if self.split == "explicit" else None


def check_basis(basis: str, **sizes: int) -> None:
    """Raise a named error for a basis size that the kind of basis does not have."""
    for name, size in sizes.items():
        if basis == "bspline" and size < 4:
            raise ValueError(f"{name} is {size}: cubic B-splines need at least 4.")
        if basis == "fourier" and size % 2 == 0:
            raise ValueError(f"{name} is {size}: a Fourier basis needs an odd number.")


def check_explicit(split: str, groups: tuple[tuple[int, ...], ...], p: int) -> None:
    """Raise a named error unless the groups of an explicit split are a partition of 0..p-1."""
    flat = sorted(j for group in groups for j in group)
    if split == "explicit" and (flat != list(range(p)) or not all(groups)):
        raise ValueError(f"groups is {groups}: an explicit split needs each predictor 0..{p - 1} in one group.")
    if split != "explicit" and groups:
        raise ValueError(f"groups is {groups}: it belongs to split 'explicit', not {split!r}.")


@dataclass(frozen=True)
class RealSettings:
    """Settings that the real day-curve cases share.

    n_basis_x, n_basis_y, basis : basis of the smoothed curves; smoothing : weight of the roughness penalty
    split : ``natural`` (the organisations that measure the curves) or as for simulated data
    radius, response_radius : public bounds of the root mean square of a scaled day curve of a predictor and of the
        response; the clipping radii are these times sqrt(hours)
    """

    n_basis_x: int = 8
    n_basis_y: int = 8
    basis: str = "bspline"
    smoothing: float = 1e-4
    split: str = "natural"
    groups: tuple[tuple[int, ...], ...] = ()
    radius: float = 1.5
    response_radius: float = 2.0
    fold_rule: str = "balanced"

    def __post_init__(self) -> None:
        at_least(n_basis_x=(self.n_basis_x, 1), n_basis_y=(self.n_basis_y, 1), smoothing=(self.smoothing, 0))
        positive(radius=self.radius, response_radius=self.response_radius)
        one_of("basis", self.basis, ("bspline", "fourier"))
        check_basis(self.basis, n_basis_x=self.n_basis_x, n_basis_y=self.n_basis_y)
        one_of("split", self.split, ("natural", "round_robin", "contiguous", "explicit"))
        one_of("fold_rule", self.fold_rule, ("balanced", "published"))
        check_explicit(self.split, self.groups, self.n_predictors)

    n_predictors = 1
    n_blocks = 1
    n_natural = 1
    n_active = None

    @property
    def party_counts(self) -> tuple[int, ...] | None:
        """Numbers of parties the split allows; None for any."""
        if self.split == "natural":
            return (self.n_natural,)
        return (len(self.groups),) if self.split == "explicit" else None


@dataclass(frozen=True)
class BeijingSettings(RealSettings):
    """Beijing PM2.5 day curves: embassy (response), meteorological office, wind and rain."""

    n_predictors = 7
    n_blocks = 131
    n_natural = 3


@dataclass(frozen=True)
class NycSettings(RealSettings):
    """NYC 2013: share of late departures at one airport; weather office and three airport operators."""

    airport: str = "EWR"
    n_predictors = 27
    n_blocks = 52
    n_natural = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("airport", self.airport, ("EWR", "JFK", "LGA"))
