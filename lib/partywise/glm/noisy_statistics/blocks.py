"""What a block releases by itself: its second moments, its products with residuals, its linear predictors.

A record of party k's scaled block is no longer than c_k, and residuals are clipped to R. Replacing one record moves
X_k'X_k by sqrt(2) c_k^2, X_k'r by 2 c_k R and one entry of X_k b by 2 c_k ||b||, each reached. The active party's block
has a constant first entry c_k / sqrt(p_k) for the intercept; it moves no constant, and lengthens its records.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...privacy.accounted_values import AccountedValue, Public
from ...privacy.secure.fixed_point import whole_records
from ...privacy.statistics.bounded import Bounded, SensitivityCertificate, product, sum_certificate
from ...privacy.statistics.clips import NormClip
from ...privacy.statistics.isometry import nearest_semidefinite, to_matrix, to_vector
from ...privacy.statistics.moments import cross_moment, second_moment_bound
from .scores import BOTH, with_constant

BITS = 36


def constant_of(radius: float, p: int) -> float:
    """Constant entry of the block that holds the intercept: the typical size of its others."""
    return radius / sqrt(p)


def with_intercept(z: np.ndarray, radius: float) -> np.ndarray:
    """(n, 1 + p) the block with its constant entry first."""
    return with_constant(z, constant_of(radius, z.shape[1]))


def radius_with_constant(radius: AccountedValue, p: int) -> AccountedValue:
    """Radius of records with the constant entry."""
    length = float(np.hypot(radius.value, constant_of(radius.value, p)))
    return Public(length, because="radius of a block and its constant entry", made_of=(radius,))


def block_moments(x: np.ndarray, radius: AccountedValue) -> Bounded:
    """Mean of x x' as isometric vector; l2 sensitivity sqrt(2) c^2 / n."""
    n, clip = len(x), NormClip(radius)
    clipped = clip.of(x)
    certificate = sum_certificate(
        second_moment_bound(clip.size, n), "sqrt(2) c^2 / n from |xx' - yy'|", "row", ("features",)
    )
    x = clipped.records
    return Bounded(to_vector(x.T @ x / n), certificate, clip_share=clipped.share, parents=clip.parents)


def score_certificate(radius: AccountedValue, residual: AccountedValue) -> SensitivityCertificate:
    """Of the sum of x r over records no longer than c, with residuals in [-R, R]: 2 c R."""
    bound = 2 * product(float(radius.value), float(residual.value))
    return sum_certificate(bound, "triangle inequality: 2 c R", "row", BOTH)


def whole_blocks(x: np.ndarray, length: AccountedValue) -> np.ndarray:
    """Records in whole steps of 2^-BITS, none longer than the length."""
    return whole_records(x, float(length.value), 2.0**-BITS)[0] * 2.0**-BITS


def block_score(x: np.ndarray, r: np.ndarray, radius: AccountedValue, residual: AccountedValue) -> Bounded:
    """Sum of x r, r clipped to R: shape (q,); l2 sensitivity 2 c R."""
    both = cross_moment(x, r[:, None], radius, residual, unit="row", depends_on=BOTH)
    return Bounded(np.ravel(both.value), both.certificate, both.stratum, both.clip_share, both.parents)


def block_predictor(z: np.ndarray, beta: AccountedValue, radius: AccountedValue, intercept: float = 0.0) -> Bounded:
    """Linear predictors (n,) of a block, b without the intercept (a constant); one entry moves, by 2 c ||b||."""
    slopes, clip = np.asarray(beta.value, dtype=float), NormClip(radius)
    clipped = clip.of(z)
    bound = 2 * clip.size * float(np.linalg.norm(slopes))
    certificate = sum_certificate(bound, "one entry moves, by 2 c |b|", "row", ("features",))
    parents = (*clip.parents, *beta.parents)
    return Bounded(intercept + clipped.records @ slopes, certificate, clip_share=clipped.share, parents=parents)


def regularise(vector: np.ndarray, size: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """A noisy mean of x x', positive semi-definite, and the same plus rho I, rho = sigma sqrt(size / 2)."""
    second = nearest_semidefinite(to_matrix(vector, size))
    return second, second + sigma * sqrt(size / 2) * np.eye(size)
