"""Further draws of the noise of a plan: what it would have given on average, and what an attacker reads from it.

All draws come from one address a replicate, without method and epsilon, so that methods and epsilons are compared
on common random numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.randomness import stream
from ...methods.logistic.evaluate import auc, log_loss
from ...methods.logistic.model import ReleasePlan
from ...methods.logistic.newton import fit_many
from ...methods.logistic.release import redraw_dot_products
from ...methods.logistic.zonotope import minimiser_status
from ...privacy.accounting.calibration import classic_gaussian_sigma, gaussian_epsilon
from ...privacy.accounting.roots import bisect
from ...privacy.audit.pairs import audit_pair
from .data import LabelData
from .measures import LabelPrivateMeasures


def draws(data: LabelData, plan: ReleasePlan, count: int, purpose: str) -> np.ndarray:
    """(count, k) what-if releases."""
    return redraw_dot_products(*data.training, plan, count, evaluator(data, purpose, plan.distribution))


def evaluator(data: LabelData, *names: str | int) -> np.random.Generator:
    """The evaluator's randomness for one purpose."""
    return stream(int(data.evaluation_key), "evaluation", *names)


def noise_measures(
    data: LabelData, plan: ReleasePlan, count: int, start: np.ndarray, excess: Callable[[np.ndarray], float]
) -> LabelPrivateMeasures:
    """Means and standard deviations of test AUC, test log-loss and excess risk over the noise."""
    X, y = data.testing
    thetas = fit_many(data.training[0], draws(data, plan, count, "noise"), plan, start=start)
    areas = np.array([auc(X @ theta, y) for theta in thetas])
    losses = np.array([log_loss(X, y, theta, plan.link) for theta in thetas])
    risks = np.array([excess(theta) for theta in thetas])
    return LabelPrivateMeasures(
        expected_auc=float(areas.mean()),
        expected_log_loss=float(losses.mean()),
        expected_excess=float(risks.mean()),
        noise_sd_auc=float(areas.std(ddof=1)),
        noise_sd_log_loss=float(losses.std(ddof=1)),
        noise_sd_excess=float(risks.std(ddof=1)),
    )


def share_unbounded(data: LabelData, plan: ReleasePlan, count: int) -> LabelPrivateMeasures:
    """Share of what-if releases without a minimiser where no ridge is used, and of those where no test decides.

    With many rows only the coordinate test is made: the share is then a lower bound.
    """
    X = data.training[0]
    statuses = [minimiser_status(X, v, plan.link) for v in draws(data, plan, count, "bounded")]
    without = sum(status in ("unbounded", "boundary") for status in statuses)
    return LabelPrivateMeasures(share_unbounded=without / count, share_unknown=statuses.count("unknown") / count)


def audit_measures(data: LabelData, plan: ReleasePlan, count: int, delta: float) -> LabelPrivateMeasures:
    """Lower bounds of mu and epsilon from the best attack on the Gaussian noise of a plan.

    The neighbours differ in the label of the row that is longest in the geometry of the noise; the attacker
    projects a release on the direction in which that label moves it.
    """
    X, y = data.training
    if plan.covariance is None:
        return LabelPrivateMeasures(audited_mu=None, audited_epsilon=None)
    white = np.linalg.solve(plan.covariance, X.T).T
    row = int(np.argmax(np.einsum("ij,ij->i", X, white)))
    other = y.copy()
    other[row] = 1 - other[row]
    sign = 1.0 if other[row] > y[row] else -1.0
    here, there = (
        redraw_dot_products(X, labels, plan, count, evaluator(data, "audit", world)) @ (sign * white[row])
        for world, labels in (("here", y), ("there", other))
    )
    mu = audit_pair(here, there, delta, gaussian=True).mu_lower
    epsilon = float(gaussian_epsilon(mu, delta)) if mu > 0 else 0.0
    return LabelPrivateMeasures(audited_mu=mu, audited_epsilon=epsilon)


def classic_limit(delta: float) -> float:
    """Largest epsilon up to which the classic noise of a Gaussian release keeps its promise at this delta.

    Classic sigma is proved below 1 only; the true epsilon of its noise crosses the claim later.
    """

    def keeps_promise(epsilon: float) -> bool:
        mu = 1 / float(classic_gaussian_sigma(epsilon, delta, 1.0, allow_uncertified=True))
        return bool(gaussian_epsilon(mu, delta) <= epsilon)

    return bisect(keeps_promise, 1.0, 100.0, rounds=50)[0]
