"""Exact composition of Gaussian noise with finite distributions: no grid, no rounding of losses.

A pure epsilon-DP mechanism is dominated by binary randomised response (Kairouz, Oh and Viswanath 2015), and k-ary
randomised response is what it is: both have the losses +epsilon, -epsilon and (k > 2) 0. The sum of n of them lies on
the lattice j epsilon, and its distribution is the n-th power of a polynomial with positive coefficients. With L the sum
of all finite losses and delta_mu the Gaussian profile at any real argument,

    delta(e) = E[delta_mu(e - L)],

because the loss of the Gaussian part is independent of L and delta(e) = E[(1 - exp(e - loss))_+].
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from .calibration import FAR, MARGIN, gaussian_epsilon
from .gaussian_profile import log_delta
from .roots import solve_monotone

# Lattices longer than this lose tails of less than TAIL mass, which is charged.
LONG = 4096
TAIL = 1e-60
# Relative numerical error of delta that is always charged; a hundred times what is seen.
SLACK = 1e-11


class Atoms(NamedTuple):
    """A finite distribution of losses: ``mass`` (n,) at ``loss`` (n,), and ``infinity_mass`` at infinity."""

    loss: np.ndarray
    mass: np.ndarray
    infinity_mass: float


@functools.lru_cache(maxsize=4096)
def lattice(epsilon: float, k: int | None, count: int) -> Atoms:
    """Distribution of the summed loss of ``count`` pure or k-ary randomised responses, on the lattice j epsilon."""
    others = (k or 2) - 1
    stay = 1 / (1 + others * math.exp(-epsilon))
    move = math.exp(-epsilon) * stay
    response = np.array([move, (others - 1) * move, stay])
    first, mass, lost = 0, np.ones(1), 0.0
    square, origin, gone = response, -1, 0.0
    bits = count
    while bits:
        if bits & 1:
            mass, first = np.convolve(mass, square), first + origin
            mass, first, cut = _trim(mass, first)
            lost += gone + cut
        bits >>= 1
        if bits:
            square, origin, cut = _trim(np.convolve(square, square), 2 * origin)
            gone = 2 * gone + cut
    occupied = mass > 0
    return Atoms(((first + np.arange(len(mass))) * epsilon)[occupied], mass[occupied], lost)


def _trim(mass: np.ndarray, first: int) -> tuple[np.ndarray, int, float]:
    """Cut tails of less than TAIL mass: the upper one to infinity, the lower one up to the first that is kept."""
    if len(mass) <= LONG:
        return mass, first, 0.0
    low = int(np.searchsorted(np.cumsum(mass), TAIL))
    high = len(mass) - int(np.searchsorted(np.cumsum(mass[::-1]), TAIL))
    trimmed = mass[low:high].copy()
    trimmed[0] += mass[:low].sum()
    return trimmed, first + low, float(mass[high:].sum())


def sum_atoms(parts: list[Atoms], limit: int) -> Atoms | None:
    """Distribution of the sum of independent finite losses; None if it has more than ``limit`` atoms."""
    if math.prod(len(part.loss) for part in parts) > limit:
        return None
    total = Atoms(np.zeros(1), np.ones(1), 0.0)
    for part in parts:
        total = Atoms(
            np.add.outer(total.loss, part.loss).ravel(),
            np.multiply.outer(total.mass, part.mass).ravel(),
            total.infinity_mass + part.infinity_mass,
        )
    return total


def atoms_delta(mu: float, atoms: Atoms, epsilon: float) -> float:
    """Delta of a mu-Gaussian with finite losses at ``epsilon``, rounded up."""
    value, _ = _profile(mu, atoms, epsilon) if mu > 0 else _finite_profile(atoms, epsilon)
    return min(1.0, value * (1 + _slack(atoms)) + atoms.infinity_mass)


def atoms_epsilon(mu: float, atoms: Atoms, delta: float) -> float:
    """Least epsilon >= 0 of a mu-Gaussian with finite losses at ``delta`` in (0, 1), rounded up."""
    target = (delta - atoms.infinity_mass) / (1 + _slack(atoms))
    if target <= 0:
        return math.inf
    if mu == 0:
        return _finite_epsilon(atoms, target)
    atoms = _without_dust(atoms, 1e-10 * target)
    target = (delta - atoms.infinity_mass) / (1 + _slack(atoms))
    if _profile(mu, atoms, 0.0)[0] <= target:
        return 0.0

    def excess(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = _profile(mu, atoms, float(x[0]))
        # An underflown profile is far below any target.
        return np.array([math.log(max(value, 1e-320)) - math.log(target)]), np.array([slope / max(value, 1e-320)])

    high = float(atoms.loss.max()) + float(gaussian_epsilon(mu, target))
    epsilon = float(solve_monotone(excess, np.zeros(1), np.array([high]), decreasing=True)[0])
    return epsilon + MARGIN * (epsilon + mu)


def _slack(atoms: Atoms) -> float:
    return SLACK + 1e-15 * len(atoms.mass)


def _without_dust(atoms: Atoms, dust: float) -> Atoms:
    """Charge the smallest atoms, of no more than ``dust`` mass together, to infinity."""
    order = np.argsort(atoms.mass)
    cut = int(np.searchsorted(np.cumsum(atoms.mass[order]), dust))
    large = order[cut:]
    return Atoms(atoms.loss[large], atoms.mass[large], atoms.infinity_mass + float(atoms.mass[order[:cut]].sum()))


def _profile(mu: float, atoms: Atoms, epsilon: float) -> tuple[float, float]:
    """E[delta_mu(epsilon - loss)] and its derivative, mu > 0.

    For e < 0, delta_mu(e) = 1 - exp(e) + exp(e) delta_mu(-e): both terms are positive and nothing cancels.
    """
    gap = epsilon - atoms.loss
    far = np.abs(gap)
    m = np.full_like(far, mu)
    with np.errstate(over="ignore"):
        x = np.clip(far / m - m / 2, -FAR, FAR)
        y = np.clip(-m / 2 - gap / m, -FAR, FAR)
        delta = np.exp(log_delta(m, x))
        slope = np.exp(np.minimum(gap + log_ndtr(y), 0.0))
    left = gap < 0
    delta[left] = -np.expm1(gap[left]) + np.exp(gap[left]) * delta[left]
    return float(atoms.mass @ delta), -float(atoms.mass @ slope)


def _finite_profile(atoms: Atoms, epsilon: float) -> tuple[float, float]:
    above = atoms.loss > epsilon
    mass, weight = atoms.mass[above], np.exp(epsilon - atoms.loss[above])
    return float(mass @ -np.expm1(epsilon - atoms.loss[above])), -float(mass @ weight)


def _finite_epsilon(atoms: Atoms, target: float) -> float:
    """Without a Gaussian delta is piecewise linear in exp(epsilon): find the piece, then solve it."""
    order = np.argsort(atoms.loss)
    loss, mass = atoms.loss[order], atoms.mass[order]
    if _finite_profile(atoms, 0.0)[0] <= target:
        return 0.0
    # The profile falls in epsilon: bisect for the last loss at which it is above the target.
    low, high = -1, len(loss) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if loss[middle] < 0 or _finite_profile(atoms, float(loss[middle]))[0] > target:
            low = middle
        else:
            high = middle
    upper = slice(high, None)
    top = float(loss[high])
    share, weight = float(mass[upper].sum()), float(mass[upper] @ np.exp(top - loss[upper]))
    epsilon = top + math.log((share - target) / weight) if share > target else 0.0
    return float(min(max(epsilon, 0.0) * (1 + MARGIN), loss[-1]))
