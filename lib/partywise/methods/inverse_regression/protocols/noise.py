"""Standard deviations that the noise of privacy gives entries of the basis: to first order, from releases alone.

Perturbation of the leading eigenvectors of M M' and of a power of the covariance. Post-processing, at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..certified import about_the_mean
from ..estimate import floored_spectrum, noise_edge

# Eigenvalues closer than this share of the largest are taken for equal.
EQUAL = 1e-8


@dataclass(frozen=True)
class Deviations:
    """Public sds of the noise of what was merged."""

    # Of an entry of the slice means, and of a slice proportion.
    means: float
    shares: float
    # Of the diagonal of the second moment, sqrt(2) times that of other entries.
    second: float
    # Of an entry of the mean that was released with the second moment of whitened records; None where records are not
    # whitened and the mean is the sum of the slice means.
    mean: float | None = None


def basis_errors(
    slices: np.ndarray, covariance: np.ndarray, mean: np.ndarray, n_directions: int, sds: Deviations
) -> np.ndarray | None:
    """(p, d) standard deviation of each entry of the basis, NaN where noise could produce it; None without noise.

    The basis is Sigma^-1 U, of whitened records (where ``sds.mean`` is given) Sigma^(-1/2) U. Signs of directions,
    clipping and the raising of eigenvalues count as fixed. A column is NaN unless its singular value is further from
    every other than noise can move one, sd (sqrt(p) + sqrt(H)), and all are NaN unless the eigenvalues of the
    covariance exceed what noise can make (`noise_edge`): a first-order value means nothing there.
    """
    if not (sds.means or sds.second):
        return None
    M, total = about_the_mean(slices)
    p, H = M.shape
    errors = np.full((p, n_directions), np.nan)
    if not np.linalg.eigvalsh(covariance)[0] > noise_edge(sds.second, p):
        return errors
    shares = slices[-1] + (1 - slices[-1].sum()) / H
    power, values = _Power.of(covariance, -1.0 if sds.mean is None else -0.5), np.linalg.eigvalsh(M @ M.T)[::-1]
    strengths = np.sqrt(np.maximum(values, 0.0))
    for place in range(n_directions):
        gap = np.min(np.abs(np.delete(strengths, place) - strengths[place]), initial=np.inf)
        if gap > sds.means * (math.sqrt(p) + math.sqrt(H)):
            errors[:, place] = np.sqrt(_variance(M, place, power, mean, total, shares, sds))
    return errors


def _variance(
    M: np.ndarray,
    place: int,
    power: _Power,
    mean: np.ndarray,
    total: np.ndarray,
    shares: np.ndarray,
    sds: Deviations,
) -> np.ndarray:
    """(p,) variances of one column of the basis."""
    values, vectors = np.linalg.eigh(M @ M.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    u, rest = vectors[:, place], np.delete(vectors, place, axis=1)
    a, along = M.T @ u, (power.matrix @ rest) / (values[place] - np.delete(values, place))
    # A change dM of M moves the column by D dM a + W dM' u.
    D, W = along @ rest.T, along @ (rest.T @ M)
    terms = [(np.eye(len(u)), u)]
    if sds.mean is not None:
        # Records were whitened by the noisy root, so that its noise is in M, too.
        Z = power.inverse @ M
        terms += [(D, Z @ a), (W @ Z.T, u)]
    spread, by_mean = power.propagate(terms, mean)
    variance = sds.second**2 * spread
    if sds.mean is not None:
        variance += sds.mean**2 * np.sum(by_mean**2, axis=1)
        by_mean = np.zeros_like(by_mean)
    by_means = np.einsum("ra,h->rah", D, a - shares @ a) + np.einsum("rh,a->rah", W - (W @ shares)[:, None], u)
    by_shares = np.outer(D @ total, a - a.mean()) + (W - W.mean(axis=1, keepdims=True)) * (total @ u)
    variance += sds.means**2 * np.sum((by_means + by_mean[:, :, None]) ** 2, axis=(1, 2))
    return variance + sds.shares**2 * np.sum(by_shares**2, axis=1)


@dataclass(frozen=True)
class _Power:
    """A power of the floored covariance, its inverse, and its divided differences between eigenvalues."""

    vectors: np.ndarray
    matrix: np.ndarray
    inverse: np.ndarray
    differences: np.ndarray

    @classmethod
    def of(cls, covariance: np.ndarray, power: float) -> _Power:
        """Return the power of a covariance that has a positive eigenvalue."""
        lifted, vectors, n_raised, _ = floored_spectrum(covariance)
        values, powers = np.linalg.eigvalsh(covariance), lifted**power
        apart = values[:, None] - values
        equal = np.abs(apart) <= EQUAL * values[-1]
        # Values are ascending. Two programs give them with different last digits: none is compared with itself.
        slope = np.where(np.arange(len(lifted)) < n_raised, 0.0, power * powers / lifted)
        differences = np.where(equal, slope[:, None], (powers[:, None] - powers) / np.where(equal, 1.0, apart))
        return cls(vectors, (vectors * powers) @ vectors.T, (vectors / powers) @ vectors.T, differences)

    def propagate(
        self, terms: Sequence[tuple[np.ndarray, np.ndarray]], mean: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Propagate noise of the covariance to the sum of A dP x over terms (A, x), dP the change of the power.

        (p,) variances for isometric noise of sd 1, and (p, p) the derivative by the mean.
        """
        parts = [np.einsum("rj,k->rjk", A @ self.vectors, x @ self.vectors) for A, x in terms]
        cube = np.sum(parts, axis=0) * self.differences
        cube = cube + cube.transpose(0, 2, 1)
        return np.sum(cube**2, axis=(1, 2)) / 4, -(cube @ (mean @ self.vectors)) @ self.vectors.T
