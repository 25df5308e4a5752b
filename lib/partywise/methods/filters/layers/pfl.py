"""Analytic Gaussian noise of pfl (0.6.0, Apache-2.0, wheel 148f3139), restated: the control."""

from __future__ import annotations

import numpy as np

from ....privacy.accounting.calibration import analytic_gaussian_sigma
from .flower import Generator


def pfl_sigma(epsilon: float, delta: float) -> float:
    """Standard deviation for a sum that one user moves by at most 1 (Balle and Wang 2018, algorithm 1).

    ``pfl/privacy/compute_parameters.py:13-70`` finds the same root; the two agree to 1e-11.
    """
    return float(analytic_gaussian_sigma(epsilon, delta, 1.0))


def pfl_gaussian(total: np.ndarray, *, bound: float, epsilon: float, delta: float, rng: Generator) -> np.ndarray:
    """Sum over a cohort of updates clipped at ``bound``, plus noise (``pfl/privacy/gaussian_mechanism.py:89-139``)."""
    return total + rng.normal(0.0, bound * pfl_sigma(epsilon, delta), total.shape)
