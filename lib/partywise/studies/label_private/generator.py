"""Generated data for logistic regression: mixed features in [0, 1], some of them rare, and labels of a known model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ...privacy.accounting.roots import bisect
from ...randomness import stream

# The truth of the generator is a constant: it is found on these rows, which no replicate ever uses.
REFERENCE_ROOT, REFERENCE_ROWS = 20240601, 20000
COMMON_PREVALENCE = 0.5


def draw_features(n: int, k: int, dependence: float, rarest: float, rng: np.random.Generator) -> np.ndarray:
    """Features (n, k): an intercept of ones, then uniform columns and indicators in turn.

    The columns are driven by Gaussian variables that share one factor, with correlation ``dependence``.  The
    indicators have prevalences that fall geometrically from one half to ``rarest``: like the levels of a categorical
    variable, the rare ones make the moment matrix ill-conditioned and the released dot-product small.
    """
    latent = np.sqrt(1 - dependence) * rng.standard_normal((n, k - 1))
    latent += np.sqrt(dependence) * rng.standard_normal((n, 1))
    X = np.empty((n, k))
    X[:, 0] = 1.0
    X[:, 1:] = ndtr(latent)
    indicators = np.arange(2, k, 2)
    prevalence = np.geomspace(COMMON_PREVALENCE, rarest, len(indicators)) if len(indicators) > 1 else COMMON_PREVALENCE
    X[:, indicators] = X[:, indicators] > 1 - prevalence
    return X


@lru_cache(maxsize=16)
def truth(k: int, dependence: float, rarest: float, signal: float, positive: float) -> tuple[float, ...]:
    """Coefficients (k,) of the model: alternating signs, equal standard deviation of every term.

    The terms are scaled to a standard deviation ``signal`` of the logit; the intercept gives the share ``positive``
    of positive labels.  Found on a fixed reference sample, so that every replicate has the same truth.
    """
    rng = stream(REFERENCE_ROOT, "label_private", "truth", k)
    X = draw_features(REFERENCE_ROWS, k, dependence, rarest, rng)
    theta = np.zeros(k)
    theta[1:] = np.where(np.arange(k - 1) // 2 % 2, -1.0, 1.0) / X[:, 1:].std(0)
    theta *= signal / (X @ theta).std()
    logits = X @ theta
    theta[0] = sum(bisect(lambda intercept: expit(logits + intercept).mean() < positive, -60.0, 60.0, rounds=60)) / 2
    return tuple(float(value) for value in theta)


def draw_logistic(settings: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One data set of the generator.

    Parameters
    ----------
    settings : GeneratedSettings
        ``n`` rows, ``k`` features with the intercept, ``dependence``, ``rarest``, ``signal``, ``positive``.
    rng : numpy.random.Generator

    Returns
    -------
    X : (n, k) float64 in [0, 1], first column ones
    y : (n,) float64 in {0, 1}
    theta : (k,), the coefficients that made the labels
    """
    theta = np.array(truth(settings.k, settings.dependence, settings.rarest, settings.signal, settings.positive))
    X = draw_features(settings.n, settings.k, settings.dependence, settings.rarest, rng)
    y = (rng.random(settings.n) < expit(X @ theta)).astype(float)
    return X, y, theta
