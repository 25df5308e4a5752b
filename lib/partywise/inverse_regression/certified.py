"""The certified releases: slice means and second moment of a client at a stated budget, in x-space or whitened.

Formal guarantee: each release is mu-Gaussian-DP for replacing one record of its client, mu = gdp_mu(epsilon, delta),
with public slices and a public clip. The releases of a client compose to mu = sqrt(sum mu^2); clients are disjoint
strata and compose in parallel, so that their number does not enter.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Unpack

import numpy as np

from ..privacy.accounting.calibration import analytic_gaussian_sigma, gdp_mu
from ..privacy.mechanisms.gaussian import Gaussian
from ..privacy.mechanisms.release import Release, Terms
from ..privacy.statistics.isometry import to_matrix
from .bounded import bounded_means, bounded_second, check_budget, second_sensitivity
from .estimate import Subspace, inverse_root, leading, tied
from .moments import Moments
from .options import refuse

__all__ = ["reach_of", "refuse", "release_means", "release_second", "second_sigma", "unwhiten"]

# Chosen on the models of the source at p = 10; the same number fits p = 20, on which it was not chosen.
BALANCE = 115.0
# Beyond three times the length of a record of entries R, clipping moves next to nothing.
LARGEST_REACH = 3.0


def second_sigma(moments: Moments, epsilon: float, delta: float) -> float:
    """Noise sd of the diagonal of S, sqrt(2) times that of the other entries; Delta = sqrt(2) p R^2 / n."""
    check_budget(epsilon, delta, moments.n)
    return float(analytic_gaussian_sigma(epsilon, delta, second_sensitivity(moments)))


def reach_of(p: int, total: int, clients: int, mu: float) -> float:
    """Radius, over R sqrt(p), of the ball to which records are clipped before their second moment is released.

    Parameters
    ----------
    p : int
        Columns.
    total, clients : int
        N and K: records of all clients that take part, and their number.
    mu : float
        Gaussian-DP parameter of each client's release; infinity means no noise.

    Returns
    -------
    float
        (t / (BALANCE p^1.5))^(1/6) with t = N mu / sqrt(K), at most LARGEST_REACH.

    Notes
    -----
    All arguments are public and known before data are seen. With a ball of radius C the merged second moment has
    noise of spectral norm about 2 sqrt(p) C^2 / t, while the bias that clipping leaves falls like C^(-4) where six
    moments exist; their sum is least at C of order t^(1/6). At reach 1 the noise is that of clipping every entry to
    [-R, R].
    """
    reach = (total * mu / math.sqrt(clients) / (BALANCE * p**1.5)) ** (1 / 6)
    return min(reach, LARGEST_REACH)


def release_means(
    moments: Moments,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release M.

    Parameters
    ----------
    moments : Moments
        Of one client, clipped (`client_moments` with a radius, or `whitened_means`), with public slices.
    epsilon, delta : float
        Budget of this release; ``epsilon = inf`` adds no noise.
    rng : numpy.random.Generator
        One standard normal an entry, whatever the budget.
    owner, stratum : str
        The client; the stratum is its cell of the partition by clients where membership is public.
    **terms
        As in `partywise.privacy.mechanisms.Terms`; a whitened M names the releases of S behind its root.

    Returns
    -------
    Release
        Value of shape (p, H), one slice a column, as `aggregate` and `unwhiten` take it.

    Raises
    ------
    CertificationError
        For quantile slices or unclipped moments.
    ValueError
        If epsilon <= 0 or delta is not in (0, 1).

    Warns
    -----
    UserWarning
        If delta >= 1 / n.
    """
    check_budget(epsilon, delta, moments.n)
    bounded = bounded_means(moments, stratum=stratum)
    return _gaussian(epsilon, delta)(bounded, rng, owner=owner, **terms).post_process(np.transpose)


def release_second(
    moments: Moments,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release S as a symmetric matrix (p, p); parameters and errors as in `release_means`.

    The noise is independent on the isometric vector (diagonal, sqrt(2) times the upper triangle), where the
    Frobenius sensitivity is the l2 one.
    """
    check_budget(epsilon, delta, moments.n)
    bounded = bounded_second(moments, stratum=stratum)
    release = _gaussian(epsilon, delta)(bounded, rng, owner=owner, **terms)
    return release.post_process(lambda vector: to_matrix(vector, moments.p))


@cache
def _gaussian(epsilon: float, delta: float) -> Gaussian:
    """Calibrated once for all clients of one size: the root costs more than a release."""
    return Gaussian(sigma=0.0) if np.isinf(epsilon) else Gaussian(mu=float(gdp_mu(epsilon, delta)))


def unwhiten(means, weights, second, n_directions: int) -> Subspace:
    """Basis B = Sigma^(-1/2) U_d from released whitened slice means: the end of round 2 of ``cert_whiten``.

    Parameters
    ----------
    means : ndarray of shape (K, p, H), or sequence of K releases
        Slice means of z = Sigma^(-1/2) x, clipped to ||z|| <= C.
    weights : ndarray of shape (K,)
        Public sizes.
    second : ndarray of shape (p, p)
        The merged releases of round 1; its root is computed as in round 1.
    n_directions : int
        d.
    """
    root, floored, indefinite = inverse_root(second)
    directions, strengths = leading(means, weights, n_directions)
    return Subspace(root @ directions, strengths, floored, indefinite, tied(strengths, n_directions))
