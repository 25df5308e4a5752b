"""The one step that reads labels: the noisy dot-product v = X'y/N of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from scipy.linalg import solve_triangular

from ...core.errors import CertificationError
from ...models.objective import check_features, check_labels
from ...privacy.ledger.event import EventProfile
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.random import RandomSource, bernoulli
from ...privacy.mechanisms.randomized_response import RandomizedResponse
from ...privacy.mechanisms.release import Release, Terms, charge_and_draw, ratio
from ...privacy.statistics.clips import BoxClip, WholeClip
from ...privacy.statistics.records import entries
from ...privacy.statistics.whole import Whole, whole
from .model import ReleasePlan
from .noise import max_norm

SOURCE = "a flipped label moves X'y by x_i, in the geometry of the noise"
# A plan made for these very features agrees with them to rounding; anything further off was made for others.
SAME_FEATURES = 1e-9
# Bits of the steps of the longest row.
STEP_BITS = 20
# Numbers of all redraws that are drawn at a time.
CHUNK = 4_000_000


def release_dot_product(
    X,
    y,
    plan: ReleasePlan,
    rng: np.random.Generator,
    *,
    owner: str = "unnamed",
    features_public: bool = True,
    **terms: Unpack[Terms],
) -> Release:
    """Release the dot-product as planned: shape (k,), or (rounds, k) for a plan of more than one round.

    Formal guarantee: unit label, relation label_flip, features public. Gaussian: mu-Gaussian-DP with the mu of the plan
    (all rounds together: mu sqrt(rounds)), exact, reached by the row that is longest in the geometry of the noise.
    Randomised response: pure epsilon on every label by itself; debiasing and averaging are post-processing.
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
    rows = WholeRows.of(X, plan)
    if plan.rate < 1:
        return _sampled_rounds(rows, y, plan, rng, owner, terms)
    # Features that are all 0 have mu 0: nothing moves, and no noise is added.
    mu = plan.mu * math.sqrt(plan.rounds) if plan.mu else math.inf
    release = IntegerGaussian(mu=mu)(rows.dot_products(y, plan.rounds), rng, owner=owner, **terms)
    return release.post_process(rows.unwhiten)


@dataclass(frozen=True, eq=False)
class WholeRows:
    """Public features in coordinates in which the noise of a plan is alike in all directions, as whole steps."""

    # (N, k) whole numbers in floats, L^-1 x_i over a step, where the covariance of the plan is L L'.
    steps: np.ndarray
    # 2^-20 times the power of two below the longest of these rows, or times the clip.
    step: float
    # L (k, k); None where the rows are the features themselves.
    root: np.ndarray | None
    # Length of the longest row before it was rounded, or the longest that the clip leaves.
    longest: float
    # D2: the largest squared length of a row in steps, by which a flipped label moves their sum.
    squares: int

    @classmethod
    def of(cls, X: np.ndarray, plan: ReleasePlan) -> WholeRows:
        """The rows of a plan; `CertificationError` if it was made for other features."""
        root, rows, clip = None, X, plan.clip
        if clip is not None and not plan.clip_whitened:
            check_features(X, unit_box=isinstance(clip, BoxClip))
            _require_same_features(ratio(clip.length(X.shape[1]) / len(X) / plan.rate, plan.deviation), plan.mu)
            return cls._by_clip(X, None, clip)
        # Rounds of samples have independent noise, which is planned for their own rate.
        if plan.covariance is not None and plan.mu is not None and plan.rate == 1:
            if plan.covariance.shape != (X.shape[1],) * 2:
                raise ValueError(f"X has k={X.shape[1]} features, the plan was made for {len(plan.covariance)}.")
            root = np.linalg.cholesky(plan.covariance)
            rows = solve_triangular(root, X.T, lower=True, check_finite=False).T
            if clip is not None:
                _require_same_features(clip.size / len(X), plan.mu)
                return cls._by_clip(rows, root, clip)
            _require_same_features(max_norm(rows) / len(X), plan.mu)
        longest = max_norm(rows)
        step = 2.0 ** (math.frexp(longest)[1] - 1 - STEP_BITS) if longest else 1.0
        steps = np.rint(rows / step)
        return cls(steps, step, root, longest, int(np.einsum("ij,ij->i", steps, steps).max(initial=0.0)))

    @classmethod
    def _by_clip(cls, rows: np.ndarray, root: np.ndarray | None, clip: WholeClip) -> WholeRows:
        """Rows shrunk to a public bound, by which step and squared length are public as well."""
        k, steps = rows.shape[1], clip.steps(rows, STEP_BITS).records
        return cls(steps, clip.step(STEP_BITS), root, clip.length(k), clip.squares(k, STEP_BITS))

    def dot_products(self, y: np.ndarray, rounds: int = 1) -> Whole:
        """Sum of the rows of label 1, of shape (k,), or once for each of several rounds (rounds, k), over N."""
        return self.whole(y @ self.steps if rounds == 1 else np.tile(y @ self.steps, (rounds, 1)), rounds)

    def whole(self, sums: np.ndarray, rounds: int = 1, rate: float = 1.0) -> Whole:
        """Sums of rows over rate N; one flip moves every round by the same +-row."""
        step, squares = self.step / (len(self.steps) * rate), rounds * self.squares
        return whole(sums, squares, step, SOURCE, unit="label", relation="label_flip")

    def unwhiten(self, value: np.ndarray) -> np.ndarray:
        """Back to the coordinates of the features."""
        return value if self.root is None else value @ self.root.T


def undo_whitening(value: np.ndarray, plan: ReleasePlan) -> np.ndarray:
    """An opened sum of several holders, in the coordinates of the features."""
    if not plan.clip_whitened or plan.covariance is None:
        return value
    return value @ np.linalg.cholesky(plan.covariance).T


def public_sum(clip: WholeClip, n: int, k: int) -> Whole:
    """The sum of the rows of label 1 of all holders of labels, as a place without features knows it."""
    squares, step = clip.squares(k, STEP_BITS), clip.step(STEP_BITS) / n
    return whole(np.zeros(k), squares, step, SOURCE, unit="label", relation="label_flip")


def redraw_dot_products(X, y, plan: ReleasePlan, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw what-if releases for the experimenter, shape (draws, k): never sent, so nothing is charged.

    Gaussian noise is drawn in floating point.
    """
    X = check_features(X)
    y = check_labels(y, len(X))
    if draws < 1 or plan.rounds > 1 or plan.rate < 1:
        raise ValueError(f"draws={draws!r} with {plan.rounds} rounds: give at least one draw of one unsampled round.")
    if plan.distribution == "gaussian":
        WholeRows.of(X, plan)
        noise = np.zeros((draws, X.shape[1]))
        if plan.covariance is not None:
            noise = rng.standard_normal(noise.shape) @ np.linalg.cholesky(plan.covariance).T
        rows = X if plan.clip is None or plan.clip_whitened else plan.clip.of(X).records
        return np.tile(y @ rows / len(X), (draws, 1)) + noise
    size, dot_products, mechanism = max(1, CHUNK // len(X)), [], RandomizedResponse(plan.epsilon, 2)
    bounded = entries(y)
    for start in range(0, draws, size):
        # The certificate is that of one draw; the events of what nobody sees are dropped.
        repeated = np.tile(bounded.value, (min(size, draws - start), 1))
        drawn = mechanism(replace(bounded, value=repeated), rng, owner="experimenter").value
        dot_products.append(mechanism.debias(drawn) @ X / len(X))
    return np.concatenate(dot_products)


def _require_same_features(mu: float, planned: float | None) -> None:
    """Refuse a plan whose mu is not the one that its noise has with these features."""
    if planned is not None and not math.isclose(mu, planned, rel_tol=SAME_FEATURES):
        raise CertificationError(
            f"the noise of this plan gives mu={mu:.12g} with these features and was planned for mu={planned:.12g}: "
            "make the plan from the features it is used with."
        )


def _sampled_rounds(
    rows: WholeRows, y: np.ndarray, plan: ReleasePlan, rng: RandomSource, owner: str, terms: Terms
) -> Release:
    """Noisy label sums of Poisson samples, scaled to v, shape (rounds, k); who is in a sample stays secret."""
    bounded, positive = rows.whole(np.zeros(rows.steps.shape[1]), rate=plan.rate), np.flatnonzero(y)
    mu = plan.mu or math.inf
    _require_same_features(ratio(rows.longest / len(y) / plan.rate, plan.deviation), mu)
    mechanism = IntegerGaussian(mu=mu)

    def draw() -> np.ndarray:
        samples = [positive[bernoulli(rng, plan.rate, len(positive))] for _ in range(plan.rounds)]
        sums = np.stack([rows.steps[chosen].sum(axis=0) for chosen in samples])
        return mechanism.draw(rows.whole(sums, rate=plan.rate), rng)

    parameters: EventProfile = {"mu": mu, "rate": plan.rate, "count": plan.rounds}
    return charge_and_draw(bounded, parameters, "subsampled_gaussian", draw, owner, terms, rng, preset=True)
