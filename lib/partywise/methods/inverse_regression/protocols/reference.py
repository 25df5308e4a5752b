"""Protocol without privacy: clients send their moments in the clear, and the server makes the pooled estimate.

The reference of every comparison: sliced inverse regression itself. With clipped records it shows what clipping costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ....privacy.statistics.isometry import to_triangle
from ..estimate import classical
from ..model import SlicingEstimate, SlicingSpec
from ..moments import SliceMoments, centre
from ..options import SlicingReferenceOptions
from ..screening import ccmd_select
from .common import (
    ColumnChoice,
    SlicingPlan,
    local_choice,
    local_facts,
    local_moments,
    server_answer,
    server_basis,
    server_estimate,
    server_table,
    weighted_mean,
    with_facts,
)
from .dimension import estimate_order
from .noise import Deviations


def local_clear(client: Party, plan: SlicingPlan, columns: np.ndarray | None, rng_for: Rng) -> Clear:
    """Slice means (p, H), second moment (p, p) and slice counts (H,) as they are."""
    quantile, clipped = plan.spec.options.slices == "quantile", plan.spec.options.clipped
    moments = local_moments(client, plan.view, quantile, columns, clipped, rng_for)
    return Clear([moments.means, moments.second, moments.counts], units=("row",), owner=client.name)


def server_columns(choices: Sequence[np.ndarray], n_columns: int) -> np.ndarray:
    """Columns with more votes of slices than half the number of clients."""
    return ccmd_select(server_table(choices, n_columns))


def server_fit(
    moments: Sequence[list[np.ndarray]],
    weights: Sequence[int],
    columns: np.ndarray | None,
    spec: SlicingSpec[SlicingReferenceOptions],
) -> SlicingEstimate:
    """The pooled estimate from merged moments about their mean: with the kernel of the source, or with Li's."""
    means, seconds, counts = zip(*moments, strict=True)
    n_h, n = np.sum(counts, axis=0), sum(weights)
    gram = to_triangle(n * weighted_mean(seconds, weights))
    pooled = SliceMoments(n, n * weighted_mean(means, weights), gram, n_h, "quantile")
    about = centre(pooled)
    slices = np.vstack([about.means, n_h / n])
    order = estimate_order(spec, slices, about.second, Deviations(0.0, 0.0, 0.0), n)
    d = order.directions(spec.public.n_directions)
    if spec.options.kernel == "classical":
        subspace = classical(pooled, d)
    else:
        subspace = server_basis([about.means], [1], about.second, d, estimator=spec.options.estimator)
    return server_estimate(
        subspace, spec, order=order, epsilon_claimed=inf, epsilon=inf, clients=len(weights), columns=columns, records=n
    )


def fit(run: Run) -> SlicingEstimate:
    """Moments in the clear."""
    clients, spec, columns = run.parties, run.spec, None
    plan = SlicingPlan(spec, inf)
    if spec.settings.screened:
        rule = ColumnChoice(spec.options.slices == "quantile", None, spec.options.top or spec.settings.active)
        choices = run.gather(clients, "server", "selected columns", local_choice, plan.view, rule, run.rng_for)
        selected = run.at("server", server_columns, choices, spec.public.n_columns)
        received, audience = run.received("server", "selected columns"), [client.name for client in clients]
        columns = run.broadcast("server", clients, "columns", server_answer, selected, received, audience)
    moments = run.gather(clients, "server", "moments", local_clear, plan, columns, run.rng_for)
    weights = spec.public.sizes[: len(clients)]
    estimate = run.at("server", server_fit, moments, weights, columns, spec)
    quantile, clipped = spec.options.slices == "quantile", spec.options.clipped
    facts = run.each(clients, local_facts, plan.view, quantile, columns, clipped, run.rng_for)
    return run.assemble(with_facts, estimate, facts, weights)
