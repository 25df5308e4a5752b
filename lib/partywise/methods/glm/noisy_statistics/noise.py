"""Standard deviations of the coefficients of noisy second moments, from releases alone.

They are post-processing of what was released, so that they cost nothing and any reader may compute them. They are
about the noise of privacy alone: that records are a sample, what clipping takes and the bias of an approximation are
not in them (`partywise.methods.glm.noisy_statistics.intervals`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....models.family_facts import FamilyName
from ....models.links import LOGIT
from .moments import NoisyMoments
from .submodels import (
    LARGEST,
    LINKS,
    MARGIN,
    NODES,
    SHARE,
    WEIGHTS,
    correction_slope,
    least_residual,
    predictor_variance,
    residual_variance,
    shrunken,
)

# Deviations to first order are right to 4 % where the least eigenvalue of G is so many times the size of its noise, and
# where shrinkage, which follows the noise as well, takes at most so much of the slope along any eigenvector.
SIGNAL, SHRUNK = 25.0, 0.02
ASSUMED_SHAPES = "slopes of a Poisson model rest on assumed shapes of skewed columns, of which no error is known"
HIDDEN = (
    "the least eigenvalue of the columns' covariance is {:.3g} times the size of its noise, and deviations to first "
    f"order need {SIGNAL:g}: give a larger epsilon, more records, or fewer or less correlated columns"
)
SHRUNKEN = (
    "shrinkage, which follows the noise, takes {:.2g} of a slope, and deviations to first order allow "
    f"{SHRUNK:g}: give a larger epsilon, or more records"
)
AT_AN_END = "a released mean or variance lies at the end of its range: give a larger epsilon or more records"


def of_moments(moments: NoisyMoments, family: FamilyName) -> tuple[np.ndarray | None, str]:
    """Deviations (1 + p,) of the coefficients of all columns, the intercept first; or None, and the reason."""
    if family == "poisson":
        return None, ASSUMED_SHAPES
    columns = list(range(moments.public.columns))
    signal = float(np.linalg.eigvalsh(moments.covariance[:-1, :-1])[0]) / moments.ridge(columns)
    if signal < SIGNAL:
        return None, HIDDEN.format(max(signal, 0.0))
    vectors, weights, slopes = shrunken(moments, columns)
    loss = 1 - float(np.min(weights * (np.linalg.eigvalsh(moments.block(columns)) + SHARE * moments.ridge(columns))))
    if loss > SHRUNK:
        return None, SHRUNKEN.format(loss)
    link = _LinkChange.of(moments, family, slopes)
    if link is None:
        return None, AT_AN_END
    weight, padded = moments.public.weight, np.append(slopes, 0.0)
    # The noise of c - G b, below it that of the residual variance with b fixed.
    residuals = _noise_times(moments, np.append(-slopes, 1 / weight))
    change = (vectors * weights) @ (vectors.T @ residuals[:-1])
    variance = 2 * (moments.block(columns) @ slopes) @ change + padded @ _noise_times(moments, padded)
    residual = residuals[-1] / weight - moments.covariance[:-1, -1] @ change
    means = _noise_of_means(moments)
    causes = np.array([variance, means[-1] / weight, residual])
    linked = link.factor * change + np.outer(slopes, link.by_factor @ causes)
    shift = moments.mean[:-1] + moments.location / moments.scale
    level = link.by_level @ causes - shift @ linked - link.factor * slopes @ means[:-1]
    return np.linalg.norm(np.vstack([level, linked]), axis=1) / np.append(1.0, moments.scale), ""


@dataclass(frozen=True)
class _LinkChange:
    """Change of a link's intercept and of the factor of its slopes with three released numbers.

    by_level, by_factor : (3,) derivatives by the variance of the linear predictor b'Gb, by the mean of the response
        statistic, and by the residual variance
    """

    factor: float
    by_level: np.ndarray
    by_factor: np.ndarray

    @classmethod
    def of(cls, moments: NoisyMoments, family: FamilyName, slopes: np.ndarray) -> _LinkChange | None:
        """Return the derivatives at released moments; None where one of these is at the end of its range."""
        columns = list(range(len(slopes)))
        if family == "gaussian":
            return cls(1.0, np.array([0.0, 1.0, 0.0]), np.zeros(3))
        if family != "binomial":
            if residual_variance(moments, columns, slopes) <= least_residual(moments):
                return None
            slope = correction_slope(moments, columns, family, slopes)
            return cls(1.0, np.array([0.0, 1.0, slope]), np.zeros(3))
        return cls.of_logit(moments, columns, slopes)

    @classmethod
    def of_logit(cls, moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> _LinkChange | None:
        """Differentiate E[mu(m + u Z)] = mean of y and u E[mu'(m + u Z)] = s, s the deviation b'Gb ** 0.5."""
        level, linked = LINKS["binomial"](moments, columns, slopes)
        length, s = float(slopes @ slopes), float(np.sqrt(predictor_variance(moments, columns, slopes)))
        factor = float(linked @ slopes) / length if length > 0 else np.inf
        if not MARGIN < moments.response < 1 - MARGIN or not factor * s < LARGEST * (1 - MARGIN):
            return None
        u = factor * s
        mean, first = LOGIT.mean(level + u * NODES), LOGIT.slope(level + u * NODES)
        second = first * (1 - 2 * mean)
        slope, tilt, bend, both = (float(WEIGHTS @ part) for part in (first, NODES * first, second, NODES * second))
        inverse = np.linalg.inv([[slope, tilt], [u * bend, slope + u * both]])
        by_level, by_u = inverse[:, ::-1] * [1 / (2 * s), 1.0]
        by_factor = by_u / s - [u / (2 * s**3), 0.0]
        return cls(factor, np.append(by_level, 0.0), np.append(by_factor, 0.0))


def _noise_times(moments: NoisyMoments, x: np.ndarray) -> np.ndarray:
    """(p + 1, d) the noise of the covariance of columns and response times x, by independent noise of one deviation.

    Entry ij of the second moments is in rows i and j. Of the means dm, which centre them, -(dm m' + m dm') x is.
    """
    size = len(x)
    i, j = np.triu_indices(size)
    sd = moments.sd * np.sqrt(moments.copies[i, j] / np.where(i == j, 1, 2))
    products, places = np.zeros((size, len(i))), np.arange(len(i))
    products[i, places] = sd * x[j]
    products[j, places] = sd * x[i]
    mean = moments.mean
    return np.column_stack([products, -_mean_sd(moments) * (mean @ x * np.eye(size) + np.outer(mean, x))])


def _noise_of_means(moments: NoisyMoments) -> np.ndarray:
    """(p + 1, d) the noise of the means of columns and response, by the same independent noise."""
    size = moments.public.columns + 1
    return np.column_stack([np.zeros((size, size * (size + 1) // 2)), _mean_sd(moments) * np.eye(size)])


def _mean_sd(moments: NoisyMoments) -> float:
    """Deviation of the noise in each mean."""
    return moments.sd / (np.sqrt(2) * moments.public.constant)
