"""Protocol: release noisy second moments instead of curves (trust model ``central``).

The parties' clipped curves meet only inside a secure aggregation that adds the noise itself: assumed here, not
simulated.  Each disjoint chunk of records is released once, so a person pays once (parallel composition over
chunks); training sets are sums of chunks.  Composition of the three releases of a chunk: rho is shared among S_zz,
S_zy and the mean.

S_zz is released as its isometric vector (diagonal, sqrt(2) times the upper triangle): its sensitivity is the
Frobenius one, sqrt(2) S_tot^2, and off-diagonal entries get half the variance of noise that is iid on the triangle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...federation.channel import Cipher
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Accounted, Clear, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.release import Release, derived
from ...privacy.statistics.bounded import Bounded, clip_curves
from ...privacy.statistics.geometry import lengths
from ...privacy.statistics.isometry import to_matrix, to_vector
from ...privacy.statistics.moments import cross_moment, record_sum, second_moment
from ..boosting import BoostingFit, fit_boosting
from ..coordinates import Coordinates, coordinates_of
from ..margin import ReleasedNoise
from ..model import Estimate
from ..moments import Moments, Sums, corrected_moments
from ..options import MomentsOptions
from .common import active_estimate, active_groups, radii, sizes_of
from .communication import formula_bytes
from .noise import rho_of

AGGREGATOR = "aggregator"
NOBODY = "no single party"
PARTS = ("zz", "zy", "mean")


def local_clip(party: Party, coordinates: Coordinates, radius: np.ndarray) -> np.ndarray:
    """The party's curves in working coordinates, each clipped to its public radius: (N, m, q)."""
    curves = coordinates.predictors(party.block["X"])
    clipped = [clip_curves(curves[:, i], coordinates.gram, radius[j])[0] for i, j in enumerate(party.columns)]
    return np.stack(clipped, axis=1)


def server_sums(
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


@dataclass(frozen=True)
class NoisySums:
    """Released sums of one chunk and the noise sd of each part."""

    sums: Sums
    sd: dict[str, float]


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


def active_boost(
    chunks: list[list[NoisySums]],
    coordinates: Coordinates,
    groups: tuple[tuple[int, ...], ...],
    options: MomentsOptions,
    rng: np.random.Generator,
) -> BoostingFit:
    """Boosting on the released moments of the two halves."""
    q = len(coordinates.gram)
    variance = chunks[0][0].sd["mean"] ** 2
    both = chunks[0] + chunks[1]
    a, b, train = (active_moments(part, variance) for part in (chunks[0], chunks[1], both))
    floor = active_floor(both, q)
    known = active_noise(chunks) if options.margin == "noise" else None
    return fit_boosting(train, a, b, groups, coordinates.penalties, options, floor=floor, released=known, rng=rng)


def fit(run: Run) -> Estimate:
    """Clip, aggregate each chunk with noise, boost on the sums; the operators go back to their parties.

    The active party's response is clipped to the public S_y; its own second moments stay with it.
    """
    parties, channel, spec = run.parties, run.channel, run.spec
    epsilon, fold, rng_for = run.epsilon, run.fold, run.rng_for
    options, public, delta = spec.options, spec.public, spec.study.delta
    active, owners = parties[0], parties[1:]
    coordinates = coordinates_of(public, options)
    q, p = len(coordinates.gram), len(public.radius)
    used = radii(public, options.radius_value)
    radius, response_radius = sizes_of(used), public.response_radius
    total = Public(float(lengths(radius)), because="root of the sum of squares of the radii", made_of=used)
    if options.response_radius is not None:
        response_radius = Public(options.response_radius, because="response_radius of the method, an option")
    Y = clip_curves(active.block["Y"], np.eye(active.block["Y"].shape[1]), response_radius.value)[0]
    Z = np.empty((len(Y), p, q))
    for party in owners:
        share = Cipher(local_clip(party, coordinates, radius), key_holder=NOBODY)
        Z[:, list(party.columns)] = channel.send(party.name, AGGREGATOR, "curves in shares", share).value
    Y = channel.send(active.name, AGGREGATOR, "response in shares", Cipher(Y, key_holder=NOBODY)).value
    flat = Z.reshape(len(Y), -1)
    rho = rho_of(epsilon, delta)
    plan = [[(fold.chunk(f, h), (f, h)) for f in fold.training_folds] for h in (0, 1)]
    chunks: list[list[NoisySums]] = []
    sent: list[Release] = []
    for half in plan:
        noisy = []
        for rows, where in half:
            bounded = server_sums(flat[rows], Y[rows], total, response_radius, stratum=f"chunk {where[0]}/{where[1]}")
            values, sd = {}, {}
            for part, share in zip(PARTS, options.shares, strict=True):
                sd[part] = bounded[part].certificate.value / np.sqrt(2 * share * rho)
                mechanism = Gaussian(sigma=sd[part])
                name = f"{part} of chunk {'/'.join(map(str, where))}"
                release = mechanism(
                    bounded[part],
                    rng_for("moments", part, *where),
                    owner=AGGREGATOR,
                    release_id=name,
                    trust_model="central",
                )
                values[part] = channel.send(AGGREGATOR, active.name, name, release)
                sent.append(release)
            y = Y[rows]
            sums = Sums(
                float(rows.sum()), values["mean"], y.sum(0), to_matrix(values["zz"], p * q), values["zy"], y.T @ y
            )
            noisy.append(NoisySums(sums, sd))
        chunks.append(noisy)
    groups = active_groups([party.columns for party in owners], options.learner)
    boosted = active_boost(chunks, coordinates, groups, options, rng_for("probes"))
    sizes = [len(party.columns) for party in owners]
    formulas = formula_bytes(sizes, int(fold.train.sum()), len(Y), q, Y.shape[1], 2 * fold.n_folds)
    estimate = active_estimate(boosted, coordinates, groups, epsilon, radius=float(radius.mean()), **formulas)
    made_of = [*sent, Clear(active.block["Y"], units=("label",), owner=active.name)]
    for party in owners:
        back = derived(
            estimate.operators[list(party.columns)],
            made_of,
            name=f"operators of {party.name} fit J={len(owners)} fold={fold.held_out}",
            owner=active.name,
            audience=(party.name,),
        )
        channel.send(active.name, party.name, "operators", back)
    return estimate
