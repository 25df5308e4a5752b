"""What the noise of privacy gives each coefficient: standard deviations to first order, from releases alone.

Post-processing of what was released, so that it costs nothing and may be told to everybody. It is the noise alone:
that records are a sample, what clipping takes and what a formula in the place of a link leaves are not in it.
"""

from __future__ import annotations

import numpy as np

from ..model import Family
from .moments import Moments
from .submodels import LINKS, correction_slope, noise_along, shrunken

__all__ = ["of_moments"]

# Families whose response statistic is a logarithm; share of slopes by which derivatives of a link are taken.
LOGARITHMS, STEP = ("gamma", "inverse_gaussian"), 1e-3


def of_moments(moments: Moments, family: Family) -> np.ndarray | None:
    """(1 + p,) of the coefficients that `partywise.glm.private.submodels` makes of all columns, the intercept first.

    Slopes w c along an eigenvector have the noise of c - G b, times w. None of Poisson models, whose slopes on skewed
    columns are no multiple of those.
    """
    if family == "poisson":
        return None
    columns = list(range(moments.public.columns))
    vectors, weights, slopes = shrunken(moments, columns)
    along = vectors * weights * np.sqrt(noise_along(moments, vectors, slopes, columns))
    # A link knows slopes by the spread of their predictor: what moves along them moves it, the rest is multiplied.
    _, linked = LINKS[family](moments, columns, slopes)
    more, less = (LINKS[family](moments, columns, slopes * (1 + sign * STEP)) for sign in (1, -1))
    spread = moments.block(columns) @ slopes
    share = spread / max(float(spread @ slopes), np.finfo(float).tiny)
    length = float(slopes @ slopes)
    factor = float(linked @ slopes) / length if length > 0 else 1.0
    own = factor * (np.eye(len(slopes)) - np.outer(slopes, share)) + np.outer((more[1] - less[1]) / (2 * STEP), share)
    shift = moments.mean[columns] + moments.location / moments.scale
    # Residual variances are parts of the noise of their own below, not of that of slopes.
    level = 0.0 if family in LOGARITHMS else (more[0] - less[0]) / (2 * STEP)
    rows = np.vstack([level * share - shift @ own, own]) @ along
    rest = _means(moments, factor, linked) + _residual(moments, family, slopes)
    variance = np.sum(rows**2, axis=1) + rest * (np.arange(len(rows)) == 0)
    return np.asarray(np.sqrt(variance) / np.concatenate([np.ones(1), moments.scale]))


def _means(moments: Moments, factor: float, linked: np.ndarray) -> float:
    """Variance of the intercept from the noise of the means of response and columns."""
    sd = moments.sd / (np.sqrt(2) * moments.public.constant)
    return float((factor * sd / moments.public.weight) ** 2 + sd**2 * (linked @ linked))


def _residual(moments: Moments, family: Family, slopes: np.ndarray) -> float:
    """Variance of the intercept from the noise of the residual variance, where it is corrected by that."""
    if family not in LOGARITHMS:
        return 0.0
    size = float(slopes @ slopes) + 1 / moments.public.weight**2
    level = float(moments.mean[-1]) / moments.public.weight - float(moments.mean[:-1] @ slopes)
    noise = moments.sd**2 * (size**2 + 2 * size * (level / moments.public.constant) ** 2)
    return noise * correction_slope(moments, list(range(len(slopes))), family, slopes) ** 2
