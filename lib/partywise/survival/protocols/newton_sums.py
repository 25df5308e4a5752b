"""What exact federated Cox regressions share: sums that are opened at the server, and Newton steps on them.

Message            from, to          payload
coefficients, by   server, clients   `Clear`, made of what the clients opened: coefficients (p), then 1 once they are
step                                 final
sums, by step      clients, server   `Clear` of rows: sums of w, w z and the upper triangle of w z z', at each of U
                                     times or bins; with ties by Efron those of the tied events as well
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...federation.parties import Party
from ...federation.payloads import Payload
from ...federation.run import PerPlace, Run
from ...privacy.accounted_values import AccountedValue, Clear
from ...privacy.mechanisms.release import derive
from ..exact import TOLERANCE, WeightedSums, partial_likelihood
from ..model import Estimate
from ..records import Records
from .common import SERVER, local_rows

# Newton steps.
LIMIT = 25

# What a client sums at coefficients: over risk sets, over exposure_times in bins, over tied events.
LocalSums = Callable[[Records, np.ndarray, np.ndarray], WeightedSums]


@dataclass(frozen=True, eq=False)
class Newton:
    """Coefficients (p,) with the log likelihood and the covariance there, once the sums at them are known."""

    coefficients: np.ndarray
    likelihood: float = -np.inf
    covariance: np.ndarray | None = None
    steps: int = 0
    done: bool = False


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


def local_opened(
    client: Party, at: np.ndarray, places: np.ndarray, functions: Sequence[LocalSums], horizon: float
) -> Clear:
    """The client's sums at coefficients, as they are."""
    records, coefficients = local_rows(client).until(horizon), at[:-1]
    sums = [pack_sums(function(records, places, coefficients)) for function in functions]
    return Clear(sums[0] if len(sums) == 1 else sums, units=("row",), owner=client.name)


def local_totals(client: Party, horizon: float) -> Clear:
    """Sum (p,) of the covariates of the client's events."""
    records = local_rows(client).until(horizon)
    return Clear(records.covariates[records.events].sum(axis=0), units=("row",), owner=client.name)


def server_start(p: int) -> Newton:
    """No effects."""
    return Newton(np.zeros(p))


def server_state(state: Newton, parts: Sequence[AccountedValue]) -> Payload:
    """The coefficients at which sums are wanted, or which are final."""
    sent = np.append(state.coefficients, float(state.done))
    return derive(sent, parts, name="coefficients", owner=SERVER)


def server_step(
    state: Newton, opened: Sequence[np.ndarray | list[np.ndarray]], events: np.ndarray, totals: Sequence[np.ndarray]
) -> Newton:
    """One Newton step from the sums of all clients; final where it would gain nothing."""
    p = len(state.coefficients)
    matrices = [one if isinstance(one, list) else [one] for one in opened]
    sums = [unpack_sums(np.sum(own, axis=0), p) for own in zip(*matrices, strict=True)]
    at = partial_likelihood(state.coefficients, events, np.sum(totals, axis=0), *sums)
    step = np.linalg.solve(at.information, at.gradient)
    inverse = np.linalg.inv(at.information)
    if step @ at.gradient <= TOLERANCE * max(1.0, abs(at.value)):
        return Newton(state.coefficients, at.value, inverse, state.steps, done=True)
    return Newton(state.coefficients + step, at.value, inverse, state.steps + 1)


def newton(
    run: Run,
    places: np.ndarray,
    events: PerPlace[np.ndarray],
    functions: Sequence[LocalSums],
    heard: Sequence[str],
) -> Newton:
    """Coefficients at the server, from sums at so many times or bins, which all places know.

    heard : names of the messages that the server has received before
    """
    horizon = run.spec.public.horizon
    totals = run.gather(run.parties, SERVER, "covariates of events", local_totals, horizon)
    state, names = run.at(SERVER, server_start, run.spec.public.covariates), [*heard, "covariates of events"]
    for number in range(LIMIT):
        parts = run.received(SERVER, *names)
        at = run.agreed(run.broadcast(SERVER, run.parties, f"coefficients {number}", server_state, state, parts))
        if at[-1]:
            break
        opened = run.gather(run.parties, SERVER, f"sums {number}", local_opened, at, places, functions, horizon)
        names.append(f"sums {number}")
        state = run.at(SERVER, server_step, state, opened, events, totals)
    return state


def server_answer(estimate: Estimate, state: Newton, times_sent: int) -> Estimate:
    """The estimate with the coefficients."""
    status = {} if state.done else {"status": "not_converged"}
    return replace(
        estimate,
        coefficients=state.coefficients,
        covariance=state.covariance,
        numbers=estimate.numbers | status | {"steps": state.steps, "times_sent": times_sent},
    )
