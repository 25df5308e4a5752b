"""Size and shape of the noise on a dot-product, from public features, and what is known of a release in spite of it.

The first entry of a dot-product of labels, their share of positives, lies in [0, 1]: `attainable`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import erfcx, ndtr

from ...core.errors import UnboundedObjectiveError
from ...models.intervals import Intervals, reason_of
from ...models.links import Link
from ...models.newton import newton
from ...models.objective import Objective, Point, weighted_gram
from ...privacy.accounting.calibration import classic_gaussian_sigma, gdp_mu
from .model import INTERCEPT, ReleasePlan

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
# The shape's ridge r, as shares of the mean diagonal of X'X/N: it bounds how much a rare row can cost.
SHAPE_RIDGES = (1e-3, 1e-2, 1e-1)
# Both roundings of calibration (mu down, epsilon up) stay inside this relative margin.
MARGIN = 1e-12
# From this epsilon on a label is kept for certain as far as floats go; soon after, the square of sinh overflows.
KEPT = 700.0
# An interval of fewer standard deviations than this: the density over it is flat up to a tilt.
FLAT = 1e-4
OVERSHOT = "a step overshoots, so that no noise fades: give a smaller learning rate"
# Standard errors from the centre within which the noise is judged: more than those of a 95 % interval, since releases
# that the noise moved to where they have no root are not printed, and those that it moved the other way are.
REACH = 3.0
ESTIMAND = "of the coefficients that made the labels, over labels and noise, without the ridge"
REMEDY = "give a larger epsilon, more records or fewer columns"


def gaussian_deviation(epsilon: float, delta: float, sensitivity: float, sigma: str) -> float:
    """Standard deviation of independent noise by the analytic or the classic formula."""
    if math.isinf(epsilon):
        return 0.0
    if sigma == "classic":
        return float(classic_gaussian_sigma(epsilon, delta, sensitivity, allow_uncertified=True))
    return sensitivity / certified_mu(epsilon, delta)


def certified_mu(epsilon: float, delta: float) -> float:
    """Greatest mu whose epsilon, rounded up, is still at most the target."""
    return float(gdp_mu(epsilon, delta)) * (1 - MARGIN)


def max_norm(X: np.ndarray) -> float:
    """max_i ||x_i||, by which N times the dot-product moves at most when one label flips."""
    return float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))


def gaussian_shapes(X: np.ndarray, gram: np.ndarray, mu: float) -> list[tuple[float, np.ndarray]]:
    """The candidates (a, Sigma), each scaled so that max_i x_i' Sigma^-1 x_i = N^2 mu^2."""
    values, vectors = np.linalg.eigh(gram)
    mean = float(np.trace(gram)) / len(gram)
    if mean == 0:
        return [(0.0, np.zeros_like(gram))]
    squares = np.square(X @ vectors)
    kinds = [(power, share) for power in POWERS for share in (SHAPE_RIDGES if power > 0 else SHAPE_RIDGES[:1])]
    spectra = np.array([(np.maximum(values, 0.0) + share * mean) ** power for power, share in kinds])
    spectra *= (squares @ (1 / spectra).T).max(axis=0)[:, None] / (len(X) * mu) ** 2
    shapes = []
    for (power, _), spectrum in zip(kinds, spectra, strict=True):
        shape = (vectors * spectrum) @ vectors.T if power > 0 else spectrum[0] * np.eye(len(gram))
        shapes.append((power, (shape + shape.T) / 2))
    return shapes


def rr_covariance(gram: np.ndarray, n: int, epsilon: float) -> np.ndarray:
    """Covariance e^eps / (e^eps - 1)^2 X'X / N^2 of the dot-product of debiased randomised labels."""
    return gram / (n * 4 * math.sinh(min(epsilon, KEPT) / 2) ** 2)


def reach(X: np.ndarray, covariance: np.ndarray) -> float:
    """max_i sqrt(x_i' Sigma^-1 x_i) / N: the mu of Gaussian noise N(0, Sigma) on the dot-product."""
    lower = np.linalg.cholesky(covariance)
    return max_norm(solve_triangular(lower, X.T, lower=True, check_finite=False).T) / len(X)


def attainable(X: np.ndarray, noisy_dots: np.ndarray, plan: ReleasePlan) -> np.ndarray:
    """Noisy dot-products (k,) or (R, k) of a plan with a ridge, moved to where the share of positives can be.

    Post-processing. The intercept is next to unpenalised. Where noise takes the share of positive labels out of (0, 1),
    its coefficient runs off until the hundredth of the ridge stops it, and the fit with it. The entry is therefore
    replaced by its mean given the release, under a share that may be anything in [0, 1], and the others follow as far
    as their noise goes with it. Far inside the interval, in standard deviations, nothing moves.
    """
    first = X[:, INTERCEPT]
    if not plan.intercept:
        return noisy_dots
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


def first_column(X: np.ndarray, plan: ReleasePlan) -> np.ndarray:
    """Covariances (k,) of the noise on the share of positives with that on all entries of the dot-product."""
    if plan.distribution == "rr":
        return rr_covariance(X[:, INTERCEPT] @ X / len(X), len(X), plan.epsilon)
    return np.zeros(X.shape[1]) if plan.covariance is None else plan.covariance[INTERCEPT]


def coefficient_deviations(X: np.ndarray, theta: np.ndarray, plan: ReleasePlan) -> np.ndarray:
    """(k,) standard deviation that the noise of one release gives each coefficient of its optimum, to first order.

    H^-1 Sigma H^-1 with the Hessian H at theta and the covariance Sigma of the noise: both of public features, the plan
    and what was released, so that it costs nothing. What `attainable` takes of the noise is not taken off.
    """
    return optimum_deviations(X, theta, plan.ridge, noise_covariance(X, plan), plan.link)


def optimum_deviations(
    X: np.ndarray, theta: np.ndarray, ridge: np.ndarray, covariance: np.ndarray, link: Link
) -> np.ndarray:
    """(k,) root of the diagonal of H^-1 Sigma H^-1, Sigma the covariance of the noise on the dot-product."""
    inverse = np.linalg.pinv(_hessian(X, theta, ridge, link), hermitian=True)
    return np.sqrt(np.maximum(np.diagonal(inverse @ covariance @ inverse), 0.0))


def released_intervals(X: np.ndarray, noisy_dot: np.ndarray, plan: ReleasePlan) -> Intervals:
    """Return intervals of the coefficients (k,) from features (N, k), a release (k,) of a plan, and nothing else.

    Features are public and the ridge is a choice: both are known exactly. The released v has the mean (1/N) X'p(beta)
    at the coefficients beta that made the labels, and the covariance J / N + Sigma over labels and noise, J the
    weighted Gram matrix of p (1 - p). The centre is the root of (1/N) X'p = v, without a ridge, and its covariance to
    first order is H^-1 (J / N + Sigma) H^-1 with the Hessian H at the root (van der Vaart 1998, section 5.3).

    The variance of labels shrinks with the curvature, that of the noise does not. Where the curvature is smaller
    within an interval than at its centre, the noise therefore moves the root farther than H states: see
    `noise_widths`. A refusal by the size of that change would keep the releases that noise moved to where the
    curvature is large, whose intervals miss.

    They are refused where columns depend on each other, and where no coefficients have the released dot-product as
    their mean, because noise or separable labels took it out of what probabilities can give.
    """
    if np.linalg.matrix_rank(X.T @ X / len(X), hermitian=True) < X.shape[1]:
        return Intervals(reason=reason_of("not estimable", "columns of the features depend on each other"))
    objective = Objective(X, noisy_dot, np.zeros(X.shape[1]), plan.link)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # Coefficients that run off are refused below.
            fit = newton(objective)
        point = objective.at(fit.theta)
        inverse = np.linalg.inv(objective.hessian(point))
    except (UnboundedObjectiveError, np.linalg.LinAlgError):
        sentence = f"no coefficients have the released dot-product as their mean: {REMEDY}"
        return Intervals(reason=reason_of("not identified", sentence))
    if not fit.converged:
        return Intervals(reason=reason_of("not converged"))
    variance = point.probabilities * (1 - point.probabilities)
    of_labels = inverse @ weighted_gram(X, variance / len(X) ** 2) @ inverse
    of_noise = inverse @ noise_covariance(X, plan) @ inverse
    noise_part = np.sqrt(np.maximum(np.diagonal(of_noise), 0.0)) * noise_widths(objective, point, of_labels + of_noise)
    errors = np.sqrt(np.diagonal(of_labels) + noise_part**2)
    return Intervals(fit.theta, errors, noise_part=noise_part, estimand=ESTIMAND)


def noise_widths(objective: Objective, root: Point, covariance: np.ndarray) -> np.ndarray:
    """Factors (k,) of at least 1 by which noise moves each coefficient farther than the curvature at the root states.

    Of each coefficient the root is moved by `REACH` standard errors to both sides, together with the other coefficients
    as far as they go with it by their covariance (k, k). The factor is the curvature at the root over the mean
    curvature on the way, on the side where that is smaller.
    """
    deviations = np.sqrt(np.diagonal(covariance))
    moves = REACH * covariance / np.where(deviations > 0, deviations, 1.0)
    margins = objective.X @ moves
    expected = np.einsum("jc,jc->c", moves, objective.hessian(root) @ moves)
    widths = np.ones(len(moves))
    for side in (1.0, -1.0):
        means = objective.link.mean(root.margins[:, None] + side * margins) - root.probabilities[:, None]
        reached = side * np.einsum("ic,ic->c", margins, means) / len(margins)
        widths = np.maximum(widths, np.divide(expected, reached, out=widths.copy(), where=reached > 0))
    return widths


def descent_deviations(
    X: np.ndarray, theta: np.ndarray, plan: ReleasePlan, learning_rate: float, steps: int
) -> np.ndarray | None:
    """(k,) standard deviation that the noise of a plan gives each coefficient after steps of gradient descent from 0.

    To first order and as if the curvature H of all records at theta were that of the whole path: the noise of a step is
    multiplied by I - lr H in every later one. One release has the same noise in every step, others fresh noise. That
    records and mini-batches are sampled is not in it. None where a step overshoots, lr H beyond 2: nothing fades then.
    Steps that have left all numbers did.
    """
    if not np.isfinite(theta).all():
        return None
    values, vectors = np.linalg.eigh(_hessian(X, theta, plan.ridge, plan.link))
    factors, rate = 1 - learning_rate * np.maximum(values, 0.0), learning_rate
    if np.any(np.abs(factors) > 1):
        return None
    along = vectors.T @ noise_covariance(X, plan) @ vectors
    if plan.rounds == 1:
        sums = rate * _geometric(factors, steps)
        covariance = along * np.outer(sums, sums)
    else:
        covariance = along * rate**2 * _geometric(np.outer(factors, factors), steps)
    return np.sqrt(np.maximum(np.diagonal(vectors @ covariance @ vectors.T), 0.0))


def _geometric(factors: np.ndarray, terms: int) -> np.ndarray:
    """1 + f + ... + f^(terms - 1), entry by entry, of factors of at most 1."""
    less = 1 - factors
    flat = less < FLAT / terms
    return np.where(flat, float(terms), (1 - factors**terms) / np.where(flat, 1.0, less))


def _hessian(X: np.ndarray, theta: np.ndarray, ridge: np.ndarray, link: Link) -> np.ndarray:
    """Curvature (k, k) of the objective at theta, which no label enters."""
    objective = Objective(X, np.zeros(X.shape[1]), ridge, link)
    return objective.hessian(objective.at(theta))


def noise_covariance(X: np.ndarray, plan: ReleasePlan) -> np.ndarray:
    """Covariance (k, k) of the noise of one round, zero without noise."""
    if plan.distribution == "rr":
        return rr_covariance(X.T @ X / len(X), len(X), plan.epsilon)
    return np.zeros((X.shape[1],) * 2) if plan.covariance is None else plan.covariance


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
