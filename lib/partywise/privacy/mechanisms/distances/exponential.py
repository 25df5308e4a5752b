"""Noise on integers lo..hi that favours near outputs: distributions whose privacy loss grows with the distance of the
inputs.

Such distributions are pure mechanisms on a finite domain, so their exact loss is known: that loss, not the loss per
unit of distance that the source advertises, is what a record is charged. Source: the OpBoost scheme as
described in document 003: its global variant here, its adjusting variant in `adjusted`.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Unpack

import numpy as np

from ...accounted_values import AccountedValue, parameter
from ...ledger.event import UNNAMED, EventProfile
from ...secure.table import GUARD_BITS, Words, brackets, draw_outcomes, exp_minus
from ...statistics.bounded import Bounded, SensitivityCertificate
from ..random import RandomSource, words_of
from ..release import Release, Terms, certificate_of, charge_and_draw, product_profile, pure_profile, resting_on


class DistanceMechanism:
    """A mechanism on integers lo..hi that draws every entry by itself, charged what its exact distribution loses.

    A subclass gives the name of its distribution, the weights of the outputs of an input, and its exact losses.
    """

    mechanism: ClassVar[str]
    domain: AccountedValue

    @property
    def lo(self) -> int:
        """Lower end of the domain."""
        return self.domain.value[0]

    @property
    def hi(self) -> int:
        """Upper end of the domain."""
        return self.domain.value[1]

    def __call__(self, bounded: Bounded, rng: RandomSource, *, owner: str = UNNAMED, **terms: Unpack[Terms]) -> Release:
        """Release every entry of an array of integers lo..hi."""
        certificate = certificate_of(bounded, ("hamming", "distance"))
        profile = self.privacy_profile(certificate)
        draw = self._drawing(bounded, words_of(rng))
        preset = certificate.norm == "hamming" and not self.domain.parents
        return charge_and_draw(
            resting_on(bounded, self.domain), profile, self.mechanism, draw, owner, terms, rng, preset=preset
        )

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: c entries of any value are c independent draws, one that moves so far is one."""
        if certificate.norm == "hamming":
            profile = product_profile(self.epsilon_pure, certificate)
        else:
            farthest = min(certificate.value, self.hi - self.lo)
            profile = pure_profile(self.worst_loss(math.ceil(farthest)), replace(certificate, value=farthest))
        return profile | {"epsilon_distance": self.epsilon_per_step}

    def matrix(self) -> np.ndarray:
        """The distribution, shape (N, N) with N = hi - lo + 1: row x - lo holds the probabilities of all outputs."""
        return np.array([self._row(x) for x in range(self.lo, self.hi + 1)])

    @property
    def epsilon_pure(self) -> float:
        """Exact pure-DP parameter over the whole domain."""
        raise NotImplementedError

    @property
    def epsilon_per_step(self) -> float:
        """Two inputs lose at most so much for each step between them."""
        raise NotImplementedError

    def worst_loss(self, distance: int) -> float:
        """Exact largest log ratio of the distributions of two inputs at a distance of 0..hi - lo."""
        raise NotImplementedError

    def _row(self, x: int) -> np.ndarray:
        """Probabilities of all outputs."""
        raise NotImplementedError

    def weights(self, x: int, precision: int) -> list[int]:
        """Weights of all outputs of an input in 2^-precision: they sum to 1 or more, each good to 2^64 of its units."""
        raise NotImplementedError

    def _drawing(self, bounded: Bounded, words: Words) -> Callable[[], np.ndarray]:
        """Check the entries now, draw them when called: the stated distribution exactly, one word an entry."""
        values, (lo, hi) = np.asarray(bounded.value), (self.lo, self.hi)
        integers = values.astype(np.int64)
        if np.any(integers != values) or np.any((integers < lo) | (integers > hi)):
            raise ValueError(
                f"value has entries that are not integers of {lo}..{hi}; map it there by public bounds first."
            )

        def draw() -> np.ndarray:
            high, drawn = words(integers.size).reshape(integers.shape), np.empty_like(integers)
            for x in np.unique(integers).tolist():
                here, bounds = integers == x, functools.partial(self._bounds, x)
                drawn[here] = lo + draw_outcomes(words, high[here], bounds)
            return drawn

        return draw

    def _bounds(self, x: int, bits: int) -> list[int]:
        """Brackets of the cumulative probabilities of the outputs of an input."""
        return brackets(self.weights(x, bits + GUARD_BITS), bits)

    def _check_domain(self) -> None:
        """Refuse ends that are not whole numbers in order."""
        lo, hi = parameter("domain", self.domain)
        if lo != int(lo) or hi != int(hi) or not lo < hi:
            raise ValueError(f"lo={lo!r} and hi={hi!r} must be whole numbers with lo < hi.")

    def _position(self, value: int) -> int:
        """Position of an input in lo..hi, counted from 0."""
        if value != int(value) or not self.lo <= value <= self.hi:
            raise ValueError(f"x={value!r} is not an integer of {self.lo}..{self.hi}.")
        return int(value) - self.lo

    def _distance(self, distance: int) -> int:
        """A distance of two inputs as an int."""
        if distance != int(distance) or not 0 <= distance <= self.hi - self.lo:
            raise ValueError(f"distance={distance!r} must be a whole number of 0..{self.hi - self.lo}.")
        return int(distance)


@dataclass(frozen=True)
class DistanceExponential(DistanceMechanism):
    """Output i for input x with probability proportional to ``exp(-|x - i| epsilon / 2)`` over lo..hi.

    Parameters
    ----------
    epsilon : float
        Distance-LDP parameter, positive: two inputs at distance t have a loss of at most ``epsilon t``.
    domain : AccountedValue
        Ends ``(lo, hi)`` of the domain, ``lo < hi``, whole numbers.

    Notes
    -----
    Formal guarantee: pure DP at `epsilon_pure` for one entry that may take any value of the domain. ``epsilon``
    itself is not an LDP parameter: at epsilon = 2 on 1..100 the pure loss is 99.
    """

    mechanism: ClassVar[str] = "distance_exponential"

    epsilon: float
    domain: AccountedValue

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        self._check_domain()

    @property
    def epsilon_per_step(self) -> float:
        """Two inputs lose at most so much for each step between them: the parameter."""
        return float(self.epsilon)

    def pair_loss(self, x: int, x2: int) -> float:
        """Exact largest log ratio of the distributions of two inputs.

        The two tails give ``|x - x2| epsilon / 2``; the ratio of the normalising sums adds to one of them.
        """
        first, second = map(self._position, (x, x2))
        return abs(first - second) * self.epsilon / 2 + abs(self._log_sums[first] - self._log_sums[second])

    def worst_loss(self, distance: int) -> float:
        """Exact largest `pair_loss` of two inputs at a distance of 0..hi - lo."""
        t = self._distance(distance)
        sums = self._log_sums
        return t * self.epsilon / 2 + float(np.max(np.abs(sums[t:] - sums[: len(sums) - t])))

    @property
    def epsilon_pure(self) -> float:
        """Exact pure-DP parameter over the whole domain, ``(hi - lo) epsilon / 2``.

        `worst_loss` never falls with the distance: moving one input a step away adds epsilon / 2 and takes at most
        that from the ratio of the sums. At the largest distance the two sums are equal.
        """
        return (self.hi - self.lo) * self.epsilon / 2

    @cached_property
    def _log_sums(self) -> np.ndarray:
        """Logarithms of the normalising sums of all inputs, shape (N,)."""
        one_sided = np.cumsum(np.exp(self._logs(self.lo)))
        return np.log(one_sided + one_sided[::-1] - 1)

    def weights(self, x: int, precision: int) -> list[int]:
        """exp(-|x - i| epsilon / 2)."""
        bells, at = powers(self.epsilon, self.hi - self.lo, precision), x - self.lo
        return [*bells[at:0:-1], *bells[: self.hi - x + 1]]

    def _logs(self, x: int) -> np.ndarray:
        """Logarithms of the unnormalised weights of all outputs."""
        with np.errstate(over="ignore"):
            return -self.epsilon / 2 * np.abs(np.arange(self.lo, self.hi + 1) - x)

    def _row(self, x: int) -> np.ndarray:
        weights = np.exp(self._logs(x))
        return weights / weights.sum()


@functools.lru_cache(maxsize=64)
def powers(epsilon: float, most: int, precision: int) -> list[int]:
    """exp(-k epsilon / 2), k = 0..most, in 2^-precision, each within 2^12 + k of its units; shared between calls."""
    top, bottom = float(epsilon).as_integer_ratio()
    ratio, terms = exp_minus(top, 2 * bottom, precision), [1 << precision]
    for _ in range(most):
        terms.append((terms[-1] * ratio) >> precision)
    return terms


def check_positive(name: str, value: float) -> None:
    """Refuse a parameter that is not positive and finite."""
    if not 0 < value < math.inf:
        raise ValueError(f"{name}={value!r} must be positive and finite.")
