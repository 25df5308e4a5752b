"""Randomised response of indices with alphabets of several sizes, of which a unit moves so many: one release."""

from dataclasses import dataclass, field
from typing import Unpack

import numpy as np

from ..ledger.event import UNNAMED, EventProfile
from ..secure.finite_draws import rare
from ..statistics.bounded import Bounded, SensitivityCertificate
from .random import SecureRandom, sampler_of
from .randomized_response import RandomizedResponse
from .release import Release, Terms, certificate_of, charge_and_draw, generator, product_profile


@dataclass(frozen=True, eq=False)
class MixedResponse:
    """Every index by its own randomised response, all at one epsilon.

    Parameters
    ----------
    epsilon : float
        Pure-DP parameter of one index; infinity keeps every index.
    alphabets : ndarray of int
        Number of values of every entry, at least 2, in the shape of what is released: public, as epsilon is.

    Raises
    ------
    ValueError
        If ``epsilon`` is negative or NaN, or an alphabet is smaller than 2.

    Notes
    -----
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
