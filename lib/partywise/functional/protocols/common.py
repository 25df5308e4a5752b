"""What every protocol on released curves shares: clipping at a party, estimates at the active party."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...privacy.accounted import Accounted, Public
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.records import clipped_coefficients
from ..boosting import BoostingFit
from ..coordinates import Coordinates
from ..model import Estimate

UNCLIPPED = Public(float("inf"), because="nothing is clipped, and nothing is certified")


@dataclass(frozen=True)
class Received:
    """What the active party holds after the releases.

    Z : (N, p, q) curves in working coordinates; covariance : (p, q, q) of their noise; s, radius : (p,)
    """

    Z: np.ndarray
    covariance: np.ndarray
    s: np.ndarray
    radius: np.ndarray
    coordinates: Coordinates

    def numbers(self) -> dict[str, Any]:
        """Scalars of the release for the cube."""
        return {
            "radius": float(np.mean(self.radius)),
            "noise_sd": float(np.sqrt(np.mean(self.s**2))),
        }


def local_norms(party: Party, column: int) -> np.ndarray:
    """L2 norms of the party's curves of one predictor, shape (N,)."""
    return np.linalg.norm(party.block["X"][:, party.columns.index(column)], axis=1)


def local_quantile(party: Party, column: int) -> float:
    """The source's radius: the 95 % quantile of the norms in the data (``adapt_Sx``); not private."""
    return float(np.quantile(local_norms(party, column), 0.95))


def radii(public: Any, value: float | None) -> list[Accounted]:
    """Clipping radii of all predictors: those of the case, or one that the method's option gives to all."""
    if value is None:
        return list(public.radius)
    return [Public(value, because="radius_value of the method, an option")] * len(public.radius)


def sizes_of(given: Sequence[Accounted]) -> np.ndarray:
    """Radii (p,) as numbers."""
    return np.array([one.value for one in given], dtype=float)


def local_clip(party: Party, column: int, coordinates: Coordinates, radius: Accounted) -> Bounded:
    """Curves of one predictor in working coordinates, clipped to the radius: (N, q) with sensitivity 2 S."""
    curves = coordinates.predictors(party.block["X"][:, party.columns.index(column)])
    return clipped_coefficients(curves, coordinates.metric, radius)


def local_response(party: Party, radius: Accounted) -> Bounded:
    """The response curves clipped to the radius: (N, Qy), sensitivity 2 S_y for the unit ``label``."""
    return clipped_coefficients(party.block["Y"], None, radius, unit="label", depends_on=("label",))


def active_groups(held: list[tuple[int, ...]], learner: str) -> tuple[tuple[int, ...], ...]:
    """Predictors of each base learner: one each, or one joint block a party."""
    if learner == "party":
        return tuple(tuple(columns) for columns in held)
    return tuple((j,) for j in sorted(j for columns in held for j in columns))


def active_estimate(
    fit: BoostingFit, coordinates: Coordinates, groups: tuple[tuple[int, ...], ...], claimed: float, **more: Any
) -> Estimate:
    """The fit in orthonormal coordinates, with what is reported about it; ``more`` adds scalars or ``released``."""
    p = len(coordinates.penalties.omega_x)
    selected = np.zeros(p, dtype=bool)
    for k in fit.path:
        selected[list(groups[k])] = True
    released = more.pop("released", None)
    numbers: dict[str, float | int | bool | None] = {
        "steps": fit.steps,
        "min_eigenvalue": fit.min_eig_before,
        "projected": fit.projected,
        "null_model": fit.null_model,
        "hit_max_steps": fit.hit_max_steps,
        "diverged": fit.diverged,
    }
    for name in ("criterion", "df"):
        if fit.steps and name in fit.trace:
            value = float(fit.trace[name][fit.steps - 1])
            numbers[name] = None if np.isnan(value) else value
    return Estimate(
        operators=coordinates.operators(fit.B),
        mean_x=coordinates.back_x(fit.mean_x.reshape(p, -1)),
        mean_y=coordinates.from_y @ fit.mean_y,
        selected=selected,
        epsilon_claimed=claimed,
        released=None if released is None else coordinates.back_x(released),
        numbers=numbers | more,
        basis_x=coordinates.basis_x,
    )
