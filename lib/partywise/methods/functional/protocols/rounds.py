"""Comparator protocol: fresh noise in every boosting round instead of one release.

The number of rounds T = max_steps is fixed in advance.  In round t every party re-releases its clipped curves with
noise s_j sqrt(T), whether it is selected or not, and early stopping refunds nothing: the T releases cost what one
release at s_j costs.  ``memory: last`` works on round t alone, ``mean`` on the average of rounds 1..t (noise
variance s^2 T / t; at t = T it has the distribution of the one-shot release).  The source document mentions no
definition: this one is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.integer import IntegerGaussian
from ....privacy.mechanisms.release import Release, Terms
from ....privacy.statistics.records import unwhiten
from ....privacy.statistics.whole import Whole
from ..boosting import BoostingFit, Progress, Walk
from ..model import CurveEstimate, FitNumbers
from ..moments import CurveMoments, CurveSums, block_noise, corrected_moments
from ..paths import PathState, Rotation, noise_floor, path_covariances
from .common import CurvePlan, announced_radii, local_known, local_labels, local_whole, merge_arrived, rests_on
from .estimate import estimate_of, operators_back, whole


def local_names(party: Party, plan: CurvePlan, t: int) -> tuple[str, ...]:
    """Names of what a party releases in a round."""
    return tuple(f"{name} round {t} of {plan.options.max_steps}" for name in plan.names_of("curves", *party.columns))


def local_deviations(
    party: Party, party_radii: Sequence[AccountedValue], passed: np.ndarray | None, plan: CurvePlan
) -> np.ndarray:
    """Noise sd (p,) of one round, by the radii that the party knows."""
    return np.sqrt(plan.options.max_steps) * plan.levels(local_known(party, party_radii, passed, plan))


def local_clipped(
    party: Party, party_radii: Sequence[AccountedValue], deviations: np.ndarray, plan: CurvePlan
) -> tuple[Whole | Clear, ...]:
    """The party's clipped curves, the same in every round; unclipped without noise."""
    coordinates, predictors = plan.coordinates, zip(party.columns, party_radii, strict=True)
    return tuple(local_whole(party, j, coordinates, r, deviations[j], coordinates.white_noise) for j, r in predictors)


def local_round(
    party: Party,
    clipped: Sequence[Whole | Clear],
    deviations: np.ndarray,
    parts: Sequence[AccountedValue],
    t: int,
    plan: CurvePlan,
    rng_for: Rng,
) -> tuple[Release | Clear, ...]:
    """The party's curves with the noise of one round."""
    payloads, back = list[Release | Clear](), partial(unwhiten, shape=plan.coordinates.white_noise)
    for j, curves, name in zip(party.columns, clipped, local_names(party, plan, t), strict=True):
        if isinstance(curves, Whole):
            terms: Terms = {"release_id": name, "data_dependent_parameters": rests_on(parts)}
            release = IntegerGaussian(sigma=deviations[j])(curves, rng_for("round", t, j), owner=party.name, **terms)
            payloads.append(release.post_process(back))
        else:
            payloads.append(curves)
    return tuple(payloads)


@dataclass(frozen=True)
class Course:
    """State of the active party between rounds.

    Y : (N, Qy) its response in working coordinates; total, last_curves : (N, p, q) curves of all rounds, of the last
    B : (3, P, Qy) operators of the three paths; path : blocks so far
    best_B, means : operator of the best state, and the means it was fitted with
    """

    Y: np.ndarray
    total: np.ndarray
    last_curves: np.ndarray
    B: np.ndarray
    best_B: np.ndarray
    means: tuple[np.ndarray, np.ndarray]
    progress: Progress
    path: tuple[int, ...] = ()


def local_start(active: Party, plan: CurvePlan) -> Course:
    """Nothing received, the mean curve."""
    Y = plan.coordinates.response(active.block["Y"])
    p, q = len(plan.names), len(plan.coordinates.gram)
    none, B = np.zeros((len(Y), p, q)), np.zeros((3, p * q, Y.shape[1]))
    return Course(Y, none, none, B, B[0], (np.zeros(p * q), Y[plan.fold.train].mean(0)), Progress(np.inf))


def active_round(course: Course, arrived: tuple, radius: np.ndarray, t: int, plan: CurvePlan) -> Course:
    """Take in the curves of a round and, unless patience ran out, advance all three paths by one block."""
    rounds, latest = plan.options.max_steps, merge_arrived(arrived, plan.owner_columns)
    total = course.total + latest
    used, factor = (total / t, rounds / t) if plan.options.memory == "mean" else (latest, float(rounds))
    course = replace(course, total=total, last_curves=used)
    covariance = factor * plan.levels(radius)[:, None, None] ** 2 * plan.coordinates.white_noise
    return course if course.progress.stopped else active_step(course, used, covariance, plan)


def active_step(course: Course, Z: np.ndarray, covariance: np.ndarray, plan: CurvePlan) -> Course:
    """One step on curves (N, p, q) whose noise has covariances (p, q, q)."""
    noise, flat, fold = block_noise(covariance, Z.shape[2], Z.shape[1]), Z.reshape(len(Z), -1), plan.fold
    sums = [CurveSums.of(flat[rows], course.Y[rows]) for rows in (fold.half(0), fold.half(1))]
    train, a, b = (corrected_moments(s, noise) for s in (sums[0] + sums[1], *sums))
    block, B = advance(course.B, train, a, b, plan)
    path = (*course.path, block)
    progress = course.progress if course.path else Progress(0.5 * float(np.trace(a.K) + np.trace(b.K)))
    progress = progress.after(len(path), validation_loss(B, a, b), plan.options)
    course = replace(course, B=B, path=path, progress=progress)
    return replace(course, best_B=B[0], means=(train.mean_x, train.mean_y)) if progress.best == len(path) else course


def advance(
    B: np.ndarray, train: CurveMoments, a: CurveMoments, b: CurveMoments, plan: CurvePlan
) -> tuple[int, np.ndarray]:
    """The block with the lowest debiased cross-fitted score on these moments, and all operators one step further."""
    options, penalties = plan.options, plan.coordinates.penalties
    covariances, _, _ = path_covariances([train, a, b], options, noise_floor(train, len(plan.coordinates.gram)))
    rotation = Rotation(covariances[0], plan.groups, penalties, options)
    walk = Walk(PathState(rotation, covariances, train, [a, b], at=B), train, [a, b], options, 0.0, None)
    block, _, changes, _ = walk.selection()
    if block is None:
        raise FloatingPointError(f"s is {options.s}: the path left the range of numbers; lower nu or raise lambda_s.")
    only, rows = np.zeros_like(changes), rotation.slices[block]
    only[:, rows] = options.nu * changes[:, rows]
    return block, B + np.stack([rotation.operator(change) for change in only])


def validation_loss(B: np.ndarray, a: CurveMoments, b: CurveMoments) -> float:
    """Mean loss of the paths of the two halves, each on the moments of the other half."""
    pairs = ((B[1], b), (B[2], a))
    return float(np.mean([np.trace(m.K) - 2 * np.sum(C * m.H) + np.sum(C * (m.G @ C)) for C, m in pairs]))


def active_fit(course: Course) -> BoostingFit:
    """The best state of the path."""
    progress, steps = course.progress, course.progress.best
    return BoostingFit(
        B=course.best_B,
        mean_x=course.means[0],
        mean_y=course.means[1],
        path=course.path[:steps],
        steps=steps,
        trace={},
        min_eig_before=float("nan"),
        projected=False,
        null_model=steps == 0,
        hit_max_steps=not progress.stopped,
        diverged=False,
    )


def active_estimate(fit: BoostingFit, course: Course, radius: np.ndarray, plan: CurvePlan) -> CurveEstimate:
    """The estimate, with its reported numbers."""
    numbers: FitNumbers = {
        "steps": fit.steps,
        "criterion": course.progress.lowest,
        "null_model": fit.null_model,
        "hit_max_steps": fit.hit_max_steps,
        "radius": float(radius.mean()),
        "noise_sd": float(np.sqrt(np.mean(plan.levels(radius) ** 2))),
    }
    return estimate_of(fit, plan, plan.claim(radius), numbers, course.last_curves)


def fit(run: Run) -> CurveEstimate:
    """T rounds: every party re-releases, the active party takes one step; the operators go back."""
    active, *owners = run.parties
    plan = CurvePlan.of(run)
    radii, parts, passed, radius = announced_radii(run, plan)
    deviations = run.each(owners, local_deviations, radii, passed, plan)
    clipped = run.each(owners, local_clipped, radii, deviations, plan)
    course = run.at(active, local_start, plan)
    rounds = range(1, plan.options.max_steps + 1)
    for t in rounds:
        names = partial(local_names, plan=plan, t=t)
        arrived = run.gather(owners, active, names, local_round, clipped, deviations, parts, t, plan, run.rng_for)
        course = run.at(active.name, active_round, course, arrived, radius, t, plan)
    boosted = run.at(active.name, active_fit, course)
    estimate = run.at(active.name, active_estimate, boosted, course, radius, plan)
    curves = tuple(name for t in rounds for owner in owners for name in local_names(owner, plan, t))
    owner_estimates = operators_back(run, plan, estimate, curves, run.at(active, local_labels))
    return run.assemble(whole, estimate, parts=owner_estimates)
