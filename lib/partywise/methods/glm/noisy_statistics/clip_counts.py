"""Noisy counts of records beyond public bounds: what a reader needs to judge the shapes of clipped columns.

Counted are, per party, the records that are longer than its radius c_k, and than its far radius, the larger of 1.25 c_k
and the default radius, and, unless responses are binomial, those outside of their public range. One record moves each
count by at most 1, and a record that is far at every party moves all of them: M = 2 K + 1 counts together move by
sqrt(M). All have noise of one deviation s, so that a release of m counts costs m / s^2 of the squared budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....federation.parties import Participant
from ....federation.roles import roles
from ....federation.run import Run
from ....models.family_facts import FACTS
from ....models.simulation.base import ReleasedSum, Sample, noise_deviation
from ....privacy.accounted_values import AccountedValue, Public, parents_of
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.integer import MECHANISM
from ....privacy.mechanisms.release import announcement
from ....privacy.statistics.clips import NormClip
from ....privacy.statistics.whole import Whole, whole
from ..model import GlmFacts
from .moments import MomentScale
from .scaling import constant, default_radius, facts_of, radius_of

RECORDS, RESPONSES = "clipped records", "clipped responses"
FAR = 1.25
# Counts are whole numbers of so fine steps that rounding of their noise shows in no digit, at any epsilon.
BITS = 30
BECAUSE_FAR = "the larger of the default radius and 1.25 times the radius of the party"
BOUND = "each of the counts moves by 1 at most"


@dataclass(frozen=True)
class NoisyCounts:
    """Released counts of records beyond public bounds.

    value : (2 K + 1,) of each party those beyond its radius and beyond its far radius, then responses outside of their
        range; (2 K,) where responses are not counted
    events : rows of the releases, in the order of their counts
    radii : (K, 2) radius and far radius of each party, on the public scales of the columns
    n : number of records
    """

    value: np.ndarray
    events: tuple[Event, ...]
    radii: np.ndarray
    n: int

    @property
    def sd(self) -> float:
        """Standard deviation of the noise of each count; 0 without noise."""
        return noise_deviation(self.events[0])

    def sum(self, of_records: Callable[[Sample], np.ndarray]) -> ReleasedSum:
        """Return their means as a sum over records; of_records gives what drawn records add to the counts."""
        return ReleasedSum.from_release(self.value, self.events, 2.0**-BITS, of_records, self.n, records=self.n)

    def of_model(self, z: np.ndarray, response: np.ndarray, scale: MomentScale) -> np.ndarray:
        """(m, d) what each record adds to the counts, in floats: whether it is beyond each of the bounds.

        z : (m, p) scaled columns; response : (m,) s (t - t_0)
        """
        lengths = np.column_stack([np.linalg.norm(z[:, columns], axis=1) for columns, _ in scale.clips])
        far = (lengths[:, :, None] > self.radii).reshape(len(z), -1)
        # An end of the range is inside, however its distance from the centre is rounded: 0 of a Poisson response.
        outside_range = np.abs(response)[:, None] > scale.radius / 2 * (1 + 1e-9)
        return np.hstack([far, outside_range]).astype(float)[:, : len(self.value)]


@dataclass(frozen=True)
class CountPlan:
    """Public facts of the counts of a run before its fit.

    n : number of records; radii : radius and far radius of each party
    active : place of the party that counts its responses as well; None where they are not counted
    mu : Gaussian-DP parameters of the releases, one per party and that of the responses
    """

    public: GlmFacts
    n: int
    radii: tuple[tuple[AccountedValue, AccountedValue], ...]
    active: int | None
    mu: tuple[float, ...]

    @classmethod
    def of(cls, run: Run, n: int, mu: Sequence[float]) -> CountPlan | None:
        """Return the plan for parameters in the order of `with_counts`; None where there are none."""
        if not mu:
            return None
        public, (active, _) = facts_of(run), roles(run.parties)
        place = [party.name for party in run.parties].index(active.name)
        radii = tuple((radius_of(public, party), far_radius(public, party)) for party in run.parties)
        return cls(public, n, radii, place if counts_responses(public) else None, tuple(mu))

    @property
    def events(self) -> tuple[Event, ...]:
        """Rows of the releases, as far as they are public before the fit: one per party and that of the responses."""
        parents = [parents_of(*pair) for pair in self.radii] + [parents_of(self.public.statistic)]
        sizes = [2] * len(self.radii) + [1]
        return tuple(
            announcement(
                whole(np.zeros(size, dtype=int), size, 1.0, BOUND).certificate,
                {"mu": mu},
                MECHANISM,
                RECORDS if size > 1 else RESPONSES,
                made_of,
                trust_model="local",
            )
            for size, mu, made_of in zip(sizes, self.mu, parents, strict=False)
        )

    def counts_from(self, values: Sequence[np.ndarray]) -> NoisyCounts:
        """Return the counts that were released, of the parties and of the responses."""
        radii = np.array([[float(radius.value) for radius in pair] for pair in self.radii])
        return NoisyCounts(np.concatenate(values), self.events, radii, self.n)


def with_counts(
    shares: Sequence[float], counted: float, public: GlmFacts, parties: Sequence[Participant]
) -> tuple[float, ...]:
    """Return shares of the squared budget, those of the counts at the end: one per party and that of the responses."""
    if not counted:
        return tuple(shares)
    sizes = [2] * len(parties) + [1] * counts_responses(public)
    return (*((1 - counted) * share for share in shares), *(counted * size / sum(sizes) for size in sizes))


def counts_responses(public: GlmFacts) -> bool:
    """Whether there is a public range that responses may leave."""
    return public.statistic is not None and FACTS[public.family].link != "logit"


def far_radius(public: GlmFacts, party: Participant) -> AccountedValue:
    """Radius beyond which a record of the party's scaled block counts as far."""
    radius = radius_of(public, party)
    far = max(FAR * float(radius.value), default_radius(len(party.columns)))
    return Public(far, because=BECAUSE_FAR, made_of=(radius,))


def beyond(z: np.ndarray, radii: Sequence[AccountedValue]) -> Whole:
    """Numbers of scaled records (n, p_k) that are longer than each of some radii; l2 sensitivity sqrt(len(radii))."""
    numbers = np.array([NormClip(radius).of(z).number for radius in radii])
    return whole(numbers, len(radii), 1.0, BOUND, depends_on={"features"}, parents=parents_of(*radii)).finer(BITS)


def outside(t: np.ndarray, public: GlmFacts) -> Whole:
    """Number (1,) of response statistics (n,) outside of their public range; l2 sensitivity 1."""
    low, high = constant(public, "statistic")
    number = np.array([np.count_nonzero((t < low) | (t > high))])
    return whole(number, 1, 1.0, BOUND, depends_on={"label"}, parents=parents_of(public.statistic)).finer(BITS)
