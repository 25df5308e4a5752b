"""The certified releases: slice means and second moment of a client at a stated budget, in x-space or whitened.

Formal guarantee: each release is mu-Gaussian-DP for replacing one record of its client, mu = gdp_mu(epsilon, delta),
with public slices and a public clip: records are whole numbers of steps, and so is the noise. The releases of a client
compose to mu = sqrt(sum mu^2); clients are disjoint strata and compose in parallel, so that their number does not
enter.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Unpack

import numpy as np

from ...privacy.accounting.calibration import gdp_mu
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.release import Release, Terms
from ...privacy.statistics.isometry import from_triangle, to_matrix
from ...privacy.statistics.whole import Whole
from .bounded import check_budget, mean_weight, whole_second, whole_second_and_mean, whole_slices
from .estimate import Subspace, has_tie, inverse_root, leading
from .moments import SliceMoments

# Chosen on the models of the source at p = 10; the same number fits p = 20, on which it was not chosen.
BALANCE = 115.0
# Beyond three times the length of a record of entries R, clipping moves next to nothing.
LARGEST_REACH = 3.0


def reach_of(p: int, total: int, clients: float, mu: float) -> float:
    """Radius, over R sqrt(p), of the ball to which records are clipped before their second moment is released.

    All arguments are public and known before data are seen; where clients share noise, ``clients`` is the variance that
    all shares have together, K / (K - t) of what the law asks for. With a ball of radius C the merged second moment has
    noise of spectral norm about 2 sqrt(p) C^2 / t, while the bias that clipping leaves falls like C^(-4) where six
    moments exist; their sum is least at C of order t^(1/6). At reach 1 the noise is that of clipping every entry to
    [-R, R].
    """
    reach = (total * mu / math.sqrt(clients) / (BALANCE * p**1.5)) ** (1 / 6)
    return min(reach, LARGEST_REACH)


def release_slices(
    moments: SliceMoments,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release M and the slice proportions, which cost nothing more (`whole_slices`), as last row: (p + 1, H).

    ``moments`` are those of one client, clipped, with public slices; ``epsilon = inf`` adds no noise. Where membership
    is public the stratum is the client's cell. A whitened M names the releases of S behind its root in ``terms``.
    """
    check_budget(epsilon, delta, moments.n)
    statistic = whole_slices(moments, stratum=stratum)
    return read_slices(_gaussian(epsilon, delta)(statistic, rng, owner=owner, **terms), statistic, moments)


def read_slices(release: Release, statistic: Whole, moments: SliceMoments) -> Release:
    """The release of `whole_slices` as a table (p + 1, H); of the moments nothing is read but their shape and n."""
    split = moments.p * moments.n_slices
    unit = statistic.units[-1] * 2.0**moments.bits * moments.n

    def table(vector: np.ndarray) -> np.ndarray:
        matrix = np.empty((moments.p + 1, moments.n_slices))
        matrix[:-1], matrix[-1] = vector[:split].reshape(moments.n_slices, moments.p).T, vector[split:] / unit
        return matrix

    return release.post_process(table)


def release_second(
    moments: SliceMoments,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    owner: str,
    mirrored: bool = False,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release S as a symmetric matrix (p, p); parameters and errors as in `release_slices`.

    The noise is independent on the isometric vector (diagonal, sqrt(2) times the upper triangle), where the
    Frobenius sensitivity is the l2 one; ``mirrored``, it has one sd on the whole upper triangle.
    """
    check_budget(epsilon, delta, moments.n)
    statistic = whole_second(moments, mirrored=mirrored, stratum=stratum)
    return read_second(_gaussian(epsilon, delta)(statistic, rng, owner=owner, **terms), mirrored, moments.p)


def read_second(release: Release, mirrored: bool, p: int) -> Release:
    """The release of `whole_second` as a matrix."""
    matrix = from_triangle if mirrored else to_matrix
    return release.post_process(lambda vector: matrix(vector, p))


def release_second_and_mean(
    moments: SliceMoments,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release S and, as last row, the mean of the records: (p + 1, p); parameters and errors as in `release_slices`."""
    check_budget(epsilon, delta, moments.n)
    statistic = whole_second_and_mean(moments, stratum=stratum)
    return read_second_and_mean(_gaussian(epsilon, delta)(statistic, rng, owner=owner, **terms), moments)


def read_second_and_mean(release: Release, moments: SliceMoments) -> Release:
    """The release of `whole_second_and_mean` as a table (p + 1, p), as of `read_slices`."""
    p, weight = moments.p, math.sqrt(2) * mean_weight(moments) * moments.step
    return release.post_process(lambda vector: np.vstack([to_matrix(vector[:-p], p), vector[-p:] / weight]))


def about_the_mean(slices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slice means (..., p, H) about the mean of the records, and that mean (..., p), from values of `release_slices`.

    m_h - p_h m with m = sum_h m_h, which a shift of the records leaves as it is. Released proportions do not sum to
    one: the nearest ones that do are taken.
    """
    means, shares = slices[..., :-1, :], slices[..., -1, :]
    shares = shares + (1 - shares.sum(axis=-1, keepdims=True)) / shares.shape[-1]
    mean = means.sum(axis=-1)
    return means - mean[..., :, None] * shares[..., None, :], mean


def covariance_of(second: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """S - m m': the second moment about a released mean."""
    return second - np.outer(mean, mean)


@cache
def release_mu(epsilon: float, delta: float) -> float:
    """Gaussian-DP parameter of one release: found once for all clients of one size, as it costs more than a release."""
    return math.inf if np.isinf(epsilon) else float(gdp_mu(epsilon, delta))


def _gaussian(epsilon: float, delta: float) -> IntegerGaussian:
    return IntegerGaussian(mu=release_mu(epsilon, delta))


def unwhiten(slices, weights, covariance, n_directions: int, least: float = 0.0) -> Subspace:
    """Basis B = Sigma^(-1/2) U_d from released whitened slice means: the end of round 2 of ``cert_whiten``.

    Slices (K, p + 1, H) are releases of z = Sigma^(-1/2) (x - m), clipped to ||z|| <= C; the covariance is that of
    round 1 (`covariance_of`), whose root is computed as there, with the same ``least`` eigenvalue.
    """
    root, floored, indefinite = inverse_root(covariance, least)
    w = np.asarray(weights, dtype=float)
    means, _ = about_the_mean(np.tensordot(w / w.sum(), np.asarray(slices, dtype=float), 1))
    directions, strengths = leading(means[None], [1], n_directions)
    return Subspace(root @ directions, strengths, floored, indefinite, has_tie(strengths, n_directions))
