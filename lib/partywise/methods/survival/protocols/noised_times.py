"""Protocol: Kaplan-Meier from event times with noise of a fixed seed.

Source: v6-kaplan-meier-py (MIT, state cfeb22d), which warns of its default seed.  A fixed seed is not a mechanism: the
noise of a row is the same in every call, so that tables with and without a person differ by that person alone.  Nothing
is protected.

Message      from, to          payload, bytes
times        clients, server   `Clear`: distinct noised times in the order of rows, 8 each
all times    server, clients   `Clear`: their union
tables       clients, server   `Clear`: time, events, censored, at risk, 32 a time (by group)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.release import derive
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import NoisedTimesOptions
from ..published.noised_times import add_noise, distinct_times, table_at, tables_of
from ..records import SurvivalRecords
from .common import SERVER, curves_of, local_rows


def local_times(client: Party, options: NoisedTimesOptions, horizon: float) -> Clear:
    """Distinct noised times, as they are."""
    drawn = distinct_times(local_rows(client, horizon), options.noise, options.seed, options.snr)
    return Clear(drawn, units=("row",), owner=client.name)


def local_tables(client: Party, union: np.ndarray, options: NoisedTimesOptions, groups: int, horizon: float) -> Clear:
    """Tables (A, 4, U) of the client at the times of all: times, events, censored, at risk."""
    records = local_rows(client, horizon)
    times = add_noise(records.times, options.noise, options.seed, options.snr)
    noised = SurvivalRecords(times, records.events, records.covariates, records.groups)
    parts = (noised.of_group(group) for group in range(groups))
    tables = [np.vstack([union, table_at(part.times, part.events, union)]) for part in parts]
    return Clear(np.stack(tables), units=("row",), owner=client.name)


def server_union(sent: Sequence[np.ndarray], parts: Sequence[AccountedValue]) -> Payload:
    """The distinct times of all clients."""
    return derive(np.unique(np.concatenate(sent)), parts, name="all times", owner=SERVER)


def server_curves(tables: Sequence[np.ndarray], union: np.ndarray, clients: int) -> SurvivalEstimate:
    """Kaplan-Meier of every group and the log-rank test of two."""
    return curves_of(tables_of(np.sum(tables, axis=0)[:, 1:], union), clients, times_sent=len(union))


def fit(run: Run) -> SurvivalEstimate:
    """Two calls: times, then tables."""
    facts: SurvivalFacts = run.spec.public
    options: NoisedTimesOptions = run.spec.options
    sent = run.gather(run.parties, SERVER, "times", local_times, options, facts.horizon)
    parts = run.received(SERVER, "times")
    union = run.broadcast(SERVER, run.parties, "all times", server_union, sent, parts)
    inputs = union, options, facts.groups, facts.horizon
    tables = run.gather(run.parties, SERVER, "tables", local_tables, *inputs)
    return run.at(SERVER, server_curves, tables, union, len(run.parties))
