"""Selecting one of many: noisy maxima here, quantiles and clipping radii in `quantiles`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

# Any: a source of either kind, of which `generator` refuses what it cannot draw from.
from typing import Any, Literal, Unpack

import numpy as np

from ...core.errors import CertificationError
from ..ledger.event import UNNAMED, EventProfile
from ..secure.finite_draws import largest, largest_by_words
from ..statistics.bounded import Bounded, SensitivityCertificate
from .random import RandomSource, SecureRandom
from .release import Release, Terms, certificate_of, charge_and_draw, generator, noise_scale


@dataclass(frozen=True)
class ReportNoisyMax:
    """Index of the largest score after Gumbel noise of scale ``2 sensitivity / epsilon``.

    Parameters
    ----------
    epsilon : float
        Pure-DP parameter of one winner, positive; infinity adds no noise.
    winners : int
        Number of different indices to release, best first.
    distribution : {"gumbel", "laplace"}
        Noise of the scores: ``"laplace"`` adds anew to the scores that are left for every winner, as published peeling
        does.

    Notes
    -----
    Formal guarantee: the winner is a draw from the exponential mechanism, pure ``epsilon``-DP for scores that move by
    at most the certified sensitivity each. Taking the largest, then the largest of the rest (peeling, each winner
    charged) has the distribution of the order of one set of noisy scores, so the noise is drawn once. Source: Durfee
    and Rogers (2019), lemma 4.2. Winners compose as picks of range ``epsilon`` (`partywise.privacy.accounting.picks`).
    Of Laplace noise nothing better is known than that each winner is pure (Dwork, Su and Zhang 2018), and it has no
    secure sampler.
    """

    epsilon: float
    winners: int = 1
    distribution: Literal["gumbel", "laplace"] = "gumbel"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be positive: no finite noise gives epsilon = 0.")
        if self.distribution not in ("gumbel", "laplace"):
            raise ValueError(f"distribution={self.distribution!r} is unknown; use 'gumbel' or 'laplace'.")
        if self.winners != int(self.winners) or self.winners < 1:
            raise ValueError(f"winners={self.winners!r} must be a whole number from 1.")

    def __call__(self, bounded: Bounded, rng: RandomSource, *, owner: str = UNNAMED, **terms: Unpack[Terms]) -> Release:
        """Release the winner.

        Parameters
        ----------
        bounded : Bounded
            Scores of shape (m,), norm ``"linf"``, ``"l2"`` or ``"l1"`` (each bounds every single score).
        rng : numpy.random.Generator or SecureRandom
            A generator is consumed by m Gumbel draws, for any ``epsilon`` and ``winners``, and by more where these do
            not decide; a secure source by a word a winner, rarely more.
        owner, **terms
            As in `Gaussian.__call__`.

        Returns
        -------
        Release
            The index (int), or with several winners an array of them, best first.

        Raises
        ------
        CertificationError
            If the certificate has another norm or is infinite.
        ValueError
            If the scores are not a vector with at least ``winners`` entries.
        """
        scale, scores = self._scale(bounded), np.asarray(bounded.value)
        draw_winners = self._winners(rng, scores, scale)

        def draw() -> int | np.ndarray:
            best = draw_winners()
            return int(best[0]) if self.winners == 1 else best

        profile = self.privacy_profile(bounded.certificate)
        return charge_and_draw(bounded, profile, "report_noisy_max", draw, owner, terms, rng, preset=True)

    def _winners(self, rng: Any, scores: np.ndarray, scale: float) -> Callable[[], np.ndarray]:
        """Return the draw of the winners from a source."""
        if isinstance(rng, SecureRandom) and self.distribution == "gumbel":
            return lambda: largest_by_words(rng.uint64, scores, scale, self.winners)
        numbers = generator(rng, "ReportNoisyMax with distribution 'laplace'")
        if self.distribution == "laplace":
            return lambda: peel(numbers, scores, scale, self.winners)
        return lambda: largest(numbers, scores, scale, self.winners)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: each winner is a pick of what is left, made after those before it."""
        epsilon = float(self.epsilon) if certificate.value else 0.0
        profile: EventProfile = {"epsilon": epsilon, "count": self.winners}
        return profile if self.distribution == "laplace" else profile | {"range": epsilon}

    def probabilities(self, bounded: Bounded) -> np.ndarray:
        """Exact probability of every ordered list of winners by Gumbel noise: (m,) for one, (m, m) for two, ..."""
        scale, scores = self._scale(bounded), np.asarray(bounded.value)
        if self.distribution == "laplace":
            raise ValueError("probabilities are those of distribution 'gumbel': Laplace noise has no such form.")
        if scale == 0:
            raise ValueError("no noise is added: the winner is certain.")
        with np.errstate(over="ignore"):
            logs = (scores - scores.max()) / scale
        distribution = np.zeros((len(scores),) * self.winners)
        for order in permutations(range(len(scores)), self.winners):
            left, log = np.ones(len(scores), dtype=bool), 0.0
            for winner in order:
                # Against the best that is left: no sum vanishes. An infinite distance is no chance.
                best = logs[left].max()
                if not logs[winner] > -math.inf:
                    log = -math.inf
                    break
                log += logs[winner] - best - math.log(np.exp(logs[left] - best).sum())
                left[winner] = False
            distribution[order] = math.exp(log)
        return distribution

    def _scale(self, bounded: Bounded) -> float:
        certificate = certificate_of(bounded, ("linf", "l2", "l1"))
        if np.ndim(bounded.value) != 1 or np.size(bounded.value) < self.winners:
            raise ValueError(f"scores of shape {np.shape(bounded.value)} must be a vector of at least {self.winners}.")
        if math.isinf(certificate.value):
            raise CertificationError("scores of infinite sensitivity: no noise hides them; clip what they are made of.")
        return noise_scale(2 * certificate.value, self.epsilon, "epsilon")


def peel(numbers: np.random.Generator, scores: np.ndarray, scale: float, winners: int) -> np.ndarray:
    """Indices of the largest of the scores that are left after Laplace noise, which is drawn anew for every winner."""
    left, best = scores.astype(float), np.empty(winners, dtype=np.int64)
    for place in range(winners):
        best[place] = np.argmax(left + scale * numbers.laplace(size=len(left)))
        left[best[place]] = -math.inf
    return best
