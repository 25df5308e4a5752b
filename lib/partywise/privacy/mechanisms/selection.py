"""Selecting one of many: noisy maxima here, quantiles and clipping radii in `quantiles`."""

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Unpack

import numpy as np

from ...core.errors import CertificationError
from ..ledger.event import UNNAMED, EventProfile
from ..secure.finite_draws import largest
from ..statistics.bounded import Bounded, SensitivityCertificate
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

    Notes
    -----
    Formal guarantee: the winner is a draw from the exponential mechanism, pure ``epsilon``-DP for scores that move by
    at most the certified sensitivity each. Taking the largest, then the largest of the rest (peeling, each winner
    charged) has the distribution of the order of one set of noisy scores, so the noise is drawn once. Source: Durfee
    and Rogers (2019), lemma 4.2.
    """

    epsilon: float
    winners: int = 1

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be positive: no finite noise gives epsilon = 0.")
        if self.winners != int(self.winners) or self.winners < 1:
            raise ValueError(f"winners={self.winners!r} must be a whole number from 1.")

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release the winner.

        Parameters
        ----------
        bounded : Bounded
            Scores of shape (m,), norm ``"linf"``, ``"l2"`` or ``"l1"`` (each bounds every single score).
        rng : numpy.random.Generator
            Consumed by m Gumbel draws, for any ``epsilon`` and ``winners``, and by more where these do not decide.
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
        numbers = generator(rng, "ReportNoisyMax")

        def draw() -> int | np.ndarray:
            best = largest(numbers, scores, scale, self.winners)
            return int(best[0]) if self.winners == 1 else best

        profile = self.privacy_profile(bounded.certificate)
        return charge_and_draw(bounded, profile, "report_noisy_max", draw, owner, terms, rng, preset=True)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: each winner is an exponential mechanism on what is left, chosen after those before it."""
        return {"epsilon": float(self.epsilon) if certificate.value else 0.0, "count": self.winners}

    def probabilities(self, bounded: Bounded) -> np.ndarray:
        """Exact probability of every ordered list of winners: shape (m,) for one, (m, m) for two, and so on."""
        scale, scores = self._scale(bounded), np.asarray(bounded.value)
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
