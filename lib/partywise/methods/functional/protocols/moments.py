"""Protocol: release noisy second moments instead of curves (trust model ``distributed``).

Without a dealer two parties multiply their clipped curves under the key of one of them, and either adds all of the
noise (`partywise.federation.exchanges.private_products`): nothing is assumed of any party except that Paillier's
scheme closes. With ``dealer: dealer`` curves cross behind its masks, and its shares of products hold the noise
(`partywise.federation.exchanges.column_sums.noisy_moments`): sums of two parties' columns have half the variance, and
the dealer, who knows the noise and sees no data, must not collude. The analyst adds up words or shares and sees
noisy sums only. Each disjoint chunk of records is released once, so a person pays once (parallel composition over
chunks); training sets are sums of chunks. Composition of the three releases of a chunk: rho is shared among S_zz, S_zy
and the mean.

S_zz is released as its isometric vector (diagonal, sqrt(2) times the upper triangle): its sensitivity is the
Frobenius one, sqrt(2) S_tot^2, and off-diagonal entries get half the variance of noise that is iid on the triangle.

Message                from, to                payload, bytes (w: of a ciphertext; P coordinates, C chunks)
public key             key holder, others      Public         3 w / 2 + 8
closed columns         key holder, others      Cipher         n ceil(P_k / slots) w
masked products        others, key holder      Cipher         C P_j ceil(P_k / slots) w, k: the key holder
noisy words            every party, analyst    Cipher         8 C each sum of its own columns
sums of a chunk        analyst, active         Release        8 (P (P + 1) / 2 + P Q_y + P)
operators              active, owner k         Clear

With the dealer (m residues of 4 bytes), before the sums of chunks
seed                   dealer, every party     Cipher         32
masked columns         every party, others     Cipher         4 m n P_k each
share of the noise     dealer, analyst         Cipher         4 m C sum_k (P_k (P_k + 1) / 2 + P_k) of the owners
shares with noise      dealer, owner k         Cipher         4 m C P_k (Q_y + sum_(j < k) P_j)
shares of sums         every party, analyst    Cipher         4 m C each sum of its own columns
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.randomness import Rng
from ....federation.exchanges.column_sums.noisy_moments import noisy_moments
from ....federation.exchanges.private_products import Encryption, private_products
from ....federation.parties import Party
from ....federation.places import PerPlace, per_place
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue
from ....privacy.mechanisms.release import Release
from ....privacy.secure.fixed_point import whole_records
from ....privacy.statistics.clips import NormClip
from ....privacy.statistics.isometry import to_matrix
from ..boosting import BoostingFit, fit_boosting
from ..model import CurveEstimate
from ..moments import CurveMoments, CurveSums, corrected_moments
from ..paths import ReleasedNoise
from .aggregation import PARTS, Aggregation, aggregation
from .common import CurvePlan, local_labels
from .estimate import estimate_of, operators_back, path_numbers, whole

# Adds up the shares of noisy sums, and holds no data.
ANALYST = "analyst"


def local_curves(party: Party, sums: Aggregation) -> np.ndarray:
    """(n, m q) the party's curves in working coordinates, whole steps, each inside its public radius."""
    plan = sums.plan
    curves = plan.coordinates.predictors(party.block["X"][sums.rows])
    steps = list[np.ndarray]()
    for i, j in enumerate(party.columns):
        records, share = whole_records(curves[:, i], float(plan.radius[j]), sums.step)
        party.clips.add_share("radius_value", share, len(records))
        steps.append(records)
    return np.concatenate(steps, axis=1)


def local_response(active: Party, radius: AccountedValue) -> np.ndarray:
    """The response (N, Qy), clipped to the public radius."""
    clipped = NormClip(radius).of(active.block["Y"])
    active.clips.add("response_radius", clipped.number, clipped.units)
    return clipped.records


def local_steps(active: Party, sums: Aggregation) -> np.ndarray:
    """(n, Qy) the response in whole steps, inside the public radius."""
    return whole_records(active.block["Y"][sums.rows], float(sums.response_radius.value), sums.response_step)[0]


def all_releases(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Return the opened releases, as they leave."""
    return releases


@dataclass(frozen=True)
class ReleasedChunk:
    """Released sums of one chunk and the noise sd of each part."""

    sums: CurveSums
    sd: dict[str, float]


def active_chunks(
    released: Sequence[Sequence[np.ndarray]], Y: np.ndarray, sums: Aggregation, plan: CurvePlan
) -> list[list[ReleasedChunk]]:
    """Sums of the chunks of each half: what was released, and the active party's own response."""
    (values,), size = map(iter, released), len(plan.names) * len(plan.coordinates.gram)
    chunks: list[list[ReleasedChunk]] = [[], []]
    for f, h in sums.places:
        zz, zy, mean = (next(values) for _ in PARTS)
        rows = plan.fold.chunk(f, h)
        y = Y[rows]
        chunk_sums = CurveSums(float(rows.sum()), mean, y.sum(0), to_matrix(zz, size), zy.reshape(size, -1), y.T @ y)
        chunks[h].append(ReleasedChunk(chunk_sums, sums.sd))
    return chunks


def active_moments(chunks: list[ReleasedChunk], noise_mean: float) -> CurveMoments:
    """Second moments of a union of chunks; the noise of the mean is taken out of S_zz."""
    total = sum((c.sums for c in chunks[1:]), chunks[0].sums)
    size = len(total.x)
    # n mean mean' carries noise_mean / n I, which S_zz = (xx - n mean mean') / (n - 1) subtracts.
    correction = -noise_mean * len(chunks) / total.n / (total.n - 1) * np.eye(size)
    return corrected_moments(total, correction)


def active_floor(chunks: list[ReleasedChunk], q: int, copies: float) -> float:
    """Scale of the error of a released covariance entry, times sqrt(q): the unit of the eigenvalue floor."""
    n = sum(c.sums.n for c in chunks)
    variance = copies * math.fsum(c.sd["zz"] ** 2 for c in chunks) / 2
    return float(np.sqrt(variance) / (n - 1) * np.sqrt(q))


def active_noise(chunks: list[list[ReleasedChunk]], apart: tuple[np.ndarray, ...]) -> ReleasedNoise:
    """Variances of the noise of the moments of the two halves, from the public noise levels of their chunks."""
    n = [sum(c.sums.n for c in half) for half in chunks]
    total = {part: [math.fsum(c.sd[part] ** 2 for c in half) for half in chunks] for part in PARTS}
    second, cross = ((a / (n[0] - 1) ** 2, b / (n[1] - 1) ** 2) for a, b in (total["zz"], total["zy"]))
    mean = total["mean"][0] / n[0] ** 2, total["mean"][1] / n[1] ** 2
    return ReleasedNoise(second, cross, mean, sum(total["mean"]) / sum(n) ** 2, apart)


def active_boost(chunks: list[list[ReleasedChunk]], sums: Aggregation, rng_for: Rng) -> BoostingFit:
    """Boosting on the released moments of the two halves."""
    plan, options = sums.plan, sums.plan.options
    variance = chunks[0][0].sd["mean"] ** 2
    both = chunks[0] + chunks[1]
    a, b, train = (active_moments(part, variance) for part in (chunks[0], chunks[1], both))
    floor = active_floor(both, len(plan.coordinates.gram), sums.copies)
    apart = () if sums.has_dealer else tuple(np.array(columns) for columns in sums.layout.columns[1:])
    known = active_noise(chunks, apart) if options.margin == "noise" else None
    penalties, rng = plan.coordinates.penalties, rng_for("probes")
    return fit_boosting(train, a, b, plan.groups, penalties, options, floor=floor, released=known, rng=rng)


def active_estimate(fit: BoostingFit, plan: CurvePlan) -> CurveEstimate:
    """The estimate, with its reported numbers."""
    numbers = path_numbers(fit) | {"radius": float(plan.radius.mean())}
    return estimate_of(fit, plan, plan.epsilon, numbers)


def noisy_sums(run: Run, columns: PerPlace[np.ndarray], sums: Aggregation) -> tuple[Release, ...]:
    """The releases of all chunks, at the analyst."""
    options = sums.plan.options
    if sums.has_dealer:
        return noisy_moments(run, columns, sums.chunks, sums.layout, ANALYST)
    encryption = Encryption(options.cipher, options.key_size)
    return private_products(run, encryption, columns, sums.chunks, sums.layout, ANALYST)


def fit(run: Run) -> CurveEstimate:
    """Clip, sum each chunk closed and with noise, boost on the sums; the operators go back to their parties.

    The active party's response is clipped to the public S_y; its own second moments stay with it.
    """
    active, *owners = run.parties
    plan, public = CurvePlan.of(run), run.spec.public
    sums = aggregation(plan, public.response_radius, public.basis_y.n_basis)
    Y = run.at(active, local_response, sums.response_radius)
    columns = {active.name: run.at(active, local_steps, sums)}
    columns |= {owner.name: run.at(owner, local_curves, sums) for owner in owners}
    releases = noisy_sums(run, per_place(columns), sums)
    released = run.gather((ANALYST,), active, lambda _: sums.names, all_releases, releases)
    chunks = run.at(active.name, active_chunks, released, Y, sums, plan)
    boosted = run.at(active.name, active_boost, chunks, sums, run.rng_for)
    estimate = run.at(active.name, active_estimate, boosted, plan)
    parts = operators_back(run, plan, estimate, sums.names, run.at(active, local_labels))
    return run.assemble(whole, estimate, parts=parts)
