"""Protocol: release noisy second moments instead of curves (trust model ``central``).

The parties' clipped curves meet only inside a secure aggregation that adds the noise itself
(`partywise.federation.exchanges.secure_sum`: assumed, not simulated).  Each disjoint chunk of records is released once,
so a person pays once (parallel composition over chunks); training sets are sums of chunks.  Composition of the three
releases of a chunk: rho is shared among S_zz, S_zy and the mean.

S_zz is released as its isometric vector (diagonal, sqrt(2) times the upper triangle): its sensitivity is the
Frobenius one, sqrt(2) S_tot^2, and off-diagonal entries get half the variance of noise that is iid on the triangle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...federation.exchanges.secure_sum import AGGREGATOR, secure_sum
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Accounted, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.release import Release
from ...privacy.statistics.bounded import Bounded, clip_curves
from ...privacy.statistics.geometry import lengths
from ...privacy.statistics.isometry import to_matrix, to_vector
from ...privacy.statistics.moments import cross_moment, record_sum, second_moment
from ..boosting import BoostingFit, fit_boosting
from ..margin import ReleasedNoise
from ..model import Estimate
from ..moments import Moments, Sums, corrected_moments
from .common import Plan, RngFor, active_operators, estimate_of, joined, local_labels, operators_back, path_numbers
from .noise import rho_of

PARTS = ("zz", "zy", "mean")


@dataclass(frozen=True)
class Aggregation:
    """What everyone knows of the aggregation.

    radius : length of all curves of a record; response_radius : of its response
    chunks : (fold, half) of the chunks of each half; sd : of the noise of each part of a chunk
    """

    radius: Accounted
    response_radius: Accounted
    chunks: tuple[tuple[tuple[int, int], ...], ...]
    sd: dict[str, float]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the releases."""
        return tuple(f"{part} of chunk {f}/{h}" for half in self.chunks for f, h in half for part in PARTS)


def aggregation(plan: Plan, response: Accounted) -> Aggregation:
    """The public side of the aggregation."""
    options, because = plan.options, "root of the sum of squares of the radii"
    total = Public(float(lengths(plan.radius)), because=because, made_of=plan.radii)
    if options.response_radius is not None:
        response = Public(options.response_radius, because="response_radius of the method, an option")
    rho, one, other = rho_of(plan.epsilon, plan.delta), np.zeros((1, 1)), np.zeros((1, 1))
    bounds = {part: bounded.certificate.value for part, bounded in chunk_sums(one, other, total, response, "*").items()}
    sd = {part: bounds[part] / np.sqrt(2 * share * rho) for part, share in zip(PARTS, options.shares, strict=True)}
    chunks = tuple(tuple((f, h) for f in plan.fold.training_folds) for h in (0, 1))
    return Aggregation(total, response, chunks, sd)


def local_curves(party: Party, plan: Plan) -> np.ndarray:
    """The party's curves in working coordinates, each clipped to its public radius: (N, m, q)."""
    curves, gram = plan.coordinates.predictors(party.block["X"]), plan.coordinates.gram
    clipped = [clip_curves(curves[:, i], gram, plan.radius[j])[0] for i, j in enumerate(party.columns)]
    return np.stack(clipped, axis=1)


def local_response(active: Party, radius: Accounted) -> np.ndarray:
    """The response (N, Qy), clipped to the public radius."""
    return clip_curves(active.block["Y"], np.eye(active.block["Y"].shape[1]), radius.value)[0]


def local_given(party: Party, values: np.ndarray) -> np.ndarray:
    """What a party computed before."""
    return values


def chunk_sums(
    z: np.ndarray, y: np.ndarray, radius: Accounted, response_radius: Accounted, stratum: str
) -> dict[str, Bounded]:
    """Sums over the records of a chunk inside the secure aggregation, with their sensitivities under replace-one.

    S_zz: sqrt(2) S_tot^2 as isometric vector; S_zy: 2 S_tot S_y; the mean: 2 S_tot.
    """
    whole = second_moment(z, radius, stratum=stratum)
    return {
        "zz": replace(whole, value=to_vector(np.asarray(whole.value))),
        "zy": cross_moment(z, y, radius, response_radius, stratum=stratum),
        "mean": record_sum(z, radius, stratum=stratum),
    }


def noisy_sums(
    curves: Sequence[np.ndarray], response: Sequence[np.ndarray], sums: Aggregation, plan: Plan, rng_for: RngFor
) -> tuple[Release, ...]:
    """Every part of every chunk with its noise: computed inside the secure aggregation."""
    Z, (Y,) = joined(curves, plan.held), response
    flat, released = Z.reshape(len(Z), -1), []
    for f, h in (where for half in sums.chunks for where in half):
        rows = plan.fold.chunk(f, h)
        bounded = chunk_sums(flat[rows], Y[rows], sums.radius, sums.response_radius, f"chunk {f}/{h}")
        for part in PARTS:
            release = Gaussian(sigma=sums.sd[part])(
                bounded[part],
                rng_for("moments", part, f, h),
                owner=AGGREGATOR,
                release_id=f"{part} of chunk {f}/{h}",
                trust_model="central",
            )
            released.append(release)
    return tuple(released)


@dataclass(frozen=True)
class NoisySums:
    """Released sums of one chunk and the noise sd of each part."""

    sums: Sums
    sd: dict[str, float]


def active_chunks(
    released: Sequence[Sequence[np.ndarray]], Y: np.ndarray, sums: Aggregation, plan: Plan
) -> list[list[NoisySums]]:
    """Sums of the chunks of each half: what was released, and the active party's own response."""
    (values,), size = map(iter, released), len(plan.names) * len(plan.coordinates.gram)
    chunks: list[list[NoisySums]] = [[], []]
    for f, h in (where for half in sums.chunks for where in half):
        zz, zy, mean = (next(values) for _ in PARTS)
        rows = plan.fold.chunk(f, h)
        y = Y[rows]
        made = Sums(float(rows.sum()), mean, y.sum(0), to_matrix(zz, size), zy, y.T @ y)
        chunks[h].append(NoisySums(made, sums.sd))
    return chunks


def active_moments(chunks: list[NoisySums], noise_mean: float) -> Moments:
    """Second moments of a union of chunks; the noise of the mean is taken out of S_zz."""
    total = sum((c.sums for c in chunks[1:]), chunks[0].sums)
    size = len(total.x)
    # n mean mean' carries noise_mean / n I, which S_zz = (xx - n mean mean') / (n - 1) subtracts.
    correction = -noise_mean * len(chunks) / total.n / (total.n - 1) * np.eye(size)
    return corrected_moments(total, correction)


def active_floor(chunks: list[NoisySums], q: int) -> float:
    """Scale of the error of a released covariance entry, times sqrt(q): the unit of the eigenvalue floor."""
    n = sum(c.sums.n for c in chunks)
    variance = math.fsum(c.sd["zz"] ** 2 for c in chunks) / 2
    return float(np.sqrt(variance) / (n - 1) * np.sqrt(q))


def active_noise(chunks: list[list[NoisySums]]) -> ReleasedNoise:
    """Variances of the noise of the moments of the two halves, from the public noise levels of their chunks."""
    n = [sum(c.sums.n for c in half) for half in chunks]
    total = {part: [math.fsum(c.sd[part] ** 2 for c in half) for half in chunks] for part in PARTS}
    second, cross = ((a / (n[0] - 1) ** 2, b / (n[1] - 1) ** 2) for a, b in (total["zz"], total["zy"]))
    mean = total["mean"][0] / n[0] ** 2, total["mean"][1] / n[1] ** 2
    return ReleasedNoise(second, cross, mean, sum(total["mean"]) / sum(n) ** 2)


def active_boost(chunks: list[list[NoisySums]], plan: Plan, rng_for: RngFor) -> BoostingFit:
    """Boosting on the released moments of the two halves."""
    options = plan.options
    variance = chunks[0][0].sd["mean"] ** 2
    both = chunks[0] + chunks[1]
    a, b, train = (active_moments(part, variance) for part in (chunks[0], chunks[1], both))
    floor = active_floor(both, len(plan.coordinates.gram))
    known = active_noise(chunks) if options.margin == "noise" else None
    penalties, rng = plan.coordinates.penalties, rng_for("probes")
    return fit_boosting(train, a, b, plan.groups, penalties, options, floor=floor, released=known, rng=rng)


def reported(fit: BoostingFit, operators: np.ndarray, plan: Plan) -> Estimate:
    """The estimate, with what is said about it."""
    numbers = path_numbers(fit) | {"radius": float(plan.radius.mean())}
    return estimate_of(fit, operators, plan, plan.epsilon, numbers)


def fit(run: Run) -> Estimate:
    """Clip, aggregate each chunk with noise, boost on the sums; the operators go back to their parties.

    The active party's response is clipped to the public S_y; its own second moments stay with it.
    """
    active, *owners = run.parties
    plan = Plan.of(run)
    sums = aggregation(plan, run.spec.public.response_radius)
    Y = run.at(active, local_response, sums.response_radius)
    inputs = (
        (owners, "curves in shares", local_curves, (plan,)),
        ((active,), "response in shares", local_given, (Y,)),
    )
    released = secure_sum(run, inputs, active, sums.names, noisy_sums, sums, plan, run.rng_for)
    chunks = run.at(active.name, active_chunks, released, Y, sums, plan)
    boosted = run.at(active.name, active_boost, chunks, plan, run.rng_for)
    operators = run.at(active.name, active_operators, boosted, plan)
    operators_back(run, plan, operators, sums.names, run.at(active, local_labels))
    return run.assemble(reported, boosted, operators, plan)
