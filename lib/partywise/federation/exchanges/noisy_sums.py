"""Exchange: sums over the records of all clients, released with noise that all share, each adds, or no party holds.

noise     who is trusted                       messages
shared    none, except some colluders          `noisy_sum`
local     none                                 each client's own release, to the receiver
central   an assumed secure aggregation        integers in shares, `secure_sum`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

# Any: terms of a release, which the mechanism checks.
from typing import Any

import numpy as np

from ...core.checks import Noise
from ...core.errors import PartyError
from ...core.randomness import Rng
from ...privacy.accounted_values import AccountedValue
from ...privacy.accounting.calibration import gdp_mu
from ...privacy.ledger.event import Event, EventProfile
from ...privacy.mechanisms.integer import MECHANISM, IntegerGaussian
from ...privacy.mechanisms.laplace import Geometric
from ...privacy.mechanisms.random import RandomSource
from ...privacy.mechanisms.release import Release, announcement
from ...privacy.statistics.bounded import Bounded, SensitivityCertificate
from ...privacy.statistics.whole import Whole
from ...privacy.strata import cell_of
from ..parties import Party
from ..places import PerPlace
from ..roles import records_together
from ..run import Run
from .masks.noisy_sum import noisy_sum
from .masks.pair_keys import PairKeys, agree_on_keys
from .secure_sum import AGGREGATOR, shared_once, sums_of_shares


def noise_factor(noise: Noise, clients: int, colluders: int) -> float:
    """K', variance of the noise of a sum in units of that of one release for all of K clients."""
    if noise == "central":
        return 1.0
    if noise == "local":
        return float(clients)
    return clients / (clients - min(colluders, clients - 1))


@dataclass(frozen=True)
class NoisySums:
    """Release of sums by the clients of a run to a receiver: who they are, how noise is added, and with which keys.

    records : of all clients, public; colluders : read where noise is shared; keys : of pairs, where noise is shared
    """

    noise: Noise
    colluders: int
    clients: tuple[Party, ...]
    records: int
    receiver: str
    keys: PairKeys | None

    @property
    def noise_factor(self) -> float:
        """K'."""
        return noise_factor(self.noise, len(self.clients), self.colluders)


def agree_on_sums(run: Run, noise: Noise, colluders: int, records: int, receiver: str) -> NoisySums:
    """Return how the parties of a run release sums; where they share noise, every two agree on a key."""
    keys = agree_on_keys(run, run.parties, receiver) if noise == "shared" else None
    return NoisySums(noise, colluders, run.parties, records, receiver, keys)


def mu_of(run: Run) -> float:
    """Gaussian-DP parameter of all releases of a run together, for one record; infinite without noise."""
    if math.isinf(run.epsilon):
        return math.inf
    return float(gdp_mu(run.epsilon, run.spec.study.delta)) / records_together(run.spec)


def require_sizes(run: Run, sizes: Sequence[int], column: str) -> None:
    """Check that each client has as many records as all parties assume: noise and delta rest on it."""
    for client, size in zip(run.parties, sizes, strict=True):
        run.at(client, local_check, size, column)


def local_check(client: Party, size: int, column: str) -> None:
    """PartyError unless a client has the public number of records."""
    if len(client.block[column]) != size:
        raise PartyError(
            f"{client.name!r} has another number of records than is public: state it, and drop none by what they hold."
        )


@dataclass(frozen=True)
class GeometricNoise:
    """Two-sided geometric noise on sums of whole numbers, in place of Gaussian noise.

    epsilon : pure, of all entries together; shift : bound of the absolute moves of all entries together, in steps
    draws : full draws that are added, as of `Geometric`

    Formal guarantee: (epsilon, 0)-DP, as of `Geometric`, against all who do not know every draw.
    """

    epsilon: float
    shift: int
    draws: int = 1

    def certificate(self, statistic: Whole) -> SensitivityCertificate:
        """Certificate of the statistic in the norm l1, on the grid of its steps."""
        return replace(statistic.certificate, value=self.shift * statistic.step, norm="l1", grid=float(statistic.step))

    def release(self, statistic: Whole, rng: RandomSource, **terms: Any) -> Release:
        """Release the statistic with noise in every entry."""
        bounded = Bounded(statistic.value, self.certificate(statistic), statistic.stratum, parents=statistic.parents)
        return Geometric(epsilon=self.epsilon, draws=self.draws)(bounded, rng, **terms)

    @property
    def ratio(self) -> float:
        """Ratio of the probabilities of two neighbouring integers, away from 0; 0 without noise."""
        return math.exp(-self.epsilon / self.shift)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise of one release, in steps; 0 without noise."""
        return math.sqrt(2 * self.ratio * self.draws) / (1 - self.ratio)

    @property
    def excess_kurtosis(self) -> float:
        """Excess kurtosis of the noise of one release; 0 without noise."""
        p = self.ratio
        return (3 + (1 - p) ** 2 / (2 * p)) / self.draws if p else 0.0


@dataclass(frozen=True, eq=False)
class ReleasedSum:
    """A noisy sum at the receiver, and the releases that it is made of."""

    value: np.ndarray
    releases: tuple[AccountedValue, ...]


def released_sum(
    run: Run,
    sums: NoisySums,
    name: str,
    statistics: PerPlace[Whole],
    total: Whole,
    noise: float | GeometricNoise,
    largest: int,
) -> ReleasedSum:
    """Return the noisy sum of the statistics of all clients, at the receiver.

    total : the sum as all parties know it: its shape, steps and bound; largest : bounds every entry, in steps
    noise : mu of Gaussian noise; or geometric noise, which has no shares: ValueError where noise is shared
    """
    receiver = sums.receiver
    if sums.keys is not None:
        if isinstance(noise, GeometricNoise):
            raise ValueError("noise is 'shared': shares of noise are Gaussian; take noise 'local' or 'central'.")
        release = noisy_sum(run, sums.keys, name, statistics, total, noise, colluders=sums.colluders, largest=largest)
        return run.at(receiver, opened_sum, release)
    if sums.noise == "local":
        released = run.gather(sums.clients, receiver, name, local_release, statistics, name, noise, run.rng_for)
        return run.at(receiver, sum_of_releases, released, run.received(receiver, name))
    run.charge(sums.clients, central_terms(total, noise, name))
    shares = shared_once(run, [(sums.clients, f"{name} in shares", local_integers, (statistics,))])
    aggregated = sums_of_shares(run, shares, receiver, (name,), central_release, total, noise, name, run.rng_for)
    return run.at(receiver, aggregated_sum, aggregated, run.received(receiver, name))


def largest_entry(total: Whole, records: int) -> int:
    """Bound of every entry of a sum over so many records, in steps: none moves an entry further than all together."""
    return records * (math.isqrt(int(total.squares)) + 1)


def local_integers(client: Party, statistic: Whole) -> np.ndarray:
    """Integers that a client adds, which stay closed."""
    return statistic.integers


def central_terms(total: Whole, noise: float | GeometricNoise, name: str) -> Event:
    """Return the event of noise that an assumed aggregation adds."""
    central: dict[str, Any] = {"trust_model": "central", "knows": (AGGREGATOR,)}
    if isinstance(noise, GeometricNoise):
        profile: EventProfile = {"epsilon": float(noise.epsilon)}
        return announcement(noise.certificate(total), profile, "geometric", name, total.parents, **central)
    return announcement(total.certificate, {"mu": float(noise)}, MECHANISM, name, total.parents, **central)


def local_release(client: Party, statistic: Whole, name: str, noise: float | GeometricNoise, rng_for: Rng) -> Release:
    """A client's own sum with noise of its own: clients are disjoint, so that their number does not enter."""
    stratified = replace(statistic, stratum=cell_of("clients", client.name))
    rng = rng_for("noise", name, client.name)
    return _mechanism(noise)(stratified, rng, owner=client.name, release_id=f"{name} of {client.name}")


def central_release(
    integers: Sequence[np.ndarray], total: Whole, noise: float | GeometricNoise, name: str, rng_for: Rng
) -> tuple[Release, ...]:
    """The sum with its noise: computed inside the aggregation."""
    pooled = replace(total, integers=np.sum(integers, axis=0))
    rng = rng_for("noise", name, AGGREGATOR)
    release = _mechanism(noise)(pooled, rng, release_id=name, trust_model="central", knows=(AGGREGATOR,))
    return (release,)


def _mechanism(noise: float | GeometricNoise) -> Callable[..., Release]:
    """Mechanism of the noise, of a whole statistic."""
    return noise.release if isinstance(noise, GeometricNoise) else IntegerGaussian(mu=noise)


def opened_sum(release: Release) -> ReleasedSum:
    """The sum of all words, without their masks."""
    return ReleasedSum(np.asarray(release.value), (release,))


def sum_of_releases(released: Sequence[np.ndarray], releases: tuple[AccountedValue, ...]) -> ReleasedSum:
    """The sum of what all clients released."""
    return ReleasedSum(np.sum(released, axis=0), releases)


def aggregated_sum(released: Sequence[Sequence[np.ndarray]], releases: tuple[AccountedValue, ...]) -> ReleasedSum:
    """The one value of the one aggregation."""
    ((value,),) = released
    return ReleasedSum(value, releases)
