"""Constants of the simulated study; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ...checks import at_least, one_of, positive


@dataclass(frozen=True)
class SimulationSettings:
    """Constants of the generator.

    ``strengths`` multiplies ||B_j||_F = sqrt(3) of the active predictors in their order; ``x_spectrum`` is
    ``white`` or ``decay`` (sd of the q-th smoothest direction, q = 0, 1, ..., proportional to 1 / (1 + q); same total
    variance).
    """

    n: int = 1000
    p: int = 20
    n_basis_x: int = 15
    n_basis_y: int = 15
    basis: str = "bspline"
    domain: tuple[float, float] = (0.0, 1.0)
    active: tuple[int, ...] = (0, 1, 2, 3, 4)
    strengths: tuple[float, ...] = ()
    singular_values: tuple[float, ...] = (1.0, 0.7, 0.4)
    snr: float = 10.0
    x_spectrum: str = "white"

    def __post_init__(self) -> None:
        at_least(n=(self.n, 4), p=(self.p, 1), n_basis_x=(self.n_basis_x, 1), n_basis_y=(self.n_basis_y, 1))
        one_of("basis", self.basis, ("bspline", "fourier"))
        one_of("x_spectrum", self.x_spectrum, ("white", "decay"))
        if not self.snr > 0:
            raise ValueError(f"snr is {self.snr}: the signal-to-noise ratio must be positive.")
        if any(not 0 <= j < self.p for j in self.active) or len(set(self.active)) != len(self.active):
            raise ValueError(f"active is {self.active}: give distinct indices within 0..{self.p - 1}.")
        if self.strengths and len(self.strengths) != len(self.active):
            raise ValueError(f"strengths has {len(self.strengths)} entries: give one for each active predictor.")
        if not all(isfinite(strength) for strength in self.strengths):
            raise ValueError(f"strengths is {self.strengths}: every factor must be a finite number.")
        if len(self.singular_values) > min(self.n_basis_x, self.n_basis_y) or not self.singular_values:
            raise ValueError(
                f"singular_values has {len(self.singular_values)} entries: the rank must lie in "
                f"1..{min(self.n_basis_x, self.n_basis_y)} (the smaller basis)."
            )
        for index, value in enumerate(self.singular_values):
            positive(**{f"singular_values[{index}]": value})
