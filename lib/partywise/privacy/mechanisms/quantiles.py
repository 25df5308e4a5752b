"""Private quantiles: by the exponential mechanism on a public interval, or by noisy counts on a public grid."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..accounted_values import AccountedValue, Public, parameter
from ..accounting.calibration import mu_from_rho
from ..ledger.event import UNNAMED, EventProfile
from ..rounding import NORMAL
from ..secure.finite_draws import draw_index
from ..statistics.bounded import Bounded, SensitivityCertificate
from ..statistics.records import count_at_most
from ..statistics.whole import least_deviation
from .integer import IntegerGaussian
from .random import RandomSource
from .release import Release, Terms, certificate_of, charge_and_draw, generator, pure_profile, resting_on

# Beyond the roundings of three products.
ROUNDED_UP = 1 + 2.0**-50
ONE = Public(1.0, because="the default of the mechanism")


@dataclass(frozen=True)
class PrivateQuantile:
    """A quantile by the exponential mechanism on a public interval.

    A number t of [lo, hi] has density proportional to ``exp(epsilon score(t) / 2)`` with score
    ``-|#{x <= t} - q n|`` for entries clipped to [lo, hi].

    Parameters
    ----------
    epsilon : float
        Pure-DP parameter, positive and finite.
    q : float
        Wanted share of entries up to the quantile, in [0, 1].
    domain : AccountedValue
        The interval ``(lo, hi)``, ``lo < hi``, both finite.

    Notes
    -----
    Formal guarantee: replacing c of n entries moves the score of every t by at most c, and by no more than scores
    range, ``max(q, 1 - q) n``. It is one draw, so a unit of c entries has pure DP at epsilon times the smaller of
    both (`privacy_profile`): no product of c draws, which would cost less. p quantiles are p releases, which compose as
    picks of that range (`partywise.privacy.accounting.picks`). The sampler
    draws an interval between neighbouring entries by its logarithmic weight and a uniform number in it. Source:
    Smith (2011), algorithm 2.
    """

    epsilon: float
    q: float
    domain: AccountedValue

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon={self.epsilon!r} of a private quantile must be positive and finite.")
        if not 0 <= self.q <= 1:
            raise ValueError(f"q={self.q!r} of a private quantile must lie in [0, 1].")
        lo, hi = parameter("domain", self.domain)
        if not (-math.inf < lo < hi < math.inf and math.isfinite(hi - lo)):
            raise ValueError(f"domain=({lo!r}, {hi!r}) of a private quantile must be finite with lo < hi.")

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release a number (float) of [lo, hi]."""
        profile = self.privacy_profile(certificate_of(bounded, ("hamming",)), np.size(bounded.value))
        numbers, (points, shares) = generator(rng, "PrivateQuantile"), self.distribution(bounded.value)

        def draw() -> float:
            which, where = numbers.random(2)
            i = int(draw_index(numbers, np.array([which]), shares, lambda: self._logs(points))[0])
            return float(min(points[i] + where * (points[i + 1] - points[i]), points[i + 1]))

        return charge_and_draw(
            resting_on(bounded, self.domain), profile, "private_quantile", draw, owner, terms, rng, preset=True
        )

    def privacy_profile(self, certificate: SensitivityCertificate, size: int) -> EventProfile:
        """Fields of `Event`: what one quantile of ``size`` entries costs a unit that moves so many of them."""
        moved = min(certificate.value, max(self.q, 1 - self.q) * size)
        profile = pure_profile(self.epsilon * moved * (ROUNDED_UP if moved > 1 else 1.0), certificate)
        return profile | {"range": profile["epsilon"]}

    def distribution(self, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The exact distribution for given values: points (n + 2,) and shares (n + 1,).

        Points are ``lo``, the sorted clipped values and ``hi``; shares are probabilities of the uniform pieces between
        them, 0 for a piece of no length.
        """
        lo, hi = self.domain.value
        values = np.sort(np.clip(np.ravel(np.asarray(values, dtype=float)), lo, hi))
        points = np.concatenate(([lo], values, [hi]))
        logs = self._logs(points)
        shares = np.exp(logs - logs.max())
        return points, shares / shares.sum()

    def _logs(self, points: np.ndarray) -> np.ndarray:
        """Logarithms of the unnormalised weights of the pieces; -inf for a piece of no length."""
        # Between points i and i + 1 exactly i values are at most t.
        score = -np.abs(np.arange(len(points) - 1) - self.q * (len(points) - 2))
        with np.errstate(divide="ignore", over="ignore"):
            lengths = np.log(np.diff(points))
            logs = lengths + self.epsilon / 2 * score
            if np.any(np.isfinite(logs)):
                return logs
            # Against the best piece of positive length: scores times an extreme epsilon have no float.
            return lengths + self.epsilon / 2 * (score - score[np.isfinite(lengths)].max())


@dataclass(frozen=True)
class QuantileRadius:
    """Clipping radius at a quantile of norms, by binary search with noisy counts on a public grid.

    The grid is ``smallest 2^(k/8)``, k = 0..63: with the default ``smallest=1`` radii from 1 to 234. Each of the six
    steps counts the records up to the middle of what is left and keeps the half that the noisy count points to. ``rho``
    is the total charge, and each count has integer noise of sd ``sqrt(6 / (2 rho))``; ``share`` in (0, 1) is the wanted
    share of records up to the radius.

    Formal guarantee: six adaptively chosen counts of sensitivity 1 compose to one Gaussian release of mu = sqrt(2 rho).
    With few records or little ``rho`` the radius is often too large, rarely too small.
    """

    rho: float
    share: float = 0.95
    smallest: AccountedValue = ONE

    def __post_init__(self) -> None:
        if not NORMAL <= self.rho <= 1 / NORMAL:
            raise ValueError(f"rho={self.rho!r} of a private radius must be positive and finite, from 1e-290 to 1e290.")
        if not 0 < self.share < 1:
            raise ValueError(f"share={self.share!r} of a private radius must lie strictly between 0 and 1.")
        smallest = parameter("smallest", self.smallest)
        if not 0 < smallest < math.inf:
            raise ValueError(f"smallest={smallest!r} radius of the grid must be positive and finite.")

    @property
    def grid(self) -> np.ndarray:
        """The 64 public radii."""
        return self.smallest.value * 2.0 ** (np.arange(64) / 8)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: what six adaptive counts of that certificate cost together."""
        return {"mu": certificate.value * mu_from_rho(self.rho)}

    def __call__(self, norms: ArrayLike, rng: RandomSource, *, owner: str = UNNAMED, **terms: Unpack[Terms]) -> Release:
        """Release a radius (float, one of `grid`) for norms of shape (n,); unit ``features``, ``replace_one``."""
        norms, grid = np.asarray(norms, dtype=float), self.grid
        steps = (len(grid) - 1).bit_length()
        count = IntegerGaussian(sigma=least_deviation(Fraction(steps), mu_from_rho(self.rho)))
        counts = list[float]()

        def search() -> float:
            low, high = 0, len(grid) - 1
            for _ in range(steps):
                middle = (low + high) // 2
                counts.append(float(count.draw(count_at_most(norms, _limit(grid[middle])), rng)))
                if counts[-1] >= self.share * len(norms):
                    high = middle
                else:
                    low = middle + 1
            return float(grid[high])

        # Every count has the same certificate, so any of them stands for the six.
        first = resting_on(count_at_most(norms, _limit(grid[0])), self.smallest)
        return charge_and_draw(
            first, self.privacy_profile(first.certificate), "quantile_radius", search, owner, terms, rng, preset=True
        )


def _limit(radius: float) -> Public:
    """A radius of the grid as the threshold of a count."""
    return Public(radius, because="a point of the grid, found by noisy counts that the same charge pays for")
