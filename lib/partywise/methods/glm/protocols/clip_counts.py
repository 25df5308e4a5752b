"""Common part of `moments` and `noisy_newton`: every party releases counts of its records beyond public bounds.

Each party draws the noise of its own counts. ``count_clipped`` is their share of the squared budget; 0 sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.places import PerPlace, Place, name_of
from ....federation.run import Run
from ....privacy.mechanisms.integer import IntegerGaussian
from ....privacy.mechanisms.release import Release
from ..noisy_statistics.clip_counts import CountPlan, NoisyCounts, beyond, outside
from ..noisy_statistics.scaling import local_response, local_scaled_columns, statistic

RECORDS, RESPONSES = "clipped records", "clipped responses"


def local_counts(party: Party, place: int, rows: np.ndarray, plan: CountPlan, rng_for: Rng) -> Release:
    """Numbers (2,) of the party's records beyond its radius and beyond its far radius, with noise."""
    counts = beyond(local_scaled_columns(party, rows, plan.public), plan.radii[place])
    rng, name = rng_for(RECORDS, party.name), f"{RECORDS} of {party.name}"
    return IntegerGaussian(mu=plan.mu[place])(counts, rng, owner=party.name, release_id=name)


def local_outside(active: Party, rows: np.ndarray, plan: CountPlan, rng_for: Rng) -> Release:
    """Number (1,) of responses outside of their public range, with noise."""
    count = outside(statistic(local_response(active, rows, plan.public), plan.public.family), plan.public)
    return IntegerGaussian(mu=plan.mu[-1])(
        count, rng_for(RESPONSES, active.name), owner=active.name, release_id=RESPONSES
    )


def released_counts(
    run: Run, rows: PerPlace[np.ndarray], plan: CountPlan | None, readers: Sequence[Place]
) -> NoisyCounts | None:
    """Release the counts of all parties to all readers, who have them then; None without a plan."""
    if plan is None:
        return None
    values = []
    for place, party in enumerate(run.parties):
        others = [reader for reader in readers if name_of(reader) != party.name]
        values.append(run.broadcast(party, others, RECORDS, local_counts, place, rows, plan, run.rng_for))
    if plan.active is not None:
        active = run.parties[plan.active]
        others = [reader for reader in readers if name_of(reader) != active.name]
        values.append(run.broadcast(active, others, RESPONSES, local_outside, rows, plan, run.rng_for))
    return run.among(readers, plan.released, values)
