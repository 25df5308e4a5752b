"""Penalised function-on-function equation: exact solution by simultaneous diagonalisation, or as published.

    G B + lambda_s Ox B + lambda_t B Oy + lambda_st Ox B Oy = R

With A = G + lambda_s Ox = L L' and L^{-1} (lambda_t I + lambda_st Ox) L^{-T} = U diag(kappa) U', W = L^{-T} U
diagonalises the left factors (W'AW = I, W'(lambda_t I + lambda_st Ox)W = diag(kappa)) and Oy = V diag(theta) V'
the right one, so B = W [(W'RV)_ab / (1 + kappa_a theta_b)] V'.  ``lambda_t I + lambda_st Ox`` is never factored:
it may be singular.  `KroneckerSolver` solves the same equation as one linear system of all coefficients, as the source
does.  Source: document 000, "Penalized FoF with Sylvester/Kronecker Structure".
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

SYMMETRY_TOLERANCE = 1e-8


def check_penalty(name: str, matrix: np.ndarray, size: int) -> np.ndarray:
    """Return a (size, size) symmetric positive semidefinite penalty as float64, or raise a named error."""
    matrix = np.asarray(matrix, dtype=float)
    if matrix.shape != (size, size):
        raise ValueError(f"{name} has shape {matrix.shape}: it must be ({size}, {size}).")
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{name} holds non-finite values: give a finite penalty.")
    scale = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > SYMMETRY_TOLERANCE * scale:
        raise ValueError(f"{name} is not symmetric: give (O + O') / 2 if that is what is meant.")
    matrix = (matrix + matrix.T) / 2
    least = np.linalg.eigvalsh(matrix)[0] if size else 0.0
    if least < -SYMMETRY_TOLERANCE * scale:
        raise ValueError(f"{name} is not positive semidefinite (least eigenvalue {least:.3g}): repair the penalty.")
    return matrix


def check_lambdas(lambda_s: float, lambda_t: float, lambda_st: float) -> tuple[float, float, float]:
    """Return the three weights as floats, or raise a named error for a negative or non-finite one."""
    for name, value in (("lambda_s", lambda_s), ("lambda_t", lambda_t), ("lambda_st", lambda_st)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value}: a penalty weight must be finite and at least 0.")
    return float(lambda_s), float(lambda_t), float(lambda_st)


def spectral_scale(penalty: np.ndarray) -> np.ndarray:
    """Penalty divided by its largest eigenvalue (a zero penalty stays zero)."""
    norm = np.linalg.eigvalsh(penalty)[-1] if penalty.size else 0.0
    return penalty / norm if norm > 0 else penalty


def diagonalize(a: np.ndarray, mixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W and kappa with W'AW = I and W' mixed W = diag(kappa); leading batch dimensions allowed."""
    inverse = np.linalg.inv(np.linalg.cholesky(a))
    transposed = np.swapaxes(inverse, -1, -2)
    middle = inverse @ mixed @ transposed
    kappa, u = np.linalg.eigh((middle + np.swapaxes(middle, -1, -2)) / 2)
    return transposed @ u, np.maximum(kappa, 0.0)


class PenalizedSolver:
    """Factors the equation once; every further right-hand side costs two small products.

    Parameters
    ----------
    G : (q, q) array
        Symmetric; G + lambda_s omega_x must be positive definite.
    omega_x, omega_y : (q, q) and (Qy, Qy) arrays
        Symmetric positive semidefinite penalties.
    lambdas : (lambda_s, lambda_t, lambda_st)
        Non-negative weights; all may be zero.
    """

    def __init__(
        self, G: np.ndarray, omega_x: np.ndarray, omega_y: np.ndarray, lambdas: tuple[float, float, float]
    ) -> None:
        lambda_s, lambda_t, lambda_st = check_lambdas(*lambdas)
        G = np.asarray(G, dtype=float)
        if G.ndim != 2 or G.shape[0] != G.shape[1]:
            raise ValueError(f"G has shape {G.shape}: it must be square.")
        if not np.all(np.isfinite(G)):
            raise ValueError("G holds non-finite values: check the curves and the noise correction.")
        omega_x = check_penalty("omega_x", omega_x, G.shape[0])
        omega_y = check_penalty("omega_y", omega_y, np.asarray(omega_y).shape[0])
        self.theta, self.V = np.linalg.eigh(omega_y)
        try:
            self.W, self.kappa = diagonalize(
                (G + G.T) / 2 + lambda_s * omega_x, lambda_t * np.eye(G.shape[0]) + lambda_st * omega_x
            )
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh((G + G.T) / 2 + lambda_s * omega_x)[0]
            raise ValueError(
                f"G + lambda_s omega_x is not positive definite (least eigenvalue {least:.3g}): "
                "project G or raise lambda_s."
            ) from None

    def solve(self, R: np.ndarray) -> np.ndarray:
        """B for a right-hand side R, both of shape (q, Qy)."""
        R = np.asarray(R, dtype=float)
        if R.shape != (self.W.shape[0], self.V.shape[0]):
            raise ValueError(f"R has shape {R.shape}: it must be ({self.W.shape[0]}, {self.V.shape[0]}).")
        rotated = self.W.T @ R @ self.V
        return self.W @ (rotated / (1 + self.kappa[:, None] * self.theta[None, :])) @ self.V.T


class KroneckerSolver:
    """The source's solver: a Cholesky factor of the system of all coefficients, or a general solve where there is none.

    Parameters
    ----------
    G : (q, q) array
        Symmetric, of any signs.
    omega_x, omega_y, lambdas
        As in `PenalizedSolver`.
    h_ridge : float
        Added to the diagonal of the system, as a share of its mean.

    Attributes
    ----------
    fell_back : bool
        Whether the system has no Cholesky factor.
    """

    def __init__(
        self,
        G: np.ndarray,
        omega_x: np.ndarray,
        omega_y: np.ndarray,
        lambdas: tuple[float, float, float],
        h_ridge: float = 0.0,
    ) -> None:
        from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

        lambda_s, lambda_t, lambda_st = check_lambdas(*lambdas)
        self.shape = len(omega_y), len(G)
        H = np.kron(np.eye(len(omega_y)), G + lambda_s * omega_x) + lambda_t * np.kron(omega_y, np.eye(len(G)))
        if lambda_st:
            H += lambda_st * np.kron(omega_y, omega_x)
        H[np.diag_indices(len(H))] += h_ridge * np.trace(H) / len(H)
        try:
            factor = cho_factor(H, lower=True)
            self._solve, self.fell_back = partial(cho_solve, factor), False
        except np.linalg.LinAlgError:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                factor = lu_factor(H)
            if not np.all(np.diag(factor[0])):
                raise ValueError("the system of all coefficients is singular: raise lambda_s or h_ridge.") from None
            self._solve, self.fell_back = partial(lu_solve, factor), True

    def solve(self, R: np.ndarray) -> np.ndarray:
        """B for right-hand sides R, both of shape (..., q, Qy)."""
        sides = np.swapaxes(R, -1, -2).reshape(-1, self.shape[0] * self.shape[1])
        solutions = self._solve(sides.T).T.reshape(*R.shape[:-2], *self.shape)
        return np.swapaxes(solutions, -1, -2)


def solve_penalized(
    G: np.ndarray,
    R: np.ndarray,
    omega_x: np.ndarray,
    omega_y: np.ndarray,
    lambda_s: float,
    lambda_t: float,
    lambda_st: float,
) -> np.ndarray:
    """Solve G B + lambda_s Ox B + lambda_t B Oy + lambda_st Ox B Oy = R exactly."""
    return PenalizedSolver(G, omega_x, omega_y, (lambda_s, lambda_t, lambda_st)).solve(R)
