"""Protocol: federated averaging of logistic regression under a privacy layer that a framework ships.

Public, fixed before data are seen: all options, clients and their numbers of records.

What is protected: a client, all of whose records may change (unit ``user``, ``replace_one``). ``local_dp`` and
``certified`` against the server, ``svt`` likewise, by a bound that is larger than stated; ``fixed_clipping`` and
``adaptive_clipping`` against all but the server, which sees updates as they are; the others against no reader. The
clip of ``adaptive_clipping`` follows the data, so that nothing is proved of it in advance.

Message            from, to         payload
update, by round   sites, server    updates (c, D) of c clients: `Release`, or `Clear`; ``certified``: their sum (D)
model, by round    server, sites    coefficients (D): made of the updates, or under a fixed clip a `Release`
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear, Public
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.gaussian import Gaussian
from ....privacy.mechanisms.release import Release, announcement, derive
from ....privacy.statistics.bounded import Bounded, SensitivityCertificate
from ....privacy.strata import cell_of
from ..certified import CertifiedFilter
from ..guarantees import epsilon_of
from ..layers.fed_biomed import biomed_central
from ..layers.flower import RATE, TARGET, adaptive_noise, add_noise, local_sd
from ..model import FilterEstimate, FilterFacts
from ..options import FedavgOptions
from ..training import SVT_EPSILON, SVT_GAMMA, SparseVector, by_client, clip_rows, local_updates, plain_rows

SERVER = "server"
ALL = frozenset({"label", "features"})


@dataclass(frozen=True)
class FedAvgPlan:
    """Public facts before the first round.

    sites : clients and rows of each client at each site; epsilon, delta : of the target
    """

    options: FedavgOptions
    sites: tuple[tuple[int, int], ...]
    epsilon: float
    delta: float

    @property
    def clients(self) -> int:
        """n."""
        return sum(clients for clients, _ in self.sites)

    @property
    def shares(self) -> np.ndarray:
        """Weight of a client at each site: its rows among all."""
        rows = np.array([rows for _, rows in self.sites], dtype=float)
        return rows / sum(clients * rows for clients, rows in self.sites)

    @property
    def sd(self) -> float:
        """Noise of a fixed clip, z C / n."""
        return self.options.multiplier * self.options.bound / self.clients

    @property
    def certificate(self) -> SensitivityCertificate:
        """Certificate of how far one client moves the mean under a fixed clip."""
        return certificate_of(2 * self.options.bound * float(self.shares.max()), "updates are clipped, weights public")

    def name(self, number: int) -> str:
        """Return the name of the coefficients after a round."""
        return f"model {number + 1}"

    def announcements(self) -> tuple[Event, ...]:
        """Return the cost of all rounds under a fixed clip to each client, whose updates the server has."""
        profile = Gaussian(sigma=self.sd).privacy_profile(self.certificate)
        names = map(self.name, range(self.options.rounds))
        return tuple(announcement(self.certificate, profile, "gaussian", name, trust_model="local") for name in names)

    @property
    def epsilon_claimed(self) -> float:
        """Epsilon that the layer claims; nan without a claim."""
        options = self.options
        if options.central:
            return epsilon_of(1 / options.multiplier, self.delta, options.rounds)
        if options.layer == "svt":
            return SVT_EPSILON
        return self.epsilon if options.uses_epsilon else math.nan


@dataclass(frozen=True, eq=False)
class FedAvgRound:
    """State of the server after a round: coefficients, the next clip, and under a fixed clip the released model.

    norm : median length of an update, which only an evaluator reads
    """

    coefficients: np.ndarray
    clip: float
    norm: float
    model: Release | None = None


def local_message(client: Party, at: np.ndarray, plan: FedAvgPlan, number: int, rng_for: Rng) -> Release | Clear:
    """Updates of the clients of a site, as they leave it."""
    options, name = plan.options, f"update {number} of {client.name}"
    updates = local_updates(at, *by_client(client.block), options.steps, options.step)
    rng, cell = rng_for("noise", client.name, number), cell_of("clients", client.name)
    if options.layer == "certified" and math.isfinite(plan.epsilon):
        # Of each round anew: the ledger adds up what all of them cost.
        certified = CertifiedFilter.for_rounds(
            options.bound, plan.epsilon, plan.delta, options.rounds, "user", owner=client.name, rng=rng, stratum=cell
        )
        return certified.release(updates, release_id=name)
    if options.layer == "svt":
        certificate = certificate_of(2 * SVT_GAMMA, "entries are clipped", norm="linf", records=1)
        statistic = Bounded(np.clip(updates, -SVT_GAMMA, SVT_GAMMA), certificate, cell)
        return SparseVector()(statistic, rng, owner=client.name, release_id=name)
    rows = plain_rows(updates, options)
    if options.layer == "local_dp" and math.isfinite(plan.epsilon):
        statistic = Bounded(rows, certificate_of(2 * options.bound, "updates are clipped", records=1), cell)
        sd = local_sd(options.shift, plan.epsilon, plan.delta)
        return Gaussian(sigma=sd)(statistic, rng, owner=client.name, release_id=name)
    if options.layer == "biomed_central":
        rows = biomed_central({"update": rows}, sigma=options.multiplier, bound=options.bound, rng=rng)["update"]
    return Clear(rows.sum(axis=0) if options.layer == "certified" else rows, units=("user",), owner=client.name)


def certificate_of(value: float, source: str, norm: str = "l2", records: int | None = None) -> SensitivityCertificate:
    """A client's records become any others."""
    return SensitivityCertificate(
        value, norm, "user", "replace_one", ALL, ("clients and their numbers of records public",), source,
        records=records,
    )  # fmt: skip


def server_round(
    last: FedAvgRound, updates: Sequence[np.ndarray], plan: FedAvgPlan, number: int, rng_for: Rng
) -> FedAvgRound:
    """Coefficients after a round, by a central layer with its noise; the next clip."""
    options, shares = plan.options, plan.shares
    if not options.central:
        total = sum(share * np.atleast_2d(rows).sum(axis=0) for share, rows in zip(shares, updates, strict=True))
        return FedAvgRound(last.coefficients + total, last.clip, math.nan)
    rows, rng = np.concatenate(updates), rng_for("noise", SERVER, number)
    weights = np.repeat(shares, [len(site_rows) for site_rows in updates])
    mean, lengths = last.coefficients + weights @ clip_rows(rows, last.clip), np.linalg.norm(rows, axis=1)
    if options.layer == "fixed_clipping":
        model = Gaussian(sigma=plan.sd)(Bounded(mean, plan.certificate), rng, release_id=plan.name(number))
        return FedAvgRound(np.asarray(model.value), last.clip, float(np.median(lengths)), model)
    # Clip, noise and count follow the data, round by round: no profile is known before they are drawn.
    count_sd, multiplier = adaptive_noise(options.multiplier, len(rows), options.count_sd)
    counted = np.count_nonzero((lengths > last.clip) == (options.direction == "shipped"))
    ((noisy,),) = add_noise([np.array([float(counted)])], count_sd, rng)
    bound = last.clip * math.exp(-RATE * (float(noisy) / len(rows) - TARGET))
    (coefficients,) = add_noise([mean], multiplier * bound / len(rows), rng)
    return FedAvgRound(coefficients, bound, float(np.median(lengths)))


def server_model(
    now: FedAvgRound, received: tuple[AccountedValue, ...], plan: FedAvgPlan, number: int
) -> Release | Public | Clear:
    """The coefficients, for the sites."""
    if now.model is not None:
        return now.model
    return derive(now.coefficients, received, name=plan.name(number), owner=SERVER)


def server_answer(rounds: Sequence[FedAvgRound], plan: FedAvgPlan) -> FilterEstimate:
    """The last coefficients; clips and lengths where they were looked at."""
    moving = plan.options.layer == "adaptive_clipping"
    return FilterEstimate(
        plan.epsilon_claimed,
        rounds[-1].coefficients,
        clips=np.array([state.clip for state in rounds]) if moving else np.zeros(0),
        norms=np.array([state.norm for state in rounds[1:]]) if moving else np.zeros(0),
    )


def fit(run: Run) -> FilterEstimate:
    """T rounds from coefficients of 0."""
    facts: FilterFacts = run.spec.public
    options: FedavgOptions = run.spec.options
    plan = FedAvgPlan(options, facts.sites(len(run.parties)), run.epsilon, run.spec.study.delta)
    at = np.zeros(facts.features)
    if options.layer == "fixed_clipping":
        run.charge(run.parties, *plan.announcements())
    rounds = [run.at(SERVER, FedAvgRound, at, options.bound, math.nan)]
    for number in range(options.rounds):
        updates = run.gather(run.parties, SERVER, f"update {number}", local_message, at, plan, number, run.rng_for)
        now = run.at(SERVER, server_round, rounds[-1], updates, plan, number, run.rng_for)
        received = run.received(SERVER, f"update {number}")
        at = run.broadcast(SERVER, run.parties, plan.name(number), server_model, now, received, plan, number)
        rounds.append(now)
    return run.at(SERVER, server_answer, rounds, plan)
