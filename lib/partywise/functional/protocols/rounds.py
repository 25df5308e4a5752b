"""Comparator protocol: fresh noise in every boosting round instead of one release.

The number of rounds T = max_steps is fixed in advance.  In round t every party re-releases its clipped curves with
noise s_j sqrt(T), whether it is selected or not, and early stopping refunds nothing: the T releases cost what one
release at s_j costs.  ``memory: last`` works on round t alone, ``mean`` on the average of rounds 1..t (noise
variance s^2 T / t; at t = T it has the law of the one-shot release).  The source document mentions no definition:
this one is ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...federation.run import Run
from ...privacy.accounted import Clear, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.release import Release, Terms, derived
from ..boosting import first_lowest
from ..coordinates import Coordinates, coordinates_of
from ..model import Estimate
from ..moments import Moments, Sums, block_noise, corrected_moments
from ..options import RoundwiseOptions
from ..path_options import BoostingOptions
from ..paths import PathState, Rotation, noise_floor, path_covariances
from .common import UNCLIPPED, active_groups, local_clip, local_quantile, radii, sizes_of
from .communication import formula_bytes
from .noise import claimed_epsilon, levels_share_radii, noise_levels

SHAPE = "noise level of the method and number of rounds times the unit matrix: options and settings"


class ActiveBooster:
    """The active party's side: one boosting step a round, on whatever the newest releases allow."""

    def __init__(self, Y: np.ndarray, fold: Any, coordinates: Coordinates, groups: tuple, options: RoundwiseOptions):
        self.Y, self.fold, self.coordinates, self.groups, self.options = Y, fold, coordinates, groups, options
        self.size = len(coordinates.penalties.omega_x) * len(coordinates.gram)
        self.B = np.zeros((3, self.size, Y.shape[1]))
        self.best, self.best_B = 0, self.B[0].copy()
        self.path: list[int] = []
        self.lowest, self.stopped, self.means = np.inf, False, (np.zeros(self.size), Y[fold.train].mean(0))

    def round(self, Z: np.ndarray, covariance: np.ndarray) -> None:
        """Use the curves (N, p, q) of one round, whose noise has covariances (p, q, q)."""
        if self.stopped:
            return
        noise = block_noise(covariance, Z.shape[2], Z.shape[1])
        flat = Z.reshape(len(Z), -1)
        halves = [Sums.of(flat[rows], self.Y[rows]) for rows in (self.fold.half(0), self.fold.half(1))]
        train, a, b = (corrected_moments(s, noise) for s in (halves[0] + halves[1], *halves))
        block = self._select(train, a, b)
        self.path.append(block)
        loss = self._loss(a, b)
        if len(self.path) == 1:
            self.lowest = 0.5 * float(np.trace(a.K) + np.trace(b.K))
        if loss < self.lowest:
            self.lowest, self.best, self.best_B = loss, len(self.path), self.B[0].copy()
            self.means = (train.mean_x, train.mean_y)
        options = self.options
        self.stopped = len(self.path) >= options.min_steps and len(self.path) - self.best >= options.patience

    def _select(self, train: Moments, a: Moments, b: Moments) -> int:
        """Advance all three paths by the block with the lowest debiased cross-fitted score."""
        options: BoostingOptions = self.options
        floor = noise_floor(train, len(self.coordinates.gram))
        covariances, _, _ = path_covariances([train, a, b], options, floor)
        rotation = Rotation(covariances[0], self.groups, self.coordinates.penalties, options)
        state = PathState(rotation, covariances, train, [a, b])
        grams = [*covariances, b.G, a.G]
        cross = [train.H, a.H, b.H, b.H, a.H]
        gradient = np.stack(
            [rotation.cross(h - g @ self.B[i]) for h, g, i in zip(cross, grams, (0, 1, 2, 1, 2), strict=True)]
        )
        change = rotation.shrink * gradient[:3]
        scores = np.zeros(len(self.groups))
        for i in (0, 1):
            d = change[i + 1]
            terms = d * (state.check_blocks[i] @ d - 2 * gradient[i + 3])
            scores += np.add.reduceat(terms.sum(1), rotation.starts)
        block = first_lowest(scores)
        for i in range(3):
            only = np.zeros_like(change[i])
            only[rotation.slices[block]] = options.nu * change[i][rotation.slices[block]]
            self.B[i] += rotation.operator(only)
        return block

    def _loss(self, a: Moments, b: Moments) -> float:
        losses = [
            np.trace(m.K) - 2 * np.sum(B * m.H) + np.sum(B * (m.G @ B)) for B, m in ((self.B[1], b), (self.B[2], a))
        ]
        return float(np.mean(losses))


def active_result(booster: ActiveBooster, received: np.ndarray, claimed: float, numbers: dict[str, Any]) -> Estimate:
    """The best state of the path, in orthonormal coordinates."""
    coordinates, p = booster.coordinates, received.shape[1]
    selected = np.zeros(p, dtype=bool)
    for k in booster.path[: booster.best]:
        selected[list(booster.groups[k])] = True
    return Estimate(
        operators=coordinates.operators(booster.best_B),
        mean_x=coordinates.back_x(booster.means[0].reshape(p, -1)),
        mean_y=coordinates.from_y @ booster.means[1],
        selected=selected,
        epsilon_claimed=claimed,
        released=coordinates.back_x(received),
        numbers={
            "steps": booster.best,
            "criterion": booster.lowest,
            "null_model": booster.best == 0,
            "hit_max_steps": not booster.stopped,
            **numbers,
        },
    )


def fit(run: Run) -> Estimate:
    """T rounds: every party re-releases, the active party takes one step; the operators go back."""
    parties, channel, spec = run.parties, run.channel, run.spec
    epsilon, fold, rng_for = run.epsilon, run.fold, run.rng_for
    options, public, delta = spec.options, spec.public, spec.study.delta
    active, owners = parties[0], parties[1:]
    coordinates = coordinates_of(public, options)
    radii_used = radii(public, options.radius_value)
    announced: list[Clear] = []
    for party in owners if options.radius == "quantile" else ():
        for j in party.columns:
            own = Clear(local_quantile(party, j), units=("features",), owner=party.name)
            channel.send(party.name, active.name, f"radius of {public.predictor_names[j]}", own)
            announced.append(own)
            radii_used[j] = own
    rounds, radius = options.max_steps, sizes_of(radii_used)
    known = dict.fromkeys((party.name for party in owners), radius)
    if announced and levels_share_radii(options):
        others = tuple(party.name for party in owners if len(party.columns) < len(radius))
        passed = derived(radius.copy(), announced, name="radii", owner=active.name, audience=others)
        known |= {name: channel.send(active.name, name, "radii", passed) for name in others}
    s = noise_levels(options, radius, len(owners), epsilon, delta)
    # A level that is not shared depends on the owner's own radius alone.
    levels = {name: noise_levels(options, heard, len(owners), epsilon, delta) for name, heard in known.items()}
    response = coordinates.response(active.block["Y"])
    groups = active_groups([party.columns for party in owners], options.learner)
    booster = ActiveBooster(response, fold, coordinates, groups, options)
    unit = coordinates.white_noise
    latest = total = np.zeros((len(response), len(radius), len(unit)))
    said: list[Release | Clear] = []
    for t in range(1, rounds + 1):
        latest = np.empty_like(total)
        for party in owners:
            level = levels[party.name]
            for j in party.columns:
                name = f"curves of {public.predictor_names[j]} round {t} of {rounds}"
                payload: Release | Clear
                if level[j] > 0:
                    bounded = local_clip(party, j, coordinates, radii_used[j])
                    mechanism = Gaussian(covariance=Public(rounds * level[j] ** 2 * unit, because=SHAPE))
                    rest: Terms = {"release_id": name, "data_dependent_parameters": tuple(announced)}
                    payload = mechanism(bounded, rng_for("round", t, j), owner=party.name, **rest)
                else:
                    bounded = local_clip(party, j, coordinates, UNCLIPPED)
                    payload = Clear(bounded.value, units=("features",), owner=party.name)
                latest[:, j] = channel.send(party.name, active.name, name, payload)
                said.append(replace(payload, value=None))  # what it cost; the values of all rounds are many
        total = total + latest
        used, factor = (total / t, rounds / t) if options.memory == "mean" else (latest, float(rounds))
        booster.round(used, factor * s[:, None, None] ** 2 * unit)
    sizes = [len(party.columns) for party in owners]
    n_train, q = int(fold.train.sum()), len(coordinates.gram)
    numbers = formula_bytes(sizes, n_train, len(response), q, response.shape[1], 2 * fold.n_folds)
    numbers |= {"radius": float(radius.mean()), "noise_sd": float(np.sqrt(np.mean(s**2)))}
    final = total / rounds if options.memory == "mean" else latest
    estimate = active_result(booster, final, claimed_epsilon(options, radius, s, len(owners), epsilon, delta), numbers)
    labels = Clear(active.block["Y"], units=("label",), owner=active.name)
    for party in owners:
        back = derived(
            estimate.operators[list(party.columns)],
            [*said, labels],
            name=f"operators of {party.name} fit J={len(owners)} fold={fold.held_out}",
            owner=active.name,
            audience=(party.name,),
        )
        channel.send(active.name, party.name, "operators", back)
    return estimate
