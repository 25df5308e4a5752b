"""Sub-protocol: certified screening of columns, which both certified protocols begin with.

In each round of `budgets.screening_rounds` every client releases noisy contrasts between the slices of the signs
of the columns that are left, noisy votes, or picks of columns, and the server answers with the columns that stay.

Where clients share noise, a round is one release of all of them (`noise_shares`); picks are each client's own.

Formal guarantee: each round is mu-Gaussian-DP for replacing one record of the client, or picks of bounded range; what
stays is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.randomness import Rng, once
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.mechanisms.release import Release, derive
from ....privacy.statistics.whole import Whole
from ....privacy.strata import cell_of
from ..estimate import values_of
from ..model import SlicingSpec
from ..options import SlicingExactOptions
from ..screening import (
    about_the_mean_sign,
    contrasts,
    contrasts_release,
    pick_release,
    picked_ranks,
    read_contrasts,
    score,
    top_votes,
    vote_release,
    vote_select,
    whole_contrasts,
    whole_votes,
)
from .budgets import ExactPlan, RoundPlan, kept_columns
from .common import RecordView, local_records
from .noise_shares import SharedNoise, shared_release


@dataclass(frozen=True, eq=False)
class ScreeningRound:
    """Aggregate of one round at the server."""

    # Screened columns (q,).
    columns: np.ndarray
    # Contrasts (m, q) about the mean signs, or votes (1, q), over all clients.
    aggregate: np.ndarray
    # Inverse variance of the noise, in units that all rounds share.
    weight: float


def screen(
    run: Run,
    clients: Sequence[Party],
    weights: Sequence[int],
    plan: ExactPlan,
    shared: SharedNoise[SlicingExactOptions] | None,
) -> np.ndarray | None:
    """The columns that stay, known to the clients and the server; None where there is nothing to screen."""
    columns: np.ndarray | None = None
    rounds: tuple[ScreeningRound, ...] = ()
    releases: tuple[Release, ...] = ()
    for step in plan.rounds:
        if shared is None or step.range is not None:
            values = run.gather(clients, "server", step.message, local_screening, plan, step, columns, run.rng_for)
            counted = weights
            releases = run.received("server", step.message)
        else:
            release = shared_screening(run, clients, plan, step, columns, shared)
            values, counted = (release,), [shared.records]
            releases = (*releases, release)
        merged = run.at("server", server_round, values, counted, step, columns, plan.spec.public.n_columns)
        rounds = (*rounds, merged)
        columns = run.broadcast("server", clients, "columns", server_answer, rounds, releases, step, plan.spec)
    return columns


def shared_screening(
    run: Run,
    clients: Sequence[Party],
    plan: ExactPlan,
    step: RoundPlan,
    columns: np.ndarray | None,
    shared: SharedNoise[SlicingExactOptions],
) -> Release:
    """One round of all clients together, as a release at the server."""
    statistics = run.each(clients, local_whole_screening, plan, step, columns, run.rng_for)
    public, name = plan.spec.public, f"{step.message} {step.number}"
    total = whole_votes(np.zeros(public.n_columns), kept_columns(plan.spec))
    if step.message == "votes":
        return shared_release(run, shared, name, statistics, total, step.mu)
    counts = np.zeros(public.n_slices)
    counts[0] = shared.records
    q = public.n_columns if step.number == 1 else plan.rounds[step.number - 2].keep
    total = whole_contrasts(np.zeros((public.n_slices, q)), counts, code_of(plan), shared.records)
    release = shared_release(run, shared, name, statistics, total, step.mu)
    return run.at("server", read_contrasts, release, total, shared.records)


def code_of(plan: ExactPlan) -> Public:
    """The contrasts F."""
    return Public(contrasts(plan.spec.public.public_slices), because="a function of the number of the public slices")


@once
def local_sign_sums(client: Party, view: RecordView, rng_for: Rng) -> np.ndarray:
    """Sums (H, p) of the signs of all columns over the public slices."""
    return local_records(client, view, rng_for).sign_sums()


@once
def local_differences(client: Party, view: RecordView, rng_for: Rng) -> np.ndarray:
    """(p, H) distances of the means of the public slices from the mean of the records."""
    return local_records(client, view, rng_for).differences(quantile=False)


@once
def local_screening(
    client: Party, plan: ExactPlan, step: RoundPlan, columns: np.ndarray | None, rng_for: Rng
) -> Release:
    """Release of one round: contrasts of signs of the columns that are left (None: all), or votes (p,)."""
    spec, view = plan.spec, plan.view
    number = spec.public.number(client.name)
    if spec.options.screening == "votes":
        return vote_release(
            local_differences(client, view, rng_for),
            kept_columns(spec),
            step.mu,
            rng_for("client", number, "votes"),
            owner=client.name,
            stratum=cell_of("clients", client.name),
            release_id=f"votes of {client.name}",
            epsilon_claimed=plan.budget["screening"],
        )
    if step.range is not None:
        return pick_release(
            local_sign_sums(client, view, rng_for),
            code_of(plan),
            step.picks,
            step.range,
            rng_for("client", number, "picks"),
            distribution=spec.options.distribution,
            owner=client.name,
            stratum=cell_of("clients", client.name),
            release_id=f"picked columns of {client.name}",
        )
    sums = local_sign_sums(client, view, rng_for)
    return contrasts_release(
        sums if columns is None else sums[:, columns],
        local_records(client, view, rng_for).counts(),
        code_of(plan),
        spec.public.sizes[number],
        step.mu,
        rng_for("client", number, "signs", step.number),
        owner=client.name,
        stratum=cell_of("clients", client.name),
        release_id=f"contrasts of signs {step.number} of {client.name}",
    )


def local_whole_screening(
    client: Party, plan: ExactPlan, step: RoundPlan, columns: np.ndarray | None, rng_for: Rng
) -> Whole:
    """Return a client's contribution to a round of all, which stays with it."""
    view, size = plan.view, kept_columns(plan.spec)
    if step.message == "votes":
        return whole_votes(top_votes(local_differences(client, view, rng_for), size), size)
    sums, counts = local_sign_sums(client, view, rng_for), local_records(client, view, rng_for).counts()
    return whole_contrasts(sums if columns is None else sums[:, columns], counts, code_of(plan), int(counts.sum()))


def server_round(
    values: Sequence[np.ndarray | Release],
    weights: Sequence[int],
    step: RoundPlan,
    columns: np.ndarray | None,
    n_columns: int,
) -> ScreeningRound:
    """One round over all clients: contrasts weighted by n_k / N, votes summed, picks counted."""
    stack = values_of(values)
    if step.message == "votes":
        merged = stack.sum(axis=0)[None]
    elif step.message == "picked columns":
        merged = picked_ranks(list(stack.astype(np.int64)), n_columns)[None]
    else:
        merged = about_the_mean_sign(np.tensordot(np.asarray(weights) / np.sum(weights), stack, 1))
    q = merged.shape[1]
    return ScreeningRound(np.arange(q) if columns is None else columns, merged, step.share / q)


def server_columns(
    rounds: Sequence[ScreeningRound], step: RoundPlan, spec: SlicingSpec[SlicingExactOptions]
) -> np.ndarray:
    """The columns that stay after the rounds so far, increasing: the best by all of these rounds."""
    left = rounds[-1].columns
    total = np.zeros_like(rounds[-1].aggregate)
    for opened in rounds:
        total += opened.weight * opened.aggregate[:, np.searchsorted(opened.columns, left)]
    scores = total[0] if step.message == "votes" else score(total)
    return left[vote_select(scores, step.keep, spec.public.n_directions)]


def server_answer(
    rounds: Sequence[ScreeningRound],
    releases: Sequence[AccountedValue],
    step: RoundPlan,
    spec: SlicingSpec[SlicingExactOptions],
) -> Payload:
    """The columns that stay, made of all releases so far."""
    return derive(server_columns(rounds, step, spec), releases, name=f"columns of round {step.number}", owner="server")
