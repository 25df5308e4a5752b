"""The simulated study: white or decaying predictors, low-rank operators, a set signal-to-noise ratio.

Source: seed 000, ``generator.R``; one data set a replicate, the same for every number of parties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...functional.bases import make_basis, roughness_directions
from .simulation_settings import SimulationSettings


def draw_operators(settings: SimulationSettings, rng: np.random.Generator) -> np.ndarray:
    """True operators in orthonormal coordinates, shape (p, Qx, Qy); zero for inactive predictors."""
    operators = np.zeros((settings.p, settings.n_basis_x, settings.n_basis_y))
    values = np.array(settings.singular_values)
    values = values * np.sqrt(3) / np.linalg.norm(values)
    strengths = settings.strengths or (1.0,) * len(settings.active)
    for j, strength in zip(settings.active, strengths, strict=True):
        u = np.linalg.qr(rng.standard_normal((settings.n_basis_x, len(values))))[0]
        v = np.linalg.qr(rng.standard_normal((settings.n_basis_y, len(values))))[0]
        operators[j] = strength * (u * values) @ v.T
    return operators


def draw_curves(
    settings: SimulationSettings, rng_for: Callable[..., np.random.Generator], operators: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """One replicate: X (N, p, Qx), Y (N, Qy) and the noise variance of Y, all in orthonormal coordinates."""
    X = rng_for("X").standard_normal((settings.n, settings.p, settings.n_basis_x))
    if settings.x_spectrum == "decay":
        spectrum = 1 / (1 + np.arange(settings.n_basis_x))
        rough = roughness_directions(make_basis(settings.basis, settings.domain, settings.n_basis_x))
        X = (X * spectrum * np.sqrt(settings.n_basis_x / np.sum(spectrum**2))) @ rough.T
    signal = np.einsum("npq,pqr->nr", X, operators, optimize=True)
    # Without any signal the noise is that of one active predictor of strength 1.
    variance = (float(np.sum(operators**2)) or 3.0) / (settings.n_basis_y * settings.snr)
    noise = rng_for("Y noise").standard_normal(signal.shape)
    return X, signal + np.sqrt(variance) * noise, variance
