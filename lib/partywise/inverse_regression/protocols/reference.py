"""Protocol without privacy: clients send their moments in the clear, and the server makes the pooled estimate.

The reference of every comparison.  With clipped records it shows what clipping costs, with unclipped ones it is sliced
inverse regression itself.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Clear
from ...privacy.mechanisms.release import derived
from ..estimate import Subspace, classical
from ..model import Estimate
from ..moments import Moments
from ..options import ReferenceOptions
from ..screening import ccmd_multiplicity, ccmd_select
from .common import local_differences, local_moments, local_number, server_basis, server_estimate


def local_choice(client: Party, spec: Any, top: int) -> Clear:
    """Multiset of columns that the client's slices select, as in ``published``."""
    omega = local_differences(client, spec, own=spec.options.slices == "quantile")
    chosen = ccmd_multiplicity(omega, top=top)
    found = np.flatnonzero(chosen)
    return Clear(np.stack([found, chosen[found]]), units=("row",), owner=client.name)


def local_clear(client: Party, spec: Any, columns: np.ndarray | None) -> Clear:
    """Slice means (H, p), second moment (p, p) and slice counts (H,) as they are."""
    options: ReferenceOptions = spec.options
    moments = local_moments(client, spec, own=options.slices == "quantile", columns=columns, clipped=options.clipped)
    return Clear([moments.means.T, moments.second, moments.counts], units=("row",), owner=client.name)


def server_classical(means: np.ndarray, second: np.ndarray, counts: np.ndarray, n_directions: int) -> Subspace:
    """Li's estimator from merged moments, centred."""
    return classical(Moments(int(counts.sum()), means.T, second, counts, "quantile"), n_directions)


def fit(run: Run) -> Estimate:
    """Moments in the clear."""
    parties, channel, spec = run.parties, run.channel, run.spec
    options: ReferenceOptions = spec.options
    sizes, d = spec.public.sizes[: len(parties)], spec.public.n_directions

    columns = None
    if spec.settings.screened:
        table = np.zeros((len(parties), spec.public.n_columns), dtype=np.int64)
        top = options.top or spec.settings.active
        choices = [local_choice(client, spec, top) for client in parties]
        for row, client, choice in zip(table, parties, choices, strict=True):
            chosen = channel.send(client.name, "server", "selected columns", choice)
            row[chosen[0]] = chosen[1]
        names = tuple(client.name for client in parties)
        answer = derived(ccmd_select(table), choices, name="columns", owner="server", audience=names)
        for client in parties:
            columns = channel.send("server", client.name, "columns", answer)

    weights = [sizes[local_number(client)] for client in parties]
    means, second, counts = [], 0.0, np.zeros(spec.public.n_slices)
    for client, weight in zip(parties, weights, strict=True):
        M, S, n_h = channel.send(client.name, "server", "moments", local_clear(client, spec, columns))
        means.append(M)
        second, counts = second + weight * S, counts + n_h
    second = second / sum(weights)

    if options.kernel == "classical":
        merged = np.tensordot(np.asarray(weights) / sum(weights), np.stack(means), 1)
        found = server_classical(merged, second, counts, d)
    else:
        found = server_basis(means, weights, second, d, estimator=options.estimator)
    return server_estimate(found, spec, claimed=inf, epsilon=inf, clients=len(parties), columns=columns)
