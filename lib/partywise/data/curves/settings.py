"""Settings of curves at several parties: their coordinates, and who holds which; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...core.checks import Count, NotNegative, check_fields
from .descriptions import CURVES, CurveDescription, CurveName

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


@dataclass(frozen=True, kw_only=True)
class CurveSettings:
    """Settings that every case of measured curves may have.

    n_basis_x, n_basis_y, basis : basis of the smoothed curves
    split : ``natural`` (who measures the curves), ``round_robin``, ``contiguous`` or ``explicit`` (with ``groups``, a
        partition of 0..p-1)
    """

    n_basis_x: Count = 8
    n_basis_y: Count = 8
    basis: Literal["bspline", "fourier"] = "bspline"
    split: Literal["natural", "round_robin", "contiguous", "explicit"] = "natural"
    groups: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        check_basis(self.basis, n_basis_x=self.n_basis_x, n_basis_y=self.n_basis_y)
        check_explicit(self.split, self.groups, self.n_predictors)

    @property
    def n_predictors(self) -> int:
        """p."""
        raise NotImplementedError

    @property
    def n_natural(self) -> int:
        """Number of those who measure predictors."""
        raise NotImplementedError

    @property
    def party_counts(self) -> tuple[int, ...] | None:
        """Numbers of parties the split allows; None for any."""
        if self.split == "natural":
            return (self.n_natural,)
        return (len(self.groups),) if self.split == "explicit" else None


@dataclass(frozen=True, kw_only=True)
class ShippedCurves(CurveSettings):
    """Curves of the catalogue.

    dataset : their name
    response : what is predicted, of curves that have several (an airport); by default the first
    smoothing : weight of the roughness penalty
    """

    dataset: CurveName
    response: str | None = None
    smoothing: NotNegative = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.curves.response(self.response)

    @property
    def curves(self) -> CurveDescription:
        """Public description of the curves."""
        return CURVES[self.dataset]

    @property
    def resources(self) -> tuple[str, ...]:
        """The data set that has the curves."""
        return (self.curves.resource,)

    @property
    def n_predictors(self) -> int:
        """p."""
        return self.curves.n_predictors

    @property
    def n_natural(self) -> int:
        """Number of those who measure predictors."""
        return len(self.curves.holders)

    @property
    def n_blocks(self) -> int:
        """Number of groups of days that folds hold out together."""
        return self.curves.blocks

    @property
    def response_axis(self) -> tuple[tuple[float, float], str, int]:
        """Start and end of a response, its unit, and hours between ticks."""
        return self.curves.domain, self.curves.label, self.curves.tick
