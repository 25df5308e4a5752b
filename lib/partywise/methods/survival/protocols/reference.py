"""Protocol without privacy: clients send their records in the clear, and the server fits all of them together.

The reference of every comparison: Kaplan-Meier curves, the log-rank test of two groups and Cox regression, of the
records until the horizon.

Message   from, to          payload
records   clients, server   `Clear` of rows: times, events, covariates, groups
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....models.follow_up.partial_likelihood import Ties, event_times
from ....privacy.accounted_values import Clear
from ..exact import NoMaximum, cox, event_table
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import SurvivalReferenceOptions
from ..records import SurvivalRecords, pool
from .common import SERVER, curves_of, local_rows


def local_records(client: Party, horizon: float) -> Clear:
    """The client's records until the horizon as they are."""
    records = local_rows(client, horizon)
    values = [records.times, records.events, records.covariates, records.groups]
    return Clear(values, units=("row",), owner=client.name)


def server_fit(sent: Sequence[Sequence[np.ndarray]], facts: SurvivalFacts, ties: Ties) -> SurvivalEstimate:
    """The fit of all records together."""
    all_ = pool([SurvivalRecords(*arrays) for arrays in sent])
    times = event_times(all_)
    tables = [event_table(all_.of_group(group), times) for group in range(facts.groups)]
    estimate = curves_of(tables, len(sent), times_sent=len(all_))
    if facts.covariates == 0:
        return estimate
    try:
        fitted = cox(all_, ties, facts.names)
    except NoMaximum as error:
        return replace(estimate, status=error.status, reason=error.reason)
    numbers = estimate.numbers | {"steps": fitted.steps}
    return replace(estimate, coefficients=fitted.coefficients, covariance=fitted.covariance, numbers=numbers)


def fit(run: Run) -> SurvivalEstimate:
    """Send all records to the server, which fits."""
    options: SurvivalReferenceOptions = run.spec.options
    sent = run.gather(run.parties, SERVER, "records", local_records, run.spec.public.horizon)
    return run.at(SERVER, server_fit, sent, run.spec.public, options.ties)
