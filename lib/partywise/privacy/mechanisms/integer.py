"""Gaussian noise on whole numbers, exactly: the one mechanism of certified methods, in experiments and in release.

The words come from a seeded generator or from the operating system; what is done with them is the same, so that a
simulated release is a rehearsal of a real one. An integer k with rounded Gaussian noise is a Gaussian release of k that
was rounded: mu-Gaussian-DP, mu = sqrt(D2) / s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Unpack

import numpy as np

from ...core.errors import CertificationError
from ..ledger.event import UNNAMED, EventProfile
from ..secure.table import draw_integers
from ..secure.wide import CELL_BITS, WIDEST, draw_huge_integers, draw_wide_integers
from ..statistics.whole import Whole, least_deviation, root_up
from .discrete import quotient_up
from .random import RandomSource, sampler_of, words_of
from .release import Release, Terms, charge_and_draw

MECHANISM = "rounded_gaussian"
# Deviation in steps from which sums of shares are Gaussian to less than 1e-300; narrower noise gets finer steps.
NARROWEST = 16.0
# The one deviation that has a table: that of the cells of all wider draws.
TABLE = 2.0**CELL_BITS


@dataclass(frozen=True)
class IntegerGaussian:
    """Rounded Gaussian noise on a statistic of whole numbers, by ``mu`` or by ``sigma``, exactly one of them.

    mu : Gaussian-DP parameter, infinite for no noise, in experiments only
    sigma : standard deviation in the units of the statistic (before rounding to whole steps), 0 for no noise

    Formal guarantee: entry e of weight w has noise of s_e steps, the least double with ``s_e^2 mu^2 w >= D2``, compared
    in exact arithmetic; with ``sigma``, s_e is ``sigma`` over the unit of the entry, rounded up. P(j) = Phi((j + 1/2) /
    s) - Phi((j - 1/2) / s), drawn exactly from uniform words. Where some s_e is below 16 all steps are made finer.
    """

    mu: float | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        if (self.mu is None) == (self.sigma is None):
            raise ValueError(f"IntegerGaussian got mu={self.mu!r} and sigma={self.sigma!r}: give exactly one.")
        if self.mu is not None and not self.mu > 0:
            raise ValueError(f"mu={self.mu!r} must be positive: no finite noise gives mu = 0.")
        if self.sigma is not None and not 0 <= self.sigma < math.inf:
            raise ValueError(f"sigma={self.sigma!r} must be non-negative and finite.")

    def __call__(self, statistic: Whole, rng: RandomSource, *, owner: str = UNNAMED, **terms: Unpack[Terms]) -> Release:
        """Release ``(integers + noise)`` times the units of the statistic, of its shape; ``rng`` draws all noise.

        ``owner`` is the party whose data it is: without a name every view is charged. `CertificationError` if a secure
        source is asked for no noise at all.
        """
        if not isinstance(statistic, Whole):
            raise CertificationError(
                f"IntegerGaussian takes a Whole statistic, got {type(statistic).__name__}: round every record to whole "
                "steps first (partywise.privacy.statistics.whole)."
            )
        # Before anybody pays.
        self._refuse_silence(statistic, rng)
        profile, preset = self.privacy_profile(statistic), self.mu is not None
        return charge_and_draw(
            statistic, profile, MECHANISM, lambda: self.draw(statistic, rng), owner, terms, rng, preset=preset
        )

    def draw(self, statistic: Whole, rng: RandomSource) -> np.ndarray:
        """Draw the value without its event: for mechanisms of which this noise is a part; errors as of a call."""
        self._refuse_silence(statistic, rng)
        deviations = self.deviations(statistic)
        fine = statistic.finer(finer_bits(deviations.values()))
        steps = {weight: s * (1 << (fine.bits - statistic.bits)) for weight, s in deviations.items()}
        return np.asarray(noisy_integers(fine, steps, rng), dtype=float) * fine.units

    def _refuse_silence(self, statistic: Whole, rng: RandomSource) -> None:
        """CertificationError for no noise from a secure source."""
        silent = self.mu == math.inf or self.sigma == 0
        if silent and statistic.squares and sampler_of(rng) == "secure":
            raise CertificationError(
                "mu=inf or sigma=0 adds no noise, and a secure source is for what is really released."
            )

    def deviations(self, statistic: Whole) -> Mapping[int, float]:
        """Deviation of the noise in steps, for every weight of the statistic; none where nothing can move."""
        if not statistic.squares or self.mu == math.inf or self.sigma == 0:
            return {}
        if self.sigma is not None:
            return {w: quotient_up(float(self.sigma), statistic.step * math.sqrt(w)) for w in weights_of(statistic)}
        return entry_deviations(statistic, float(self.mu or 0.0))

    def privacy_profile(self, statistic: Whole) -> EventProfile:
        """Fields of `Event`."""
        if not statistic.squares:
            return {"mu": 0.0}
        if self.mu is not None:
            return {"mu": float(self.mu)}
        if self.sigma == 0:
            return {"mu": math.inf}
        return {
            "mu": max(
                root_up(statistic.squares / (w * Fraction(s) ** 2)) for w, s in self.deviations(statistic).items()
            )
        }


def entry_deviations(statistic: Whole, mu: float, honest: Fraction = Fraction(1)) -> Mapping[int, float]:
    """Deviation of the noise in steps for every weight, of each of ``honest`` shares; none where nothing can move."""
    if not statistic.squares or mu == math.inf:
        return {}
    return _deviations(statistic.squares, weights_of(statistic), mu, honest)


def weights_of(statistic: Whole) -> tuple[int, ...]:
    """The different weights of the entries of a statistic."""
    return (1,) if statistic.weights is None else _distinct(_weights_key(statistic.weights))


def _weights_key(weights: np.ndarray) -> bytes:
    """Weights as a key: all clients of one shape share them."""
    return weights.astype(np.int64, copy=False).tobytes()


@lru_cache(maxsize=256)
def _distinct(weights: bytes) -> tuple[int, ...]:
    return tuple(np.unique(np.frombuffer(weights, dtype=np.int64)).tolist())


@lru_cache(maxsize=256)
def _scales(weights: bytes, deviations: tuple[tuple[int, float], ...]) -> np.ndarray:
    """Deviation of every entry."""
    entry_weights = np.frombuffer(weights, dtype=np.int64)
    scales = np.empty(len(entry_weights))
    for weight, deviation in deviations:
        scales[entry_weights == weight] = deviation
    return scales


@lru_cache(maxsize=256)
def _deviations(squares: Fraction, weights: tuple[int, ...], mu: float, honest: Fraction) -> Mapping[int, float]:
    return MappingProxyType({weight: least_deviation(squares / weight, mu, honest) for weight in weights})


def finer_bits(deviations: Iterable[float]) -> int:
    """Number of bits by which steps are made finer, so that no deviation is below `NARROWEST` of them; public."""
    least = min(deviations, default=NARROWEST)
    return max(0, math.ceil(math.log2(NARROWEST / least)))


def noisy_integers(statistic: Whole, deviations: Mapping[int, float], rng: RandomSource) -> np.ndarray:
    """The integers with noise of a deviation, in steps, for every weight: int64, or Python integers."""
    integers = statistic.integers
    noise = draw_noise(rng, statistic, deviations)
    if noise.dtype != object and (integers.dtype.kind == "f" or _small(integers)):
        return integers.astype(np.int64) + noise
    return np.array([int(k) for k in integers.ravel()], dtype=object).reshape(integers.shape) + noise


def _small(integers: np.ndarray) -> bool:
    """Whether integers leave room for noise in 64 bits."""
    return integers.dtype != object and max(integers.max(initial=0), -(integers.min(initial=0) + 1)) < 1 << 61


def draw_noise(rng: RandomSource, statistic: Whole, deviations: Mapping[int, float]) -> np.ndarray:
    """Noise of the shape of a statistic: in the order of its entries where one sampler serves them all."""
    shape, size = statistic.integers.shape, statistic.integers.size
    if not deviations:
        return np.zeros(shape, dtype=np.int64)
    if statistic.weights is None or len(deviations) == 1:
        (deviation,) = deviations.values()
        return draw_rounded(rng, deviation, size).reshape(shape)
    if all(deviation <= WIDEST and deviation != TABLE for deviation in deviations.values()):
        scales = _scales(_weights_key(statistic.weights), tuple(deviations.items()))
        return draw_wide_integers(words_of(rng), scales, size).reshape(shape)
    noise = np.empty(shape, dtype=object)
    for weight, deviation in deviations.items():
        chosen = statistic.weights == weight
        noise[chosen] = draw_rounded(rng, deviation, int(np.count_nonzero(chosen)))
    return noise


def draw_rounded(rng: RandomSource, deviation: float, size: int) -> np.ndarray:
    """Rounded Gaussian integers of a deviation in steps; the sampler depends on the deviation alone."""
    words = words_of(rng)
    if deviation == TABLE:
        return draw_integers(words, deviation, "rounded", size)
    if deviation <= WIDEST:
        return draw_wide_integers(words, deviation, size)
    drawn = np.empty(size, dtype=object)
    drawn[:] = draw_huge_integers(words, deviation, size)
    return drawn
