"""Protocol: release noisy second moments instead of curves (trust model ``distributed``).

The parties' clipped curves cross behind masks of a dealer, whose shares of their products hold the noise; the analyst
adds up shares and sees noisy sums only (`partywise.federation.exchanges.noisy_moments`).  **Assumed**: the dealer, who
knows the noise and sees no data, colludes with nobody.  Each disjoint chunk of records is released once, so a person
pays once (parallel composition over chunks); training sets are sums of chunks.  Composition of the three releases of a
chunk: rho is shared among S_zz, S_zy and the mean.

S_zz is released as its isometric vector (diagonal, sqrt(2) times the upper triangle): its sensitivity is the
Frobenius one, sqrt(2) S_tot^2, and off-diagonal entries get half the variance of noise that is iid on the triangle.

Message                from, to                payload, bytes (m residues of 4 bytes, P coordinates, C chunks)
seed                   dealer, every party     Cipher         32
masked columns         every party, others     Cipher         4 m n P_k each
share of the noise     dealer, analyst         Cipher         4 m C sum_k (P_k (P_k + 1) / 2 + P_k) of the owners
shares with noise      dealer, owner k         Cipher         4 m C P_k (Q_y + sum_(j < k) P_j)
shares of sums         every party, analyst    Cipher         4 m C each sum of its own columns
sums of a chunk        analyst, active         Release        8 (P (P + 1) / 2 + P Q_y + P)
operators              active, owner k         Clear
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...federation.exchanges.cross_product import dealing
from ...federation.exchanges.noisy_moments import CONSTANT, Chunk, Draw, Layout, Part, noisy_moments
from ...federation.exchanges.residues import Ring, ring_for
from ...federation.parties import Party
from ...federation.run import Own, Run
from ...privacy.accounted import Accounted, Public, parents_of
from ...privacy.mechanisms.release import Release
from ...privacy.secure.fixed_point import whole_records
from ...privacy.secure.shared import SharedGaussian
from ...privacy.statistics.bounded import SensitivityCertificate, clip_curves
from ...privacy.statistics.geometry import lengths
from ...privacy.statistics.isometry import to_matrix
from ...privacy.statistics.moments import cross_moment, record_sum, second_moment
from ..boosting import BoostingFit, fit_boosting
from ..margin import ReleasedNoise
from ..model import Estimate
from ..moments import Moments, Sums, corrected_moments
from .common import Plan, RngFor, active_operators, estimate_of, local_labels, operators_back, path_numbers
from .noise import rho_of

# Adds up the shares of noisy sums, and holds no data.
ANALYST = "analyst"
PARTS = ("zz", "zy", "mean")
BITS = 40
# Noise beyond so many deviations has a probability below 1e-800: sums are read back modulo the ring.
LONGEST = 64.0


@dataclass(frozen=True)
class Aggregation:
    """What everyone knows of the sums.

    radius : length of all curves of a record; response_radius : of its response
    parts : (fold, half) of the chunks of each half; mu : Gaussian-DP parameter of each part of a chunk
    """

    plan: Plan
    radius: Accounted
    response_radius: Accounted
    halves: tuple[tuple[tuple[int, int], ...], ...]
    mu: dict[str, float]
    width: int

    @cached_property
    def certificates(self) -> dict[str, SensitivityCertificate]:
        """Of the sums over the records of a chunk, under replacement of one.

        S_zz: sqrt(2) S_tot^2 as isometric vector; S_zy: 2 S_tot S_y; the mean: 2 S_tot.
        """
        none = np.zeros((1, 1))
        bounded = {
            "zz": second_moment(none, self.radius),
            "zy": cross_moment(none, none, self.radius, self.response_radius),
            "mean": record_sum(none, self.radius),
        }
        return {part: one.certificate for part, one in bounded.items()}

    @cached_property
    def sd(self) -> dict[str, float]:
        """Noise of each part of a chunk."""
        return {part: SharedGaussian(self.mu[part]).deviation(self.certificates[part]) for part in PARTS}

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(fold, half) of all chunks, in order."""
        return tuple(where for half in self.halves for where in half)

    @cached_property
    def members(self) -> tuple[np.ndarray, ...]:
        """Positions of the records of every chunk."""
        return tuple(np.flatnonzero(self.plan.fold.chunk(f, h)) for f, h in self.places)

    @cached_property
    def rows(self) -> np.ndarray:
        """(n,) positions of the training records, chunk after chunk."""
        return np.concatenate(self.members)

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Records of every chunk among those, with the noise of its parts."""
        parents = parents_of(self.radius, self.response_radius)
        ends = np.cumsum([0, *map(len, self.members)]).tolist()
        found = []
        for (f, h), start, stop in zip(self.places, ends, ends[1:], strict=False):
            draws = [
                Draw(name, self.certificates[part], self.mu[part], ("moments", part, f, h), parents)
                for part, name in zip(PARTS, names_of(f, h), strict=True)
            ]
            found.append(Chunk(slice(start, stop), f"chunk {f}/{h}", tuple(draws)))
        return tuple(found)

    @cached_property
    def layout(self) -> Layout:
        """Sums of products of all coordinates of curves, of those with the response, and of coordinates."""
        q = len(self.plan.coordinates.gram)
        size, step = q * len(self.plan.names), 2.0**-BITS
        held = [tuple(j * q + c for j in columns for c in range(q)) for columns in self.plan.held]
        response = tuple(range(size, size + self.width))
        every, (rows, others) = np.arange(size), np.triu_indices(size, 1)
        scale = np.concatenate([np.ones(size), np.full(len(rows), np.sqrt(2))])
        parts = (
            Part(np.concatenate([every, rows]), np.concatenate([every, others]), scale * step**2),
            Part(np.repeat(every, self.width), np.tile(response, size), np.full(size * self.width, step**2)),
            Part(np.full(size, CONSTANT), every, np.full(size, step)),
        )
        return Layout((self.plan.active, *self.plan.owners), (response, *held), parts)

    @cached_property
    def ring(self) -> Ring:
        """Residues that hold every noisy sum."""
        longest = max(float(self.radius.value), float(self.response_radius.value))
        largest = max(map(len, self.members)) * longest**2
        return ring_for(largest + LONGEST * max(self.sd.values()), 2 * BITS)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the releases."""
        return tuple(name for where in self.places for name in names_of(*where))


def names_of(fold: int, half: int) -> tuple[str, ...]:
    """Names of the releases of a chunk."""
    return tuple(f"{part} of chunk {fold}/{half}" for part in PARTS)


def aggregation(plan: Plan, response: Accounted, width: int) -> Aggregation:
    """The public side of the sums."""
    options, because = plan.options, "root of the sum of squares of the radii"
    total = Public(float(lengths(plan.radius)), because=because, made_of=plan.radii)
    if options.response_radius is not None:
        response = Public(options.response_radius, because="response_radius of the method, an option")
    rho = rho_of(plan.epsilon, plan.delta)
    mu = {part: float(np.sqrt(2 * share * rho)) for part, share in zip(PARTS, options.shares, strict=True)}
    halves = tuple(tuple((f, h) for f in plan.fold.training_folds) for h in (0, 1))
    return Aggregation(plan, total, response, halves, mu, width)


def local_curves(party: Party, sums: Aggregation) -> np.ndarray:
    """(n, m q) the party's curves in working coordinates, whole steps, each inside its public radius."""
    plan = sums.plan
    curves = plan.coordinates.predictors(party.block["X"][sums.rows])
    steps = [whole_records(curves[:, i], float(plan.radius[j]), 2.0**-BITS)[0] for i, j in enumerate(party.columns)]
    return np.concatenate(steps, axis=1) * 2.0**-BITS


def local_response(active: Party, radius: Accounted) -> np.ndarray:
    """The response (N, Qy), clipped to the public radius."""
    return clip_curves(active.block["Y"], np.eye(active.block["Y"].shape[1]), radius.value)[0]


def local_steps(active: Party, sums: Aggregation) -> np.ndarray:
    """(n, Qy) the response in whole steps, inside the public radius."""
    return whole_records(active.block["Y"][sums.rows], float(sums.response_radius.value), 2.0**-BITS)[0] * 2.0**-BITS


def all_releases(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """What was opened, as it leaves."""
    return releases


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
    for f, h in sums.places:
        zz, zy, mean = (next(values) for _ in PARTS)
        rows = plan.fold.chunk(f, h)
        y = Y[rows]
        made = Sums(float(rows.sum()), mean, y.sum(0), to_matrix(zz, size), zy.reshape(size, -1), y.T @ y)
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
    """Clip, sum each chunk behind masks and with noise, boost on the sums; the operators go back to their parties.

    The active party's response is clipped to the public S_y; its own second moments stay with it.
    """
    active, *owners = run.parties
    plan, public = Plan.of(run), run.spec.public
    sums = aggregation(plan, public.response_radius, public.basis_y.n_basis)
    Y = run.at(active, local_response, sums.response_radius)
    columns = {active.name: run.at(active, local_steps, sums)}
    columns |= {owner.name: run.at(owner, local_curves, sums) for owner in owners}
    dealt = dealing(run, run.parties, sums.ring)
    made = noisy_moments(run, dealt, Own(columns), len(sums.rows), BITS, sums.chunks, sums.layout, ANALYST)
    released = run.gather((ANALYST,), active, lambda _: sums.names, all_releases, made)
    chunks = run.at(active.name, active_chunks, released, Y, sums, plan)
    boosted = run.at(active.name, active_boost, chunks, plan, run.rng_for)
    operators = run.at(active.name, active_operators, boosted, plan)
    operators_back(run, plan, operators, sums.names, run.at(active, local_labels))
    return run.assemble(reported, boosted, operators, plan)
