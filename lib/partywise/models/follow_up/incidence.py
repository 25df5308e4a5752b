"""Survival and cumulative incidence of competing causes from counts by bin, and derivatives of values of counts.

A record leaves in one bin, by one of C causes or censored, or is followed to the end.  Counts may be noisy or complex:
derivatives are taken by complex steps, so that every choice below reads real parts alone.

Source: Aalen and Johansen (1978), An empirical transition matrix; the actuarial number at risk counts half of the
records that a bin loses; complex steps as in Squire and Trapp (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..links import LOGIT

# Length of a complex step: its square is below every rounding error.
STEP = 1e-30


@dataclass(frozen=True, eq=False)
class ExitCurves:
    """Curves of records that leave by C causes in J bins.

    at_risk : (..., J) records at risk in each bin; hazards : (..., C, J) shares of them that leave by each cause
    survival : (..., J + 1) at the edges, from 1 on; incidence : (..., C, J + 1) left by each cause, from 0 on
    """

    at_risk: np.ndarray
    hazards: np.ndarray
    survival: np.ndarray
    incidence: np.ndarray


def exit_curves(
    events: np.ndarray,
    censored: np.ndarray,
    followed: np.ndarray | complex,
    *,
    lost: float = 0.5,
    largest_hazard: float = 1.0,
) -> ExitCurves:
    """Return the curves of events (..., C, J), censored records (..., J) and records followed to the end (...).

    lost : share of the censored records of a bin that its number at risk leaves out
    largest_hazard : bounds the absolute hazard of all causes; noise may move it beyond 1
    """
    all_causes = events.sum(axis=-2)
    left = all_causes + censored
    at_start = np.cumsum(left[..., ::-1], axis=-1)[..., ::-1] + np.asarray(followed)[..., None]
    at_risk = at_start - lost * censored
    at_risk = np.where(at_risk.real < 1, 1, at_risk)
    hazards = events / at_risk[..., None, :]
    total = (all_causes / at_risk)[..., None, :]
    beyond = np.abs(total.real) > largest_hazard
    # Causes keep their shares of a hazard that is cut off.
    shares = events / np.where(beyond, all_causes[..., None, :], 1)
    hazards = np.where(beyond, np.sign(total.real) * largest_hazard * shares, hazards)
    start = np.ones((*all_causes.shape[:-1], 1))
    survival = np.concatenate([start, np.cumprod(1 - hazards.sum(axis=-2), axis=-1)], axis=-1)
    steps = np.cumsum(survival[..., None, :-1] * hazards, axis=-1)
    incidence = np.concatenate([np.zeros((*steps.shape[:-1], 1)), steps], axis=-1)
    return ExitCurves(at_risk, hazards, survival, incidence)


def complex_step(function: Callable[[np.ndarray], np.ndarray], point: np.ndarray) -> np.ndarray:
    """Derivatives (m, d) of a function of counts (..., d) with m values (..., m), exact to the last digits.

    The function is called once, with all d steps in its leading axis.
    """
    steps = np.asarray(point, dtype=float) + 1j * STEP * np.eye(len(point))
    return np.asarray(function(steps).imag.T / STEP)


def logit_interval(shares: np.ndarray, errors: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Intervals (m, 2) of shares (m,) by the delta method on the logit scale; [0, 1] for a share outside of (0, 1)."""
    inside = (shares > 0) & (shares < 1)
    safe = np.where(inside, shares, 0.5)
    reach = float(ndtri((1 + level) / 2)) * errors / (safe * (1 - safe))
    centre = LOGIT.inverse(safe)
    return np.where(inside[:, None], LOGIT.mean(np.column_stack([centre - reach, centre + reach])), [0.0, 1.0])
