"""Slopes of a Poisson model from second moments, where columns may be skewed.

Of centred columns x the deviance needs c = cov(x, y), mean y and K(b) = log E exp(b'x): the slopes maximise
b'c / mean y - K(b), and K(0) = 0 is the model without columns. Moments give K of normal columns only, b'Gb / 2. For
skewed ones that is far too small, and slopes far too large; a K that is too large only shrinks them: where it is no
less than the true one, no fit is worse than none. Here K has a further part for columns that moments show to be skewed,
by how far such a column can jump (Bennett's bound of a variable of a given variance and largest value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .moments import NoisyMoments

# Beyond it exponents are cut: no accepted step of the search is near it.
LIMIT = 200.0
# Of the largest variance: columns that hardly vary add nothing. Beyond LARGEST all public constants are alike.
NEGLIGIBLE, LARGEST = 1e-20, 1e30
# A column counts as one within 0 and 1 if its variance is at most so many times what these allow.
SLACK = 1.1
# Share of the further part that counts a column by its own slope instead of by the slope on it alone. Of columns that
# move together the one alone says how far the predictor jumps; of two that cancel, how far it jumps where one does not.
OWN = 0.1
STEPS = 100


@dataclass(frozen=True)
class Cumulants:
    """K(b) = b'Gb / 2 + sum of v_j (phi(h_j t_j) / h_j^2 - t_j^2 / 2), phi(u) = e^u - 1 - u, v the variances.

    The sum is a mean of two: t_j = (G b)_j / v_j, the slope of the linear predictor on one column alone, and, to a
    smaller share, t_j = b_j. Terms are convex in b and not negative.

    matrix : (p, p) G, covariance of the columns
    up, down : (p,) largest deviations h of columns above and below their means; 0 as of a normal one
    """

    matrix: np.ndarray
    up: np.ndarray
    down: np.ndarray

    def parts(self, slopes: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """K, its gradient and its second derivatives at slopes (p,)."""
        variances = np.diagonal(self.matrix)
        variances = np.where(variances > NEGLIGIBLE * variances.max(initial=0.0), variances, 0.0)
        single = self.matrix / np.where(variances > 0, variances, np.inf)[:, None]
        maps = np.concatenate([single, np.eye(len(slopes))])
        weights = np.concatenate([(1 - OWN) * variances, OWN * variances])
        t = maps @ slopes
        jumps = np.where(t > 0, np.tile(self.up, 2), -np.tile(self.down, 2))
        reach = np.clip(t * jumps, 0.0, LIMIT)
        weights = weights * (reach > 1e-8)
        jumps, grown = np.where(weights > 0, jumps, 1.0), np.expm1(reach)
        value = weights @ ((grown - reach) / jumps**2 - t**2 / 2)
        gradient = maps.T @ (weights * (grown / jumps - t))
        curvature = (maps.T * (weights * grown)) @ maps
        linear = self.matrix @ slopes
        return float(slopes @ linear / 2 + value), linear + gradient, self.matrix + curvature

    def maximise(self, target: np.ndarray) -> np.ndarray:
        """Slopes (p,) at which target'b - K(b) is largest, by Newton steps that are halved until it grows."""
        slopes = np.zeros(len(target))
        value, gradient, curvature = self.parts(slopes)
        for _ in range(STEPS):
            step = np.linalg.lstsq(curvature, target - gradient, rcond=None)[0]
            gain, share = float((target - gradient) @ step), 1.0
            if gain <= 1e-14 * (1 + abs(value)):
                break
            while share > 1e-9 and not self._rise(slopes, share * step, target, value) >= 0.1 * share * gain:
                share /= 2
            slopes = slopes + share * step
            value, gradient, curvature = self.parts(slopes)
        return slopes

    def _rise(self, slopes: np.ndarray, step: np.ndarray, target: np.ndarray, value: float) -> float:
        """Return the rise of target'b - K(b) along a step."""
        return float(target @ step) - self.parts(slopes + step)[0] + value


def cumulants(moments: NoisyMoments, columns: Sequence[int]) -> Cumulants:
    """K of some scaled columns, by what their means and variances imply of their shapes.

    A column x within 0 and M has E x^2 <= M E x; M is where the public ball ends. One that keeps this may be a rare
    indicator, a count or a duration: its jumps upwards are taken from a lognormal column of its mean and variance, or
    from the ball if that is nearer. So are its jumps downwards, at most to 0, from 1 - x where the variance is one of
    columns within 0 and 1. Every other column takes negative values, and counts as normal.
    """
    matrix = moments.block(columns)
    origin = np.clip(moments.location[columns] / moments.scale[columns], -LARGEST, LARGEST)
    variance, mean = np.diagonal(matrix), origin + moments.mean[columns]
    top, rest = origin + moments.public.radius, np.minimum(1 / moments.scale[columns], LARGEST) - mean
    positive = (mean > 0) & (variance + mean**2 <= top * mean)
    within = (mean > 0) & (rest > 0) & (variance <= SLACK * mean * rest)
    up = np.where(positive, np.minimum(_jump(variance, mean), top - mean), 0.0)
    return Cumulants(matrix, up, np.where(within, np.minimum(_jump(variance, rest), mean), 0.0))


def _jump(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Fourth over third cumulant of a lognormal column, the size of the jumps of its tail; 0 without a mean."""
    square = np.minimum(variance / np.maximum(mean, 1 / LARGEST) ** 2, LARGEST)
    return np.maximum(mean, 0.0) * square * (16 + square * (15 + square * (6 + square))) / (3 + square)
