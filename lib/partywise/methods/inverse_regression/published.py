"""The mechanisms of the source, formula by formula, wherever they lead.

Source: document 001, sections 2.2 (lemma 1) and 3 (proposition 2, theorem 3, equation 4, algorithm 2), and constants
that come closest to its tables, which are fits. None of this is certified except independent noise on slice means of
a clipped client in public slices, whose event states what the noise really covers. Every release that used a private
quantity as a parameter names it, so that the ledger counts it as infinite.

Notation: L = log(2 / delta), Delta = 2 R sqrt(p) / n.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import numpy as np

from ...privacy.accounted_values import Clear
from ...privacy.accounting.calibration import classic_gaussian_sigma
from ...privacy.mechanisms.gaussian import Gaussian, SymmetricGaussian
from ...privacy.mechanisms.release import Release, Terms
from .bounded import bounded_means, bounded_second
from .moments import SliceMoments
from .options import FITTED_FACTOR


def prop2_sigma(n: int, p: int, radius: float, epsilon: float, delta: float) -> float:
    """Proposition 2: sd of every entry, Delta sqrt(2 log(1.25/delta)) / epsilon; valid for public slices only."""
    return float(classic_gaussian_sigma(epsilon, delta, 2 * radius * math.sqrt(p) / n, allow_uncertified=True))


def fitted_sigma(n: int, epsilon: float, delta: float) -> float:
    """Sd fitted to the printed IID columns: variance 0.13 log(1.25/delta) / (n epsilon), of order 1/n and not 1/n^2."""
    _check(n, epsilon, delta)
    return math.sqrt(FITTED_FACTOR * math.log(1.25 / delta) / (n * epsilon))


def minimal_n(p: int, radius: float, epsilon: float, delta: float, sigma0: float) -> float:
    """Section 3.1: least client size 2 R sqrt(2 p log(1.25/delta)) / (sigma0 epsilon); smaller clients stay silent."""
    if not sigma0 > 0:
        raise ValueError(f"sigma0={sigma0!r} must be positive; it is the noise sd a client tolerates.")
    return prop2_sigma(1, p, radius, epsilon, delta) / sigma0


def vgm_precision(n: int, p: int, radius: float, epsilon: float, delta: float, *, exact: bool = False) -> float:
    """Largest ||Sigma^-1||_2 of theorem 3 for one fixed Sigma.

    Equation (4): sigma2_vgm = n^2 epsilon^2 / (8 R^2 p L); ``exact``: the bound that it approximates from above,
    (4 L + 2 epsilon - 4 sqrt(L^2 + L epsilon)) / Delta^2.
    """
    _check(n, epsilon, delta)
    log, square = math.log(2 / delta), (2 * radius * math.sqrt(p) / n) ** 2
    if not exact:
        return epsilon**2 / (2 * square * log)
    # 4 L + 2 eps - 4 sqrt(L (L + eps)) = 2 (sqrt(L + eps) - sqrt(L))^2, without cancellation.
    return 2 * (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2 / square


def vgm_floor(n: int, p: int, radius: float, epsilon: float, delta: float) -> float:
    """Variance that equation (4) allows in every direction: s2 = 8 R^2 p L / (n epsilon)^2 = 1 / sigma2_vgm."""
    return 1 / vgm_precision(n, p, radius, epsilon, delta)


def vgm_variances(singular, p: int, n_directions: int, floor: float, gap_sign: str = "decreasing") -> np.ndarray:
    """Eigenvalues (p,) of the noise covariance of algorithm 2, step 4: ``floor + gap_j`` for j <= d, ``floor`` beyond.

    Singular values are padded with 0 to p + 1: the source states p x p for a matrix that has only min(p, H) of them.
    The floor is `vgm_floor`, or `vgm_precision`, the precision that the source adds as if it were a variance. The gap
    is s_j - s_{j+1}; with s_{j+1} - s_j as ``printed`` it is never positive, and a ValueError states the smallest v_j.
    """
    if gap_sign not in ("decreasing", "printed"):
        raise ValueError(f"gap_sign={gap_sign!r} is unknown; use 'decreasing' or 'printed'.")
    s = np.zeros(p + 1)
    n_values = min(p, len(singular))
    s[:n_values] = singular[:n_values]
    gaps = np.zeros(p)
    gaps[:n_directions] = (s[:-1] - s[1:])[:n_directions]
    if gap_sign == "printed":
        smallest = float(np.min(floor - gaps))
        why = "so V^(1/2) does not exist" if smallest < 0 else "so the leading directions get the least noise"
        raise ValueError(
            f"gap_sign='printed': r_j = s_(j+1) - s_j is never positive and the smallest v_j is {smallest:.6g}, {why}; "
            "use gap_sign='decreasing'."
        )
    return floor + gaps


def vgm_covariance(means: np.ndarray, n_directions: int, floor: float, gap_sign: str = "decreasing") -> np.ndarray:
    """Sigma_xi = W_1 V W_1' of algorithm 2 for M of shape (p, H); a function of private data."""
    left, singular, _ = np.linalg.svd(means, full_matrices=False)
    variances = vgm_variances(singular, len(means), n_directions, floor, gap_sign)
    # Beyond d all variances are the floor: only the first d vectors matter.
    lead = left[:, :n_directions]
    return floor * np.eye(len(means)) + (lead * (variances[:n_directions] - floor)) @ lead.T


def lemma1_sigma(n: int, p: int, epsilon: float, delta: float) -> float:
    """Lemma 1, for records with ||X_i|| <= 1: sd of every entry of the symmetric noise.

    (p + 1) / (n epsilon) sqrt(2 log((p^2 + p) / (2 sqrt(2 pi) delta))) + 1 / (n sqrt(epsilon)).
    """
    _check(n, epsilon, delta)
    log = math.log((p * p + p) / (2 * math.sqrt(2 * math.pi) * delta))
    return (p + 1) / (n * epsilon) * math.sqrt(2 * log) + 1 / (n * math.sqrt(epsilon))


def iid_release(
    moments: SliceMoments,
    sigma: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """M (p, H) plus independent noise; the event charges quantile slices infinity: their edges are private."""
    bounded = bounded_means(moments, stratum=stratum)
    return Gaussian(sigma=sigma)(bounded, rng, owner=owner, **terms).post_process(np.transpose)


def vgm_release(
    moments: SliceMoments,
    n_directions: int,
    floor: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    gap_sign: str = "decreasing",
    **terms: Unpack[Terms],
) -> Release:
    """M (p, H) plus columns of N(0, W_1 V W_1'): algorithm 2 with the gaps of ``gap_sign``.

    Formal guarantee: none. Theorem 3 holds for one fixed covariance; here it is computed from the private M, so that
    neighbours have different ones. It is a value in the clear, on which nothing certified can rest.
    """
    covariance = vgm_covariance(moments.means, n_directions, floor, gap_sign)
    bounded = bounded_means(moments, stratum=stratum)
    shape = Clear(covariance, units=("row",), owner=owner)
    return Gaussian(covariance=shape)(bounded, rng, owner=owner, **terms).post_process(np.transpose)


def covariance_release(
    moments: SliceMoments,
    sigma: float,
    rng: np.random.Generator,
    *,
    owner: str,
    scale: float = 1.0,
    norm: float | None = None,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """S plus scale c_R^2 A with A of lemma 1: symmetric, every entry N(0, sigma^2)."""
    bounded = replace(bounded_second(moments, stratum=stratum), value=moments.second)
    if norm is None:
        norm = moments.largest_norm
        _name_parameter(terms, f"largest norm of {owner}")
    return SymmetricGaussian(sigma=scale * norm**2 * sigma)(bounded, rng, owner=owner, **terms)


def _name_parameter(terms: Terms, name: str) -> None:
    """Mark a release that used a private quantity: the ledger finds no proved row of that name, and counts infinity."""
    terms["data_dependent_parameters"] = (*terms.get("data_dependent_parameters", ()), name)


def _check(n: int, epsilon: float, delta: float) -> None:
    if n < 1:
        raise ValueError(f"n={n!r} records: a client needs at least one.")
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} must be positive.")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie strictly between 0 and 1.")
