"""Releases of one block: its second moments, its products with residuals, its linear predictors.

A record of party k's scaled block is no longer than c_k, and residuals are clipped to R. Replacing one record moves
X_k'X_k by sqrt(2) c_k^2, X_k'r by 2 c_k R and one entry of X_k b by 2 c_k ||b||, each reached. The active party's block
has a constant first entry c_k / sqrt(p_k) for the intercept; it moves no constant, and lengthens its records.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ....federation.exchanges.homomorphic.column_products import LARGEST
from ....privacy.accounted_values import AccountedValue, Public, parents_of
from ....privacy.secure.fixed_point import whole_records
from ....privacy.statistics.bounded import product
from ....privacy.statistics.clips import BallClip, BoxClip
from ....privacy.statistics.isometry import nearest_semidefinite, to_matrix, to_triangle
from ....privacy.statistics.whole import MOST_BITS, Whole, gram_squares, step_bits, whole
from .scores import with_constant

SCORE = "triangle inequality: 2 c R"


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


def block_moments(x: np.ndarray, radius: AccountedValue) -> Whole:
    """Mean of x x' as isometric vector; l2 sensitivity sqrt(2) c^2 / n."""
    (n, q), clip, bits = x.shape, BallClip(radius), step_bits(len(x))
    clipped = clip.steps(x, bits)
    return whole(
        to_triangle(clipped.records.T @ clipped.records),
        gram_squares(clip.squares(q, bits)),
        clip.step(bits) ** 2 / n,
        "sqrt(2) c^2 / n from |xx' - yy'|",
        weights=np.repeat([1, 2], [q, q * (q - 1) // 2]),
        depends_on={"features"},
        clip_share=clipped.share,
        parents=clip.parents,
    )


def product_total(q: int, radius: AccountedValue, residual: AccountedValue, parents: tuple[str, ...] = ()) -> Whole:
    """X'r (q,) of two parties as all parties know it, which moves by 2 c R.

    x and r are whole steps of 2^-15 of their bounds; ``parents`` are the releases that r was computed with.
    """
    size = product(float(radius.value), float(residual.value))
    names = dict.fromkeys((*parents_of(radius, residual), *parents))
    return whole(np.zeros(q, dtype=int), 4 * LARGEST**4, size / LARGEST**2, SCORE, parents=tuple(names))


def whole_block(x: np.ndarray, length: AccountedValue) -> np.ndarray:
    """Records in whole steps of 2^-15 of the length, none longer than it."""
    return whole_records(x, float(length.value), float(length.value) / LARGEST)[0]


def block_score(x: np.ndarray, r: np.ndarray, radius: AccountedValue, residual: AccountedValue) -> Whole:
    """Sum of x r, r clipped to R: shape (q,); l2 sensitivity 2 c R."""
    size, R = product(float(radius.value), float(residual.value)), float(residual.value)
    clip = BallClip(Public(size, because="length of a record times that of a residual", made_of=(radius, residual)))
    bits = step_bits(len(x))
    clipped = clip.steps(x * np.clip(r, -R, R)[:, None], bits)
    return whole(
        clipped.records.sum(axis=0),
        4 * clip.squares(x.shape[1], bits),
        clip.step(bits),
        SCORE,
        clip_share=clipped.share,
        parents=clip.parents,
    )


def block_predictor(z: np.ndarray, beta: AccountedValue, radius: AccountedValue) -> Whole:
    """Linear predictors (n,) of a block, b without the intercept (a constant); one entry moves, by 2 c ||b||."""
    slopes, c = np.asarray(beta.value, dtype=float), float(radius.value)
    reach, source, parents = c * float(np.linalg.norm(slopes)), "one entry moves, by 2 c |b|", (radius, beta)
    names = parents_of(*parents)
    if not reach:
        return whole(np.zeros(len(z)), 0, 1.0, source, depends_on={"features"}, parents=names)
    clip = BoxClip(Public(reach, because="radius of a block times the length of its slopes", made_of=parents))
    clipped = clip.steps((z @ slopes)[:, None], MOST_BITS)
    squares = 4 * clip.squares(1, MOST_BITS)
    return whole(
        clipped.records[:, 0],
        squares,
        clip.step(MOST_BITS),
        source,
        clip_share=clipped.share,
        depends_on={"features"},
        parents=names,
    )


def regularise(vector: np.ndarray, size: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """A noisy mean of x x', positive semi-definite, and the same plus rho I, rho = sigma sqrt(size / 2)."""
    second = nearest_semidefinite(to_matrix(vector, size))
    return second, second + sigma * sqrt(size / 2) * np.eye(size)
