"""Noise level of each predictor, and its cost by the source's formula."""

from __future__ import annotations

import numpy as np

from ....privacy.accounting.calibration import (
    classic_gaussian_sigma,
    gaussian_epsilon,
    gdp_mu,
    mu_from_rho,
    rho_from_mu,
    simple_zcdp_epsilon,
)
from ..options import LocalOptions


def chosen_rho(options: LocalOptions, epsilon: float, delta: float) -> float:
    """rho of the whole release: ``rho_total`` where given, else mu(epsilon, delta)^2 / 2."""
    return rho_of(epsilon, delta) if options.rho_total is None else options.rho_total


def rho_of(epsilon: float, delta: float) -> float:
    """rho = mu(epsilon, delta)^2 / 2 of one Gaussian; inf at epsilon = inf."""
    if not epsilon > 0:
        raise ValueError(f"epsilon is {epsilon}: a calibrated release needs a positive target.")
    return float(rho_from_mu(gdp_mu(epsilon, delta)))


def noise_levels(options: LocalOptions, radius: np.ndarray, n_parties: int, epsilon: float, delta: float) -> np.ndarray:
    """Noise sd s_j per coordinate of each predictor, shape (p,); ValueError when the radii use up the whole budget.

    ``calibrated`` and ``exact``: s = sqrt(2 sum_j S_j^2 / (rho - p rho_q)), since rho adds over predictors and the
    number of parties does not enter.  ``classic``: the source's s_j = 2 S_j sqrt(2 log(1.25/delta)) / epsilon.
    """
    p = len(radius)
    if options.noise == "none" or (options.uses_epsilon and np.isinf(epsilon)):
        return np.zeros(p)
    if options.s_mode != "calibrated":
        s = np.asarray(options.s, dtype=float)
        if s.ndim == 1 and len(s) != p:
            raise ValueError(f"s has {len(s)} entries: give one number or one for each of the {p} predictors.")
        factor = np.sqrt(n_parties) if options.s_mode == "sqrt_j" else 1.0
        return np.broadcast_to(s * factor, (p,)).copy()
    if options.calibration == "classic":
        return np.array([classic_gaussian_sigma(epsilon, delta, 2 * r, allow_uncertified=True) for r in radius])
    rho = chosen_rho(options, epsilon, delta)
    charged = radius_cost(options, p)
    if rho <= charged:
        raise ValueError(
            f"rho is {rho:.4g} and the radii of {p} predictors cost {charged:.4g}: raise it or lower radius_rho."
        )
    return np.full(p, np.sqrt(2 * np.sum(radius**2) / (rho - charged)))


def levels_share_radii(options: LocalOptions) -> bool:
    """Whether the noise of one predictor depends on the radii of all, and not on its own alone."""
    return options.s_mode == "calibrated" and options.calibration == "exact"


def radius_cost(options: LocalOptions, n_predictors: int) -> float:
    """rho of all private radii, p rho_q; 0 where the radii are not private releases."""
    return n_predictors * options.radius_rho if options.radius == "dp_quantile" else 0.0


def claimed_epsilon(
    options: LocalOptions, radius: np.ndarray, s: np.ndarray, n_parties: int, epsilon: float, delta: float
) -> float:
    """Return the claimed epsilon: the target where noise was calibrated to one, else an epsilon from the sum of rho_j.

    rho_j = (2 S_j)^2 / (2 s_j^2), added over the predictors.

    ``claim: source`` uses rho + 2 sqrt(rho log 1/delta) (document 000, "Calibrating DP"); ``exact`` one Gaussian, with
    what private radii cost.
    With ``sqrt_j`` the source states that the total is held constant, so its claim is that at the unscaled s.
    """
    if options.uses_epsilon:
        return epsilon
    scaled = options.s_mode == "sqrt_j" and options.claim == "source"
    base = s / np.sqrt(n_parties) if scaled else s
    if np.any(base <= 0):
        return float("inf")
    rho = float(np.sum(2 * radius**2 / base**2))
    if options.claim == "source":
        return float(simple_zcdp_epsilon(rho, delta))
    return float(gaussian_epsilon(mu_from_rho(rho + radius_cost(options, len(radius))), delta))
