"""What everyone may know before a fit of sliced inverse regression, and what a fit returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .slices import Slices


@dataclass(frozen=True)
class PublicFacts:
    """What everyone knows before data are seen.

    sizes : n_k of every client; n_columns, n_slices, n_directions : p, H, d
    fixed : public slices (edges fixed in advance, or the classes)
    """

    sizes: tuple[int, ...]
    n_columns: int
    n_slices: int
    n_directions: int
    fixed: Slices


@dataclass(frozen=True)
class Estimate:
    """What every method of the study returns.

    basis : (p, d), only its span counts; NaN if the method found none
    epsilon_claimed : sum of the claims of all kinds of release of a client
    epsilon : of the grid; clients : how many there were
    columns : those that screening kept, None without screening
    numbers : further scalars of the fit
    """

    basis: np.ndarray
    epsilon_claimed: float
    epsilon: float
    clients: int
    columns: np.ndarray | None = None
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)
