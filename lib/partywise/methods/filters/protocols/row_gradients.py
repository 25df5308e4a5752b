"""Protocol: logistic regression by certified noisy sums of gradients, each of one record and clipped by itself.

Public, fixed before data are seen: all options, clients and their numbers of records.

Formal guarantee: (epsilon, delta)-DP of all rounds together for replacing one record, against the server and all other
sites: each site releases T sums through `partywise.methods.filters.certified.CertifiedFilter`, and sites hold
disjoint records.

Message              from, to        payload
gradient, by round   sites, server   sum of clipped gradients (D) with integer noise, `Release`
model, by round      server, sites   coefficients (D), made of the gradients
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear, Public
from ....privacy.mechanisms.release import Release, derive
from ....privacy.strata import cell_of
from ..certified import CertifiedFilter
from ..model import FilterEstimate, FilterFacts
from ..options import RowGradientsOptions
from ..training import clip_rows, record_gradients

SERVER = "server"


def local_gradient(
    client: Party,
    at: np.ndarray,
    options: RowGradientsOptions,
    epsilon: float,
    delta: float,
    number: int,
    rng_for: Rng,
) -> Release | Clear:
    """The noisy sum of a site; without a target the sum in the clear."""
    gradients = record_gradients(at, client.block["X"], client.block["y"])
    if math.isinf(epsilon):
        return Clear(clip_rows(gradients, options.clip).sum(axis=0), units=("row",), owner=client.name)
    # Of each round anew: the ledger adds up what all of them cost.
    certified = CertifiedFilter.for_rounds(
        options.clip,
        epsilon,
        delta,
        options.rounds,
        "row",
        owner=client.name,
        rng=rng_for("noise", client.name, number),
        stratum=cell_of("clients", client.name),
    )
    return certified.release(gradients, release_id=f"gradient {number} of {client.name}")


def server_step(at: np.ndarray, sums: Sequence[np.ndarray], step: float, records: int) -> np.ndarray:
    """Coefficients after one step along the mean gradient."""
    return np.asarray(at - step * np.sum(sums, axis=0) / records)


def server_model(at: np.ndarray, received: tuple[AccountedValue, ...], number: int) -> Release | Public | Clear:
    """The coefficients, for the sites."""
    return derive(at, received, name=f"model {number + 1}", owner=SERVER)


def fit(run: Run) -> FilterEstimate:
    """T steps from coefficients of 0."""
    facts: FilterFacts = run.spec.public
    options: RowGradientsOptions = run.spec.options
    records, delta = sum(facts.client_rows), run.spec.study.delta
    sent = at = np.zeros(facts.features)
    for number in range(options.rounds):
        name = f"gradient {number}"
        sums = run.gather(
            run.parties, SERVER, name, local_gradient, sent, options, run.epsilon, delta, number, run.rng_for
        )
        at = run.at(SERVER, server_step, at, sums, options.step, records)
        sent = run.broadcast(
            SERVER, run.parties, f"model {number + 1}", server_model, at, run.received(SERVER, name), number
        )
    return run.at(SERVER, FilterEstimate, run.epsilon, at)
