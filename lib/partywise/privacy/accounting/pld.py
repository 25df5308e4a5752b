"""Privacy-loss distributions on a grid, for everything without a closed form; every step errs on the safe side.

A distribution enters the grid in pairs of neighbours: the mass of a cell goes to its two ends so that both its
probability under the first world and that under the second stay what they are. The profile becomes the chord of a
convex function of exp(epsilon): never below it, and off by the square of the step (Doroshenko, Ghazi, Kamath, Kumar and
Manurangsi 2022). The sum of such distributions is formed in `convolution`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .finite import Atoms


class GridDistribution(NamedTuple):
    """Masses (n,) at the losses ``(first + arange(n)) step``, and ``infinity_mass`` at infinity."""

    first: int
    mass: np.ndarray
    infinity_mass: float
    step: float

    @property
    def loss(self) -> np.ndarray:
        """Losses of the cells."""
        return (self.first + np.arange(len(self.mass))) * self.step


def cumulant(distribution: GridDistribution | Atoms, theta: float) -> float:
    """log E[exp(theta loss)] of the finite part."""
    exponent = theta * distribution.loss
    top = exponent.max()
    return float(top + math.log(distribution.mass @ np.exp(exponent - top)))


def tilt(distribution: GridDistribution | Atoms, theta: float) -> np.ndarray:
    """Masses of the distribution with density exp(theta loss) against this one."""
    return distribution.mass * np.exp(theta * distribution.loss - cumulant(distribution, theta))


@dataclass(frozen=True)
class LossPart:
    """A distribution to be placed on a grid: finite losses, or a Poisson-sampled Gaussian seen from one direction."""

    atoms: Atoms | None = None
    mu: float = 0.0
    rate: float = 1.0
    count: int = 1

    def on_grid(self, step: float, tail: float, *, removed: bool) -> GridDistribution:
        """One application on a grid; ``tail`` is the mass that may be cut off and charged."""
        if self.atoms is not None:
            return place_atoms(self.atoms, step)
        return sampled_gaussian(self.mu, self.rate, step, tail, removed=removed)

    def span(self, tail: float) -> float:
        """Width of the losses."""
        if self.atoms is not None:
            return float(np.ptp(self.atoms.loss))
        reach = _loss(self.mu, self.rate, self.mu - float(ndtri(tail)))
        return reach - _loss(self.mu, self.rate, float(ndtri(tail)))


def place_atoms(atoms: Atoms, step: float) -> GridDistribution:
    """Finite losses on a grid."""
    cell = np.floor(atoms.loss / step).astype(np.int64)
    first = int(cell.min())
    rise = np.clip(np.expm1(cell * step - atoms.loss) / math.expm1(-step), 0.0, 1.0)
    mass = np.zeros(int(cell.max()) - first + 2)
    np.add.at(mass, cell - first, atoms.mass * (1 - rise))
    np.add.at(mass, cell - first + 1, atoms.mass * rise)
    return _trim(first, mass, atoms.infinity_mass, step)


def sampled_gaussian(mu: float, rate: float, step: float, tail: float, *, removed: bool) -> GridDistribution:
    """Loss of a Gaussian of parameter ``mu`` whose contribution is present with probability ``rate``, on a grid.

    ``removed``: the contribution is there in the first world, (1 - rate) N(0, 1) + rate N(mu, 1), and not in the
    second, N(0, 1); otherwise the other way round. Both directions count: neither dominates the other.
    """
    reach = -float(ndtri(tail))
    low, high = _loss(mu, rate, -reach), _loss(mu, rate, reach + mu)
    if not removed:
        low, high = -_loss(mu, rate, reach), -_loss(mu, rate, -reach)
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    edges = np.arange(first, last + 1) * step
    points = _threshold(mu, rate, edges if removed else -edges)
    absent = _between(points)
    present = (1 - rate) * absent + rate * _between(points - mu)
    larger, smaller = (present, absent) if removed else (absent, present)
    with np.errstate(under="ignore"):
        rise = (larger - smaller * np.exp(np.minimum(edges[:-1], 700.0))) / -math.expm1(-step)
    # Round-off of the difference is far below 1e-6 of the cell.
    rise = np.clip(rise + 1e-6 * larger, 0.0, larger)
    mass = np.zeros(len(edges))
    mass[:-1] = larger - rise
    mass[1:] += rise
    mass[0] += _below(mu, rate, points[0], removed)
    return _trim(first, mass, _above(mu, rate, points[-1], removed), step)


def _trim(first: int, mass: np.ndarray, lost: float, step: float) -> GridDistribution:
    """The distribution without empty cells at its ends."""
    cells = np.flatnonzero(mass)
    return GridDistribution(first + int(cells[0]), mass[cells[0] : cells[-1] + 1], lost, step)


def _loss(mu: float, rate: float, x: float) -> float:
    """log of the density ratio of the mixture to N(0, 1) at x."""
    exponent = mu * x - mu * mu / 2
    if rate == 1:
        return exponent
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))


def _threshold(mu: float, rate: float, loss: np.ndarray) -> np.ndarray:
    """Value at which the mixture has this loss; -inf below its infimum."""
    if rate == 1:
        return loss / mu + mu / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        small = np.log1p(np.maximum(np.expm1(np.minimum(loss, 1.0)) / rate, -1.0))
        large = loss - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-np.maximum(loss, 1.0)))
    return np.where(loss > 1, large, small) / mu + mu / 2


def _between(points: np.ndarray) -> np.ndarray:
    """Probabilities of N(0, 1) between neighbouring points, whichever way they run, from the smaller tail."""
    tail = ndtr(-np.abs(points))
    a, b = points[:-1], points[1:]
    same = (a >= 0) == (b >= 0)
    return np.where(same, np.abs(np.diff(tail)), 1 - tail[:-1] - tail[1:])


def _below(mu: float, rate: float, point: float, removed: bool) -> float:
    if removed:
        return float((1 - rate) * ndtr(point) + rate * ndtr(point - mu))
    return float(ndtr(-point))


def _above(mu: float, rate: float, point: float, removed: bool) -> float:
    if removed:
        return float((1 - rate) * ndtr(-point) + rate * ndtr(mu - point))
    return float(ndtr(point))
