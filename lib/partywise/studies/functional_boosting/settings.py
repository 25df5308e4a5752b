"""Settings of the cases of the functional studies; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...checks import Count, Natural, NotNegative, Positive, Range, check_fields

Finite = Annotated[float, Range()]


@dataclass(frozen=True)
class SimulationSettings:
    """Constants of the generator.

    ``strengths`` multiplies ||B_j||_F = sqrt(3) of the active predictors in their order; ``x_spectrum`` is
    ``white`` or ``decay`` (sd of the q-th smoothest direction, q = 0, 1, ..., proportional to 1 / (1 + q); same total
    variance).
    """

    n: Annotated[int, Range(4)] = 1000
    p: Count = 20
    n_basis_x: Count = 15
    n_basis_y: Count = 15
    basis: Literal["bspline", "fourier"] = "bspline"
    domain: tuple[Finite, Finite] = (0.0, 1.0)
    active: tuple[int, ...] = (0, 1, 2, 3, 4)
    strengths: tuple[Finite, ...] = ()
    singular_values: tuple[Positive, ...] = (1.0, 0.7, 0.4)
    snr: Annotated[float, Range(0, ends="(]", finite=False)] = 10.0
    x_spectrum: Literal["white", "decay"] = "white"

    def __post_init__(self) -> None:
        check_fields(self)
        if any(not 0 <= j < self.p for j in self.active) or len(set(self.active)) != len(self.active):
            raise ValueError(f"active is {self.active}: give distinct indices within 0..{self.p - 1}.")
        if self.strengths and len(self.strengths) != len(self.active):
            raise ValueError(f"strengths has {len(self.strengths)} entries: give one for each active predictor.")
        if len(self.singular_values) > min(self.n_basis_x, self.n_basis_y) or not self.singular_values:
            raise ValueError(
                f"singular_values has {len(self.singular_values)} entries: the rank must lie in "
                f"1..{min(self.n_basis_x, self.n_basis_y)} (the smaller basis)."
            )


@dataclass(frozen=True)
class SimulatedSettings(SimulationSettings):
    """The generator with a split of its predictors.

    split : ``round_robin``, ``contiguous`` or ``explicit`` (with ``groups``, a partition of 0..p-1)
    radius : public clipping radius; by default the 95 % point of the norm of a white curve, sqrt(chi2_Q^{-1}(.95))
    fold_rule : ``balanced`` (fold of record i = floor(i K / N)) or ``published`` (floor(N / K) each, rest never tested)
    n_test : fresh records only for testing (then the grid has 1 fold and all n records train)
    references : data sets for the reference models of the membership attack (0: no attack)
    """

    split: Literal["round_robin", "contiguous", "explicit"] = "round_robin"
    groups: tuple[tuple[int, ...], ...] = ()
    radius: Positive | None = None
    fold_rule: Literal["balanced", "published"] = "balanced"
    n_test: Natural = 0
    references: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_explicit(self.split, self.groups, self.p)
        check_basis(self.basis, n_basis_x=self.n_basis_x, n_basis_y=self.n_basis_y)
        if not self.domain[0] < self.domain[1]:
            raise ValueError(f"domain is {self.domain}: it must be increasing.")

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


# A fit multiplies matrices of this size for each pair of predictors.
MOST_FUNCTIONS = 200


def check_basis(basis: str, **sizes: int) -> None:
    """Raise a named error for a basis size that the kind of basis does not have."""
    for name, size in sizes.items():
        if size > MOST_FUNCTIONS:
            raise ValueError(
                f"{name} is {size}: at most {MOST_FUNCTIONS} basis functions are fitted in reasonable time."
            )
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

    n_basis_x: Count = 8
    n_basis_y: Count = 8
    basis: Literal["bspline", "fourier"] = "bspline"
    smoothing: NotNegative = 1e-4
    split: Literal["natural", "round_robin", "contiguous", "explicit"] = "natural"
    groups: tuple[tuple[int, ...], ...] = ()
    radius: Positive = 1.5
    response_radius: Positive = 2.0
    fold_rule: Literal["balanced", "published"] = "balanced"

    def __post_init__(self) -> None:
        check_fields(self)
        check_basis(self.basis, n_basis_x=self.n_basis_x, n_basis_y=self.n_basis_y)
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
    # Start and end of a curve, its unit, and hours between ticks.
    response_axis = ((0.0, 24.0), "log(1 + PM2.5 in µg/m³)", 6)


@dataclass(frozen=True)
class NycSettings(RealSettings):
    """NYC 2013: share of late departures at one airport; weather office and three airport operators."""

    airport: Literal["EWR", "JFK", "LGA"] = "EWR"
    n_predictors = 27
    n_blocks = 52
    n_natural = 4
    response_axis = ((6.0, 22.0), "share of departures over 15 min late", 6)
