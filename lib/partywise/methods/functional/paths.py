"""The state of a boosting path in rotated coordinates, where a base learner is an element-wise product.

Blocks k (a predictor or a party) are diagonalised once: W_k' A_k W_k = I, W_k' (lambda_t I + lambda_st Ox) W_k =
diag(kappa), Oy = V diag(theta) V'.  With b = W^{-1} B V and g = W' (H - G B) V the solution of block k on its
gradient is g_k / (1 + kappa theta'), and a step costs one (P, q)(q, Qy) product per gradient array, for any N.

Degrees of freedom are the trace of the linear map from Y to its fitted values. Along a frozen sequence of blocks B is
linear in H and decouples over the eigen-directions r of the response penalty: B v_r = T_r H v_r, so df = sum_r tr(T_r
S_zz) with the uncorrected, unprojected S_zz.

Whether a path is demonstrably better than the mean curve is judged by the noise that was released, which has public
levels: with B from one half and noise E_G (isometric, variance v_G), E_H (entries of variance v_H) and e (entries of
the mean, variance v_m) on the other, the change of the validation loss <B, G B> - 2 <B, H> against the mean curve has
the variance v_G ||B'B||^2 + 4 v_H ||B||^2 + 4 v_m ||B (mean_y - B' mean_x)||^2. It is post-processing of releases.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from .moments import CurveMoments, project, stabilize_published
from .path_options import WalkOptions
from .solver import KroneckerSolver, check_penalty, diagonalize

SOLVE_RIDGE = 1e-8
# A predictor whose variance is below this share of the mean gets the ridge of one at this share: it may be constant.
CONSTANT = 1e-3
FULL, HALF_A, HALF_B, A_ON_B, B_ON_A, RAW = range(6)
# One-sided 80 % point of the normal distribution: a stricter level loses more than 2 % where little is known, a laxer
# one is worse than the mean curve by more than 5 % where nothing is.
LEVEL = 0.8416


@dataclass(frozen=True)
class Penalties:
    """Roughness penalties in the coordinates of the moments: omega_x (p, Q, Q), omega_y (Qy, Qy)."""

    omega_x: np.ndarray
    omega_y: np.ndarray

    def __post_init__(self) -> None:
        if self.omega_x.ndim != 3:
            raise ValueError(f"omega_x has shape {self.omega_x.shape}: give one (Q, Q) penalty for each predictor.")
        for j, omega in enumerate(self.omega_x):
            check_penalty(f"omega_x[{j}]", omega, self.omega_x.shape[1])
        check_penalty("omega_y", self.omega_y, len(self.omega_y))


def check_groups(groups: tuple[tuple[int, ...], ...], n_predictors: int) -> None:
    """Raise a named error unless the groups are a partition of 0..p-1."""
    flat = sorted(j for group in groups for j in group)
    if flat != list(range(n_predictors)) or any(len(group) == 0 for group in groups):
        raise ValueError(
            f"groups is {groups}: every predictor 0..{n_predictors - 1} must be in exactly one non-empty group."
        )


class BlockMatrix:
    """Diagonal blocks of a matrix; products with (P, Qy) arrays, batched where the blocks are of one size."""

    def __init__(self, matrix: np.ndarray, slices: list[slice]) -> None:
        self.slices = slices
        blocks = [matrix[s, s] for s in slices]
        self.even = len({len(b) for b in blocks}) == 1
        self.blocks = np.stack(blocks) if self.even else blocks

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        if self.even:
            count, size = len(self.slices), len(self.blocks[0])
            return (self.blocks @ right.reshape(count, size, -1)).reshape(right.shape)
        return np.concatenate([b @ right[s] for b, s in zip(self.blocks, self.slices, strict=True)])


class Rotation:
    """Block-wise diagonalisation W (applied from both sides) and the eigenbasis V of the response penalty.

    With the published solver nothing is rotated, and ``systems`` has the system of every block.
    """

    def __init__(
        self,
        preconditioner: np.ndarray,
        groups: tuple[tuple[int, ...], ...],
        penalties: Penalties,
        options: WalkOptions,
    ) -> None:
        p, q = penalties.omega_x.shape[:2]
        check_groups(groups, p)
        order = [j for group in groups for j in group]
        self.order = np.concatenate([np.arange(j * q, (j + 1) * q) for j in order])
        edges = np.cumsum([0] + [q * len(group) for group in groups])
        self.starts = edges[:-1]
        self.slices = [slice(a, b) for a, b in itertools.pairwise(edges)]
        self.theta, self.V = np.linalg.eigh(penalties.omega_y)
        lambda_s, lambda_t, lambda_st = options.lambdas
        self.W, kappas = [], []
        self.systems: list[KroneckerSolver] = []
        scale = float(np.trace(preconditioner)) / len(preconditioner)
        ordered = preconditioner[np.ix_(self.order, self.order)]
        for group, block in zip(groups, self.slices, strict=True):
            a, omega = ordered[block, block], np.zeros((q * len(group),) * 2)
            for i, j in enumerate(group):
                omega[i * q : (i + 1) * q, i * q : (i + 1) * q] = penalties.omega_x[j]
            a = _stabilize_block(a, options, scale)
            if options.solver == "kronecker":
                ridge = options.h_ridge if options.stabiliser == "published" else 0.0
                self.systems.append(KroneckerSolver(a, omega, penalties.omega_y, options.lambdas, ridge))
                self.W.append(np.eye(len(a)))
                continue
            a += lambda_s * omega
            try:
                w, kappa = diagonalize(a, lambda_t * np.eye(len(a)) + lambda_st * omega)
            except np.linalg.LinAlgError:
                raise ValueError(
                    f"stabiliser is {options.stabiliser!r}: the covariance of predictors {group} is not positive "
                    f"definite (least eigenvalue {np.linalg.eigvalsh(a)[0]:.3g}); use 'project' or raise lambda_s."
                ) from None
            self.W.append(w)
            kappas.append(kappa)
        if self.systems:
            self.V = np.eye(len(self.theta))
        else:
            self.shrink = 1 / (1 + np.maximum(np.concatenate(kappas), 0)[:, None] * np.maximum(self.theta, 0)[None, :])

    @property
    def fallbacks(self) -> int | None:
        """Number of blocks whose system has no Cholesky factor; None with the diagonal solver."""
        return sum(system.fell_back for system in self.systems) if self.systems else None

    def solve(self, right: np.ndarray, block: int | None = None) -> np.ndarray:
        """Solutions (..., P, Qy) of all blocks on their right-hand sides, or (..., q, Qy) of one block."""
        if not self.systems:
            return (self.shrink if block is None else self.shrink[self.slices[block]]) * right
        if block is not None:
            return self.systems[block].solve(right)
        parts = zip(self.systems, self.slices, strict=True)
        return np.concatenate([system.solve(right[..., rows, :]) for system, rows in parts], axis=-2)

    def _left(self, matrix: np.ndarray) -> np.ndarray:
        return np.concatenate([w.T @ matrix[s] for w, s in zip(self.W, self.slices, strict=True)])

    def gram(self, G: np.ndarray) -> np.ndarray:
        """W' G W of a symmetric (P, P) matrix given in the order of the predictors."""
        return self._left(self._left(G[np.ix_(self.order, self.order)]).T)

    def cross(self, H: np.ndarray) -> np.ndarray:
        """W' H V of a (P, Qy) matrix given in the order of the predictors."""
        return self._left(H[self.order]) @ self.V

    def operator(self, b: np.ndarray) -> np.ndarray:
        """B = W b V', back in the order of the predictors."""
        back = np.empty_like(b)
        back[self.order] = np.concatenate([w @ b[s] for w, s in zip(self.W, self.slices, strict=True)])
        return back @ self.V.T


def _stabilize_block(block: np.ndarray, options: WalkOptions, scale: float) -> np.ndarray:
    """A block that can be factored, also for curves that do not vary; ``scale`` is the mean variance of all blocks."""
    if options.stabiliser == "published":
        # The published solver adds its ridge to the whole system.
        ridge = options.h_ridge if options.solver == "diagonal" else 0.0
        return stabilize_published(block, options.alpha, options.ridge) + ridge * np.eye(len(block))
    variance = max(np.trace(block) / len(block), CONSTANT * scale) or 1.0
    return block + SOLVE_RIDGE * variance * np.eye(len(block))


def path_covariances(moments: list[CurveMoments], options: WalkOptions, floor: float) -> tuple[list, float, bool]:
    """Covariances of the paths (jointly projected where there is noise), least eigenvalue before, moved or not.

    Validation covariances are never projected: they stay unbiased.
    """
    if options.stabiliser != "project" or floor <= 0:
        return [m.G for m in moments], float("nan"), False
    projected = [project(m.G, options.projection * floor) for m in moments]
    return [g for g, _, _ in projected], projected[0][1], any(moved for _, _, moved in projected)


def noise_floor(train: CurveMoments, n_coordinates: int) -> float:
    """2 mean(s_j^2) sqrt(Q / n): the scale of the error of S_zz - Sigma; zero without noise."""
    return 2 * float(np.trace(train.noise)) / len(train.noise) * np.sqrt(n_coordinates / train.n)


class PathState:
    """Coefficients and gradients of the full path and of the two half paths, in rotated coordinates.

    ``coef`` (3, P, Qy): full, A, B.  ``grad`` (6, P, Qy): H - G B of the full path, of A and B on their own
    moments, of A on B's and of B on A's raw moments (validation), and of the full path on the uncorrected ones.
    Paths that go on from operators ``at`` (3, P, Qy), in the order of the predictors, have their changes in ``coef``.
    """

    def __init__(
        self,
        rotation: Rotation,
        covariances: list,
        train: CurveMoments,
        halves: list[CurveMoments],
        at: np.ndarray | None = None,
    ) -> None:
        self.rotation = rotation
        cross = [train.H, *[h.H for h in halves], *[h.H for h in halves[::-1]], train.H]
        grams = [*covariances, *[h.G for h in halves[::-1]], train.raw]
        self.states = [FULL, 1, 2, 1, 2, FULL] if halves else [FULL, FULL]
        self.raw = len(grams) - 1
        rotated = np.stack([rotation.gram(g) for g in grams])
        self.columns = [np.ascontiguousarray(rotated[:, :, s]) for s in rotation.slices]
        if at is not None:
            cross = [h - g @ at[i] for h, g, i in zip(cross, grams, self.states, strict=True)]
        self.start = np.stack([rotation.cross(h) for h in cross])
        self.grad = self.start.copy()
        self.coef = np.zeros((3 if halves else 1, *self.start.shape[1:]))
        self.path_gram = rotated[FULL]
        self.raw_gram = rotated[self.raw]
        self.path_blocks = [BlockMatrix(rotated[i], rotation.slices) for i in range(len(covariances))]
        self.check_blocks = [BlockMatrix(g, rotation.slices) for g in rotated[3:5]] if halves else []

    def advance(self, block: int, change: np.ndarray, nu: float) -> None:
        """Add nu * change (n_states, q, Qy) to one block and keep all gradients current."""
        rows = self.rotation.slices[block]
        self.coef[:, rows] += nu * change
        self.grad -= nu * (self.columns[block] @ change[self.states])


class ExactDf:
    """Carries T_r on the blocks visited so far; one step costs O(Qy q a^2) for a active coordinates."""

    def __init__(self, gram: np.ndarray, raw: np.ndarray, shrink: np.ndarray, slices: list[slice]) -> None:
        self.gram, self.raw, self.shrink, self.slices = gram, raw, shrink, slices
        self.active = np.zeros(0, dtype=int)
        self.place: dict[int, slice] = {}
        self.T = np.zeros((shrink.shape[1], 0, 0))

    def _admit(self, block: int) -> slice:
        if block not in self.place:
            rows = np.arange(self.slices[block].start, self.slices[block].stop)
            old, self.active = len(self.active), np.concatenate([self.active, rows])
            grown = np.zeros((len(self.T), len(self.active), len(self.active)))
            grown[:, :old, :old] = self.T
            self.T, self.place[block] = grown, slice(old, len(self.active))
        return self.place[block]

    def advance(self, block: int, nu: float, update: str) -> float:
        """Follow one step of the path and return the degrees of freedom after it."""
        place = self._admit(block)
        rows = self.slices[block]
        block_columns = self.T[:, place].copy()
        right = -(self.gram[rows][:, self.active] @ self.T)
        right[:, np.arange(right.shape[1]), np.arange(place.start, place.stop)] += 1
        if update != "boost":
            right += self.gram[rows, rows] @ block_columns
        change = self.shrink[rows].T[:, :, None] * right
        if update == "backfit":
            change -= block_columns
        self.T[:, place] += nu * change
        return float(np.einsum("rab,ba->", self.T, self.raw[np.ix_(self.active, self.active)]))


class HutchinsonDf:
    """Stochastic trace along the same path, in statistics: probes are chol(S_zz) E / sqrt(n - 1), never N-sized.

    Source: document 000, "Hutchinson trace estimation along the frozen boosting path".
    """

    def __init__(
        self,
        gram: np.ndarray,
        raw: np.ndarray,
        rotation: Rotation,
        n: float,
        rng: np.random.Generator,
        probes: int,
    ) -> None:
        self.gram, self.rotation, self.n = gram, rotation, n
        factor = np.linalg.cholesky(raw + 1e-12 * np.trace(raw) / len(raw) * np.eye(len(raw)))
        self.start = factor @ rng.standard_normal((probes, len(raw), len(rotation.V))) / np.sqrt(n - 1)
        self.grad, self.coef = self.start.copy(), np.zeros_like(self.start)

    def advance(self, block: int, nu: float, update: str) -> float:
        """Follow one step of the path and return the estimated degrees of freedom after it."""
        rows = self.rotation.slices[block]
        right = self.grad[:, rows]
        if update != "boost":
            right = right + self.gram[rows, rows] @ self.coef[:, rows]
        change = self.rotation.solve(right, block)
        if update == "backfit":
            change = change - self.coef[:, rows]
        self.coef[:, rows] += nu * change
        self.grad -= nu * (self.gram[:, rows] @ change)
        return float((self.n - 1) * np.sum(self.start * self.coef) / len(self.start))


@dataclass(frozen=True)
class ReleasedNoise:
    """Variances of the noise of released moments, each for halves A and B.

    second : of an entry of G on the diagonal (half of it off the diagonal)
    cross : of an entry of H; mean : of an entry of mean_x
    train_mean : of an entry of mean_x of all training records, with which predictions are made
    owners : coordinates of each owner, where entries of G of two owners have twice the variance; else empty
    """

    second: tuple[float, float]
    cross: tuple[float, float]
    mean: tuple[float, float]
    train_mean: float
    owners: tuple[np.ndarray, ...] = ()

    def variance(self, half: int, B: np.ndarray, moments: CurveMoments) -> float:
        """Noise variance of the change of the loss of an operator (P, Qy) on the moments of a half."""
        shift = B @ (moments.mean_y - B.T @ moments.mean_x)
        squares = [np.sum(part**2) for part in (B.T @ B, B, shift)]
        if self.owners:
            # ||B B'||^2 with every block of one owner once and all between two owners twice.
            squares[0] = 2 * squares[0] - sum(np.sum((B[rows].T @ B[rows]) ** 2) for rows in self.owners)
        levels = self.second[half], 4 * self.cross[half], 4 * self.mean[half]
        return float(np.dot(levels, squares))


@dataclass(frozen=True)
class Improvement:
    """Change of the risk against the mean curve (negative: better), its noise sd, and the number of base learners."""

    change: float
    sd: float
    n_learners: int

    @property
    def demonstrated(self) -> bool:
        """Whether the change is below zero by more than the noise explains.

        The path takes the learners that look useful on the validation moments: of k learners that are useless, about
        half look useful, and their changes add up to sqrt(k / pi) standard deviations.
        """
        return self.change + (math.sqrt(self.n_learners / math.pi) + LEVEL) * self.sd < 0

    @property
    def shrinkage(self) -> float:
        """Share of the operator that is kept: 1 - (k / 2 pi) (sd / change)^2, half of what chance explains."""
        chance = self.n_learners / (2 * math.pi)
        return max(0.0, 1 - chance * (self.sd / self.change) ** 2) if self.change < 0 else 0.0


def improvement(state: PathState, halves: list[CurveMoments], noise: ReleasedNoise) -> Improvement:
    """Return what the current state of a path gains over the mean curve, each half judged on the moments of the other.

    <B, G B> is at least 0 and no loss falls by more than the response varies: what is beyond is noise.  The noise of
    the mean with which the training fit predicts, v ||B||^2, is added.
    """
    changes, variances = [], []
    for path, check, half in ((1, A_ON_B, 1), (2, B_ON_A, 0)):
        coef = state.coef[path]
        linear = float(np.sum(coef * state.start[check]))
        quadratic = max(0.0, float(np.sum(coef * (state.start[check] - state.grad[check]))))
        changes.append(max(quadratic - 2 * linear, -float(np.trace(halves[half].K))))
        variances.append(noise.variance(half, state.rotation.operator(coef), halves[half]))
    shift = noise.train_mean * float(np.sum(state.rotation.operator(state.coef[FULL]) ** 2))
    return Improvement(sum(changes) / 2 + shift, math.sqrt(sum(variances)) / 2, len(state.rotation.starts))
