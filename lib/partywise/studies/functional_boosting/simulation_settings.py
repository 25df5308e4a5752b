"""Constants of the simulated study; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...checks import Count, Positive, Range, check_fields

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
