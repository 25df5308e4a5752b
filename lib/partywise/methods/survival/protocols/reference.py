"""Protocol without privacy: clients send their records in the clear, and the server fits all of them together.

The reference of every comparison: Kaplan-Meier curves, cumulative incidence of several causes, the log-rank test of two
groups and Cox regression, of the records until the horizon.

Message   from, to          payload
records   clients, server   `Clear` of rows: times, events, covariates, groups, and causes where there are several
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....models.follow_up.partial_likelihood import Ties, event_times
from ....privacy.accounted_values import Clear
from ..curves import aalen_johansen
from ..exact import NoMaximum, cox, event_table
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import SurvivalReferenceOptions
from ..records import SurvivalRecords, pool
from .common import SERVER, curves_of, local_rows


def local_records(client: Party, horizon: float, causes: int) -> Clear:
    """The client's records until the horizon as they are."""
    records = local_rows(client, horizon)
    values = [records.times, records.events, records.covariates, records.groups]
    # A record without a cause of its own sends none.
    values += [records.causes] if causes > 1 else []
    return Clear(values, units=("row",), owner=client.name)


def server_fit(sent: Sequence[Sequence[np.ndarray]], facts: SurvivalFacts, ties: Ties) -> SurvivalEstimate:
    """The fit of all records together."""
    all_ = pool([SurvivalRecords(*arrays) for arrays in sent])
    times = event_times(all_)
    tables = [event_table(all_.of_group(group), times) for group in range(facts.groups)]
    estimate = curves_of(tables, len(sent), times_sent=len(all_))
    if facts.causes > 1:
        groups = map(all_.of_group, range(facts.groups))
        estimate = replace(estimate, incidences=tuple(aalen_johansen(group, facts.causes) for group in groups))
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
    facts: SurvivalFacts = run.spec.public
    sent = run.gather(run.parties, SERVER, "records", local_records, facts.horizon, facts.causes)
    return run.at(SERVER, server_fit, sent, facts, options.ties)
