"""The best attack on a composition: the largest true-positive rate at a rate of false positives, and a Gaussian mu.

An attacker who knows both neighbouring data sets and all else tests which of them was used. Of an (epsilon, delta)-DP
release no test with false-positive rate a has a true-positive rate above

    min(e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a))

(Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015), and the least of these over the privacy profile is the
trade-off function itself (Dong, Roth and Su 2022, proposition 2.13). Every number is rounded up.
"""

import functools
import math
import sys
from collections.abc import Callable

from scipy.special import ndtr, ndtri

from ..rounding import round_up
from .compose import Composition, finite_atoms, loss_parts, within_limits
from .convolution import grid_power
from .finite import atoms_delta
from .gaussian_profile import pure_mu
from .roots import golden_section

# Relative numerical error that is always charged.
SLACK = 1e-12
# Steps of the search over epsilon: any epsilon gives a bound, the search makes it sharp.
STEPS = 44


def power(composition: Composition, fpr: float) -> float:
    """Upper bound, in [fpr, 1], of the true-positive rate of every attack on a composition at a false-positive rate.

    Exact (to 1e-9) for Gaussians, finite profiles and both together; on the safe side by the grid for sampled
    Gaussians; by zCDP where a profile is known by its rho alone or beyond the limits of the grids.
    """
    if not 0 < fpr < 1:
        raise ValueError(f"fpr={fpr!r}: a false-positive rate must lie in (0, 1).")
    return _power(composition, float(fpr))


@functools.lru_cache(maxsize=16384)
def _power(composition: Composition, fpr: float) -> float:
    exact, numeric = composition.profiles.picks_followed, composition.delta_numeric
    if composition.infinite:
        return 1.0
    if composition.tv:
        # Either side of a test moves by the distance: a test of size a is one of size a + tv of the stated profile.
        numeric += composition.tv
        fpr = min(fpr + composition.tv, math.nextafter(1.0, 0.0))
    if exact == Composition():
        return min(fpr + numeric, 1.0)
    if exact.gaussian:
        tpr = gaussian_power(exact.mu, fpr)
    else:
        tpr = min(zcdp_power(composition.zcdp, fpr), gaussian_power(mu_upper(composition.profiles), fpr))
        if not composition.rho and within_limits(exact):
            atoms = finite_atoms(exact)
            if atoms is None:
                tpr = min(tpr, grid_power(loss_parts(exact), fpr))
            else:
                tpr = min(tpr, profile_power(functools.partial(atoms_delta, exact.mu, atoms), fpr))
    return min(max(tpr * (1 + SLACK), fpr) + numeric, 1.0)


def gaussian_power(mu: float, fpr: float) -> float:
    """Phi(Phi^-1(fpr) + mu): the trade-off function of Gaussian noise, attained by the likelihood ratio."""
    return float(ndtr(ndtri(fpr) + mu))


def zcdp_power(rho: float, fpr: float) -> float:
    """Bound of rho-zCDP: Renyi divergence is not raised by a test.

    With b the true-positive rate, b^t fpr^(1 - t) <= exp((t - 1) t rho) for every order t > 1. The best order gives
    b <= exp(-(sqrt(log 1/fpr) - sqrt rho)^2); the same for the error rates in the other order bounds 1 - b.
    """
    if rho == 0:
        return fpr
    x, y, root = -math.log(fpr), -math.log1p(-fpr), math.sqrt(rho)
    above = math.exp(-((math.sqrt(x) - root) ** 2)) if x > rho else 1.0
    return min(above, -math.expm1(-((root + math.sqrt(y)) ** 2)))


def profile_power(delta: Callable[[float], float], fpr: float) -> float:
    """Bound from a privacy profile that holds for both orders of the neighbours."""

    def above(epsilon: float) -> float:
        return math.exp(epsilon) * fpr + delta(epsilon)

    def below(epsilon: float) -> float:
        return 1 - math.exp(-epsilon) * (1 - delta(epsilon) - fpr)

    # Beyond log(1/fpr) the first bound is above 1; the second is the better one where the attack nearly always wins.
    return min(_least(above, -math.log(fpr)), _least(below, -math.log(sys.float_info.epsilon * fpr)), 1.0)


def _least(function: Callable[[float], float], high: float) -> float:
    """Least value seen by golden section on [0, high], ends included."""
    return min(function(0.0), function(high), golden_section(function, 0.0, high, steps=STEPS)[1])


def mu_upper(composition: Composition) -> float:
    """A Gaussian-DP parameter that a composition satisfies.

    Exact for Gaussians. A pure profile counts as `pure_mu`, a pick as that of half its range, a sampled Gaussian as if
    it were not sampled (at small false-positive rates it is not better). inf where none is proved here: zCDP alone, or
    a delta next to the profiles.
    """
    if composition.rho or composition.delta_numeric or composition.tv:
        return math.inf
    square = composition.mu_squared
    for epsilon, _, count in composition.finite:
        mu = pure_mu(epsilon)
        square += round_up(count * mu * mu, mu) * (1 + SLACK)
    for reach, count in composition.picks:
        mu = pure_mu(reach / 2)
        square += round_up(count * mu * mu, mu) * (1 + SLACK)
    for mu, _, count in composition.sampled_gaussians:
        square += round_up(count * mu * mu, mu)
    return composition.mu if square == composition.mu_squared else math.sqrt(square) * (1 + SLACK)
