"""An upper bound of the projection loss by parametric bootstrap, from releases alone: it costs nothing.

Slice means are shrunk by what noise and sample give their singular values, moments are drawn around them with the noise
of the releases and that of the records, and the loss between the bases of the draws and of the centre is read off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..privacy.statistics.isometry import to_matrix
from ..randomness import stream
from .estimate import FLOOR, floored_spectrum

LEVEL, DRAWS = 0.95, 100


@dataclass(frozen=True, eq=False)
class ReleasedMoments:
    """Slice means (p, H) about the released mean, covariance (p, p), sds of their noise, and the number of records."""

    means: np.ndarray
    covariance: np.ndarray
    sd_means: float
    sd_second: float
    records: int


def loss_bound(released: ReleasedMoments, n_directions: int, draws: int = DRAWS) -> float:
    """Upper 95 % bound of the projection loss of the basis that the released moments give (`projection_loss`).

    With M0 the released slice means whose d leading singular values s became sqrt(s^2 - (p + H) (sd^2 + tr(S) / (p H
    N))), and S the floored covariance, draws have M0 + noise + L Z / sqrt(H N), L L' = S, and S + noise of variance
    sd^2 + 2 (tr(S) / p)^2 / N on the isometric vector. Draws are the same for the same releases.
    """
    M, N, d = released.means, released.records, n_directions
    (p, H), rng = M.shape, stream(0, "inverse regression", "loss bound")
    values, vectors, _, _ = floored_spectrum(released.covariance)
    mean = float(values.sum()) / p
    left, strengths, right = np.linalg.svd(M, full_matrices=False)
    noise = (p + H) * (released.sd_means**2 + mean / (H * N))
    kept = np.sqrt(np.maximum(strengths**2 - noise, 0.0)) * (np.arange(len(strengths)) < d)
    drawn = (left * kept) @ right + released.sd_means * rng.standard_normal((draws, p, H))
    drawn += (vectors * np.sqrt(values)) @ rng.standard_normal((draws, p, H)) / math.sqrt(H * N)
    sd = math.hypot(released.sd_second, math.sqrt(2 / N) * mean)
    second = (vectors * values) @ vectors.T
    seconds = np.stack([second + to_matrix(sd * row, p) for row in rng.standard_normal((draws, p * (p + 1) // 2))])
    centre = _bases(second[None], left[None, :, :d])[0]
    bases = _bases(seconds, np.linalg.svd(drawn, full_matrices=False)[0][:, :, :d])
    shared = np.sum((np.swapaxes(bases, 1, 2) @ centre) ** 2, axis=(1, 2))
    return float(np.quantile(np.sqrt(np.maximum(2 * d - 2 * shared, 0.0)), LEVEL))


def _bases(seconds: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Orthonormal bases (n, p, d) of S^-1 U, eigenvalues raised to the floor."""
    values, vectors = np.linalg.eigh(seconds)
    values = np.maximum(values, FLOOR * values[:, -1:])
    turned = (np.swapaxes(vectors, 1, 2) @ directions) / values[:, :, None]
    return np.linalg.qr(vectors @ turned)[0]
