"""What protocols of survival analysis share: a client's records, sums of all clients that are released, and cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from ...errors import PartyError
from ...federation.exchanges.masks.pair_keys import PairKeys, agree_on_keys
from ...federation.exchanges.noisy_sum import noisy_sum
from ...federation.exchanges.secure_sum import AGGREGATOR, shared_once, sums_of_shares
from ...federation.parties import Party
from ...federation.roles import records_together
from ...federation.run import PerPlace, Run
from ...privacy.accounted_values import AccountedValue
from ...privacy.accounting.calibration import gdp_mu
from ...privacy.mechanisms.integer import MECHANISM, IntegerGaussian
from ...privacy.mechanisms.release import Release, announcement
from ...privacy.statistics.whole import Whole
from ...privacy.strata import cell_of
from ...randomness import Rng
from ..certified.whole import whole_cells
from ..curves import survival_curves
from ..exact import EventTable, kaplan_meier, log_rank
from ..model import Estimate, Numbers, PublicFacts
from ..options import NoisyOptions
from ..ranks import noisy_log_rank
from ..records import Records
from ..tables import Relation, Table, cell_counts, correct_sum

SERVER = "server"
CELLS = "cells"
Regroup = Callable[[Records], Records]


def local_rows(client: Party) -> Records:
    """The records of a client's block."""
    block = client.block
    return Records(block["times"], block["events"], block["covariates"], block["groups"])


def curves_of(tables: Sequence[EventTable], clients: int, **numbers: int) -> Estimate:
    """Kaplan-Meier of every group and the log-rank test of two, with numbers of the fit."""
    curves, test = tuple(map(kaplan_meier, tables)), log_rank(*tables) if len(tables) == 2 else None
    return Estimate(clients=clients, curves=curves, log_rank=test, numbers=dict(numbers))


def local_check(client: Party, size: int) -> None:
    """PartyError unless a client has as many records as everybody thinks: noise and delta rest on it."""
    if len(client.block["times"]) != size:
        raise PartyError(
            f"{client.name!r} has another number of records than is public: state it, and drop none by what they hold."
        )


def sizes_of(run: Run) -> list[int]:
    """Records of every client of a run: public."""
    facts: PublicFacts = run.spec.public
    return list(facts.sizes(len(run.parties)))


def mu_of(run: Run) -> float:
    """Gaussian-DP parameter of all releases together, for one record; infinite without noise."""
    if math.isinf(run.epsilon):
        return math.inf
    return float(gdp_mu(run.epsilon, run.spec.study.delta)) / records_together(run.spec)


@dataclass(frozen=True)
class NoisySums:
    """How the clients of a run release sums: who they are, how noise is added, and with which keys."""

    options: NoisyOptions
    clients: tuple[Party, ...]
    records: int
    keys: PairKeys | None

    @property
    def noise_factor(self) -> float:
        """K'."""
        return self.options.noise_factor(len(self.clients))


def agree_on_noise(run: Run) -> NoisySums:
    """Every client has the public number of records; where they share noise, every two agree on a key."""
    options, sizes = run.spec.options, sizes_of(run)
    for client, size in zip(run.parties, sizes, strict=True):
        run.at(client, local_check, size)
    keys = agree_on_keys(run, run.parties, SERVER) if options.shares_noise else None
    return NoisySums(options, run.parties, sum(sizes), keys)


@dataclass(frozen=True, eq=False)
class ReleasedSum:
    """A noisy sum at the server, and the releases that it is made of."""

    value: np.ndarray
    releases: tuple[AccountedValue, ...]


def released_sum(
    run: Run, sums: NoisySums, name: str, statistics: PerPlace[Whole], total: Whole, mu: float, largest: int
) -> ReleasedSum:
    """The noisy sum of the statistics of all clients, at the server.

    total : the sum as everybody knows it: its shape, steps and bound; largest : bounds every entry, in steps
    """
    if sums.keys is not None:
        release = noisy_sum(
            run, sums.keys, name, statistics, total, mu, colluders=sums.options.colluders, largest=largest
        )
        return run.at(SERVER, server_opened, release)
    if sums.options.noise == "local":
        released = run.gather(sums.clients, SERVER, name, local_release, statistics, name, mu, run.rng_for)
        return run.at(SERVER, server_sum, released, run.received(SERVER, name))
    terms = announcement(
        total.certificate, {"mu": float(mu)}, MECHANISM, name, total.parents, trust_model="central", knows=(AGGREGATOR,)
    )
    run.charge(sums.clients, terms)
    shares = shared_once(run, [(sums.clients, f"{name} in shares", local_integers, (statistics,))])
    found = sums_of_shares(run, shares, SERVER, (name,), central_release, total, mu, name, run.rng_for)
    return run.at(SERVER, server_only, found, run.received(SERVER, name))


def largest_entry(total: Whole, records: int) -> int:
    """Bound of every entry of a sum over so many records, in steps: none moves an entry further than all together."""
    return records * (isqrt(int(total.squares)) + 1)


def local_integers(client: Party, statistic: Whole) -> np.ndarray:
    """What a client adds, which stays closed."""
    return statistic.integers


def local_release(client: Party, statistic: Whole, name: str, mu: float, rng_for: Rng) -> Release:
    """A client's own sum with noise of its own: clients are disjoint, so that their number does not enter."""
    own = replace(statistic, stratum=cell_of("clients", client.name))
    rng = rng_for("noise", name, client.name)
    return IntegerGaussian(mu=mu)(own, rng, owner=client.name, release_id=f"{name} of {client.name}")


def central_release(
    integers: Sequence[np.ndarray], total: Whole, mu: float, name: str, rng_for: Rng
) -> tuple[Release, ...]:
    """The sum with its noise: computed inside the aggregation."""
    pooled = replace(total, integers=np.sum(integers, axis=0))
    rng = rng_for("noise", name, AGGREGATOR)
    mechanism = IntegerGaussian(mu=mu)
    return (mechanism(pooled, rng, release_id=name, trust_model="central", knows=(AGGREGATOR,)),)


def server_opened(release: Release) -> ReleasedSum:
    """The sum of all words, without their masks."""
    return ReleasedSum(np.asarray(release.value), (release,))


def server_sum(released: Sequence[np.ndarray], releases: tuple[AccountedValue, ...]) -> ReleasedSum:
    """The sum of what all clients released."""
    return ReleasedSum(np.sum(released, axis=0), releases)


def server_only(released: Sequence[Sequence[np.ndarray]], releases: tuple[AccountedValue, ...]) -> ReleasedSum:
    """The one value of the one aggregation."""
    ((value,),) = released
    return ReleasedSum(value, releases)


def as_they_are(records: Records) -> Records:
    """Records in the groups that they have."""
    return records


def local_cells(client: Party, edges: np.ndarray, groups: int, relation: Relation, regroup: Regroup) -> Whole:
    """Counts of the client's records by cell, which stay with it."""
    return whole_cells(cell_counts(regroup(local_rows(client)), edges, groups), relation)


def server_table(noisy: ReleasedSum, edges: np.ndarray, sd: float, records: int | None) -> Table:
    """The table of released counts."""
    return correct_sum(noisy.value, edges, sd, records)


def released_cells(
    run: Run, sums: NoisySums, edges: np.ndarray, mu: float, groups: int, regroup: Regroup = as_they_are
) -> tuple[ReleasedSum, Table]:
    """The released counts of all clients at the server, and their table.

    regroup : gives each record one of so many groups by itself
    """
    relation = sums.options.relation
    statistics = run.each(sums.clients, local_cells, edges, groups, relation, regroup)
    total = whole_cells(np.zeros((groups, 2 * len(edges) - 1), dtype=np.int64), relation)
    noisy = released_sum(run, sums, CELLS, statistics, total, mu, largest=sums.records)
    sd = math.sqrt(float(total.squares)) / mu * math.sqrt(sums.noise_factor)
    return noisy, run.at(SERVER, server_table, noisy, edges, sd, sums.records if relation == "replace_one" else None)


def server_estimate(table: Table, epsilon: float, clients: int) -> Estimate:
    """Curves of all groups and the log-rank test of the first two, from the table alone."""
    test = noisy_log_rank(table) if len(table.cells) == 2 else None
    numbers: Numbers = {"bins": table.bins, "noise_sd": table.sd, "determined_bins": table.determined_bins}
    return Estimate(epsilon, clients, survival_curves(table), table, test, numbers=numbers)
