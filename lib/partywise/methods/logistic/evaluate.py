"""Quality of a fit, measured by the experimenter on labels: nothing here is private, nothing here is sent."""

from __future__ import annotations

import math

import numpy as np

from ...audits.attacks.roc import rank_auc
from ...models.links import LOGIT, Link
from ...models.newton import newton
from ...models.objective import Objective, check_features, check_labels, check_vector

BINS = 10
# Probabilities are kept this far from 0 and 1 where their logit is taken.
EDGE = 1e-12
# Keeps the recalibration finite where the predictions separate the labels.
RECALIBRATION_RIDGE = 1e-8


def log_loss(X, y, theta, link: Link = LOGIT) -> float:
    """Mean negative log-likelihood of the labels, in nats; for the logit log(1 + exp(z)) - y z with z = X theta."""
    X = check_features(X)
    y, z = check_labels(y, len(X)), X @ check_vector("theta", theta, X.shape[1])
    return float(np.mean(link.log_loss(z, y)))


def risk(X, y, theta, link: Link = LOGIT) -> float:
    """Mean of the loss that a fit minimises, b(z) - y z: the noise-free, unpenalised objective. Arguments: `log_loss`.

    For the logit it is `log_loss`.
    """
    X = check_features(X)
    y, z = check_labels(y, len(X)), X @ check_vector("theta", theta, X.shape[1])
    return float(np.mean(link.loss(z, y)))


def auc(scores, y) -> float:
    """Area under the receiver operating curve: the chance that a positive outranks a negative, ties count half.

    NaN if only one class is there.
    """
    y = check_labels(y, len(np.asarray(scores)))
    scores = check_vector("scores", scores, len(y))
    area = rank_auc(scores[y == 1], scores[y == 0])
    return float("nan") if area is None else area


def calibration(p, y) -> tuple[float, float, float]:
    """Calibration slope and intercept of predicted probabilities, and the expected calibration error.

    Slope and intercept are those of the logistic regression of y on logit(p) (Cox 1958), for any link of the fit:
    1 and 0 for calibrated predictions; constant ones have no slope. The error is the mean over the examples of |mean p
    - mean y| in ten bins with equal counts, cut in the order of p; tied predictions share their labels evenly, so that
    the order of the examples does not matter.
    """
    p = check_vector("p", p, len(np.asarray(p)))
    y = check_labels(y, len(p))
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"p has entries from {float(p.min())!r} to {float(p.max())!r}: probabilities lie in [0, 1].")
    error = calibration_error(p, y)
    inside = np.clip(p, EDGE, 1 - EDGE)
    logits = np.log(inside) - np.log1p(-inside)
    spread = float(logits.std())
    if spread <= 1e-12 * max(1.0, float(np.abs(logits).max())):
        return float("nan"), float("nan"), error
    centre = float(logits.mean())
    table = np.column_stack([np.ones(len(p)), (logits - centre) / spread])
    fit = newton(Objective(table, y @ table / len(y), np.full(2, RECALIBRATION_RIDGE), LOGIT)).theta
    slope = fit[1] / spread
    return float(slope), float(fit[0] - slope * centre), error


def calibration_error(p: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error in ten bins of equal counts (sizes differ by at most one)."""
    values, place = np.unique(p, return_inverse=True)
    shared = (np.bincount(place, y) / np.bincount(place))[place]
    order = np.argsort(p, kind="stable")
    gaps = [abs(float(np.sum(p[part] - shared[part]))) for part in np.array_split(order, min(BINS, len(p)))]
    return math.fsum(gaps) / len(p) if len(values) else float("nan")


def predict(X, theta, link: Link = LOGIT) -> np.ndarray:
    """Probabilities of label 1 at X theta, shape (n,)."""
    X = check_features(X)
    return link.mean(X @ check_vector("theta", theta, X.shape[1]))
