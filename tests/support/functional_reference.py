"""An independent reference of the boosting path: residuals of the records and dense solves, no Gram-space shortcut.

Shared by the tests of the functional numerics.  Everything here works on centred records (n, P) and (n, Qy) and
solves each block's equation as one dense Kronecker system.
"""

from dataclasses import dataclass, field

import numpy as np

from partywise.methods.functional.moments import CurveMoments, CurveSums, block_noise, corrected_moments
from partywise.methods.functional.path_options import BoostingOptions
from partywise.methods.functional.paths import Penalties

SOLVE_RIDGE = 1e-8


def second_difference_penalty(size: int) -> np.ndarray:
    """D'D of second differences, scaled to spectral norm 1; singular with a two-dimensional null space."""
    if size < 3:
        return np.zeros((size, size))
    difference = np.diff(np.eye(size), n=2, axis=0)
    penalty = difference.T @ difference
    return penalty / np.linalg.eigvalsh(penalty)[-1]


@dataclass(frozen=True)
class Problem:
    """Records of a small regression problem: released Z (n, p, q), Y (n, Qy) and the noise sd of each predictor."""

    Z: np.ndarray
    Y: np.ndarray
    s: np.ndarray
    penalties: Penalties
    in_a: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        return self.Z.reshape(len(self.Z), -1)

    @property
    def noise(self) -> np.ndarray:
        return block_noise(self.s**2, self.Z.shape[2], self.Z.shape[1])

    def moments(self) -> tuple[CurveMoments, CurveMoments, CurveMoments]:
        """Corrected moments of all records and of the two halves."""
        a, b = (CurveSums.of(self.flat[rows], self.Y[rows]) for rows in (self.in_a, ~self.in_a))
        return tuple(corrected_moments(sums, self.noise) for sums in (a + b, a, b))


def make_problem(
    seed: int,
    n: int = 120,
    p: int = 4,
    q: int = 3,
    qy: int = 3,
    s: float | np.ndarray = 0.3,
    active: tuple[int, ...] = (0, 2),
    signal: float = 1.0,
) -> Problem:
    """A random problem with correlated predictors, unequal noise and a penalty of its own for each predictor."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p, q)) + 0.4 * rng.standard_normal((n, 1, q)) + rng.standard_normal((p, q))
    operators = np.zeros((p, q, qy))
    operators[list(active)] = signal * rng.standard_normal((len(active), q, qy))
    Y = np.einsum("npq,pqr->nr", X, operators) + 0.5 * rng.standard_normal((n, qy)) + rng.standard_normal(qy)
    levels = np.broadcast_to(np.asarray(s, dtype=float), (p,)) * np.linspace(0.7, 1.3, p)
    Z = X + levels[:, None] * rng.standard_normal(X.shape)
    scale = np.linspace(1.0, 0.4, p)[:, None, None]
    penalties = Penalties(scale * second_difference_penalty(q), second_difference_penalty(qy))
    return Problem(Z, Y, levels, penalties, np.arange(n) % 2 == 0)


def dense_block_solve(
    A: np.ndarray, R: np.ndarray, omega_x: np.ndarray, omega_y: np.ndarray, lambdas: tuple[float, float, float]
) -> np.ndarray:
    """A B + lambda_s Ox B + lambda_t B Oy + lambda_st Ox B Oy = R as one dense system in vec B."""
    lambda_s, lambda_t, lambda_st = lambdas
    q, qy = R.shape
    system = np.kron(np.eye(qy), A + lambda_s * omega_x)
    system += lambda_t * np.kron(omega_y, np.eye(q)) + lambda_st * np.kron(omega_y, omega_x)
    return np.linalg.solve(system, R.ravel(order="F")).reshape((q, qy), order="F")


def clipped_eigenvalues(matrix: np.ndarray, floor: float) -> np.ndarray:
    """The matrix with all eigenvalues below ``floor`` raised to it."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(np.maximum(values, floor)) @ vectors.T


@dataclass
class Half:
    """Centred records of one part, with its covariances for the path and for validation."""

    Z: np.ndarray
    Y: np.ndarray
    noise: np.ndarray
    path: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.Z, self.Y = self.Z - self.Z.mean(0), self.Y - self.Y.mean(0)
        self.path = self.raw - self.noise

    @property
    def divisor(self) -> int:
        return len(self.Z) - 1

    @property
    def raw(self) -> np.ndarray:
        return self.Z.T @ self.Z / self.divisor

    def sse(self, B: np.ndarray) -> float:
        """Sum of squared residuals of the released records."""
        return float(np.sum((self.Y - self.Z @ B) ** 2))

    def gradient(self, B: np.ndarray) -> np.ndarray:
        """H - G B on the path's covariance; equals Z'(Y - Z B)/(n - 1) where that is the raw one."""
        return self.Z.T @ (self.Y - self.Z @ B) / self.divisor + (self.raw - self.path) @ B


class ReferencePath:
    """Full path and two half paths in the space of the records."""

    def __init__(self, problem: Problem, groups: tuple[tuple[int, ...], ...], options: BoostingOptions) -> None:
        self.options, self.problem = options, problem
        q = problem.Z.shape[2]
        self.rows = [np.concatenate([np.arange(j * q, (j + 1) * q) for j in group]) for group in groups]
        parts = (np.ones(len(problem.Y), dtype=bool), problem.in_a, ~problem.in_a)
        self.parts = [Half(problem.flat[rows], problem.Y[rows], problem.noise) for rows in parts]
        tau = options.projection * 2 * float(np.mean(problem.s**2)) * np.sqrt(q / len(problem.Y))
        if options.stabiliser == "project" and tau > 0:
            for part in self.parts:
                part.path = clipped_eigenvalues(part.path, tau)
        self.omega = []
        for group in groups:
            omega = np.zeros((q * len(group), q * len(group)))
            for i, j in enumerate(group):
                omega[i * q : (i + 1) * q, i * q : (i + 1) * q] = problem.penalties.omega_x[j]
            self.omega.append(omega)
        self.B = [np.zeros((problem.flat.shape[1], problem.Y.shape[1])) for _ in range(3)]

    def block_solution(self, k: int, right: np.ndarray) -> np.ndarray:
        """Solve block k on a right-hand side, with the covariance of all training records."""
        rows = self.rows[k]
        A = self.parts[0].path[np.ix_(rows, rows)]
        A = A + SOLVE_RIDGE * np.trace(A) / len(A) * np.eye(len(A))
        return dense_block_solve(A, right, self.omega[k], self.problem.penalties.omega_y, self.options.lambdas)

    def candidate(self, path: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """New value of block k if it made its full step on one path, and the change that makes it."""
        rows, part, B = self.rows[k], self.parts[path], self.B[path]
        right = part.gradient(B)[rows]
        if self.options.update == "boost":
            change = self.block_solution(k, right)
            return B[rows] + change, change
        target = self.block_solution(k, right + part.path[np.ix_(rows, rows)] @ B[rows])
        return target, target - B[rows]

    def validation_loss(self, path: int, B: np.ndarray, debiased: bool) -> float:
        """Loss per (n - 1) of a half path's operator on the other half's records."""
        other = self.parts[3 - path]
        loss = other.sse(B) / other.divisor
        return loss - float(np.sum(B * (self.problem.noise @ B))) if debiased else loss

    def scores(self) -> np.ndarray:
        """Difference of the validation loss by each block's full step, summed over the two half paths."""
        totals = np.zeros(len(self.rows))
        for k, rows in enumerate(self.rows):
            for path in (1, 2):
                target, change = self.candidate(path, k)
                moved = self.B[path].copy()
                moved[rows] += change
                debiased = self.options.score == "debiased"
                totals[k] += self.validation_loss(path, moved, debiased)
                totals[k] -= self.validation_loss(path, self.B[path], debiased)
                if self.options.score == "published":
                    own = self.problem.noise[np.ix_(rows, rows)]
                    totals[k] -= float(np.sum(target * (own @ target)))
        return totals

    def step(self, k: int) -> None:
        """Move block k on all three paths."""
        moves = [self.candidate(path, k) for path in range(3)]
        for path, (target, change) in enumerate(moves):
            increment = target if self.options.update == "published" else change
            if self.options.crossfit == "shared":
                increment = moves[0][0] if self.options.update == "published" else moves[0][1]
            self.B[path][self.rows[k]] += self.options.nu * increment

    def training_sse(self) -> tuple[float, float]:
        """Sum of squares of the full path on all records: as it is, and without the noise of all blocks."""
        B, part = self.B[0], self.parts[0]
        raw = part.sse(B)
        return raw, raw - part.divisor * float(np.sum(B * (self.problem.noise @ B)))

    def cross_validated(self, debiased: bool = True) -> float:
        """Mean of the two validation losses."""
        return 0.5 * sum(self.validation_loss(path, self.B[path], debiased) for path in (1, 2))


def solve_kronecker(
    G: np.ndarray,
    R: np.ndarray,
    omega_x: np.ndarray,
    omega_y: np.ndarray,
    lambdas: tuple[float, float, float],
    h_ridge: float = 1e-10,
) -> np.ndarray:
    """The published solver: one dense (q Qy, q Qy) system, factored anew at every call.

    Source: seed 000, ``solve_penalized_fof``: vec is by columns, a tiny ridge on the diagonal, Cholesky, and a
    general solve where Cholesky fails.  Costs O(q^3 Qy^3).
    """
    lambda_s, lambda_t, lambda_st = lambdas
    q, qy = R.shape
    left, right = np.eye(q), np.eye(qy)
    system = np.kron(right, G + lambda_s * omega_x) + lambda_t * np.kron(omega_y, left)
    system += lambda_st * np.kron(omega_y, omega_x)
    system[np.diag_indices(q * qy)] += h_ridge
    vec = R.ravel(order="F")
    try:
        factor = np.linalg.cholesky(system)
        solution = np.linalg.solve(factor.T, np.linalg.solve(factor, vec))
    except np.linalg.LinAlgError:
        solution = np.linalg.solve(system, vec)
    return solution.reshape((q, qy), order="F")
