"""Randomised response of indices with alphabets of several sizes, of which a unit moves so many; and their epsilon."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np

from ..accounting.compose import check_delta, compose
from ..accounting.privacy_profile import PrivacyProfile
from ..accounting.roots import bisect
from ..ledger.event import UNNAMED, EventProfile
from ..secure.finite_draws import rare
from ..statistics.bounded import Bounded, SensitivityCertificate
from .random import SecureRandom, sampler_of
from .randomized_response import RandomizedResponse
from .release import Release, Terms, certificate_of, charge_and_draw, generator, product_profile

# How far below the exact answer the result may stay, relative; and what the pure division gives way to roundings.
GAP = 1e-8
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class MixedResponse:
    """Every index by its own randomised response, all at one epsilon (pure DP); infinity keeps every index.

    ``alphabets`` has the number of values of every entry, at least 2, in the shape of what is released: public, as
    epsilon is.

    Formal guarantee: of one index that of `RandomizedResponse`; a unit that moves c entries is charged c applications
    with the smallest alphabet of all. That covers the larger ones: two inputs of randomised response with k values
    give the same distribution except for two outputs, whose distributions are those of k = 2, with probability
    (e^eps + 1) / (e^eps + k - 1); so a larger k is a smaller one that is erased more often.
    """

    epsilon: float
    alphabets: np.ndarray
    _responses: dict[int, RandomizedResponse] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        alphabets = np.array(self.alphabets, dtype=np.int64)
        if not alphabets.size:
            raise ValueError("alphabets=[] of a release: it has no index to draw.")
        alphabets.flags.writeable = False
        object.__setattr__(self, "alphabets", alphabets)
        responses = {k: RandomizedResponse(self.epsilon, k) for k in np.unique(alphabets).tolist()}
        object.__setattr__(self, "_responses", responses)

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator | SecureRandom, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release every entry; parameters and errors as in `RandomizedResponse.__call__`."""
        profile = self.privacy_profile(certificate_of(bounded, ("hamming",)), sampler_of(rng))
        indices = self._indices(np.asarray(bounded.value))
        if isinstance(rng, SecureRandom):
            return charge_and_draw(
                bounded,
                profile,
                "randomized_response",
                lambda: self._secure(indices, rng),
                owner,
                terms,
                rng,
                preset=True,
            )
        numbers = generator(rng, "MixedResponse")
        return charge_and_draw(
            bounded,
            profile,
            "randomized_response",
            lambda: self._simulate(indices, numbers),
            owner,
            terms,
            rng,
            preset=True,
        )

    def privacy_profile(self, certificate: SensitivityCertificate, sampler: str = "simulation") -> EventProfile:
        """Fields of `Event`: a unit of c entries moves c independent draws, none of more than the smallest alphabet."""
        secure = (
            [response.secure_epsilon for response in self._responses.values()]
            if sampler == "secure"
            else [self.epsilon]
        )
        return product_profile(max(secure), certificate, k=min(self._responses))

    def _indices(self, value: np.ndarray) -> np.ndarray:
        if value.shape != self.alphabets.shape:
            raise ValueError(f"value has shape {value.shape}, its alphabets {self.alphabets.shape}: they must agree.")
        indices = value.astype(np.int64)
        if np.any(indices != value) or np.any((indices < 0) | (indices >= self.alphabets)):
            raise ValueError("value has entries outside the indices 0..k-1 of their alphabets; cut it into bins first.")
        return indices

    def _simulate(self, indices: np.ndarray, numbers: np.random.Generator) -> np.ndarray:
        # Both draws are always made, as in `RandomizedResponse`.
        uniform = numbers.random(indices.shape)
        other = (indices + 1 + numbers.integers(0, self.alphabets - 1)) % self.alphabets
        moved = indices.copy()
        for k, response in self._responses.items():
            entries = self.alphabets == k
            moved[entries] = np.where(
                rare(numbers, uniform[entries], *response.flip()), other[entries], indices[entries]
            )
        return moved

    def _secure(self, indices: np.ndarray, rng: SecureRandom) -> np.ndarray:
        moved = indices.copy()
        for k, response in self._responses.items():
            entries = self.alphabets == k
            moved[entries] = response.secure(indices[entries], rng)
        return moved


def index_epsilon(indices: Iterable[tuple[int | None, int]], epsilon: float, delta: float) -> float:
    """Largest epsilon of one index at which all indices that a record moves keep (epsilon, delta) together.

    Formal guarantee: the composition that a ledger makes of these profiles is at most ``epsilon`` at ``delta``. It
    grows with the epsilon of an index, since randomised response at a smaller one is a function of that at a larger
    one. Source: the indices of document 003, section "Privacy protection algorithms"; the calibration is ours.
    """
    groups = tuple(
        sorted(((k, int(count)) for k, count in indices if count), key=lambda group: (group[0] or 0, group[1]))
    )
    if not groups:
        raise ValueError(f"indices={groups}: a record must move at least one index, or there is nothing to divide.")
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} of a record must be positive.")
    return _largest(groups, float(epsilon), check_delta(delta))


def grouped_epsilon(indices: Iterable[tuple[int | None, int]], epsilon: float, delta: float, group: int) -> float:
    """`index_epsilon` where ``group`` records of one person keep (epsilon, delta) together.

    Formal guarantee: the indices of one place in all of them are one pure profile of ``group`` times the epsilon of an
    index, for any alphabet: randomised response of two letters at that epsilon covers it.
    """
    if group == 1:
        return index_epsilon(indices, epsilon, delta)
    return index_epsilon([(None, count) for _, count in indices], epsilon, delta) / group


@functools.lru_cache(maxsize=1024)
def _largest(indices: tuple[tuple[int | None, int], ...], epsilon: float, delta: float) -> float:
    if math.isinf(epsilon):
        return math.inf

    def fits(candidate: float) -> bool:
        return (
            compose(PrivacyProfile(epsilon=candidate, k=k, count=count) for k, count in indices).epsilon(delta)
            <= epsilon
        )

    low = epsilon / sum(count for _, count in indices) * (1 - ROUNDING)
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    return bisect(fits, low, high, gap=GAP * low)[0]
