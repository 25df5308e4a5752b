"""Intervals of the slopes of a Gaussian model from noisy second moments, which count noise as well as the sample.

Coefficients b = G^-1 h are those of released moments without ridge or shrinkage, on x = (constant, scaled columns) for
the scaled response w. Noise of variance T in the entries of the matrix gives G b - h the covariance V, and moves the
mean of b by G^-1 Q b to second order: b - G^-1 Q b is what intervals are about. Slopes are those among clipped
records, which are those of all records where next to none is clipped: normal records with the released mean and
covariance give how many are, and where these are more than 1 % intervals are withheld. Heavy tails are clipped more
often than that. The holder of the records counts and withholds; a reader of the release cannot.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from ....core.verdicts import TOLERATED
from ....models.family_facts import FamilyName
from ....models.intervals import Intervals
from .moments import NoisyMoments

# Eigenvalues of G below so many deviations of the noise's largest are not told from noise.
SIGNAL = 4.0
# Least residual variance, in squares of the half-width of the response.
LEAST = 1e-4


def intervals_of(moments: NoisyMoments, family: FamilyName) -> Intervals:
    """Intervals of all coefficients as columns were given, the intercept first."""
    if family != "gaussian":
        return Intervals(reason=f"second moments of family {family!r} have a bias that no epsilon removes")
    public = moments.public
    full, variances = moments.with_constant, moments.variances
    gram, cross, total = full[:-1, :-1], full[:-1, -1], full[-1, -1]
    noise, noise_cross = variances[:-1, :-1], variances[:-1, -1]
    if np.linalg.eigvalsh(gram)[0] < SIGNAL * np.sqrt(noise.max() * len(gram) / 2):
        return Intervals(reason="too little signal: noise hides how columns vary together")
    clipped = clipped_share(moments)
    if clipped > TOLERATED:
        return Intervals(
            reason=f"the radii clip {clipped:.2g} of normal records with the released mean and covariance, so that "
            f"slopes are biased: give larger radii, or scales that suit the columns; at most {TOLERATED:g} is allowed"
        )
    inverse = np.linalg.inv(gram)
    slopes = inverse @ cross
    bias = inverse * noise
    np.fill_diagonal(bias, noise @ np.diagonal(inverse))
    slopes = slopes - inverse @ bias @ slopes
    spread = noise * np.outer(slopes, slopes)
    np.fill_diagonal(spread, noise @ slopes**2 + noise_cross)
    residual = total - cross @ inverse @ cross + float(np.sum(inverse * spread))
    residual = max(residual, LEAST * (public.weight * public.half_width) ** 2)
    covariance = inverse @ (spread + residual * gram / moments.n) @ inverse
    back = np.zeros((len(slopes), len(slopes)))
    back[1:, 1:] = np.diag(1 / (public.weight * moments.scale))
    back[0] = np.append(public.constant / public.weight, -back[1:, 1:].T @ moments.location)
    centre = back @ slopes + np.append(public.center, np.zeros(len(slopes) - 1))
    return Intervals(centre, np.sqrt(np.maximum(np.diagonal(back @ covariance @ back.T), 0.0)))


def clipped_share(moments: NoisyMoments) -> float:
    """Largest share, over the parties, of normal records beyond the radius, with the released mean and covariance."""
    return max(
        share_beyond(moments.mean[list(columns)], moments.block(list(columns)), radius)
        for columns, radius in moments.public.clips
        if columns
    )


def share_beyond(mean: np.ndarray, covariance: np.ndarray, radius: float) -> float:
    """Probability that a normal vector is longer than a radius, by Pearson's fit of three cumulants.

    Of Q = sum of l_j (u_j + m_j)^2, u_j standard normal, the k-th cumulant is a multiple of c_k = sum of l_j^k
    (1 + k m_j^2) (Imhof 1961): Q is like a multiple of a chi-squared variable of c_2^3 / c_3^2 degrees, shifted.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, squares = np.maximum(values, 0.0), (vectors.T @ mean) ** 2
    first, second, third = (float(np.sum(values**k + k * values ** (k - 1) * squares)) for k in (1, 2, 3))
    if third <= 0:
        return float(first > radius**2)
    degrees = second**3 / third**2
    return float(chdtrc(degrees, max((radius**2 - first) * np.sqrt(degrees / second) + degrees, 0.0)))
