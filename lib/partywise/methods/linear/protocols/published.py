"""Protocol as published: gradients of single rows, behind an encryption that is none.

Source: document 003, section "Linear Model": an example of logistic regression whose ``abstract_paillier`` is the
identity, so that every value crosses as it is.  y is -1 or 1, without an intercept, coefficients start at 0.

A round                                             from, to                          payload
coefficients of the receiver's columns              server, every party               Clear
rows of the batch                                   active, every passive             Public
partial residual (m,), its own part                 active, first passive             Clear
partial residual (m,), with another part            passive, next passive             Clear
residual u = eta/4 - y/2 (m,)                       last passive, other parties       Clear
gradient rows u_i x_i (m, d_k)                      every passive, active             Clear
gradient rows u_i x_i (m, d)                        active, server                    Clear

The server is the key holder: it opens one vector for every row, which has the direction of the row (all features up to
one factor), averages them and takes the step.  With a real cipher it would open the same.  The source has two parties;
with more, partial residuals go from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ....federation.parties import Party, merge_blocks
from ....federation.places import PerPlace, per_place
from ....federation.roles import parts_of, roles, unprotected_value
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..model import LinearEstimate
from ..options import LinearPublishedOptions
from ..steps import SLOPES, residuals
from .common import SERVER, Trail, estimate_of, local_batch, local_batches, local_response, move, start

MODEL = "logistic"


def local_columns(party: Party, train: np.ndarray) -> np.ndarray:
    """The party's training rows (n, d_k)."""
    return party.block["X"][train]


def local_first(
    active: Party, columns: np.ndarray, rows: np.ndarray, b: np.ndarray, response: np.ndarray, parts: Sequence[Clear]
) -> Clear:
    """The residual as far as the active party knows it, (m,)."""
    eta = columns[rows] @ b
    return unprotected_value(residuals(eta, response[rows], MODEL), parts)


def local_added(
    passive: Party, columns: np.ndarray, rows: np.ndarray, b: np.ndarray, partial: np.ndarray, parts: Sequence[Clear]
) -> Clear:
    """The residual with the party's part of the linear predictor, (m,)."""
    return unprotected_value(partial + SLOPES[MODEL] * (columns[rows] @ b), parts)


def local_rows(party: Party, columns: np.ndarray, rows: np.ndarray, u: np.ndarray, parts: Sequence[Clear]) -> Clear:
    """Gradients of the rows by the party's coefficients, (m, d_k)."""
    return unprotected_value(u[:, None] * columns[rows], parts)


def local_all_rows(
    active: Party,
    columns: np.ndarray,
    rows: np.ndarray,
    u: np.ndarray,
    others: Sequence[np.ndarray],
    groups: Sequence[Sequence[int]],
    parts: Sequence[Clear],
) -> Clear:
    """Gradients of the rows by all coefficients, (m, d); ``groups`` are the columns of the others and of the party."""
    party_rows = local_rows(active, columns, rows, u, parts).value
    return unprotected_value(merge_blocks([*others, party_rows], groups), parts)


def server_coefficients(trail: Trail, columns: Sequence[int], parts: Sequence[Clear]) -> Clear:
    """The coefficients of one party's columns, which come from all parties' gradients."""
    return unprotected_value(trail[0][list(columns)], parts)


def server_step(trail: Trail, opened: np.ndarray, step: int, options: LinearPublishedOptions) -> Trail:
    """A step along the mean of the rows."""
    return move(trail, opened.mean(axis=0), np.zeros(opened.shape[1]), step, options)


def server_estimate(trail: Trail, options: LinearPublishedOptions) -> LinearEstimate:
    """Estimate of the server, without an intercept."""
    coefficients = np.array(trail[1])
    return estimate_of(np.column_stack([np.zeros(len(coefficients)), coefficients]), (), None, options, {})


def with_view(estimate: LinearEstimate, drawn: Sequence[np.ndarray], first: np.ndarray) -> LinearEstimate:
    """Add the rows of every step, which the active party drew, and what the server saw in the first."""
    return replace(estimate, batches=tuple(drawn), key_holder_view=first)


def round_residual(
    run: Run,
    columns: PerPlace[np.ndarray],
    drawn: tuple[np.ndarray, ...],
    response: np.ndarray,
    step: int,
    b: PerPlace[np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a batch and their residual, which all parties have in the end: it goes from one to the next."""
    active, passive = roles(run.parties, bare=True)
    rows = run.broadcast(active, passive, "batch", local_batch, drawn, step)
    inputs = columns, rows, b
    u = run.send(active, passive[0], "partial residual", local_first, *inputs, response, parts_of((active,)))
    for number, (party, following) in enumerate(pairwise(passive)):
        parts = parts_of((active, *passive[: number + 1]))
        u = run.send(party, following, "partial residual", local_added, *inputs, u, parts)
    last, rest = passive[-1], (active, *passive[:-1])
    return rows, run.broadcast(last, rest, "residual", local_added, *inputs, u, parts_of(run.parties))


# Steps that run off overflow: coefficients that are not finite show it.
@np.errstate(over="ignore", invalid="ignore")
def fit(run: Run) -> LinearEstimate:
    """The source's rounds: partial residuals on their way round, then gradients row by row to the key holder."""
    active, passive = roles(run.parties, bare=True)
    train, options, all_parts = run.fold.train, run.spec.options, parts_of(run.parties)
    groups = [party.columns for party in (*passive, active)]
    columns = run.each(run.parties, local_columns, train)
    drawn = run.at(active, local_batches, train, options, run.rng_for)
    response = run.at(active, local_response, train, MODEL)
    trail, first = run.at(SERVER, start, sum(map(len, groups))), None
    for step in range(options.total_round_num):
        b = {
            party.name: run.send(SERVER, party, "coefficients", server_coefficients, trail, party.columns, all_parts)
            for party in run.parties
        }
        rows, u = round_residual(run, columns, drawn, response, step, per_place(b))
        inputs = columns, rows, u
        others = run.gather(passive, active, "gradient rows of a party", local_rows, *inputs, all_parts)
        opened = run.send(active, SERVER, "gradient rows", local_all_rows, *inputs, others, groups, all_parts)
        first = opened if step == 0 else first
        trail = run.at(SERVER, server_step, trail, opened, step, options)
    return run.assemble(with_view, run.at(SERVER, server_estimate, trail, options), drawn, first)
