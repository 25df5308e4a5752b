"""Objective perturbation: private rows, labels and features, at the price of noise for all of them (baseline G)."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from scipy.special import log_ndtr

from ...core.errors import CertificationError
from ...models.links import LOGIT, Link, require_logit
from ...models.newton import newton
from ...models.objective import Objective, check_features, check_labels
from ...privacy.accounting.roots import bisect
from ...privacy.ledger.event import EventProfile
from ...privacy.mechanisms.release import Release, Terms, charge_and_draw
from ...privacy.statistics.bounded import Bounded, SensitivityCertificate
from .noise import optimum_deviations
from .planner import noise_epsilon

# How many lengths of a row the tilt may move; the original proof adds or removes one, which needs half the noise.
RELATIONS = {"replace_one": 2, "add_remove": 1}
# Share of delta that objective perturbation spends: an accountant can compose what leaves it a remainder.
COVERED = 1 - 1e-9


def objective_perturbation(
    X,
    y,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    owner: str = "unnamed",
    *,
    ridge: float = 0.0,
    relation: str = "replace_one",
    unit: str = "row",
    link: Link = LOGIT,
    **terms: Unpack[Terms],
) -> Release:
    """Minimise a randomly tilted objective, theta (k,): (epsilon, delta)-DP for whole rows, or for labels alone.

    theta minimises sum_i loss_i + (D/2) |theta|^2 + b'theta with D = k / (2 epsilon) and b ~ N(0, s^2 I) (Kifer, Smith
    and Thakurta 2012, algorithm 1, where loss gradients are bounded by sqrt(k) and curvatures by k/4): features lie in
    [0, 1], and what 0 and 1 mean is public. Where ranges were read from the data, ``unit="label"``: nothing holds for
    rows then.

    Formal guarantee: unit row, the given relation, by `row_noise`, which recomputes both parts of the proof. It holds
    for the exact minimiser; the objective of the solver's answer is within 1e-13 of it.
    """
    require_logit(link, "the noise of objective perturbation is proved", "release a dot-product instead (fixed_plan)")
    X = check_features(X, unit_box=True)
    y = check_labels(y, len(X))
    epsilon = noise_epsilon(epsilon, delta, "gaussian")
    n, k = X.shape
    if not (np.isfinite(ridge) and ridge >= 0):
        raise ValueError(f"ridge={ridge!r} must be finite and at least 0.")
    if relation not in RELATIONS:
        raise ValueError(f"relation={relation!r} is unknown; use one of {tuple(RELATIONS)}.")
    if unit not in ("row", "label"):
        raise ValueError(f"unit={unit!r} is unknown; use 'row', or 'label' where the ranges of features are data.")
    strength, deviation = max(k / (2 * epsilon), n * ridge), row_noise(epsilon, delta, k, n * ridge, relation)
    certificate = SensitivityCertificate(
        value=RELATIONS[relation] * math.sqrt(k),
        norm="l2",
        unit=unit,
        relation=relation if unit == "row" else "label_flip",
        depends_on=frozenset({"label", "features"}),
        assumptions=("number of rows public", "features in [0, 1]", "exact minimiser"),
        source="sum of loss gradients, each of length at most sqrt(k)",
    )
    bounded = Bounded(np.zeros(k), certificate)

    def draw() -> np.ndarray:
        tilt = deviation * rng.standard_normal(k)
        fit = newton(Objective(X, (y @ X - tilt) / n, np.full(k, strength / n)))
        if not fit.converged:
            raise CertificationError(
                f"ridge={strength / n:.3g}: Newton did not reach the minimiser, of which the guarantee speaks; ask "
                "for a smaller epsilon or a larger ridge."
            )
        return fit.theta

    terms.setdefault("trust_model", "central")
    # The Gaussian version: its noise grows with the length of a row only, that of the pure version with k besides.
    parameters: EventProfile = {
        "epsilon": float(epsilon),
        "delta_numeric": 0.0 if math.isinf(epsilon) else COVERED * delta,
    }
    return charge_and_draw(bounded, parameters, "objective_perturbation", draw, owner, terms, rng, preset=True)


def tilt_deviations(X: np.ndarray, theta: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """(k,) standard deviation that the tilt gives each coefficient, to first order, of public features."""
    (n, k), epsilon = X.shape, noise_epsilon(epsilon, delta, "gaussian")
    noise = row_noise(epsilon, delta, k) / n
    return optimum_deviations(X, theta, np.full(k, k / (2 * epsilon) / n), noise**2 * np.eye(k), LOGIT)


def row_noise(epsilon: float, delta: float, k: int, ridge: float = 0.0, relation: str = "replace_one") -> float:
    """Standard deviation of the tilt of objective perturbation.

    The tilt that leads to a given theta differs between neighbours by d = s1 x1 - s2 x2, 0 <= |s| <= 1 with known
    signs, |x| <= R = sqrt(k) (adding or removing a row: s2 = 0). The log ratio of densities has two parts. The
    Jacobian: one rank-one term of curvature at most R^2/4 is swapped for another on top of D, so at most
    log(1 + R^2 / (4 D)). The Gaussian: at most (2 b'd + |d|^2) / (2 s^2), where |d| <= cR, c = 2 (or 1), and b'd is
    at most the largest of 0, b'u1, b'u2 and b'(u1 + u2) with |u| <= R. With t = (s^2 e - (cR)^2 / 2) / (c R s), e
    what the Jacobian leaves of epsilon, it exceeds e with probability at most Phi(-t) + 2 Phi(-2t) (or Phi(-t)),
    which is set just below delta: the accountant keeps a remainder to compose with.
    """
    if math.isinf(epsilon):
        return 0.0
    reach, target = RELATIONS[relation] * math.sqrt(k), math.log(delta * COVERED)
    left = epsilon - math.log1p(k / 4 / max(k / (2 * epsilon), ridge))

    def likely(t: float) -> bool:
        pair = math.log(2) + log_ndtr(-2 * t) if relation == "replace_one" else -math.inf
        return bool(np.logaddexp(log_ndtr(-t), pair) > target)

    _, t = bisect(likely, 0.0, 40.0, rounds=100)
    return reach * (t + math.sqrt(t * t + 2 * left)) / (2 * left)
