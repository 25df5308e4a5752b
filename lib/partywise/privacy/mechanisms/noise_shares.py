"""Rounded Gaussian noise to which each of several owners adds a share: no owner knows all of it.

Let each of K owners add rounded Gaussian noise of s_e steps to entry e of its own statistic. Against t of them, who
know their shares, the sum has the noise of the K - t others: within a total variation below 1e-300 that is Gaussian
noise of variance (K - t) s_e^2 and independent uniforms, rounded, as long as s_e is 16 steps or more. So the sum is
mu-Gaussian-DP against t colluders, mu^2 = D2_e / ((K - t) s_e^2), and cheaper against fewer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...core.errors import CertificationError
from ..accounted_values import UNPROVED
from ..ledger.event import SEVERAL, Event
from ..payer import require_payer
from ..statistics.encrypted_integers import EncryptedIntegers
from ..statistics.whole import Whole
from .integer import MECHANISM, NARROWEST, draw_noise, entry_deviations, finer_bits
from .random import RandomSource, sampler_of
from .release import OBSERVER, Release

# Distance of what a sum of shares is drawn from to what is stated, at most; it is below 1e-339 for 1e9 entries.
TOTAL_VARIATION = 1e-300


@dataclass(frozen=True)
class NoiseKey:
    """The noise of one release, or one share of it, which only its dealer or the owner of the share has.

    entries : the ones that the owner has a part of, where these are not all; public
    """

    name: str
    integers: np.ndarray
    entries: np.ndarray | None = None


@dataclass(frozen=True)
class SharedSum:
    """Sum of the shares of a statistic.

    total : (d,) integers with the noise, Python integers in an array of objects
    name : of the release; parts : who drew noise for it
    """

    total: np.ndarray
    name: str
    parts: int = 1


@dataclass(frozen=True)
class NoiseShares:
    """Noise on a sum over several owners, with a share of each.

    total : the sum as all parties know it, whose bounds, steps and shape count and whose integers are not read
    mu : Gaussian-DP parameter against ``colluders`` of the owners, infinite for no noise, in experiments only
    owners : who adds a share
    colluders : t, at most K - 1 owners that may join what they know
    """

    total: Whole
    mu: float
    owners: tuple[str, ...]
    colluders: int

    def __post_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"mu={self.mu!r} must be positive: no finite noise gives mu = 0.")
        if not self.owners or len(set(self.owners)) != len(self.owners):
            raise ValueError(f"owners={self.owners} of shares of noise must be distinct names, one at least.")
        if not 0 <= self.colluders < len(self.owners):
            raise ValueError(f"colluders={self.colluders!r} must lie in 0..{len(self.owners) - 1}.")

    @property
    def honest(self) -> int:
        """Shares that colluders do not know, at least."""
        return len(self.owners) - self.colluders

    @cached_property
    def bits(self) -> int:
        """Number of bits by which steps are made finer, the same for all owners."""
        return finer_bits(self._coarse.values())

    @property
    def _coarse(self) -> Mapping[int, float]:
        return entry_deviations(self.total, self.mu, Fraction(self.honest))

    @cached_property
    def deviations(self) -> Mapping[int, float]:
        """Deviation of one share, in the finer steps, for every weight of the statistic; none without noise."""
        return {weight: s * (1 << self.bits) for weight, s in self._coarse.items()}

    def word_bits(self, largest: int) -> int:
        """Bits of a word that holds the sum with its noise; ``largest`` bounds every entry of the sum, in steps."""
        noise = 64 * len(self.owners) * math.ceil(max(self.deviations.values(), default=0.0))
        return 64 if (largest << self.bits) + noise < 1 << 62 else 128

    def event(self, name: str, audience: tuple[str, ...], sampler: str, digest: str) -> Event:
        """Event of the sum with its cost: public before anything is drawn; ``digest`` differs between draws."""
        certificate, free = self.total.certificate, not self.total.squares
        if sampler == "secure" and not free and (math.isinf(self.mu) or (self.colluders == 0 < len(self.owners) - 1)):
            raise CertificationError(
                f"mu={self.mu!r}, colluders={self.colluders} of {name!r}: what is really released needs noise, and "
                "each owner knows its own share of it; give a finite epsilon and colluders of 1 or more."
            )
        return Event(
            release_id=name,
            owner=SEVERAL,
            owners=self.owners,
            shares=tuple((owner, str(Fraction(1, self.honest))) for owner in self.owners),
            mechanism=MECHANISM,
            unit=certificate.unit,
            depends_on=certificate.depends_on,
            relation=certificate.relation,
            mu=0.0 if free else float(self.mu),
            sensitivity=certificate.value,
            norm=certificate.norm,
            certificate=f"{certificate.source}; steps finer by {self.bits} bits",
            noise_digest=digest,
            audience=audience,
            stratum=self.total.stratum,
            trust_model="distributed",
            sampler=sampler,
            data_dependent_parameters=self.total.parents,
            certified=UNPROVED not in self.total.parents,
            tv=TOTAL_VARIATION if len(self.owners) > 1 and not free and math.isfinite(self.mu) else 0.0,
            exact=True,
        )

    def draw(self, statistic: Whole, event: Event, rng: RandomSource, entries: np.ndarray | None = None) -> np.ndarray:
        """An owner's integers with its share, in the finer steps; its payer must have paid for the event before.

        ``entries`` marks those that the owner has a part of, by default all: it adds nothing to others.
        """
        alike = (statistic.squares, statistic.integers.shape, statistic.parents, statistic.bits)
        if alike != (self.total.squares, self.total.integers.shape, self.total.parents, self.total.bits):
            raise CertificationError(
                f"the statistic of {event.release_id!r} has D2, shape, parents and bits {alike}, which are not the "
                "public ones of the sum."
            )
        if sampler_of(rng) != event.sampler:
            raise CertificationError(f"sampler={event.sampler!r} of {event.release_id!r} is not what draws its noise.")
        payer = require_payer(rng)
        if payer is not None:
            payer.charge(event)
        deviations = self.deviations
        if any(s < NARROWEST for s in deviations.values()):
            raise ValueError(f"shares of {min(deviations.values())} steps are not Gaussian enough: take {NARROWEST:g}.")
        fine = statistic.finer(self.bits)
        noise = draw_noise(rng, self.total, deviations)
        if entries is not None:
            noise = np.where(entries, noise, 0)
        observer = OBSERVER.get()
        if observer is not None:
            observer.add_key(NoiseKey(event.release_id, noise, entries))
        return np.asarray(fine.integers).astype(object if noise.dtype == object else np.int64) + noise

    def release(self, integers: np.ndarray, event: Event) -> Release:
        """The sum of what all owners drew, as the release that was announced."""
        fine = self.total.finer(self.bits)
        shared = SharedSum(integers, event.release_id, len(self.owners))
        closed = EncryptedIntegers(
            self.total.certificate, fine.units, shared, without_noise, self.total.stratum, self.total.parents
        )
        observer, value = OBSERVER.get(), integers
        if observer is not None:
            value = observer.draw(closed, MECHANISM, SEVERAL, integers.copy)
            observer.add_event(event)
        return Release(np.asarray(value, dtype=float) * fine.units, event)


def without_noise(content: SharedSum | np.ndarray, keys: Sequence[object]) -> np.ndarray:
    """The integers of a statistic; of what was released, with its noise."""
    if isinstance(content, SharedSum):
        noises = [key.integers for key in keys if isinstance(key, NoiseKey) and key.name == content.name]
        return content.total - sum(noises[-content.parts :])
    return content
