"""Closed forms between noise and (epsilon, delta) for Gaussian noise and for zero-concentrated DP.

Notation: Phi and phi are the normal distribution function and density, R(x) = (1 - Phi(x)) / phi(x) is the Mills
ratio. With x = epsilon/mu - mu/2 the privacy profile of a mu-Gaussian-DP mechanism (Balle and Wang 2018, theorem 8;
Dong, Roth and Su 2022, corollary 2.13) is

    delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
          = phi(x) [R(x) - R(x + mu)],

because phi(x) = e^epsilon phi(x + mu). The second form overflows nowhere and keeps its digits in the deep tail, where
the first subtracts two nearly equal numbers. Every result is rounded towards more noise or a larger epsilon.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps

# Any: a float for floats, an array for arrays.
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfinv, ndtri

from ...core.errors import CertificationError
from ..rounding import NORMAL, square, total
from .gaussian_profile import excess, log_delta, mills, mu_at, zcdp_bound
from .roots import solve_monotone

# A float where all arguments are floats, an array otherwise.
Numbers = Any
Conversion = TypeVar("Conversion", bound=Callable[..., Numbers])

# Relative margin by which a root is moved to the safe side: about a hundred times its numerical error; and the error of
# the logarithm of delta, relative to it, which decides for extreme deltas.
MARGIN = 1e-13
LOG_MARGIN = 1e-15
# What the logarithm of delta (or of 1 - delta) moves by at least, relative to that of mu.
LEAST_SLOPE = 0.85
# gdp_mu moves by four margins: epsilon moves by .8 of them at least, so that epsilon(gdp_mu(epsilon)), a margin up
# and a few roundings of a composition off, is at most epsilon.
DOWN = 4
# Below this mu and epsilon scale with delta, delta(c mu, c epsilon) = c delta(mu, epsilon), to 2^-100 relative: they
# are scaled up, exactly, to where floats have all their digits.
TINY, SCALE = 2.0**-700, 2.0**600
# A standardised threshold beyond which every double-precision delta has underflowed; it keeps 0 * inf away.
FAR = 1e150


def _remember_roots(conversion: Conversion) -> Conversion:
    """Return a conversion that solves for two floats once: every fit of a case asks for those of its target."""
    known = lru_cache(maxsize=4096)(conversion)

    @wraps(conversion)
    def convert(*numbers: Numbers, **named: Numbers) -> Numbers:
        if not named and all(isinstance(value, float) for value in numbers):
            return known(*numbers)
        return conversion(*numbers, **named)

    return cast(Conversion, convert)


def gaussian_delta(mu: ArrayLike, epsilon: ArrayLike) -> Numbers:
    """Least delta at which a mu-Gaussian-DP mechanism is (epsilon, delta)-DP.

    Parameters
    ----------
    mu, epsilon : float or ndarray
        Non-negative, infinity allowed; arrays broadcast.

    Returns
    -------
    float or ndarray
        Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu); 0 if ``mu = 0`` or ``epsilon = inf``, otherwise 1
        if ``mu = inf``. Accurate to about 1e-12 (relative) wherever the result is a normal double.

    Raises
    ------
    ValueError
        If an argument is negative or NaN.

    Notes
    -----
    Source: Balle and Wang (2018), theorem 8; Dong, Roth and Su (2022), corollary 2.13.

    Examples
    --------
    >>> import partywise as pw
    >>> print(f"{pw.gaussian_delta(mu=1.0, epsilon=4.0):.1e}")  # noise is as large as what one record moves
    4.7e-05
    >>> pw.gaussian_delta([0.5, 1.0, 2.0], 1.0).round(3)
    array([0.007, 0.127, 0.51 ])
    """
    mu, epsilon = _broadcast(_non_negative("mu", mu, infinite=True), _non_negative("epsilon", epsilon, infinite=True))
    delta = np.where((mu == 0) | (epsilon == np.inf), 0.0, 1.0)
    inner = (mu > 0) & (mu < np.inf) & (epsilon < np.inf)
    scale = _scale(mu[inner], epsilon[inner])
    m, e = mu[inner] * scale, epsilon[inner] * scale
    with np.errstate(over="ignore", under="ignore"):
        delta[inner] = np.exp(log_delta(m, np.clip(e / m - m / 2, -FAR, FAR))) / scale
    return _plain(delta)


@_remember_roots
def gaussian_epsilon(mu: ArrayLike, delta: ArrayLike) -> Numbers:
    """Least epsilon >= 0 at which a mu-Gaussian-DP mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float or ndarray
        Non-negative, infinity allowed.
    delta : float or ndarray
        In [0, 1); arrays broadcast.

    Returns
    -------
    float or ndarray
        0 if ``mu = 0`` or ``delta > 2 Phi(mu/2) - 1`` by more than rounding; inf if ``mu = inf``, if ``delta = 0 < mu``
        or if no float is as large.

    Raises
    ------
    ValueError
        If ``mu`` is negative or NaN or ``delta`` lies outside [0, 1).

    Notes
    -----
    Source: Balle and Wang (2018), theorem 8; Dong, Roth and Su (2022), corollary 2.13.

    Examples
    --------
    >>> import partywise as pw
    >>> round(pw.gaussian_epsilon(mu=1.0, delta=1e-5), 2)
    4.38
    >>> round(pw.gaussian_epsilon(mu=100**0.5 * 0.1, delta=1e-5), 2)  # a hundred releases of mu = .1 cost as much
    4.38
    """
    mu, delta = _broadcast(_non_negative("mu", mu, infinite=True), _probability("delta", delta))
    epsilon = np.where(mu == 0, 0.0, np.inf)
    inner = (mu > 0) & (mu < np.inf) & (delta > 0)
    scale = _scale(mu[inner], delta[inner])
    m, d = mu[inner] * scale, delta[inner] * scale
    noise = LOG_MARGIN * np.abs(np.log(delta[inner]))

    def above(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, density = excess(m, x, d)
        return value, -m * density * mills(x + m)

    # Where epsilon is 0 the other numbers mean nothing.
    with np.errstate(all="ignore"):
        # The root is sought in x = epsilon/mu - mu/2. It is bounded by delta <= Phi(-x) and 1 - delta <= 2 Phi(x).
        low, high = np.where(m < 1e6, -m / 2, -10.0), np.maximum(-ndtri(d), -m / 2)
        x = solve_monotone(above, low, high, decreasing=True)
        eps = m * (x + m / 2)
        eps += np.maximum(MARGIN * (eps + m), m * noise / -above(x)[1])
        eps = np.where(above(low)[0] <= -np.maximum(MARGIN, noise), 0.0, eps / scale)
    epsilon[inner] = np.where((eps < NORMAL) & (eps > 0), np.nextafter(eps, np.inf), eps)
    return _plain(epsilon)


@_remember_roots
def gdp_mu(epsilon: ArrayLike, delta: ArrayLike) -> Numbers:
    """Greatest mu at which a mu-Gaussian-DP mechanism is (epsilon, delta)-DP, rounded down.

    By enough for the way back: ``gaussian_epsilon(gdp_mu(epsilon, delta), delta) <= epsilon``, also if the mu is
    divided among releases that are composed again.

    Parameters
    ----------
    epsilon : float or ndarray
        Non-negative, infinity allowed.
    delta : float or ndarray
        In [0, 1); arrays broadcast.

    Returns
    -------
    float or ndarray
        inf if ``epsilon = inf``, otherwise 0 if ``delta = 0``.

    Raises
    ------
    ValueError
        If ``epsilon`` is negative or NaN or ``delta`` lies outside [0, 1).

    Notes
    -----
    Source: Balle and Wang (2018), theorem 8; Dong, Roth and Su (2022), corollary 2.13.

    Examples
    --------
    >>> import partywise as pw
    >>> mu = pw.gdp_mu(epsilon=1.0, delta=1e-5)
    >>> print(f"{mu:.3f}: noise of {1 / mu:.2f} times what one record moves")
    0.268: noise of 3.73 times what one record moves
    >>> print(f"{mu / 10**0.5:.3f} for each of ten releases within the same epsilon")
    0.085 for each of ten releases within the same epsilon
    """
    epsilon, delta = _broadcast(_non_negative("epsilon", epsilon, infinite=True), _probability("delta", delta))
    mu = np.where(epsilon == np.inf, np.inf, 0.0)
    inner = (epsilon < np.inf) & (delta > 0)
    scale = _scale(epsilon[inner], delta[inner])
    e, d = epsilon[inner] * scale, delta[inner] * scale

    def above(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, density = excess(m, e / m - m / 2, d)
        return value, density

    # Both delta <= Phi(-x) and delta(0) bound mu from below.
    low = np.maximum(math.sqrt(8) * erfinv(d), mu_at(e, -ndtri(d)))
    high = 2 * low
    while np.any(short := above(high)[0] < 0):
        high[short] *= 2
    inner_mu = solve_monotone(above, low, high, decreasing=False)
    noise = LOG_MARGIN * np.abs(np.log(delta[inner])) / np.maximum(inner_mu * above(inner_mu)[1], LEAST_SLOPE)
    inner_mu *= (1 - DOWN * np.maximum(MARGIN, noise)) / scale
    few = inner_mu < NORMAL
    inner_mu = np.where(few, np.nextafter(inner_mu, 0.0), inner_mu)
    # Where a float has few digits, a step of epsilon can be wider than one of mu: more steps until the way back holds.
    while np.any(few) and np.any(over := few & (np.asarray(gaussian_epsilon(inner_mu, delta[inner])) > epsilon[inner])):
        inner_mu[over] = np.nextafter(inner_mu[over], 0.0)
    mu[inner] = inner_mu
    return _plain(mu)


def analytic_gaussian_sigma(epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike) -> Numbers:
    """Least noise standard deviation that makes a Gaussian release (epsilon, delta)-DP (Balle and Wang 2018).

    Parameters
    ----------
    epsilon : float or ndarray
        Non-negative, infinity allowed (no noise).
    delta : float or ndarray
        In (0, 1).
    sensitivity : float or ndarray
        l2 sensitivity under the declared relation, finite and non-negative; arrays broadcast.

    Returns
    -------
    float or ndarray
        ``sensitivity / gdp_mu(epsilon, delta)``; 0 if the sensitivity is 0, inf if no float is as large.

    Raises
    ------
    ValueError
        If ``delta = 0`` (no Gaussian noise suffices) or an argument is out of range.

    Examples
    --------
    >>> import partywise as pw
    >>> round(pw.analytic_gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=2.0), 2)
    7.46
    >>> (2.0 / pw.analytic_gaussian_sigma([0.5, 1.0, 8.0], 1e-5, 2.0)).round(2)  # the signal of a record over the noise
    array([0.14, 0.27, 1.67])
    """
    _positive_delta(delta)
    top, mu = _broadcast(_non_negative("sensitivity", sensitivity), np.asarray(gdp_mu(epsilon, delta)))
    with np.errstate(over="ignore"):
        sigma = np.divide(top, mu, out=np.zeros_like(top), where=top > 0)
    return _plain(_raise(sigma, (top == 0) | (mu == np.inf)))


def classic_gaussian_sigma(
    epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike, *, allow_uncertified: bool = False
) -> Numbers:
    """Textbook noise ``sensitivity sqrt(2 log(1.25/delta)) / epsilon``, kept to reproduce sources.

    Its proof covers ``epsilon < 1``; from there on it still holds for a while (with more noise than needed) and
    then it fails. Where it fails is computed from the exact delta, never tabulated.
    """
    _positive_delta(delta)
    eps, dlt, sens = _broadcast(
        _non_negative("epsilon", epsilon), _probability("delta", delta), _non_negative("sensitivity", sensitivity)
    )
    if np.any(eps == 0):
        raise ValueError(f"epsilon={epsilon!r} must be positive: the classic formula divides by it.")
    with np.errstate(over="ignore"):
        # log(1.25) apart: 1.25 / delta may overflow.
        logs = np.where(dlt > NORMAL, np.log(1.25 / dlt), math.log(1.25) - np.log(dlt))
        multiplier = _raise(np.sqrt(2 * logs) / eps, False)
    if not allow_uncertified:
        real = np.asarray(gaussian_delta(1 / multiplier, eps))
        if np.any(bad := real > dlt):
            raise CertificationError(
                f"the classic Gaussian formula at epsilon={eps[bad].flat[0]:g}, delta={dlt[bad].flat[0]:g} has a real "
                f"delta of {real[bad].flat[0]:.3g}; use analytic_gaussian_sigma, or allow_uncertified=True to "
                "reproduce a source."
            )
        if np.any(eps >= 1):
            warnings.warn(
                f"the classic Gaussian formula is proved for epsilon < 1 only, got {epsilon!r}; "
                "use analytic_gaussian_sigma.",
                UserWarning,
                stacklevel=2,
            )
    with np.errstate(over="ignore"):
        published = np.multiply(sens, multiplier, out=np.zeros_like(sens), where=sens > 0)
    return _plain(_raise(published, sens == 0))


def zcdp_epsilon(rho: ArrayLike, delta: ArrayLike) -> Numbers:
    """Epsilon of rho-zCDP by the conversion of Canonne, Kamath and Steinke (2020, proposition 12), rounded up."""
    rho, delta = _broadcast(_non_negative("rho", rho, infinite=True), _probability("delta", delta))
    epsilon = np.where(rho == 0, 0.0, np.inf)
    inner = (rho > 0) & (rho < np.inf) & (delta > 0)
    with np.errstate(all="ignore"):
        value, order = zcdp_bound(rho[inner], -np.log(delta[inner]))
        value += MARGIN * (np.abs(value) + rho[inner] * order)
    # Orders without a float: nothing is proved.
    epsilon[inner] = np.where(np.isnan(value), np.inf, np.maximum(value, 0.0))
    return _plain(epsilon)


def zcdp_rho(epsilon: ArrayLike, delta: ArrayLike) -> Numbers:
    """Greatest rho with ``zcdp_epsilon(rho, delta) <= epsilon``, rounded down."""
    epsilon, delta = _broadcast(_non_negative("epsilon", epsilon, infinite=True), _probability("delta", delta))
    rho = np.where(epsilon == np.inf, np.inf, 0.0)
    inner = (epsilon < np.inf) & (delta > 0)
    e, log_inverse = epsilon[inner], -np.log(delta[inner])
    # The simple bound starts below the root; epsilon(rho) is concave with slope alpha, so Newton stays below it.
    with np.errstate(over="ignore", under="ignore"):
        r = np.minimum((e / (np.sqrt(log_inverse + e) + np.sqrt(log_inverse))) ** 2, e)
    done = np.zeros(r.shape, dtype=bool)
    for _ in range(60):
        with np.errstate(all="ignore"):
            value, order = zcdp_bound(r, log_inverse)
            step = (e - value) / order
        # Without a float of the step the simple bound stays, which is below the root.
        step = np.where(done | ~np.isfinite(step), 0.0, step)
        r = np.maximum(r + step, 0.0)
        done |= np.abs(step) <= 1e-15 * r
        if np.all(done):
            break
    rho[inner] = r * (1 - 10 * MARGIN)
    return _plain(rho)


def simple_zcdp_epsilon(rho: ArrayLike, delta: ArrayLike) -> Numbers:
    """Epsilon of rho-zCDP by the simple conversion ``rho + 2 sqrt(rho log(1/delta))`` (Bun and Steinke 2016)."""
    rho, delta = _broadcast(_non_negative("rho", rho, infinite=True), _probability("delta", delta))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        log_inverse = -np.log(delta)
        product = rho * log_inverse
        full = (product > NORMAL) & (product < np.inf)
        bound = rho + 2 * np.where(full, np.sqrt(product), np.sqrt(rho) * np.sqrt(log_inverse))
    return _plain(np.where(rho == 0, 0.0, bound))


def rho_from_mu(mu: ArrayLike) -> Numbers:
    """zCDP parameter ``mu^2 / 2`` of a mu-Gaussian-DP Gaussian release (float or ndarray, non-negative).

    Rounded up where the square would vanish; infinite where it would overflow.
    """
    mu = _non_negative("mu", mu, infinite=True)
    with np.errstate(over="ignore", under="ignore"):
        return _plain(_raise(mu**2 / 2, mu == 0))


def mu_from_rho(rho: ArrayLike) -> Numbers:
    """Gaussian-DP parameter ``sqrt(2 rho)`` of a release known to be Gaussian; no other profile of that rho has it."""
    with np.errstate(over="ignore"):
        return _plain(np.sqrt(2 * _non_negative("rho", rho, infinite=True)))


def randomized_response_probability(epsilon: float, k: int) -> float:
    """Probability ``e^eps / (e^eps + k - 1)`` with which k-ary randomised response keeps an index."""
    _non_negative("epsilon", epsilon, infinite=True)
    if k != int(k) or k < 2:
        raise ValueError(f"k={k!r} of randomised response must be a whole number from 2: one index reveals nothing.")
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


def compose_mu(mus: Iterable[float]) -> float:
    """Gaussian-DP parameter ``sqrt(sum mu^2)`` of releases made one after another, adaptively or not; empty: 0."""
    values = _non_negative("mus", list(mus), infinite=True)
    return math.sqrt(total(square(value) for value in values.tolist()))


def _numbers(name: str, value: ArrayLike) -> np.ndarray:
    """The floats of an argument; TypeError for text, which numpy would read."""
    if np.asarray(value).dtype.kind not in "biuf":
        raise TypeError(f"{name}={value!r} must be a number: write it without quotes, with a decimal point.")
    return np.asarray(value, dtype=float)


def _non_negative(name: str, value: ArrayLike, *, infinite: bool = False) -> np.ndarray:
    array = _numbers(name, value)
    if np.any(~(array >= 0)) or (not infinite and np.any(np.isinf(array))):
        kind = "non-negative" if infinite else "non-negative and finite"
        raise ValueError(f"{name}={value!r} must be {kind}.")
    return array


def _probability(name: str, value: ArrayLike) -> np.ndarray:
    array = _numbers(name, value)
    if np.any(~((array >= 0) & (array < 1))):
        raise ValueError(f"{name}={value!r} must lie in [0, 1).")
    return array


def _raise(values: np.ndarray, exact: ArrayLike) -> np.ndarray:
    """Positive values that are too small for a full float rounded up, but where they are exact."""
    return np.where((values < NORMAL) & ~np.asarray(exact), np.nextafter(values, np.inf), values)


def _scale(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.where((first < TINY) & (second < TINY), SCALE, 1.0)


def _positive_delta(delta: ArrayLike) -> None:
    if np.any(_probability("delta", delta) == 0):
        raise ValueError(f"delta={delta!r} must be positive: no finite Gaussian noise gives delta = 0.")


def _broadcast(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.array(array) for array in np.broadcast_arrays(*arrays)]


def _plain(array: np.ndarray) -> Numbers:
    """A Python float for a scalar question, an array otherwise."""
    return float(array) if np.ndim(array) == 0 else array
