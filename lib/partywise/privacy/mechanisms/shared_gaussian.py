"""Gaussian noise on integers that nobody opens before it is added: drawn at one place, released at another.

Integers lie in shares, the noise is in the random numbers of whoever deals them, and the sum of all shares is noisy. So
a mechanism has two halves here: `SharedGaussian.noise` at the dealer, which sees no data, and the release itself at the
place that adds up the shares, which sees no noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from ...errors import CertificationError
from ..ledger.event import UNNAMED, Event, EventProfile
from ..payer import require_payer
from ..secure.wide import draw_huge_integers
from ..statistics.bounded import SensitivityCertificate
from ..statistics.encrypted_integers import EncryptedIntegers
from .discrete import quotient_up
from .random import RandomSource, SpentGenerator, sampler_of, words_of
from .release import OBSERVER, Release, Terms, announcement, charge_and_draw, digest_of

MECHANISM = "shared_rounded_gaussian"


@dataclass(frozen=True)
class NoiseKey:
    """The noise of one release, or one share of it, which nobody but its dealer or the owner of the share has.

    entries : the ones that the owner has a part of, where these are not all; public
    """

    name: str
    integers: np.ndarray
    entries: np.ndarray | None = None


@dataclass(frozen=True)
class SharedSum:
    """What the shares of a statistic add up to.

    total : (d,) integers with the noise, Python integers in an array of objects
    name : of the release; parts : who drew noise for it
    """

    total: np.ndarray
    name: str
    parts: int = 1


@dataclass(frozen=True)
class SharedGaussian:
    """Gaussian noise on integers in shares.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter; infinite for no noise at all.

    Raises
    ------
    ValueError
        If ``mu`` is not positive.

    Notes
    -----
    Formal guarantee: an integer k of unit u gets noise of deviation sigma / u, sigma = Delta / mu, rounded to whole
    numbers. So (k + noise) u is a Gaussian release of k u, rounded, which is mu-Gaussian-DP against everybody who does
    not know the noise. The dealer does: it **must not collude with anybody**. Rounding of records to the grid is up to
    the constructor of the integers (`partywise.privacy.secure.fixed_point.whole_records`).

    A `SecureRandom` draws the distribution exactly. A numpy generator simulates it: one standard normal an entry,
    rescaled and rounded, the same normal at every mu.
    """

    mu: float

    def __post_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"mu={self.mu!r} must be positive: no finite noise gives mu = 0.")

    def deviation(self, certificate: SensitivityCertificate) -> float:
        """Standard deviation of the noise in the norm of a certificate."""
        if certificate.norm != "l2":
            raise CertificationError(f"norm={certificate.norm!r} of integers in shares must be 'l2'.")
        if math.isinf(self.mu):
            return 0.0
        if math.isinf(certificate.value):
            raise CertificationError(f"no noise reaches mu={self.mu!r}: the sensitivity is infinite; clip the records.")
        return quotient_up(float(certificate.value), self.mu)

    def event(
        self, certificate: SensitivityCertificate, name: str, parents: tuple[str, ...] = (), knows: tuple[str, ...] = ()
    ) -> Event:
        """What one release costs (arguments of `noise`), known to everybody before it is drawn, for whoever pays.

        ``knows`` names the dealer of the noise.
        """
        profile = self.privacy_profile(certificate)
        return announcement(certificate, profile, MECHANISM, name, parents, trust_model="distributed", knows=knows)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: the noise is made for the length of the certificate, over all integers."""
        return {"mu": 0.0 if certificate.value == 0 else float(self.mu), "delta_numeric": 0.0}

    def noise(
        self,
        certificate: SensitivityCertificate,
        units: np.ndarray,
        rng: RandomSource,
        name: str,
        parents: tuple[str, ...] = (),
    ) -> np.ndarray:
        """The noise (d,), Python integers, at the dealer, which pays for it: where the shares are added none is drawn.

        The certificate is that of the integers times ``units`` (d,), what one step of each is worth, in the norm l2.
        ``parents`` are releases that its parameters came from.
        """
        payer = require_payer(rng)
        if payer is not None:
            payer.charge(self.event(certificate, name, parents))
        sigma, units = self.deviation(certificate), np.asarray(units, dtype=float)
        drawn = np.zeros(units.shape, dtype=object)
        if sigma and sampler_of(rng) == "secure":
            for unit in dict.fromkeys(units.tolist()):
                chosen = units == unit
                drawn[chosen] = draw_huge_integers(words_of(rng), quotient_up(sigma, unit), int(chosen.sum()))
        elif sigma:
            assert isinstance(rng, np.random.Generator)
            drawn[:] = [int(steps) for steps in np.rint(sigma * rng.standard_normal(units.shape) / units)]
        observer = OBSERVER.get()
        if observer is not None:
            observer.add_key(NoiseKey(name, drawn))
        return drawn

    def __call__(
        self,
        shared: SharedSum,
        certificate: SensitivityCertificate,
        units: np.ndarray,
        sampler: str,
        *,
        owner: str = UNNAMED,
        stratum: str = "*",
        parents: tuple[str, ...] = (),
        **terms: Unpack[Terms],
    ) -> Release:
        """Release what the shares add up to, at the place that has added them."""
        closed = EncryptedIntegers(certificate, units, shared, without_noise, stratum, parents)
        scale = np.asarray(units, dtype=float)
        stated: Terms = {**terms, "release_id": shared.name}
        profile, draw = self.privacy_profile(certificate), shared.total.copy
        # The dealer has paid for its noise: nothing is drawn here.
        made = charge_and_draw(
            closed, profile, MECHANISM, draw, owner, stated, SpentGenerator(sampler), preset=True, digest=_digest
        )
        return made.post_process(lambda total: np.asarray(total, dtype=float) * scale)


def _digest(total: np.ndarray) -> str:
    return digest_of(np.asarray(total, dtype=float))


def without_noise(content: SharedSum | np.ndarray, keys: Sequence[object]) -> np.ndarray:
    """The integers of a statistic; of what was released, with its noise."""
    if isinstance(content, SharedSum):
        own = [key.integers for key in keys if isinstance(key, NoiseKey) and key.name == content.name]
        return content.total - sum(own[-content.parts :])
    return content
