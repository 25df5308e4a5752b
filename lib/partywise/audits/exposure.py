"""Exposure of a mechanism, and the attack on it: the common form of everything that is audited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from ..core.checks import Scalar
from ..federation.cipher import Cipher
from ..privacy.accounted_values import Clear, Public
from ..privacy.accounting.calibration import classic_gaussian_sigma, gdp_mu
from ..privacy.ledger.event import Event
from ..privacy.mechanisms.release import Release, digest_of
from ..privacy.payer import require_payer
from .worlds import World

Settings = TypeVar("Settings", covariant=True)
Payload = Release | Clear | Cipher


@dataclass(frozen=True)
class EpsilonBounds:
    """Bounds on epsilon, at the delta of the claim, that an attack on one pair of neighbours proves.

    lower : lower bound, inf where one output separates the worlds with certainty
    mu_lower : bound on mu of a Gaussian mechanism, or None; exact : epsilon of this pair, where it is computed
    kind : ``counts``, ``gaussian`` (counts, and mu), ``exact`` (enumeration), ``certain`` or ``no_distribution``
    draws : releases that certify a bound; at_limit : whether more draws would give a larger one
    """

    lower: float | None
    kind: str
    mu_lower: float | None = None
    exact: float | None = None
    draws: int = 0
    at_limit: bool = False


class AttackedPair(Protocol):
    """A pair of neighbours with the best known attack on a mechanism."""

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Attack both worlds and certify the success."""


@dataclass(frozen=True)
class Task(Generic[Settings]):
    """Knowledge of one owner: its data and everything public.

    settings : parameters of the mechanism; epsilon, delta : of the claim
    worst, ordinary : pairs of neighbours, the first of which is the data
    owners : names of the parties that hold the data; owner : whose task it is
    rng_for : generators by address; trials : repetitions of a descriptive attack
    """

    settings: Settings
    epsilon: float
    delta: float
    worst: tuple[World, World]
    ordinary: tuple[World, World]
    owners: tuple[str, ...]
    owner: str
    rng_for: Callable[..., np.random.Generator]
    trials: int = 1

    @property
    def classic(self) -> float:
        """Noise for sensitivity 1 by the classic formula of the sources."""
        return float(classic_gaussian_sigma(self.epsilon, self.delta, 1.0, allow_uncertified=True))

    @property
    def analytic(self) -> float:
        """Noise for sensitivity 1 that has the target."""
        return 1 / self.mu

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the target."""
        return float(gdp_mu(self.epsilon, self.delta))

    def noise(self) -> np.random.Generator:
        """Generator of the one release that is sent."""
        return self.rng_for("release")

    def deal_releases(self, releases: int) -> range:
        """Numbers of the releases that are this owner's, where they are dealt in turn."""
        return range(self.owners.index(self.owner), releases, len(self.owners))

    def pairs(self, make: Callable[[World, World], AttackedPair]) -> tuple[AttackedPair, AttackedPair]:
        """Both pairs of neighbours, put under attack in one way."""
        return make(*self.worst), make(*self.ordinary)


@dataclass(frozen=True)
class Exposure:
    """Payloads that leave an owner, and how well they are attacked.

    payloads : what is sent, by number of the release; pairs : under attack, the worst one and an ordinary one
    numbers : further scalars
    one_run : (rng, canaries) -> scores and bits of one run with many records, or None
    curves : (2, points) mean false- and true-positive rates of a descriptive attack, or None
    """

    payloads: Mapping[int, Payload]
    pairs: tuple[AttackedPair, AttackedPair]
    numbers: Mapping[str, Scalar] = field(default_factory=dict)
    one_run: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]] | None = None
    curves: np.ndarray | None = None


def public_settings(settings: object, *names: str) -> Public:
    """Settings of a case as a certificate takes them: fixed before any data are seen."""
    values = tuple(getattr(settings, name) for name in names)
    return Public(values[0] if len(values) == 1 else values, because=f"{' and '.join(names)} of the case, a setting")


def unproved_release(value: np.ndarray, owner: str, unit: str, mechanism: str, rng: np.random.Generator) -> Release:
    """A release whose noise proves nothing: the ledger counts it as infinite, and the payer of ``rng`` is asked."""
    event = Event(
        release_id=f"{mechanism} of {owner}",
        owner=owner,
        mechanism=mechanism,
        unit=unit,
        depends_on=frozenset(("label", "features")),
        noise_digest=digest_of(value),
        certified=False,
    )
    payer = require_payer(rng)
    if payer is not None:
        payer.charge(event)
    return Release(value, event)
