"""Noisy dot-products as dot-products of labels could be: their first entry, the share of positives, lies in [0, 1]."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, ndtr

from .noise import rr_covariance
from .objective import INTERCEPT
from .plan import Plan

# An interval of fewer standard deviations than this: the density over it is flat up to a tilt.
FLAT = 1e-4


def attainable(X: np.ndarray, noisy_dots: np.ndarray, plan: Plan) -> np.ndarray:
    """Noisy dot-products (k,) or (R, k) of a plan with a ridge, moved to where the share of positives can be.

    Parameters
    ----------
    X : ndarray of shape (N, k)
        Public features; column 0 is the intercept.
    noisy_dots : ndarray of shape (k,) or (R, k)
        Releases of the plan, or their redraws.
    plan : Plan
        Its noise says how far a release may be off; a plan without ridge is left as it is.

    Returns
    -------
    ndarray of the same shape
        Post-processing of public things and releases.

    Notes
    -----
    The intercept is next to unpenalised. Where noise takes the share of positive labels out of (0, 1), its coefficient
    runs off until the hundredth of the ridge stops it, and the fit with it. The entry is therefore replaced by its mean
    given the release, under a share that may be anything in [0, 1], and the others follow as far as their noise goes
    with it. Far inside the interval, in standard deviations, nothing moves.
    """
    first = X[:, INTERCEPT]
    low, high = float(np.minimum(first, 0.0).mean()), float(np.maximum(first, 0.0).mean())
    if not np.any(plan.ridge) or high == low:
        return noisy_dots
    column = first_column(X, plan)
    variance = float(column[INTERCEPT])
    if not variance > 0:
        return noisy_dots
    dots = np.atleast_2d(noisy_dots)
    shares = dots[:, INTERCEPT]
    shifts = np.array([truncated_shift(float(share), math.sqrt(variance), low, high) for share in shares])
    moved = dots + np.outer(shifts, column / variance)
    return moved.reshape(np.shape(noisy_dots))


def first_column(X: np.ndarray, plan: Plan) -> np.ndarray:
    """Covariances (k,) of the noise on the share of positives with that on all entries of the dot-product."""
    if plan.law == "rr":
        return rr_covariance(X[:, INTERCEPT] @ X / len(X), len(X), plan.epsilon)
    return np.zeros(X.shape[1]) if plan.covariance is None else plan.covariance[INTERCEPT]


def truncated_shift(value: float, deviation: float, low: float, high: float) -> float:
    """Mean of a normal variable given that it lies in [low, high], less its mean ``value`` without that.

    >>> truncated_shift(0.5, 1.0, 0.0, 1.0)
    0.0
    """
    if 2 * value > low + high:
        return -truncated_shift(low + high - value, deviation, low, high)
    # Now the value is nearer to the lower end, or below it.
    a, b = (low - value) / deviation, (high - value) / deviation
    ratio = math.exp((a - b) * (a + b) / 2)
    if b - a < FLAT:
        shift = (low + high) / 2 - (a + b) * (b - a) * (high - low) / 24 - value
    elif a > 0:
        # Mills ratios do not underflow however far below the interval the value is.
        mills = [math.sqrt(math.pi / 2) * float(erfcx(t / math.sqrt(2))) for t in (a, b)]
        shift = deviation * (1 - ratio) / (mills[0] - ratio * mills[1])
    else:
        density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        shift = deviation * density * (1 - ratio) / float(ndtr(b) - ndtr(a))
    return min(max(shift, low - value), high - value)
