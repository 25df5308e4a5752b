"""Numerics behind the calibrations: the Gaussian privacy profile in its cancellation-free form, and its roots.

With x = epsilon/mu - mu/2 and the Mills ratio R(x) = (1 - Phi(x)) / phi(x), delta = phi(x) [R(x) - R(x + mu)] and
1 - delta = phi(x) [R(-x) + R(x + mu)]. Roots are sought in the logarithm of the smaller of the two, which moves by at
least 0.85 of the relative change of mu: no delta near 1 is lost to rounding.
"""

import math

import numpy as np
from scipy.special import erfcx, erfinv, log_ndtr, ndtri_exp

from ..rounding import round_up
from .roots import solve_monotone

# Below this mu the difference R(x) - R(x + mu) is integrated instead of subtracted.
SMALL_MU = 0.5
# The Gauss-Legendre rule of ten points, written out: importing numpy.polynomial would cost more than all else here.
_POINTS = np.array(
    [0.14887433898163122, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717]
)
_SHARES = np.array([0.2955242247147528, 0.2692667193099965, 0.219086362515982, 0.1494513491505804, 0.06667134430868814])
NODES, WEIGHTS = np.concatenate([-_POINTS[::-1], _POINTS]), np.concatenate([_SHARES[::-1], _SHARES])
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def mills(x: np.ndarray) -> np.ndarray:
    """(1 - Phi(x)) / phi(x) for x > -37."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _mills_drop(mu: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R(x) - R(x + mu) > 0; by quadrature of -R'(t) = 1 - t R(t) where the difference would cancel."""
    drop = np.empty_like(x)
    small = mu <= SMALL_MU
    m, t = mu[small], x[small]
    nodes = t[..., None] + m[..., None] * (NODES + 1) / 2
    # Beyond 1e4 the first terms of the asymptotic series are exact to 1e-16 and 1 - t R(t) is not.
    with np.errstate(over="ignore", divide="ignore"):
        slope = np.where(nodes > 1e4, 1 / nodes**2, 1 - nodes * mills(nodes))
    drop[small] = m / 2 * (slope @ WEIGHTS)
    drop[~small] = mills(x[~small]) - mills((x + mu)[~small])
    return drop


def log_delta(mu: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Log of delta at epsilon = mu (x + mu/2), for finite mu > 0 and x >= -mu/2."""
    result = np.empty_like(x)
    right = (x >= 0) | (mu <= SMALL_MU)
    m, t = mu[right], x[right]
    with np.errstate(over="ignore", divide="ignore"):
        result[right] = np.log(_mills_drop(m, t)) - t * t / 2 - LOG_SQRT_2PI
        m, t = mu[~right], x[~right]
        # Here Phi(-x) > 1/2 and nothing cancels, but the Mills ratio of a far negative x would overflow.
        first = log_ndtr(-t)
        second = np.log(mills(t + m)) - t * t / 2 - LOG_SQRT_2PI
        result[~right] = first + np.log1p(-np.exp(second - first))
    return result


def log_rest(mu: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Log of 1 - delta, for x <= 0."""
    with np.errstate(over="ignore"):
        return np.logaddexp(log_ndtr(x), np.log(mills(x + mu)) - x * x / 2 - LOG_SQRT_2PI)


def excess(mu: np.ndarray, x: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Excess of the profile over ``delta`` in (0, 1), and phi(x) over its smaller side.

    In log(delta) up to 1/2 and in -log(1 - delta) above, where x must not be positive.
    """
    value, density = np.empty_like(x), np.empty_like(x)
    for part, target, profile in (
        (delta <= 0.5, np.log, lambda m, t: log_delta(m, t)),
        (delta > 0.5, lambda d: -np.log1p(-d), lambda m, t: -log_rest(m, t)),
    ):
        m, t = mu[part], x[part]
        side = profile(m, t)
        value[part] = side - target(delta[part])
        with np.errstate(over="ignore"):
            # Far from any root the exponents have no digits left: 0 makes the search for a root halve its bracket.
            near = np.exp(np.minimum(-t * t / 2 - LOG_SQRT_2PI + np.abs(side), 700.0))
            density[part] = np.where(np.abs(t) < 1e6, near, 0.0)
    return value, density


def mu_at(epsilon: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The mu > 0 with epsilon/mu - mu/2 = x."""
    root = np.hypot(x, math.sqrt(2) * np.sqrt(epsilon))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, 2 * (epsilon / (x + root)), root - x)


def zcdp_bound(rho: np.ndarray, log_inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The minimised conversion (may be negative) and the order alpha that attains it.

    The derivative in alpha vanishes where rho v^2 + log(1 + v) = log(1/delta), v = alpha - 1: one root.
    """
    with np.errstate(divide="ignore"):
        high = np.minimum(np.sqrt(log_inverse / rho), np.expm1(np.minimum(log_inverse, 700.0)))
    v = solve_monotone(
        lambda t: (rho * t * t + np.log1p(t) - log_inverse, 2 * rho * t + 1 / (1 + t)),
        np.zeros_like(high),
        high,
        decreasing=False,
    )
    order = 1 + v
    log_order = np.where(v < 1e-3, np.log1p(v), np.log(order))
    return rho * order + (log_inverse - log_order) / v - np.log1p(1 / v), order


def pure_mu(epsilon: float) -> float:
    """Gaussian-DP parameter of any pure epsilon-DP mechanism, ``2 Phi^-1(e^epsilon / (1 + e^epsilon))``.

    The trade-off function of epsilon-DP consists of two straight lines that meet where both errors are
    1 / (1 + e^epsilon). This mu is the one whose curve G_mu passes through that point. G_mu is convex and shares the
    end points (0, 1) and (1, 0), so it lies below both lines, which are its chords: the mechanism is mu-Gaussian-DP.
    """
    if not 0 < epsilon < math.inf:
        return epsilon
    if epsilon < 1e-3:
        # The same number where e^epsilon / (1 + e^epsilon) is 1/2 to most of its digits.
        return round_up(math.sqrt(8) * float(erfinv(math.tanh(epsilon / 2))), epsilon)
    return -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
