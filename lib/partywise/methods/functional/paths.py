"""The state of a boosting path in rotated coordinates, where a base learner is an element-wise product.

Blocks k (a predictor or a party) are diagonalised once: W_k' A_k W_k = I, W_k' (lambda_t I + lambda_st Ox) W_k =
diag(kappa), Oy = V diag(theta) V'.  With b = W^{-1} B V and g = W' (H - G B) V the solution of block k on its
gradient is g_k / (1 + kappa theta'), and a step costs one (P, q)(q, Qy) product per gradient array, for any N.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .moments import CurveMoments, project, stabilize_published
from .path_options import WalkOptions
from .solver import check_penalty, diagonalize

SOLVE_RIDGE = 1e-8
# A predictor whose variance is below this share of the mean gets the ridge of one at this share: it may be constant.
CONSTANT = 1e-3
FULL, HALF_A, HALF_B, A_ON_B, B_ON_A, RAW = range(6)


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
    """Block-wise diagonalisation W (applied from both sides) and the eigenbasis V of the response penalty."""

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
        scale = float(np.trace(preconditioner)) / len(preconditioner)
        ordered = preconditioner[np.ix_(self.order, self.order)]
        for group, block in zip(groups, self.slices, strict=True):
            a, omega = ordered[block, block], np.zeros((q * len(group),) * 2)
            for i, j in enumerate(group):
                omega[i * q : (i + 1) * q, i * q : (i + 1) * q] = penalties.omega_x[j]
            a = _stabilize_block(a, options, scale) + lambda_s * omega
            try:
                w, kappa = diagonalize(a, lambda_t * np.eye(len(a)) + lambda_st * omega)
            except np.linalg.LinAlgError:
                raise ValueError(
                    f"stabiliser is {options.stabiliser!r}: the covariance of predictors {group} is not positive "
                    f"definite (least eigenvalue {np.linalg.eigvalsh(a)[0]:.3g}); use 'project' or raise lambda_s."
                ) from None
            self.W.append(w)
            kappas.append(kappa)
        self.shrink = 1 / (1 + np.maximum(np.concatenate(kappas), 0)[:, None] * np.maximum(self.theta, 0)[None, :])

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
        return stabilize_published(block, options.alpha, options.ridge) + options.h_ridge * np.eye(len(block))
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
