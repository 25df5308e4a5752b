"""Settings of the cases of the functional studies; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.checks import Count, Natural, Positive, Range, check_fields
from ...data.curves.settings import ShippedCurves, check_basis, check_explicit

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
class SimulatedCurveSettings(SimulationSettings):
    """The generator with a split of its predictors.

    split : ``round_robin``, ``contiguous`` or ``explicit`` (with ``groups``, a partition of 0..p-1)
    radius : public clipping radius; by default the 95 % point of the norm of a white curve, sqrt(chi2_Q^{-1}(0.95))
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


@dataclass(frozen=True, kw_only=True)
class CurveDatasetSettings(ShippedCurves):
    """Shipped day curves.

    radius, response_radius : public bounds of the root mean square of a scaled day curve of a predictor and of the
        response; the clipping radii are these times sqrt(hours)
    """

    radius: Positive = 1.5
    response_radius: Positive = 2.0
    fold_rule: Literal["balanced", "published"] = "balanced"

    n_active = None
