"""The one step that reads labels: the noisy dot-product v = X'y/N of a plan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import numpy as np

from ..errors import CertificationError
from ..models.objective import check_features, check_labels
from ..privacy.accounted_values import Public
from ..privacy.mechanisms.gaussian import Gaussian
from ..privacy.mechanisms.randomized_response import RandomizedResponse
from ..privacy.mechanisms.release import Release, Terms, charge_and_draw, ratio
from ..privacy.statistics.bounded import Bounded
from ..privacy.statistics.records import entries, label_dot_product
from .model import Plan
from .noise import reach

# A plan made for these very features agrees with them to rounding; anything further off was made for others.
SAME_FEATURES = 1e-9
# Of the covariance of a plan.
FEATURES = "computed from the features, which are public where the label is the unit"
# Numbers of all redraws that are drawn at a time.
CHUNK = 4_000_000


def release_dot_product(
    X,
    y,
    plan: Plan,
    rng: np.random.Generator,
    *,
    owner: str = "unnamed",
    features_public: bool = True,
    **terms: Unpack[Terms],
) -> Release:
    """Release the dot-product as planned.

    Parameters
    ----------
    X : ndarray of shape (N, k)
        The public features the plan was made for.
    y : ndarray of shape (N,)
        Labels in {0, 1}.
    plan : Plan
        Distribution, covariance and rounds.
    rng : numpy.random.Generator
    owner : str
        Party whose labels they are.
    features_public : bool
        Must hold.
    **terms
        See `partywise.privacy.mechanisms.Terms`; by default the trust model is ``"central"`` (Gaussian) or
        ``"local"`` (randomised response), and ``epsilon_claimed`` comes from the plan.

    Returns
    -------
    Release
        Shape (k,), or (rounds, k) for a plan of more than one round.

    Raises
    ------
    CertificationError
        If the features are private, or the plan was made for other features.
    ValueError
        If labels or shapes are wrong.

    Notes
    -----
    Formal guarantee: unit label, relation label_flip, features public. Gaussian: mu-Gaussian-DP with the mu of the
    plan (all rounds together: mu sqrt(rounds)), exact, reached by the row that is longest in the geometry of the
    noise. Randomised response: pure epsilon on every label by itself; debiasing and averaging are post-processing,
    after which the value is v in expectation.
    """
    if not features_public:
        raise CertificationError("features_public=False: the sensitivity max ||x_i||/N would show the features.")
    X = check_features(X)
    y = check_labels(y, len(X))
    terms.setdefault("epsilon_claimed", float(plan.epsilon_claimed))
    if plan.distribution == "rr":
        terms.setdefault("trust_model", "local")
        mechanism = RandomizedResponse(plan.epsilon, 2)
        # What becomes of the labels reads the features too: the event must not promise anything about them.
        labels = mechanism(entries(y, depends_on=("label", "features")), rng, owner=owner, **terms)
        return labels.post_process(lambda bits: mechanism.debias(bits) @ X / len(X))
    terms.setdefault("trust_model", "central")
    if plan.rate < 1:
        return _sampled_rounds(X, y, plan, rng, owner, terms)
    return gaussian_of(plan)(bounded_dot_products(X, y, plan), rng, owner=owner, **terms)


def redraw_dot_products(X, y, plan: Plan, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Independent what-if releases for the experimenter, shape (draws, k): never sent, so nothing is charged."""
    X = check_features(X)
    y = check_labels(y, len(X))
    if draws < 1 or plan.rounds > 1:
        raise ValueError(f"draws={draws!r} with {plan.rounds} rounds: give at least one draw of a plan of one round.")
    gaussian = plan.distribution == "gaussian"
    size, found = max(1, CHUNK // (X.shape[1] if gaussian else len(X))), []
    bounded = bounded_dot_products(X, y, plan) if gaussian else entries(y)
    mechanism = gaussian_of(plan) if gaussian else RandomizedResponse(plan.epsilon, 2)
    for start in range(0, draws, size):
        # The certificate is that of one draw; the events of what nobody sees are dropped.
        repeated = np.tile(bounded.value, (min(size, draws - start), 1))
        drawn = mechanism(replace(bounded, value=repeated), rng, owner="experimenter").value
        found.append(drawn if isinstance(mechanism, Gaussian) else mechanism.debias(drawn) @ X / len(X))
    return np.concatenate(found)


def gaussian_of(plan: Plan) -> Gaussian:
    """The mechanism of all rounds of a plan together, of mu sqrt(rounds)."""
    if plan.covariance is None or plan.mu is None:
        return Gaussian(sigma=0.0)
    return Gaussian(mu=plan.mu * math.sqrt(plan.rounds), covariance=Public(plan.covariance, because=FEATURES))


def bounded_dot_products(X: np.ndarray, y: np.ndarray, plan: Plan) -> Bounded:
    """v, or v once for each of several rounds (rounds, k), with its sensitivity in the geometry of the noise.

    One flip moves every round by the same +-x_i / N. The ball around these differences in the metric Sigma^-1 has
    radius max_i sqrt(x_i' Sigma^-1 x_i) / N, which one of them reaches: nothing is lost to the ball.
    """
    bounded, root = label_dot_product(X, y), math.sqrt(plan.rounds)
    value = bounded.value if plan.rounds == 1 else np.tile(bounded.value, (plan.rounds, 1))
    if plan.covariance is None or plan.mu is None:
        certificate = replace(bounded.certificate, value=root * bounded.certificate.value)
        return replace(bounded, value=value, certificate=certificate)
    if plan.covariance.shape != (X.shape[1],) * 2:
        raise ValueError(f"X has k={X.shape[1]} features, the plan was made for {len(plan.covariance)}.")
    found = reach(X, plan.covariance)
    _require_same_features(found, plan.mu)
    inverse = np.linalg.inv(plan.covariance)
    metric = (inverse + inverse.T) / 2
    certificate = replace(bounded.certificate, value=root * found, norm="mahalanobis", metric=metric)
    return replace(bounded, value=value, certificate=certificate)


def _require_same_features(found: float, planned: float) -> None:
    """Refuse a plan whose mu is not the one that its noise has with these features."""
    if not math.isclose(found, planned, rel_tol=SAME_FEATURES):
        raise CertificationError(
            f"the noise of this plan gives mu={found:.12g} with these features and was planned for mu={planned:.12g}: "
            "make the plan from the features it is used with."
        )


def _sampled_rounds(X: np.ndarray, y: np.ndarray, plan: Plan, rng: np.random.Generator, owner: str, terms: Terms):
    """Noisy label sums of Poisson samples, scaled to v, shape (rounds, k); who is in a sample stays secret."""
    bounded = label_dot_product(X, y)
    certificate = replace(bounded.certificate, value=bounded.certificate.value / plan.rate)
    bounded, positive = replace(bounded, certificate=certificate), np.flatnonzero(y)
    _require_same_features(ratio(certificate.value, plan.deviation), math.inf if plan.mu is None else plan.mu)

    def draw() -> np.ndarray:
        value = np.empty((plan.rounds, X.shape[1]))
        for step in range(plan.rounds):
            kept = positive[rng.random(len(positive)) < plan.rate]
            value[step] = X[kept].sum(axis=0) / (plan.rate * len(X))
        return value + plan.deviation * rng.standard_normal(value.shape)

    parameters = {"mu": plan.mu, "rate": plan.rate, "count": plan.rounds}
    return charge_and_draw(bounded, parameters, "subsampled_gaussian", draw, owner, terms, rng, preset=True)
