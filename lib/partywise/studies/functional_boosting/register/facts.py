"""Numbers that the source's formulas give and no fit of the study reports."""

from __future__ import annotations

from ....core.randomness import stream
from ....privacy.accounting.calibration import classic_gaussian_sigma, gaussian_epsilon


def total_rho_ratio(parties: int, first: int = 2, predictors: int = 20) -> float:
    """Total rho of all predictors at s sqrt(J), at J = ``parties`` against J = ``first``: Delta^2 / (2 s^2) each."""
    total = {count: predictors / count for count in (parties, first)}
    return total[parties] / total[first]


def classic_epsilon(epsilon: float, delta: float) -> float:
    """Exact epsilon of the noise that the classic formula asks for."""
    sigma = float(classic_gaussian_sigma(epsilon, delta, 1.0, allow_uncertified=True))
    return float(gaussian_epsilon(1 / sigma, delta))


def corrected_moment(n: int = 400, draws: int = 400, s: float = 0.5) -> float:
    """N/(N-1) times the centred moment of noised numbers of variance 1, less s^2: its mean over draws."""
    rng = stream(1, "printed", "corrected_moment")
    noised = rng.standard_normal((draws, n)) + s * rng.standard_normal((draws, n))
    return float((noised.var(axis=1) * n / (n - 1) - s**2).mean())
