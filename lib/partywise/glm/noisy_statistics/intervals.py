"""Intervals of the slopes of a Gaussian model from noisy second moments, which count the noise beside the sample.

Coefficients b = G^-1 h are those of released moments without ridge or shrinkage, on x = (constant, scaled columns) for
the scaled response w. Noise of variance T in the entries of the matrix gives G b - h the covariance V, and moves the
mean of b by G^-1 Q b to second order: b - G^-1 Q b is what intervals are about. The slopes are those among clipped
records.
"""

from __future__ import annotations

import numpy as np

from ...models.intervals import Intervals
from ..options import Family
from .moments import Moments

# Eigenvalues of G below so many deviations of the noise's largest are not told from noise.
SIGNAL = 4.0
# Least residual variance, in squares of the half-width of the response.
LEAST = 1e-4


def intervals_of(moments: Moments, family: Family) -> Intervals:
    """Intervals of all coefficients as columns were given, the intercept first."""
    if family != "gaussian":
        return Intervals(reason=f"second moments of family {family!r} have a bias that no epsilon removes")
    public = moments.public
    full, variances = moments.with_constant, moments.variances
    gram, cross, total = full[:-1, :-1], full[:-1, -1], full[-1, -1]
    noise, noise_cross = variances[:-1, :-1], variances[:-1, -1]
    if np.linalg.eigvalsh(gram)[0] < SIGNAL * np.sqrt(noise.max() * len(gram) / 2):
        return Intervals(reason="too little signal: noise hides how columns vary together")
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
