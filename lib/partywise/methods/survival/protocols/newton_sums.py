"""Common parts of exact federated Cox regressions: sums that are opened at the server, and Newton steps on them.

The likelihood depends on neither centres nor scales of the covariates: both are taken out first, because sums of
exp(z'b) lose them, or overflow. A step that does not raise the likelihood is halved, which is one more set of sums.

Message                 from, to          payload
moments of covariates   clients, server   `Clear` of rows: number of records, means and standard deviations (3, p)
centres and scales      server, clients   made of them: those of all records (2, p)
covariates of events    clients, server   `Clear` of rows: sum (p) of the standardised covariates of all events
coefficients, by        server, clients   `Clear`, made of what the clients opened: coefficients (p) of the standardised
evaluation                                covariates, then 1 once they are final
sums, by evaluation     clients, server   `Clear` of rows: sums of w, w z and the upper triangle of w z z', at each of U
                                          times or bins; with ties by Efron those of the tied events as well
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.places import PerPlace
from ....federation.run import Run
from ....models.follow_up.partial_likelihood import WeightedSums, partial_likelihood
from ....models.newton_step import GOING, Ascent
from ....models.standardise import Scaling, moments_of, scaling_of_parts
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.release import derive
from ..exact import LIMIT, ascend, begin_ascent, verdict_of
from ..model import SurvivalEstimate, SurvivalFacts
from ..records import SurvivalRecords
from .common import SERVER, local_rows

# What a client sums at coefficients: over risk sets, over exposure_times in bins, over tied events.
LocalSums = Callable[[SurvivalRecords, np.ndarray, np.ndarray], WeightedSums]


def pack_sums(sums: WeightedSums) -> np.ndarray:
    """Sums as one matrix (U, 1 + p + p (p + 1) / 2): of the squares the upper triangle alone."""
    rows, columns = np.triu_indices(sums.first.shape[1])
    return np.column_stack([sums.zeroth, sums.first, sums.second[:, rows, columns]])


def unpack_sums(matrix: np.ndarray, p: int) -> WeightedSums:
    """Inverse of `pack_sums`."""
    rows, columns = np.triu_indices(p)
    second = np.zeros((len(matrix), p, p))
    second[:, rows, columns] = second[:, columns, rows] = matrix[:, p + 1 :]
    return WeightedSums(matrix[:, 0], matrix[:, 1 : p + 1], second)


def local_moments(client: Party) -> Clear:
    """Number of the client's records, means and standard deviations (3, p) of their covariates."""
    covariates = client.block["covariates"]
    moments = moments_of(covariates) if len(covariates) else np.zeros((2, covariates.shape[1]))
    return Clear(np.vstack([np.full(covariates.shape[1], len(covariates)), moments]), units=("row",), owner=client.name)


def local_standardised(client: Party, horizon: float, scaling: np.ndarray) -> SurvivalRecords:
    """The client's records until the horizon, their covariates with the centres and scales of all records."""
    records = local_rows(client, horizon)
    return replace(records, covariates=Scaling(*scaling).apply(records.covariates))


def local_opened(
    client: Party,
    at: np.ndarray,
    places: np.ndarray,
    functions: Sequence[LocalSums],
    horizon: float,
    scaling: np.ndarray,
) -> Clear:
    """The client's sums at coefficients, as they are."""
    records = local_standardised(client, horizon, scaling)
    sums = [pack_sums(function(records, places, at[:-1])) for function in functions]
    return Clear(sums[0] if len(sums) == 1 else sums, units=("row",), owner=client.name)


def local_totals(client: Party, horizon: float, scaling: np.ndarray) -> Clear:
    """Sum (p,) of the standardised covariates of the client's events."""
    records = local_standardised(client, horizon, scaling)
    return Clear(records.covariates[records.events].sum(axis=0), units=("row",), owner=client.name)


def server_scaling(moments: Sequence[np.ndarray], parts: Sequence[AccountedValue]) -> Payload:
    """Centres and scales (2, p) of the covariates of all records."""
    opened = np.stack(moments)
    scaling = scaling_of_parts(opened[:, 0, 0], opened[:, 1:])
    return derive(np.stack([scaling.means, scaling.scales]), parts, name="centres and scales", owner=SERVER)


def server_state(ascent: Ascent, parts: Sequence[AccountedValue]) -> Payload:
    """The coefficients at which sums are wanted, or which are final."""
    sent = np.append(ascent.beta, float(ascent.status != GOING))
    return derive(sent, parts, name="coefficients", owner=SERVER)


def server_step(
    ascent: Ascent, opened: Sequence[np.ndarray | list[np.ndarray]], events: np.ndarray, totals: Sequence[np.ndarray]
) -> Ascent:
    """The steps after the sums of all clients at the coefficients that were sent."""
    p = len(ascent.beta)
    matrices = [sums if isinstance(sums, list) else [sums] for sums in opened]
    # Trial coefficients may leave no finite sums: the steps look at what comes out.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [unpack_sums(np.sum(parts, axis=0), p) for parts in zip(*matrices, strict=True)]
    return ascend(ascent, partial_likelihood(ascent.beta, events, np.sum(totals, axis=0), *sums))


def newton(
    run: Run,
    places: np.ndarray,
    events: PerPlace[np.ndarray],
    functions: Sequence[LocalSums],
    heard: Sequence[str],
) -> tuple[PerPlace[Ascent], np.ndarray]:
    """Steps at the server on sums at so many times or bins, which all places know, and centres and scales (2, p).

    heard : names of the messages that the server has received before
    """
    facts: SurvivalFacts = run.spec.public
    moments = run.gather(run.parties, SERVER, "moments of covariates", local_moments)
    names = [*heard, "moments of covariates"]
    parts = run.received(SERVER, *names)
    scaling = run.broadcast(SERVER, run.parties, "centres and scales", server_scaling, moments, parts)
    totals = run.gather(run.parties, SERVER, "covariates of events", local_totals, facts.horizon, scaling)
    names.append("covariates of events")
    ascent = run.at(SERVER, begin_ascent, facts.covariates, events)
    for number in range(LIMIT + 1):
        parts = run.received(SERVER, *names)
        at = run.agreed(run.broadcast(SERVER, run.parties, f"coefficients {number}", server_state, ascent, parts))
        if at[-1]:
            break
        inputs = at, places, functions, facts.horizon, scaling
        opened = run.gather(run.parties, SERVER, f"sums {number}", local_opened, *inputs)
        names.append(f"sums {number}")
        ascent = run.at(SERVER, server_step, ascent, opened, events, totals)
    return ascent, scaling


def server_answer(
    estimate: SurvivalEstimate, ascent: Ascent, scaling: np.ndarray, times_sent: int, names: Sequence[str]
) -> SurvivalEstimate:
    """The estimate with the coefficients, or the reason why there are none."""
    scales = scaling[1]
    numbers = estimate.numbers | {"steps": max(ascent.evaluations - 1, 0), "times_sent": times_sent}
    estimate = replace(estimate, numbers=numbers)
    if ascent.status != "ok" or ascent.matrix is None:
        return replace(estimate, status=ascent.status, reason=verdict_of(ascent, names))
    covariance = np.linalg.inv(ascent.matrix) / np.outer(scales, scales)
    return replace(estimate, coefficients=ascent.beta / scales, covariance=covariance)
