"""What a mechanism lets out, and the attack on it: the common form of all rows of the audit study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..federation.channel import Cipher
from ..privacy.accounted import Clear, Public
from ..privacy.accounting.calibration import classic_gaussian_sigma, gdp_mu
from ..privacy.ledger.event import Event
from ..privacy.mechanisms.release import Release, digest_of
from .worlds import World

Payload = Release | Clear | Cipher


@dataclass(frozen=True)
class Verdict:
    """What an attack on one pair of neighbours proves about epsilon at the delta of the claim.

    lower : lower bound, inf where one output tells the worlds apart with certainty
    mu_lower : bound on mu of a Gaussian mechanism, or None; exact : epsilon of this pair, where it is computed
    kind : ``counts``, ``gaussian`` (counts, and mu), ``exact`` (enumeration), ``certain`` or ``no_law``
    draws : releases that certify a bound; at_limit : whether more draws would give a larger one
    """

    lower: float | None
    kind: str
    mu_lower: float | None = None
    exact: float | None = None
    draws: int = 0
    at_limit: bool = False


class Attacked(Protocol):
    """A pair of neighbours with the best known attack on a mechanism."""

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> Verdict:
        """Attack both worlds and certify the success."""


@dataclass(frozen=True)
class Task:
    """One row in one cell: the data and everything public.

    settings : of the case; variant : ``published`` or ``repaired``; epsilon, delta : of the claim
    worst, ordinary : pairs of neighbours; owners : names of the parties that hold the data
    rng_for : generators by address; trials : repetitions of a descriptive attack
    """

    settings: Any
    variant: str
    epsilon: float
    delta: float
    worst: tuple[World, World]
    ordinary: tuple[World, World]
    owners: tuple[str, ...]
    rng_for: Callable[..., np.random.Generator]
    trials: int = 1

    @property
    def published(self) -> bool:
        """Whether the source's own formula is wanted."""
        return self.variant == "published"

    @property
    def multiplier(self) -> float:
        """Noise for sensitivity 1: the source's classic formula, or the analytic one."""
        if self.published:
            return float(classic_gaussian_sigma(self.epsilon, self.delta, 1.0, allow_uncertified=True))
        return 1 / self.mu

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the target."""
        return float(gdp_mu(self.epsilon, self.delta))

    def noise(self) -> np.random.Generator:
        """Generator of the one release that is sent."""
        return self.rng_for("release")

    def sent(self, name: str, payload: Payload) -> tuple[tuple[str, str, Payload], ...]:
        """The only payload of a row with one owner."""
        return ((self.owners[0], name, payload),)

    def pairs(self, make: Callable[[World, World], Attacked]) -> tuple[Attacked, Attacked]:
        """Both pairs of neighbours, put under attack in one way."""
        return make(*self.worst), make(*self.ordinary)


@dataclass(frozen=True)
class Exposure:
    """What leaves the owners, and how well it is attacked.

    payloads : (owner, name, what is sent); pairs : under attack, the worst one and an ordinary one
    numbers : further scalars
    one_run : (rng, canaries) -> scores and bits of one run with many records, or None
    curves : (2, points) mean false- and true-positive rates of a descriptive attack, or None
    claim : epsilon that is claimed, where it is not that of the row
    """

    payloads: tuple[tuple[str, str, Payload], ...]
    pairs: tuple[Attacked, Attacked]
    numbers: dict[str, Any] = field(default_factory=dict)
    one_run: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]] | None = None
    curves: np.ndarray | None = None
    claim: float | None = None


def claimed(task: Task, exposure: Exposure) -> float:
    """Epsilon by the source's formula, 0 where it is said to be free, nan where nothing is said; a repair's target."""
    if exposure.claim is not None:
        return exposure.claim
    kind = task.settings.entry.claim if task.published else "epsilon"
    return {"epsilon": task.epsilon, "free": 0.0, "none": float("nan")}[kind]


def fixed(settings: Any, *names: str) -> Public:
    """Settings of a case as a certificate takes them: fixed before any data are seen."""
    values = tuple(getattr(settings, name) for name in names)
    return Public(values[0] if len(values) == 1 else values, because=f"{' and '.join(names)} of the case, a setting")


def unproved(value: np.ndarray, owner: str, unit: str, mechanism: str) -> Release:
    """A release whose law proves nothing: the ledger counts it as infinite."""
    event = Event(
        release_id=f"{mechanism} of {owner}",
        owner=owner,
        mechanism=mechanism,
        unit=unit,
        depends_on=frozenset(("label", "features")),
        noise_digest=digest_of(value),
        certified=False,
    )
    return Release(value, event)
