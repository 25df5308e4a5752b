"""Protocol: one noisy matrix of second moments, from which any submodel follows (trust model ``distributed``).

Nobody sees a record of another party: columns cross behind masks of a dealer, the dealer's shares of their products
hold the noise, and only noisy sums are opened (`column_sums.noisy_moments`). **Assumed**: the
dealer, who knows the noise and sees no data, does not collude and does not see what is released; the ledger does
not model it. All but one of the parties, and the analyst, may collude: they learn what is released.

What is released of n records: the mean of v v', v = (S / sqrt p, z, s (t - t_0)), without its constant entry, as
isometric vector of sensitivity sqrt(2) r^2 / n, r^2 = S^2 / p + S^2 + s^2 B^2. Blocks are clipped to their radii and
rounded to whole steps inside them, so that the bound holds for the integers that are multiplied.

Message                    from, to                payload, bytes (m residues of 4 bytes; p_1 counts the response)
seed                       dealer, every party     Cipher         32
masked columns             every party, others     Cipher         4 m n p_k each
share of the noise         dealer, analyst         Cipher         4 m sum_k (p_k (p_k + 1) / 2 + p_k)
shares with noise          dealer, party k > 1     Cipher         4 m p_k sum_(j < k) p_j
shares of sums             every party, analyst    Cipher         4 m p_k (sum_(j != k) p_j + (p_k + 1) / 2 + 1)
second moments             analyst, every party    Release        8 (q (q + 1) / 2 + q), q = p + 1

Coefficients are post-processing, which every party does for itself. Those of families other than the Gaussian are
approximate, which ``approximate`` says; for Poisson responses, whose means react most to skewed columns, a warning goes
to the log. In a run whose records arrive unaligned the set
intersection comes first; it discloses membership, and then nothing finite is certified for rows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...alignment.rows import common_rows
from ...federation.exchanges.column_sums.layout import CONSTANT, Layout, Part
from ...federation.exchanges.column_sums.noisy_moments import Chunk, Draw, noisy_moments
from ...federation.exchanges.dealing import dealing
from ...federation.exchanges.residues import Ring, ring_for
from ...federation.parties import Party
from ...federation.roles import ANALYST, records_together, roles
from ...federation.run import Run, per_place
from ...privacy.accounted_values import parents_of
from ...privacy.accounting.calibration import gdp_mu
from ...privacy.mechanisms.release import Release
from ...privacy.mechanisms.shared_gaussian import SharedGaussian
from ...privacy.secure.fixed_point import whole_records
from ...privacy.statistics.bounded import sum_certificate
from ...privacy.statistics.moments import second_moment_bound
from ..model import Estimate, PublicFacts
from ..noisy_statistics.intervals import intervals_of
from ..noisy_statistics.moments import Moments, Scale
from ..noisy_statistics.noise import of_moments
from ..noisy_statistics.scaling import (
    check_columns,
    check_statistic,
    constant,
    local_response,
    local_scaled_block,
    radius_of,
    statistic,
    statistic_range,
    total_radius,
)
from ..noisy_statistics.submodels import coefficients

RELEASE = "second moments"
BITS = 38
# Noise beyond so many deviations has a probability below 1e-800: sums are read back modulo the ring.
LONGEST = 64.0
POISSON = (
    "family='poisson' of 'moments': the coefficients are approximate, and no epsilon removes their bias, as second "
    "moments do not tell how skewed columns are; compare with 'noisy_newton', whose aggregator is trusted with records."
)
logger = logging.getLogger("partywise")


@dataclass(frozen=True)
class Plan:
    """What everyone knows before a fit.

    groups : columns of each party; active : place of the active party, whose last column is the response statistic
    radii : of the parties' blocks; mu : Gaussian-DP parameter of the release, infinite for none
    parents : releases that public constants came from
    """

    public: PublicFacts
    n: int
    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    active: int
    radii: tuple[float, ...]
    scale: Scale
    mu: float
    parents: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, n: int) -> Plan:
        """The plan of a run on n records."""
        parties, public = run.parties, run.spec.public
        active, _ = roles(parties)
        radii, total = [radius_of(public, party) for party in parties], total_radius(public, parties)
        return cls(
            public=public,
            n=n,
            names=tuple(party.name for party in parties),
            groups=tuple(party.columns for party in parties),
            active=[party.name for party in parties].index(active.name),
            radii=tuple(float(one.value) for one in radii),
            scale=Scale(float(total.value), len(public.names), *statistic_range(public)),
            mu=float(gdp_mu(run.epsilon, run.spec.study.delta)) / records_together(run.spec),
            parents=parents_of(*radii, public.statistic),
        )

    @cached_property
    def layout(self) -> Layout:
        """Products of all columns and of the response statistic, and their sums."""
        size = self.scale.columns + 1
        columns = [*self.groups]
        columns[self.active] = (*columns[self.active], size - 1)
        rows, others = np.triu_indices(size, 1)
        first = np.concatenate([np.arange(size), rows, np.full(size, CONSTANT)])
        second = np.concatenate([np.arange(size), others, np.arange(size)])
        steps = np.where(first == CONSTANT, 2.0**-BITS, 2.0 ** (-2 * BITS))
        return Layout(self.names, tuple(columns), (Part(first, second, self.scale.worth * steps / self.n),))

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All records at once, one draw."""
        source = "sqrt(2) r^2 / n of the mean of v v', v of length r at most, in whole steps"
        bound = second_moment_bound(self.scale.length, self.n)
        certificate = sum_certificate(bound, source, "row", ("label", "features"))
        draw = Draw(RELEASE, certificate, self.mu, ("moments", "dealer"), self.parents)
        return (Chunk(slice(0, self.n), "*", (draw,)),)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the noise of an entry of the isometric vector."""
        ((draw,),) = (chunk.draws for chunk in self.chunks)
        return SharedGaussian(draw.mu).deviation(draw.certificate)

    @cached_property
    def ring(self) -> Ring:
        """Residues that hold every noisy sum."""
        return ring_for(self.n * (self.scale.length**2 + LONGEST * self.deviation), 2 * BITS)

    def widths(self) -> list[int]:
        """Columns of every party, the response statistic among those of the active one."""
        return [len(own) for own in self.layout.columns]


def local_steps(party: Party, place: int, rows: np.ndarray, plan: Plan) -> np.ndarray:
    """(n, p_k) the party's records in whole steps inside its radius; of the active party s (t - t_0) after them."""
    z = local_scaled_block(party, rows, plan.public)
    steps = whole_records(z, plan.radii[place], 2.0**-BITS)[0]
    if place == plan.active:
        t = statistic(local_response(party, rows, plan.public), plan.public.family)
        scaled = plan.scale.weight * (t - plan.scale.center)
        steps = np.column_stack([steps, whole_records(scaled[:, None], plan.scale.radius / 2, 2.0**-BITS)[0]])
    return steps * 2.0**-BITS


def only(releases: Sequence[Release]) -> Release:
    """The release, for everybody."""
    (release,) = releases
    return release


def moments_of(vector: np.ndarray, plan: Plan) -> Moments:
    """What was released, as every participant reads it."""
    location, scale = constant(plan.public, "location"), constant(plan.public, "scale")
    return Moments.of(vector, plan.n, plan.deviation, plan.scale, location, scale)


def to_estimate(found: Moments, rows: dict[str, np.ndarray], epsilon: float, products: int, plan: Plan) -> Estimate:
    """The estimate, with what is said about it."""
    numbers: dict[str, Any] = {
        "openings": 1,
        "record_openings": 0,
        "secure_products": products,
        "noise_sd": plan.deviation,
        "projected": found.is_indefinite,
        # Slopes of these families rest on assumed shapes of columns; no epsilon takes the bias of others.
        "approximate": plan.public.family != "gaussian",
    }
    return Estimate(
        coefficients(found, plan.public.family),
        epsilon_claimed=epsilon,
        noise_errors=of_moments(found, plan.public.family) if found.sd else None,
        intervals=intervals_of(found, plan.public.family),
        correlation=found.correlation,
        moments=found,
        rows=None if plan.public.aligned else rows,
        numbers=numbers,
    )


def fit(run: Run) -> Estimate:
    """Scale and clip, multiply behind masks, open once with noise; all models are post-processing."""
    roles(run.parties)
    check_columns(run.spec.public, run.parties)
    check_statistic(run.spec.public)
    if run.spec.public.family == "poisson":
        logger.warning(POISSON)
    rows, n = common_rows(run)
    plan = Plan.of(run, n)
    steps = {}
    for place, party in enumerate(run.parties):
        steps[party.name] = run.at(party, local_steps, place, rows, plan)
    triples = dealing(run, run.parties, plan.ring)
    releases = noisy_moments(run, triples, per_place(steps), n, BITS, plan.chunks, plan.layout, ANALYST)
    vector = run.broadcast(ANALYST, run.parties, RELEASE, only, releases)
    found = run.at(ANALYST, moments_of, vector, plan)
    return run.assemble(to_estimate, found, rows, run.epsilon, triples.products, plan)
