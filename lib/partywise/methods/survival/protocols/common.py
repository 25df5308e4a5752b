"""Common parts of survival protocols: a client's records, released sums over all clients, and cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np

from ....federation.exchanges.noisy_sums import NoisySums, ReleasedSum, agree_on_sums, released_sum, require_sizes
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.statistics.whole import Whole
from ..bands import noisy_log_rank
from ..certified.whole import whole_cells
from ..curves import incidences_of, survival_curves
from ..exact import EventTable, kaplan_meier, log_rank
from ..model import Numbers, SurvivalEstimate, SurvivalFacts
from ..records import SurvivalRecords
from ..tables import CellTable, Relation, cell_counts, cells_per_group, correct_sum

SERVER = "server"
CELLS = "cells"
NOT_ESTIMABLE = (
    "the released events do not stand out of their noise: give a larger epsilon, more records, or a longer horizon"
)
EMPTY_GROUP = (
    "group number {} has no record at the time of any event: neither a median nor a restricted mean is given of it; "
    "leave it out of groups, or give records of it"
)
Regroup = Callable[[SurvivalRecords], SurvivalRecords]


def local_rows(client: Party, horizon: float) -> SurvivalRecords:
    """The records of a client's block until the horizon: no protocol sees what comes after it."""
    # Blocks of a study with one cause hold no causes.
    names = [part.name for part in fields(SurvivalRecords) if part.name in client.block]
    return SurvivalRecords(**{name: client.block[name] for name in names}).until(horizon)


def curves_of(tables: Sequence[EventTable], clients: int, **numbers: int) -> SurvivalEstimate:
    """Kaplan-Meier of every group and the log-rank test of two, with numbers of the fit."""
    curves, test = tuple(map(kaplan_meier, tables)), log_rank(*tables) if len(tables) == 2 else None
    estimate = SurvivalEstimate(clients=clients, curves=curves, log_rank=test, numbers=dict(numbers))
    empty = [str(number) for number, curve in enumerate(curves, 1) if not curve.determined]
    return replace(estimate, status="empty_group", reason=EMPTY_GROUP.format(", ".join(empty))) if empty else estimate


def sizes_of(run: Run) -> list[int]:
    """Records of every client of a run: public."""
    facts: SurvivalFacts = run.spec.public
    return list(facts.sizes(len(run.parties)))


def agree_on_noise(run: Run) -> NoisySums:
    """Every client has the public number of records; where they share noise, every two agree on a key."""
    options, sizes = run.spec.options, sizes_of(run)
    require_sizes(run, sizes, "times")
    return agree_on_sums(run, options.noise, options.colluders, sum(sizes), SERVER)


def local_cells(
    client: Party, edges: np.ndarray, groups: int, causes: int, relation: Relation, regroup: Regroup | None
) -> Whole:
    """Counts of the client's records by cell, which stay with it."""
    records = local_rows(client, edges[-1])
    return whole_cells(cell_counts(records if regroup is None else regroup(records), edges, groups, causes), relation)


def server_table(noisy: ReleasedSum, edges: np.ndarray, sd: float, records: int | None, causes: int) -> CellTable:
    """The table of released counts."""
    return correct_sum(noisy.value, edges, sd, records, causes)


def released_cells(
    run: Run, sums: NoisySums, edges: np.ndarray, mu: float, groups: int, regroup: Regroup | None = None
) -> tuple[ReleasedSum, CellTable]:
    """The released counts of all clients at the server, and their table.

    regroup : gives each record one of so many groups by itself; None: that which it has
    """
    relation: Relation = run.spec.options.relation
    causes: int = run.spec.public.causes
    statistics = run.each(sums.clients, local_cells, edges, groups, causes, relation, regroup)
    total = whole_cells(np.zeros((groups, cells_per_group(len(edges) - 1, causes)), dtype=np.int64), relation)
    noisy = released_sum(run, sums, CELLS, statistics, total, mu, largest=sums.records)
    sd = math.sqrt(float(total.squares)) / mu * math.sqrt(sums.noise_factor)
    records = sums.records if relation == "replace_one" else None
    return noisy, run.at(SERVER, server_table, noisy, edges, sd, records, causes)


def with_coefficients(
    estimate: SurvivalEstimate, coefficients: np.ndarray | None, covariance: np.ndarray | None = None
) -> SurvivalEstimate:
    """The estimate with log hazard ratios, or without, and why: None where events do not stand out of their noise."""
    numbers = estimate.numbers | {"not_estimable": coefficients is None}
    if coefficients is None:
        return replace(estimate, numbers=numbers, status="not_estimable", reason=NOT_ESTIMABLE)
    return replace(estimate, numbers=numbers, coefficients=coefficients, covariance=covariance)


def server_estimate(table: CellTable, epsilon: float, clients: int) -> SurvivalEstimate:
    """Curves of all groups and the log-rank test of the first two, from the table alone."""
    test = noisy_log_rank(table) if len(table.cells) == 2 else None
    numbers: Numbers = {"bins": table.bins, "noise_sd": table.sd, "determined_bins": table.determined_bins}
    return SurvivalEstimate(
        epsilon, clients, survival_curves(table), incidences_of(table), table, test, numbers=numbers
    )
