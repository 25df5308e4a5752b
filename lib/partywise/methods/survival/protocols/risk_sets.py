"""Protocol: exact Cox regression and Kaplan-Meier by sums over risk sets at every event time, as published.

Source: Lu et al., WebDISCO (JAMIA 2015), whose sums FedECA opens as well.  Nothing is protected: every
client sends its event times, and the differences of its sums between neighbouring times are its records.

Message              from, to          payload, bytes
event times          clients, server   `Clear`: distinct times and their counts, 16 a time
all times            server, clients   `Clear`: the union, 8 a time
tables, sums         clients, server   `Clear`: events and records at risk by group; `newton_sums`
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....models.follow_up.partial_likelihood import event_times, risk_sums, tied_sums
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.release import derive
from ..exact import EventTable, event_table
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import RiskSetsOptions
from .common import SERVER, curves_of, local_rows
from .newton_sums import newton, server_answer


def local_event_times(client: Party, horizon: float) -> Clear:
    """The client's distinct event times until the horizon, and how many events each has."""
    records = local_rows(client, horizon)
    times = event_times(records)
    return Clear(np.stack([times, event_table(records, times).events]), units=("row",), owner=client.name)


def local_tables(client: Party, times: np.ndarray, groups: int, horizon: float) -> Clear:
    """Return the client's numbers at risk and of events (A, 2, U) at the times of all."""
    records = local_rows(client, horizon)
    tables = (event_table(records.of_group(group), times) for group in range(groups))
    return Clear(np.stack([[table.at_risk, table.events] for table in tables]), units=("row",), owner=client.name)


def server_union(sent: Sequence[np.ndarray], parts: Sequence[AccountedValue]) -> Payload:
    """The distinct event times of all clients."""
    return derive(np.unique(np.concatenate([message[0] for message in sent])), parts, name="all times", owner=SERVER)


def server_curves(tables: Sequence[np.ndarray], times: np.ndarray, clients: int) -> SurvivalEstimate:
    """Kaplan-Meier of every group and the log-rank test, from the tables of all clients."""
    of_groups = [EventTable(times, *both) for both in np.sum(tables, axis=0)]
    return curves_of(of_groups, clients, times_sent=len(times))


def server_events(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Events (U,) of all groups at the times of all."""
    return np.sum(tables, axis=(0, 1))[1].astype(int)


def fit(run: Run) -> SurvivalEstimate:
    """Event times, tables, and sums over risk sets at each Newton step."""
    facts: SurvivalFacts = run.spec.public
    options: RiskSetsOptions = run.spec.options
    sent = run.gather(run.parties, SERVER, "event times", local_event_times, facts.horizon)
    parts = run.received(SERVER, "event times")
    times = run.agreed(run.broadcast(SERVER, run.parties, "all times", server_union, sent, parts))
    tables = run.gather(run.parties, SERVER, "tables", local_tables, times, facts.groups, facts.horizon)
    estimate = run.at(SERVER, server_curves, tables, times, len(run.parties))
    if facts.covariates == 0:
        return estimate
    events = run.at(SERVER, server_events, tables)
    functions = (risk_sums, tied_sums) if options.ties == "efron" else (risk_sums,)
    fitted = newton(run, times, events, functions, ("event times", "tables"))
    return run.at(SERVER, server_answer, estimate, *fitted, len(times), facts.names)
