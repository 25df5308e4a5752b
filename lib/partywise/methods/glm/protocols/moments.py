"""Protocol: one noisy matrix of second moments, from which any submodel follows (trust model ``distributed``).

No party sees a record of another party. Without a dealer the two parties of a product multiply under the key of one of
them and each adds all of the noise (`partywise.federation.exchanges.private_products`): the only
assumption is Paillier's scheme. With ``dealer: dealer`` columns cross behind its masks, and its shares of products
hold the noise (`partywise.federation.exchanges.column_sums.noisy_moments`): entries of two parties' columns have half
the variance, and the dealer, who knows the noise and sees no data, must not collude. All but one of the
parties, and the analyst, may collude: they learn what is released.

What is released of n records: the mean of v v', v = (c, z, s (t - t_0)), c about S / sqrt p, without its constant
entry, as isometric vector of sensitivity sqrt(2) r^2 / n, r^2 = c^2 + S^2 + s^2 B^2. Blocks are clipped to their radii
and rounded to whole steps inside them, so that the bound holds for the integers that are multiplied.

Message                    from, to                payload, bytes (w: of a ciphertext; p_1 counts the response)
public key                 key holder, others      Public         3 w / 2 + 8
closed columns             key holder, others      Cipher         n ceil(p_k / slots) w
masked products            others, key holder      Cipher         p_j ceil(p_k / slots) w, k: the key holder
noisy words                every party, analyst    Cipher         8 p_k (sum_(j != k) p_j + (p_k + 1) / 2 + 1)
second moments             analyst, every party    Release        8 (q (q + 1) / 2 + q), q = p + 1
clipped records            every party, all others Release, local 16
clipped responses          active, all others      Release, local 8, unless responses are binomial

With the dealer (m residues of 4 bytes), before the second moments
seed                       dealer, every party     Cipher         32
masked columns             every party, others     Cipher         4 m n p_k each
share of the noise         dealer, analyst         Cipher         4 m sum_k (p_k (p_k + 1) / 2 + p_k)
shares with noise          dealer, party k > 1     Cipher         4 m p_k sum_(j < k) p_j
shares of sums             every party, analyst    Cipher         4 m p_k (sum_(j != k) p_j + (p_k + 1) / 2 + 1)

Each party draws the noise of its own counts; ``count_clipped`` is their share of the squared budget, 0 sends none.
Coefficients are post-processing, which every party does for itself. Those of families other than the Gaussian are
approximate, as ``approximate`` states; for Poisson responses, whose means react most to skewed columns, the estimator
warns. In a run whose records arrive unaligned the set intersection comes first; it discloses membership, and then
nothing finite is certified for rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.column_sums.noisy_moments import noisy_moments
from ....federation.exchanges.column_sums.openings import only_release
from ....federation.exchanges.private_products import Encryption, private_products
from ....federation.parties import Party, lost_squares
from ....federation.places import PerPlace, Place, per_place
from ....federation.roles import ANALYST, roles
from ....federation.run import Run
from ....models.intervals import NOT_ASKED_FOR
from ....privacy.mechanisms.release import Release
from ....privacy.secure.fixed_point import whole_records
from ..model import GlmEstimate
from ..noisy_statistics.clip_counts import NoisyCounts
from ..noisy_statistics.intervals import intervals_of
from ..noisy_statistics.moment_plan import RELEASE, MomentPlan
from ..noisy_statistics.moments import NoisyMoments
from ..noisy_statistics.noise import of_moments
from ..noisy_statistics.scaling import (
    check_columns,
    check_statistic,
    constant,
    facts_of,
    local_clipped,
    local_response,
    local_scaled_block,
    statistic,
)
from ..noisy_statistics.submodels import coefficients
from ..options import GlmMomentsOptions
from ..penalised_path import penalise
from .scoring import released_counts, with_records


def local_steps(party: Party, place: int, rows: np.ndarray, plan: MomentPlan) -> np.ndarray:
    """(n, p_k) the party's records in whole steps inside its radius; of the active party s (t - t_0) after them."""
    z = local_scaled_block(party, rows, plan.public)
    steps = whole_records(z, plan.radii[place], plan.step)[0]
    if place == plan.active:
        t = statistic(local_response(party, rows, plan.public), plan.public.family)
        scaled = plan.scale.weight * (t - plan.scale.center)
        response, share = whole_records(scaled[:, None], plan.scale.radius / 2, plan.step)
        party.clips.add("statistic", round(share * len(t)), len(t), lost_squares(scaled[:, None], response * plan.step))
        steps = np.column_stack([steps, response])
    return steps


def moments_of(vector: np.ndarray, plan: MomentPlan) -> NoisyMoments:
    """Return the moments that every participant reads from the released vector."""
    location, scale = constant(plan.public, "location"), constant(plan.public, "scale")
    return NoisyMoments.of(vector, plan.n, plan.event, plan.copies, plan.scale, location, scale)


def estimate_from(
    vector: np.ndarray, plan: MomentPlan, epsilon: float, options: GlmMomentsOptions, counts: NoisyCounts | None = None
) -> GlmEstimate:
    """Return the estimate and its intervals, which anyone who has the releases can compute."""
    moments = moments_of(vector, plan)
    errors, reason = of_moments(moments, plan.public.family) if moments.sd else (None, "")
    numbers: dict[str, float | int | bool | str | None] = {
        "openings": 1,
        "record_openings": 0,
        "secure_products": plan.n * plan.layout.crossing,
        "noise_sd": moments.sd,
        "projected": moments.is_indefinite,
        # Slopes of these families rest on assumed shapes of columns; no epsilon takes the bias of others.
        "approximate": plan.public.family != "gaussian",
    }
    estimate = GlmEstimate(
        coefficients(moments, plan.public.family),
        epsilon_claimed=epsilon,
        noise_errors=errors,
        noise_errors_reason=reason,
        intervals=NOT_ASKED_FOR
        if options.intervals == "none"
        else intervals_of(moments, counts, plan.public.family, plan.public.names, plan.delta),
        correlation=moments.correlation,
        moments=moments,
        clip_counts=counts,
        numbers=numbers,
    )
    return penalise(estimate, plan.public.family, plan.n, options, plan.public.names)


def noisy_products(run: Run, columns: PerPlace[np.ndarray], plan: MomentPlan) -> Sequence[Release]:
    """The one release, at the analyst."""
    options = run.spec.options
    if options.dealer != "none":
        return noisy_moments(run, columns, plan.chunks, plan.layout, ANALYST)
    return private_products(
        run, Encryption(options.cipher, options.key_size), columns, plan.chunks, plan.layout, ANALYST
    )


def fit(run: Run) -> GlmEstimate:
    """Scale and clip, multiply behind masks, open once with noise; all models are post-processing."""
    roles(run.parties)
    check_columns(facts_of(run), run.parties)
    check_statistic(run.spec.public)
    rows, n = common_rows(run)
    plan = MomentPlan.of(run, n)
    steps = {}
    for place, party in enumerate(run.parties):
        steps[party.name] = run.at(party, local_steps, place, rows, plan)
    readers: tuple[Place, ...] = ANALYST, *run.parties
    releases = noisy_products(run, per_place(steps), plan)
    vector = run.broadcast(ANALYST, run.parties, RELEASE, only_release, releases)
    counts = released_counts(run, rows, plan.counts, readers)
    estimate = run.among(readers, estimate_from, vector, plan, run.epsilon, run.spec.options, counts)
    clipped = run.each(run.parties, local_clipped, rows, plan.public)
    return run.assemble(with_records, estimate, None if plan.public.aligned else rows, clipped)
