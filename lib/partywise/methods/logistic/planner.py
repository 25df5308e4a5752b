"""Noise and ridge of a label-private release, chosen from public features alone: no function here takes a label."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ...core.errors import CertificationError
from ...models.links import LOGIT, Link, require_logit
from ...models.objective import check_features
from ...privacy.accounted_values import Public
from ...privacy.accounting.calibration import gaussian_epsilon
from ...privacy.statistics.clips import BallClip, BoxClip, WholeClip
from .model import ReleasePlan, check_intercept, check_ridge, ridge_vector
from .noise import certified_mu, gaussian_deviation, gaussian_shapes, max_norm, rr_covariance
from .options import LARGEST_EPSILON, SMALLEST_EPSILON
from .prediction import Expectation, expectation, predicted_excess

# Ridges that are tried, as multiples of the one that the prior asks for without noise.
RIDGE_STEPS = 10.0 ** np.arange(-0.5, 6.01, 0.125)
PUBLISHED_RADIUS = 10.0
# Largest entries of X whose squares and sums of squares neither vanish nor overflow.
SCALES = (1e-100, 1e100)
UNIT_BOX = Public(1.0, because="features lie in [0, 1], which is checked")
# Fields of a plan that go with a candidate for its noise.
PlanFields = dict[str, float | str | WholeClip | None]


def plan_label_dp(
    X,
    epsilon: float,
    delta: float,
    tau: float = 2.0,
    *,
    distribution: str = "auto",
    group: int = 1,
    clip_shape: bool = False,
    noise_factor: float = 1.0,
    features_public: bool = True,
    intercept: bool = True,
    link: Link = LOGIT,
) -> ReleasePlan:
    """Choose distribution and shape of the noise and ridge by the predicted excess risk.

    `predicted_excess` is minimised over a grid of ridges and over Sigma = c (X'X/N + r)^a (`gaussian_shapes`). What is
    expected of the coefficients, logits with a standard deviation of tau, is a guess: it can cost utility, never
    privacy.

    Formal guarantee: c makes max_i x_i' Sigma^-1 x_i equal to N^2 mu^2, so flipping one label moves v by at most mu in
    the geometry of the noise, and some label moves it that far; with a group of m labels of a person by m mu. Epsilon
    is then the cost of the group; the plan's own ``epsilon`` and ``mu`` stay those of one label. With ``clip_shape``
    rows are also clipped to that length, so that the guarantee holds for any Sigma and any features. ``noise_factor``
    is the variance of the noise that the fit gets in units of what mu asks for (several holders of labels).
    """
    require_logit(link, "plan_label_dp predicts the excess risk", "use fixed_plan")
    X = public_features(X, features_public, intercept=intercept)
    n = len(X)
    _one_of("distribution", distribution, ("auto", "gaussian", "rr"))
    target = noise_epsilon(epsilon, delta, distribution)
    if not (np.isfinite(tau) and tau > 0):
        raise ValueError(f"tau={tau!r} must be positive and finite: it is the expected spread of the logits.")
    gram = X.T @ X / n
    candidates: list[tuple[np.ndarray, PlanFields]] = []
    if math.isinf(epsilon):
        silent: PlanFields = (
            {"distribution": "rr", "mu": None} if distribution == "rr" else {"distribution": "gaussian", "mu": math.inf}
        )
        silent |= {"clip": shape_clip(n, math.inf)} if clip_shape else {}
        candidates.append((np.zeros_like(gram), {"epsilon": epsilon, **silent}))
    elif distribution != "rr":
        mu = shared_mu(epsilon, delta, group)
        gaussian: PlanFields = {"distribution": "gaussian", "epsilon": float(gaussian_epsilon(mu, delta)), "mu": mu}
        gaussian |= {"clip": shape_clip(n, mu) if clip_shape else None, "clip_whitened": clip_shape}
        candidates += [(shape, {"power": a, **gaussian}) for a, shape in gaussian_shapes(X, gram, mu)]
    if distribution != "gaussian" and math.isfinite(epsilon):
        candidates.append(
            (rr_covariance(gram, n, target / group), {"distribution": "rr", "epsilon": target / group, "mu": None})
        )
    expected, claims = expectation(gram, n, tau, intercept), {"delta": delta, "epsilon_claimed": epsilon}
    return _best(expected, candidates, noise_factor, **claims, intercept=intercept)


def fixed_plan(
    X,
    epsilon: float,
    delta: float,
    *,
    distribution: str = "gaussian",
    sigma: str = "analytic",
    bound: str | WholeClip = "max_norm",
    ridge: float | str | np.ndarray = 0.0,
    radius: float = PUBLISHED_RADIUS,
    group: int = 1,
    features_public: bool = True,
    intercept: bool = True,
    link: Link = LOGIT,
    noise_factor: float = 1.0,
) -> ReleasePlan:
    """Independent noise by a formula, and a fixed ridge: the published release and its variants.

    The classic formula claims for one label, for any group, and is reproduced beyond its validity too: ``epsilon``
    of the plan and the mu of its event are then the true ones, above ``epsilon_claimed``, and ``certified`` is False.
    The published bound sqrt(k)/N needs features in [0, 1]; a clip shrinks longer rows to its length. Noise and
    guarantee of both follow from N and k alone. The ridge "fixed" is deviation sqrt(k)/radius, of noise
    whose variance is ``noise_factor`` times that of one holder, as the sum of several has it.
    """
    X = public_features(X, features_public, unit_box=bound == "sqrt_k", intercept=intercept)
    n, k = X.shape
    _one_of("distribution", distribution, ("gaussian", "rr"))
    target = noise_epsilon(epsilon, delta, distribution)
    _one_of("sigma", sigma, ("analytic", "classic"))
    clip = public_clip(bound)
    mu, deviation, covariance, certified = None, 0.0, None, target
    if distribution == "rr":
        certified = target = target / group
        if math.isfinite(epsilon):
            deviation = math.sqrt(np.trace(rr_covariance(X.T @ X / n, n, target)) / k)
    else:
        length = max_norm(X) if clip is None else clip.length(k)
        deviation, mu = fixed_noise(length, n, target, delta, sigma, group)
        covariance = deviation**2 * np.eye(k) if deviation > 0 else None
        certified = float(gaussian_epsilon(mu, delta))
    if isinstance(ridge, str):
        _one_of("ridge", ridge, ("fixed",))
        ridge = deviation * math.sqrt(noise_factor * k) / radius
    return ReleasePlan(
        distribution=distribution,
        covariance=covariance,
        ridge=check_ridge(ridge, k, intercept),
        epsilon=certified,
        delta=delta,
        mu=mu,
        predicted_excess=math.nan,
        certified=certified <= epsilon,
        epsilon_claimed=epsilon,
        power=0.0 if distribution == "gaussian" else None,
        clip=clip if distribution == "gaussian" else None,
        intercept=intercept,
        link=link,
    )


def label_noise_plan(
    X,
    epsilon: float,
    delta: float,
    rounds: int,
    rate: float = 1.0,
    *,
    bound: str | WholeClip = "max_norm",
    group: int = 1,
    features_public: bool = True,
    intercept: bool = True,
    link: Link = LOGIT,
) -> ReleasePlan:
    """Plan of ``rounds`` noisy dot-products that together cost (epsilon, delta) for one label, or a group of them.

    Below rate 1, every round sums the labels of a Poisson sample that no other party sees; one label is then present in
    one world and absent in the other, and the accountant of Poisson-sampled Gaussians sets the noise. For a group
    nothing is proved that sampling would gain: its noise is that of rounds of all labels.
    """
    X = public_features(X, features_public, intercept=intercept)
    target = noise_epsilon(epsilon, delta, "gaussian")
    if rounds < 1 or rounds != int(rounds):
        raise ValueError(f"rounds={rounds!r} must be a whole number from 1.")
    if not 0 < rate <= 1:
        raise ValueError(f"rate={rate!r} must lie in (0, 1].")
    n, k = X.shape
    clip = public_clip(bound)
    sensitivity = (max_norm(X) if clip is None else clip.length(k)) / (rate * n)
    if math.isinf(epsilon):
        mu, certified = math.inf, target
    elif rate == 1 or group > 1:
        total = certified_mu(target, delta) / group
        mu, certified = total / math.sqrt(rounds), float(gaussian_epsilon(total, delta))
    else:
        mu, certified = 1.0 / _sampled_sigma(target, delta, rate, rounds), target
    deviation = sensitivity / mu
    covariance = deviation**2 * np.eye(k) if deviation > 0 else None
    return ReleasePlan(
        distribution="gaussian",
        covariance=covariance,
        ridge=np.zeros(k),
        epsilon=certified,
        delta=delta,
        mu=mu,
        predicted_excess=math.nan,
        certified=True,
        epsilon_claimed=epsilon,
        power=0.0,
        rounds=int(rounds),
        rate=float(rate),
        clip=clip,
        intercept=intercept,
        link=link,
    )


@lru_cache(maxsize=256)
def _sampled_sigma(epsilon: float, delta: float, rate: float, rounds: int) -> float:
    """`subsampled_sigma`, which knows no data: the same for every replicate, and a convolution a trial."""
    # Imported here: the accountant of sampled releases is needed by this baseline alone.
    from ...privacy.ledger.compose import subsampled_sigma

    return subsampled_sigma(epsilon, delta, rate, rounds)


def planned_ridge(X: np.ndarray, plan: ReleasePlan, tau: float, noise_factor: float = 1.0) -> ReleasePlan:
    """The plan of a fixed noise with the ridge that `plan_label_dp` takes for it."""
    gram = X.T @ X / len(X)
    expected, covariance = expectation(gram, len(X), tau, plan.intercept), plan.covariance
    noise = np.zeros_like(gram) if covariance is None else noise_factor * covariance
    strengths = RIDGE_STEPS * expected.ridge
    (table,) = predicted_excess(expected, [noise], strengths)
    best = int(np.argmin(table))
    ridge = ridge_vector(float(strengths[best]), len(gram), plan.intercept)
    return replace(plan, ridge=ridge, predicted_excess=float(table[best]))


def fixed_noise(length: float, n: int, epsilon: float, delta: float, sigma: str, group: int = 1) -> tuple[float, float]:
    """Standard deviation of independent noise for rows up to a length, and its mu for one label."""
    deviation = gaussian_deviation(epsilon, delta, length / n * (group if sigma == "analytic" else 1), sigma)
    return deviation, length / n / deviation if deviation > 0 else (math.inf if length > 0 else 0.0)


def public_clip(bound: str | WholeClip) -> WholeClip | None:
    """Clip of rows to a bound that is known without the features; None where the longest row is the bound."""
    if isinstance(bound, WholeClip):
        return bound
    _one_of("bound", bound, ("max_norm", "sqrt_k"))
    return BoxClip(UNIT_BOX) if bound == "sqrt_k" else None


def declared_bound(bound: str, row_radius: float | None) -> str | WholeClip:
    """Bound of the options: a clip where it is declared."""
    if row_radius is None:
        return bound
    return BallClip(Public(row_radius, because="declared length of a row"))


def shared_mu(epsilon: float, delta: float, group: int) -> float:
    """Parameter of planned Gaussian noise for one label: public."""
    target = noise_epsilon(epsilon, delta, "gaussian")
    return math.inf if math.isinf(target) else certified_mu(target, delta) / group


def shape_clip(n: int, mu: float) -> WholeClip:
    """Clip of rows in the geometry of the noise, x' Sigma^-1 x <= N^2 mu^2; without noise features lie in [0, 1]."""
    if math.isinf(mu):
        return BoxClip(UNIT_BOX)
    return BallClip(Public(n * mu, because="number of rows and parameter of the noise"))


def noise_epsilon(epsilon: float, delta: float, distribution: str) -> float:
    """Epsilon that noise is computed for: the given one, or below infinity at most `LARGEST_EPSILON`."""
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} must be positive; infinity means no noise.")
    if epsilon < SMALLEST_EPSILON:
        raise ValueError(f"epsilon={epsilon!r} must be at least {SMALLEST_EPSILON:g}: less leaves nothing but noise.")
    if distribution != "rr" and not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie in (0, 1) for Gaussian noise; distribution='rr' needs no delta.")
    return epsilon if math.isinf(epsilon) else min(epsilon, LARGEST_EPSILON)


def public_features(X, features_public: bool, *, unit_box: bool = False, intercept: bool = False) -> np.ndarray:
    """Checked features, or a `CertificationError` if they are private."""
    if not features_public:
        raise CertificationError(
            "features_public=False: max ||x_i|| and the shape of the noise are computed from the features and would "
            "show them; label privacy holds for public features only. For private rows use objective_perturbation."
        )
    X = check_features(X, unit_box=unit_box)
    check_intercept(X, intercept)
    largest = max(float(X.max()), -float(X.min()))
    if largest and not SCALES[0] <= largest <= SCALES[1]:
        raise ValueError(
            f"X has a largest entry of {largest!r}, outside [{SCALES[0]:g}, {SCALES[1]:g}]: the squares that the noise "
            "is computed from have no floats; scale the features by public ranges."
        )
    return X


def _best(expected: Expectation, candidates, noise_factor: float, **fields) -> ReleasePlan:
    """The best pair of a candidate (covariance and the fields that go with it) and a ridge of the grid."""
    strengths = RIDGE_STEPS * expected.ridge
    table = predicted_excess(expected, [noise_factor * covariance for covariance, _ in candidates], strengths)
    row, column = np.unravel_index(int(np.argmin(table)), table.shape)
    covariance, candidate_fields = candidates[row]
    noise_covariance = covariance if candidate_fields["distribution"] == "gaussian" and np.any(covariance) else None
    ridge = ridge_vector(float(strengths[column]), len(covariance), expected.intercept)
    excess = float(table[row, column])
    return ReleasePlan(
        covariance=noise_covariance,
        ridge=ridge,
        predicted_excess=excess,
        certified=True,
        **candidate_fields,
        **fields,
    )


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is unknown; use one of {allowed}.")
