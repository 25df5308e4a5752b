"""The excess risk that a noise and a ridge lead to, predicted from public features: no function here takes a label."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .model import INTERCEPT, INTERCEPT_SHARE

# The expected coefficients lean towards directions of small spread: prior variance ~ spread^-LEAN. Between 0 (equal in
# all directions) and 1 (every direction moves the logits as much).
LEAN = 0.4
# Rounds of the fixed point between the curvature and the spread of the logits; it starts at unit spread.
ROUNDS = 12
# Directions of less spread than this share of the largest move no logit.
FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expectation of the planner about coefficients that it must not estimate."""

    # Rows.
    n: int
    # Of the features (k,), relative to the intercept in column 0.
    mean: np.ndarray
    # Variances (k-1,) of the features in their principal directions, and these directions, in columns.
    spread: np.ndarray
    directions: np.ndarray
    # Expected squares (k-1,) of the coefficients along them: sum of spread * prior is tau^2.
    prior: np.ndarray
    # Whether column 0 is one. Without, directions are those of the features as they are, all k of them.
    intercept: bool = True

    @property
    def ridge(self) -> float:
        """The ridge that the prior asks for without any noise, 1 / (N mean prior)."""
        return 1.0 / (self.n * float(self.prior.mean())) if len(self.prior) else 1.0 / self.n


def expectation(gram: np.ndarray, n: int, tau: float, intercept: bool = True) -> Expectation:
    """Coefficients that spread the logits by tau (their standard deviation over the rows), nothing else being known.

    Without an intercept the spread is about 0, their root mean square. A coefficient of a feature that varies little is
    expected to be large: coefficients are in the units of the features, logits are not.
    """
    mean, about = np.zeros(len(gram)), gram
    if intercept:
        mean = gram[INTERCEPT] / gram[INTERCEPT, INTERCEPT] if gram[INTERCEPT, INTERCEPT] > 0 else mean
        about = (gram - gram[INTERCEPT, INTERCEPT] * np.outer(mean, mean))[1:, 1:]
    values, directions = np.linalg.eigh(about)
    largest = float(values.max(initial=0.0))
    if largest <= 0:
        return Expectation(n, mean, np.zeros(len(values)), directions, np.full(len(values), tau**2), intercept)
    spread = np.maximum(values, FLAT * largest)
    prior = (spread / largest) ** -LEAN
    return Expectation(n, mean, spread, directions, prior * tau**2 / float(spread @ prior), intercept)


def curvature(variance: np.ndarray, power: float) -> np.ndarray:
    """Curvature of the risk where the logits are normal with this variance, (1 + pi/8 variance)^-power / 4.

    With the probit nearest to the logit, power 1/2 gives the mean of p (1 - p), and 3/2 its mean weighted by the
    squared logit: the curvature along the logits' own direction. 1 is the geometric mean of both.
    """
    return 0.25 * (1.0 + math.pi / 8 * variance) ** -power


def predicted_excess(expected: Expectation, covariances, strengths) -> np.ndarray:
    """Predicted excess risk of every covariance of the noise with every ridge, shape (covariances, strengths).

    In the principal directions of the centred features, with spread e, prior t and noise variance s, a fit of curvature
    c with ridge l (a hundredth of it on the intercept) is off by d = (s + c e / N + l^2 t) / (c e + l)^2 of the
    release's noise, the labels' own, and bias, and the risk rises by the sum of C e d / 2; the intercept has both
    noises. Curvatures are those of logits as spread as the fit's own, signal and noise: a fit that is shrunk has small
    logits and bends more, a noisy one saturates, bends less and is moved further. C is the mean curvature, so that the
    risk of a saturated fit grows with its logits; c lies between it and that along the logits.
    """
    n, spread, prior = expected.n, expected.spread, expected.prior
    noise, share = np.empty((len(covariances), 1, len(spread))), np.empty((len(covariances), 1))
    for number, covariance in enumerate(covariances):
        noise[number, 0], share[number] = principal_noise(expected, covariance)
    ridge = np.asarray(strengths, dtype=float)[None, :, None]
    variance = np.ones((len(covariances), ridge.shape[1]))
    # Products of ratios: squares of the terms overflow where the features are large.
    for _ in range(ROUNDS):
        bend = curvature(variance, 1.0)[..., None] * spread
        scale = 1.0 / (bend + ridge)
        moved = (spread * scale) * ((noise + bend / n) * scale)
        variance = (spread * prior * (bend * scale) ** 2 + moved).sum(axis=-1)
    inner = curvature(variance, 1.0)
    bend = inner[..., None] * spread
    scale = 1.0 / (bend + ridge)
    slopes = (spread * scale) * ((noise + bend / n) * scale) + spread * prior * (ridge * scale) ** 2
    risk = slopes.sum(axis=-1)
    if expected.intercept:
        level = 1.0 / (inner + INTERCEPT_SHARE * ridge[..., 0])
        risk = risk + level * ((share + inner / n) * level)
    return curvature(variance, 0.5) * risk / 2


def principal_noise(expected: Expectation, covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Variances of the noise along the principal directions of the centred features, and of the share of positives.

    The noise is what `attainable` leaves of it: the share of positive labels is known to lie in [0, 1].
    """
    if not expected.intercept:
        return np.einsum("ij,ij->j", expected.directions, covariance @ expected.directions), 0.0
    variance = float(covariance[INTERCEPT, INTERCEPT])
    known = variance / (1.0 + 12.0 * variance)
    column = covariance[1:, INTERCEPT] / variance if variance > 0 else np.zeros(len(covariance) - 1)
    # Of the centred dot-product: its covariance given the share, and what the rest of the share's noise adds.
    inner = covariance[1:, 1:] - variance * np.outer(column, column)
    tilt = (column - expected.mean[1:]) @ expected.directions
    return np.einsum("ij,ij->j", expected.directions, inner @ expected.directions) + known * tilt**2, known
