"""Boosting in Gram space: selection, stopping and the returned operator from second moments alone.

Objective, per (n - 1): L(B) = tr K - 2 <B, H> + <B, G B>, with G = S_zz - Sigma corrected for the noise.
Each step solves every block on its gradient, scores the candidates on the other half and moves one block by nu.
Source: document 000, "VFL Functional Boosting"; corrections in docs/functional_boosting.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .moments import CurveMoments, project
from .path_options import PenaltyOptions, WalkOptions
from .paths import (
    A_ON_B,
    B_ON_A,
    FULL,
    SOLVE_RIDGE,
    BlockMatrix,
    ExactDf,
    HutchinsonDf,
    Improvement,
    PathState,
    Penalties,
    ReleasedNoise,
    Rotation,
    improvement,
    noise_floor,
    path_covariances,
)
from .solver import solve_penalized

TIE = 1e-10
NEEDS_DF = ("aic", "aicc", "aic_train", "aic_train_dp")


@dataclass(frozen=True)
class BoostingFit:
    """A fitted operator and the path that led to it.

    B : (P, Qy) operator in the coordinates of the moments, blocks in the order of the predictors
    mean_x, mean_y : (P,), (Qy,) training means; the fitted curve is mean_y + B' (x - mean_x)
    path : indices of the blocks in the order visited, up to the returned state; steps : its length
    trace : arrays over all steps walked: ``criterion``, ``sse_debiased``, ``sse_raw``, ``cv``, ``df``
    min_eig_before : least eigenvalue of the training covariance before projection (nan: not looked at)
    projected, null_model, hit_max_steps, diverged : flags
    shrinkage : what B was multiplied by (1 unless the noise of the moments was given)
    solver_fallbacks : blocks whose published system has no Cholesky factor; None with the diagonal solver
    """

    B: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    path: tuple[int, ...]
    steps: int
    trace: dict[str, np.ndarray]
    min_eig_before: float
    projected: bool
    null_model: bool
    hit_max_steps: bool
    diverged: bool
    shrinkage: float = 1.0
    solver_fallbacks: int | None = None


def fit_boosting(
    train: CurveMoments,
    half_a: CurveMoments | None,
    half_b: CurveMoments | None,
    groups: tuple[tuple[int, ...], ...],
    penalties: Penalties,
    options: WalkOptions,
    *,
    floor: float | None = None,
    response_noise: float = 0.0,
    released: ReleasedNoise | None = None,
    rng: np.random.Generator | None = None,
) -> BoostingFit:
    """Walk the boosting path and return the best state by the stopping criterion.

    ``response_noise`` is the trace of the noise covariance of the response.
    """
    _check_shapes(train, half_a, half_b, penalties)
    q = penalties.omega_x.shape[1]
    halves = [] if options.crossfit == "none" else [half for half in (half_a, half_b) if half is not None]
    if options.crossfit != "none" and len(halves) < 2:
        raise ValueError(f"crossfit is {options.crossfit!r}: give the moments of both halves.")
    if released is not None and not halves:
        raise ValueError("released is given and crossfit is 'none': without halves nothing can be demonstrated.")
    scale = noise_floor(train, q) if floor is None else floor
    covariances, least, projected = path_covariances([train, *halves], options, scale)
    rotation = Rotation(covariances[0], groups, penalties, options)
    state = PathState(rotation, covariances, train, halves)
    walk = Walk(state, train, halves, options, response_noise, rng, released)
    with np.errstate(over="ignore", invalid="ignore"):
        best = walk.run()
    if np.isnan(least):
        least = float(np.linalg.eigvalsh(train.G)[0])
    return BoostingFit(
        B=rotation.operator(walk.best_coef) * walk.shrinkage,
        mean_x=train.mean_x,
        mean_y=train.mean_y,
        path=tuple(walk.path[:best]),
        steps=best,
        trace={name: np.array(values) for name, values in walk.trace.items()},
        min_eig_before=least,
        projected=projected,
        null_model=best == 0,
        hit_max_steps=len(walk.path) == options.max_steps and not walk.stopped,
        diverged=walk.diverged,
        shrinkage=walk.shrinkage,
        solver_fallbacks=rotation.fallbacks,
    )


def fit_joint(train: CurveMoments, penalties: Penalties, options: PenaltyOptions) -> BoostingFit:
    """The central fit: one penalised equation for all predictors jointly (document 000, ``dp_fof_fit``).

    The corrected covariance (P, P) is projected to the eigenvalue floor of the boosting path first.
    """
    p, q = penalties.omega_x.shape[:2]
    covariance, projected, floor = train.G, False, noise_floor(train, q)
    least = float(np.linalg.eigvalsh(covariance)[0])
    if floor > 0:
        covariance, least, projected = project(covariance, options.projection * floor)
    omega_x = np.zeros_like(covariance)
    for j, omega in enumerate(penalties.omega_x):
        omega_x[j * q : (j + 1) * q, j * q : (j + 1) * q] = omega
    ridge = SOLVE_RIDGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    B = solve_penalized(covariance + ridge, train.H, omega_x, penalties.omega_y, *options.lambdas)
    return BoostingFit(B, train.mean_x, train.mean_y, tuple(range(p)), 1, {}, least, projected, False, False, False)


def first_lowest(scores: np.ndarray) -> int:
    """Index of the lowest score; of those that differ by rounding alone (1e-10 of the largest), the first."""
    return int(np.flatnonzero(scores <= scores.min() + TIE * np.abs(scores).max())[0])


def _check_shapes(
    train: CurveMoments, half_a: CurveMoments | None, half_b: CurveMoments | None, penalties: Penalties
) -> None:
    """Raise a named error unless penalties and halves have the coordinates of the training moments."""
    p, q = penalties.omega_x.shape[:2]
    if train.G.shape != (p * q, p * q) or train.H.shape[1] != len(penalties.omega_y):
        raise ValueError(
            f"the moments have P = {len(train.G)} and Qy = {train.H.shape[1]}: the penalties expect "
            f"P = {p * q} and Qy = {len(penalties.omega_y)}."
        )
    for name, half in (("half_a", half_a), ("half_b", half_b)):
        if half is not None and half.H.shape != train.H.shape:
            raise ValueError(
                f"{name} has P = {half.H.shape[0]} and Qy = {half.H.shape[1]}: the training moments have "
                f"P = {train.H.shape[0]} and Qy = {train.H.shape[1]}; use the same predictors and bases."
            )


@dataclass(frozen=True)
class Progress:
    """Progress of a criterion: its lowest value, the step that has it, and whether patience ran out since."""

    lowest: float
    best: int = 0
    stopped: bool = False

    def after(self, steps: int, criterion: float, options: WalkOptions) -> Progress:
        """After one more step."""
        lowest, best = (criterion, steps) if criterion < self.lowest else (self.lowest, self.best)
        return Progress(lowest, best, steps >= options.min_steps and steps - best >= options.patience)


class Walk:
    """One walk along the path: candidates, scores, criterion, stopping."""

    def __init__(
        self,
        state: PathState,
        train: CurveMoments,
        halves: list[CurveMoments],
        options: WalkOptions,
        response_noise: float,
        rng: np.random.Generator | None,
        released: ReleasedNoise | None = None,
    ) -> None:
        self.state, self.train, self.halves, self.options = state, train, halves, options
        self.response_noise, self.released, self.shrinkage = response_noise, released, 1.0
        self.improvement = Improvement(0.0, 0.0, 1)
        rotation = state.rotation
        self.noise = BlockMatrix(rotation.gram(train.noise), rotation.slices)
        self.path: list[int] = []
        self.trace: dict[str, list[float]] = {n: [] for n in ("criterion", "sse_debiased", "sse_raw", "cv", "df")}
        self.best_coef = state.coef[FULL].copy()
        self.stopped = self.diverged = False
        self.df: ExactDf | HutchinsonDf | None = None
        if options.stop in NEEDS_DF:
            grams = state.path_gram, state.raw_gram
            if options.df == "exact":
                self.df = ExactDf(*grams, rotation.shrink, rotation.slices)
            elif rng is None:
                raise ValueError("df is 'hutchinson' and rng is None: give a generator for the probes.")
            else:
                self.df = HutchinsonDf(*grams, rotation, train.n, rng, options.probes)

    def run(self) -> int:
        """Walk until the criterion stops it; return the number of steps of the returned state."""
        options, published = self.options, self.options.stop == "cv_published"
        progress, steps = Progress(self._null_criterion()), 0
        while steps < options.max_steps:
            block, targets, changes, score = self.selection()
            if block is None:
                self.diverged = True
                break
            criterion = self._step(block, targets, changes, score)
            if not np.isfinite(criterion):
                # An information criterion is undefined where the corrected errors are not positive: stop there.
                self.diverged = not np.isfinite(self.trace["sse_raw"][-1])
                self.stopped = not self.diverged
                break
            steps += 1
            demonstrated = self.released is None or self.improvement.demonstrated
            progress = progress.after(steps, criterion if demonstrated else float("inf"), options)
            if progress.best == steps and self.released is not None:
                self.shrinkage = self.improvement.shrinkage
            if progress.best == steps or published:
                self.best_coef = self.state.coef[FULL].copy()
            if progress.stopped:
                self.stopped = True
                break
        return steps if published else progress.best

    def selection(self) -> tuple[int | None, np.ndarray, np.ndarray, float]:
        """The block with the lowest score (None where scores left the range of numbers), all candidates, the score."""
        targets, changes = self._candidates()
        scores = self._scores(targets, changes)
        if not np.all(np.isfinite(scores)):
            return None, targets, changes, float("nan")
        block = first_lowest(scores)
        return block, targets, changes, float(scores[block])

    def _candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """New block values and full-step changes of all blocks for every path, shapes (n_states, P, Qy)."""
        state, update = self.state, self.options.update
        count = len(state.coef)
        gradient = state.grad[:count]
        if update == "boost":
            change = state.rotation.solve(gradient)
            return state.coef + change, change
        fitted = np.stack([state.path_blocks[i] @ state.coef[i] for i in range(count)])
        target = state.rotation.solve(gradient + fitted)
        return target, target - state.coef

    def _scores(self, targets: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Change of the validation loss if a block made its full step, per block; lowest wins."""
        state = self.state
        if not self.halves:
            checks = [(FULL, state.path_blocks[FULL], state.grad[FULL])]
        else:
            checks = [
                (1, state.check_blocks[0], state.grad[A_ON_B]),
                (2, state.check_blocks[1], state.grad[B_ON_A]),
            ]
        total = np.zeros(len(state.rotation.starts))
        for path, gram, gradient in checks:
            change, target, current = changes[path], targets[path], state.coef[path]
            terms = change * (gram @ change - 2 * gradient)
            if self.options.score != "debiased":
                terms = terms + change * (self.noise @ (change + 2 * current))
            if self.options.score == "published":
                terms = terms - target * (self.noise @ target)
            total += np.add.reduceat(terms.sum(1), state.rotation.starts)
        return total

    def _step(self, block: int, targets: np.ndarray, changes: np.ndarray, score: float) -> float:
        """Move one block of every path and return the criterion after (published: at) the step."""
        options, state = self.options, self.state
        rows = state.rotation.slices[block]
        published = options.update == "published"
        increment = (targets if published else changes)[:, rows]
        if options.crossfit == "shared":
            increment = np.broadcast_to(increment[FULL], increment.shape)
        at_selection = self._partial_residual_loss(score) if options.stop == "cv_published" else 0.0
        state.advance(block, increment, options.nu)
        self.path.append(block)
        df = self.df.advance(block, options.nu, options.update) if self.df else float("nan")
        raw, debiased = self._training_sse()
        if self.released is not None:
            self.improvement = improvement(state, self.halves, self.released)
        cv = self._cross_validated()
        noise_part = (self.train.n - 1) * float(np.sum(increment[FULL] * self._own_noise(block, increment[FULL])))
        criterion = (
            at_selection if options.stop == "cv_published" else self._criterion(raw, debiased, cv, df, noise_part)
        )
        values = {"criterion": criterion, "sse_debiased": debiased, "sse_raw": raw, "cv": cv, "df": df}
        for name, value in values.items():
            self.trace[name].append(value)
        return criterion

    def _own_noise(self, block: int, increment: np.ndarray) -> np.ndarray:
        return self.noise.blocks[block] @ increment

    def _criterion(self, raw: float, debiased: float, cv: float, df: float, noise_part: float) -> float:
        if self.options.stop == "cv":
            return cv
        if self.options.stop == "aic_train":
            return self._information(raw, df)
        if self.options.stop == "aic_train_dp":
            return self._information(raw - noise_part, df)
        return self._information(raw if self.options.sse == "raw" else debiased, df)

    def _information(self, sse: float, df: float) -> float:
        """n Qy log(SSE / (n Qy)) + 2 df, with the small-sample factor for AICc; inf where it is undefined."""
        cells = self.train.n * self.state.coef.shape[2]
        if sse <= 0:
            return float("inf")
        factor = 1.0
        if self.options.stop != "aic":
            if cells - df - 1 <= 0:
                return float("inf")
            factor = cells / (cells - df - 1)
        return float(cells * np.log(sse / cells) + 2 * df * factor)

    def _null_criterion(self) -> float:
        if self.options.stop == "cv_published":
            return float("inf")
        raw, debiased = self._training_sse()
        return self._criterion(raw, debiased, self._cross_validated(), 0.0, 0.0)

    def _noise_energy(self, coef: np.ndarray) -> float:
        return float(np.sum(coef * (self.noise @ coef)))

    def _training_sse(self) -> tuple[float, float]:
        state, train = self.state, self.train
        coef, response = state.coef[FULL], self.response_noise
        loss = np.trace(train.K) + response - np.sum(coef * (state.start[state.raw] + state.grad[state.raw]))
        raw = (train.n - 1) * float(loss)
        return raw, raw - (train.n - 1) * (self._noise_energy(coef) + response)

    def _validation_losses(self, raw: bool) -> list[float]:
        state, losses = self.state, []
        for path, check, half in ((1, A_ON_B, 1), (2, B_ON_A, 0)):
            coef = state.coef[path]
            loss = np.trace(self.halves[half].K) - np.sum(coef * (state.start[check] + state.grad[check]))
            noise = self._noise_energy(coef) + self.response_noise if raw else 0.0
            losses.append(float(loss) + noise)
        return losses

    def _cross_validated(self) -> float:
        """Mean of the two validation losses per (n - 1), corrected for the noise unless ``sse`` is raw."""
        if self.released is not None:
            return float(np.mean([np.trace(half.K) for half in self.halves])) + self.improvement.change
        return float(np.mean(self._validation_losses(self.options.sse == "raw"))) if self.halves else float("nan")

    def _partial_residual_loss(self, score: float) -> float:
        """The source's criterion: sum over halves of the winner's corrected partial-residual sum of squares."""
        if self.options.score != "published":
            return sum(self._validation_losses(self.options.score == "raw")) + score
        return sum(self._validation_losses(True)) + score
