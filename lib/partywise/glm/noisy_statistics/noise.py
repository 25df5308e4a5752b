"""What the noise of privacy gives each coefficient: standard deviations to first order, from releases alone.

Post-processing of what was released, so that it costs nothing and may be told to everybody. It is the noise alone:
that records are a sample, what clipping takes and what a formula in the place of a link leaves are not in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model import PublicFacts
from ..options import Family
from .moments import Moments
from .scaling import unscale_coefficients
from .scores import Matrix
from .submodels import LINKS, correction_slope, noise_along, shrunken

# Families whose response statistic is a logarithm; share of slopes by which derivatives of a link are taken.
LOGARITHMS, STEP = ("gamma", "inverse_gaussian"), 1e-3


def of_moments(moments: Moments, family: Family) -> np.ndarray | None:
    """(1 + p,) of the coefficients that `submodels` makes of all columns, the intercept first.

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
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.vstack([level * share - shift @ own, own]) @ along
    rest = _means(moments, factor, linked) + _residual(moments, family, slopes)
    beside = np.where(np.arange(len(rows)) == 0, np.sqrt(rest), 0.0)
    return np.asarray(_lengths(np.column_stack([rows, beside])) / np.concatenate([np.ones(1), moments.scale]))


def _lengths(rows: np.ndarray) -> np.ndarray:
    """(n,) Euclidean lengths of rows, without overflow on the way; infinite where an entry has none that is finite."""
    largest = np.max(np.abs(rows), axis=1)
    finite = np.isfinite(largest) & (largest > 0)
    scaled = rows[finite] / largest[finite, None]
    lengths = np.where(np.isfinite(largest), 0.0, np.inf)
    with np.errstate(over="ignore"):
        lengths[finite] = largest[finite] * np.sqrt(np.sum(scaled**2, axis=1))
    return lengths


def of_steps(
    trail: Sequence[np.ndarray], kept: Sequence[int], deviations: Sequence[float], matrix: Matrix
) -> np.ndarray:
    """Covariance (1 + p, 1 + p) of the mean of the kept iterates of Newton steps, of scaled columns.

    A step adds A^-1 (g + e), A = w (M + rho I), e its noise: to first order what came before it is multiplied by
    I - A^-1 w M, w M in the place of the curvature of the records' clipped scores, and the noise dM moves it by
    -A^-1 w dM d, d the step. Where records curve less, earlier noise fades slower: T steps have up to sqrt(T) times
    the deviation.

    trail : iterates, the start first; kept : places of those that are averaged
    deviations : sd of the noise of each score
    """
    steps = np.diff(trail, axis=0)
    inverse = np.linalg.pinv(matrix.weight * (matrix.second + matrix.rho * np.eye(len(matrix.second))), hermitian=True)
    before = np.eye(len(inverse)) - inverse @ (matrix.weight * matrix.second)
    powers = [inverse]
    for _ in steps[1:]:
        powers.append(before @ powers[-1])
    # What the noise of each score becomes in the answer.
    shares = [[powers[place - 1 - t] for place in kept if place > t] for t in range(len(steps))]
    carried = [np.sum(share, axis=0) / len(kept) for share in shares]
    found = np.zeros_like(inverse)
    for sd, one, d in zip(deviations, carried, steps, strict=True):
        found += sd**2 * one @ one.T
        for other, e in zip(carried, steps, strict=True):
            found += one @ _matrix_noise(d, e, matrix) @ other.T
    return found


def _matrix_noise(d: np.ndarray, e: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Covariance of w dM d and w dM e: the isometric noise of v v', whose constant entry has none."""
    p = len(d) - 1
    back, variance = np.concatenate([[1 / matrix.constant], np.ones(p)]), 2 * (matrix.weight * matrix.rho) ** 2 / p
    u, v = back * d, back * e
    both = (u @ v * np.eye(p + 1) + np.outer(v, u)) / 2
    both[0, 0] -= u[0] * v[0]
    return variance * both * np.outer(back, back)


def unscaled_deviations(covariance: np.ndarray, public: PublicFacts) -> np.ndarray:
    """(1 + p,) standard deviations of coefficients as columns were given, from a covariance of scaled columns."""
    values, vectors = np.linalg.eigh(covariance)
    roots = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return _lengths(np.array([unscale_coefficients(root, public) for root in roots]).T)


def _means(moments: Moments, factor: float, linked: np.ndarray) -> float:
    """Variance of the intercept from the noise of the means of response and columns."""
    sd = moments.sd / (np.sqrt(2) * moments.public.constant)
    return float((factor * sd / moments.public.weight) ** 2 + sd**2 * (linked @ linked))


def _residual(moments: Moments, family: Family, slopes: np.ndarray) -> float:
    """Variance of the intercept from the noise of the residual variance, where it is corrected by that."""
    if family not in LOGARITHMS:
        return 0.0
    squares = np.append(slopes**2, 1 / moments.public.weight**2)
    size = float(squares.sum())
    level = float(moments.mean[-1]) / moments.public.weight - float(moments.mean[:-1] @ slopes)
    noise = moments.sd**2 * (squares @ moments.copies @ squares + 2 * size * (level / moments.public.constant) ** 2)
    return noise * correction_slope(moments, list(range(len(slopes))), family, slopes) ** 2
