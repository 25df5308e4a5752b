"""Quantiles: by the exponential mechanism on a public interval, by noisy counts on a public grid, or from a histogram.

A quantile from a histogram has an interval. One draw of the exponential mechanism has none: it carries no information
on its own spread. The counts of a binary search (`QuantileRadius`) are not kept, so that its radius has none either.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

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

    # Why a release has no interval, by the names of `partywise.models.intervals.REASONS`.
    no_interval = "one draw"

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

    no_interval = "later"

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


class QuantileEstimate(NamedTuple):
    """A quantile of a population, and the ends of its interval, which are cuts of the histogram."""

    value: float
    lower: float
    upper: float


def histogram_quantile(
    counts: ArrayLike, edges: ArrayLike, q: float, *, n: int, sd: float, level: float = 0.95
) -> QuantileEstimate:
    """Return a quantile with its interval from a released histogram: post-processing, which costs nothing.

    Parameters
    ----------
    counts : array of shape (J,)
        Released counts of J public cells, each with independent noise.
    edges : array of shape (J + 1,)
        Public, increasing ends of the cells; entries outside count in the first or last cell.
    q : float
        Share of the population up to the quantile, in (0, 1).
    n : int
        Public number of records: what the counts exceed it by is spread evenly over the cells.
    sd : float
        Standard deviation of the noise of a count; 0 without noise.
    level : float
        In (0, 1).

    Returns
    -------
    QuantileEstimate
        The value between two cuts is by linear interpolation. The interval counts sampling and noise and is
        conservative, since its ends are cuts.

    Raises
    ------
    ValueError
        If shapes do not fit, edges do not increase, or a number lies outside its range.

    Notes
    -----
    The ends follow from tests of the cuts in a fixed order, from either side inwards until the first one that does not
    reject, so that their number needs no correction. With F_j the sum of the first j counts, cut j lies below the
    quantile if ``F_j < q n - z sqrt(n q (1 - q) + sd^2 j (J - j) / J)``.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> ages = pw.stream(1, "ages").normal(50, 10, size=2000)
    >>> edges = np.linspace(0, 100, 51)
    >>> cells = pw.counts(np.searchsorted(edges[1:-1], ages), pw.Public(50, because="ages of adults, by two years"))
    >>> noise = pw.Gaussian(sigma=5.0)
    >>> released = noise(cells, pw.stream(1, "noise"), owner="clinic", release_id="ages").value
    >>> median = pw.histogram_quantile(released, edges, 0.5, n=2000, sd=5.0)
    >>> bool(median.lower <= 50 <= median.upper)
    True
    """
    cells, cuts = np.asarray(counts, dtype=float), np.asarray(edges, dtype=float)
    size = len(cells)
    if cells.ndim != 1 or cuts.shape != (size + 1,) or not np.all(np.diff(cuts) > 0):
        raise ValueError(f"edges of shape {cuts.shape} must be increasing cuts, one more than the {size} counts.")
    for name, number, fits in (("q", q, 0 < q < 1), ("level", level, 0 < level < 1), ("n", n, n >= 1)):
        if not fits:
            raise ValueError(
                f"{name}={number!r} of a quantile is out of range: q and level lie in (0, 1), n is positive."
            )
    if not 0 <= sd < math.inf:
        raise ValueError(f"sd={sd!r} of the noise of a count must be finite and not negative.")
    j = np.arange(size + 1)
    cumulated = np.append(0.0, np.cumsum(cells)) - (cells.sum() - n) * j / size
    reach = float(ndtri((1 + level) / 2)) * np.sqrt(n * q * (1 - q) + sd**2 * j * (size - j) / size)
    # The public ends need no test: the first is below any quantile, the last above.
    below, above = cumulated < q * n - reach, cumulated > q * n + reach
    below[0] = above[-1] = True
    rising = np.maximum.accumulate(np.clip(cumulated, 0.0, n))
    return QuantileEstimate(
        float(np.interp(q * n, rising, cuts)),
        float(cuts[:-1][np.logical_and.accumulate(below[:-1])][-1]),
        float(cuts[:0:-1][np.logical_and.accumulate(above[:0:-1])][-1]),
    )


def _limit(radius: float) -> Public:
    """A radius of the grid as the threshold of a count."""
    return Public(radius, because="a point of the grid, found by noisy counts that the same charge pays for")
