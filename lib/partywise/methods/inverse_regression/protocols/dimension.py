"""Number of directions from what is released: the singular values that exceed noise and sampling alone.

Slice means are whitened by the released covariance. In step k the first k directions are taken out of the slice means
and of draws of noise and sampling; the next singular value is compared with the largest ones of these draws, as in the
rank tests of Li (1991) and Bura and Yang (2011), with the noise of privacy added. Everything is a function of releases
and public numbers, and the draws are the same for the same releases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.randomness import stream
from ..certified import about_the_mean
from ..estimate import correlation_of, inverse_root
from .noise import Deviations

# Level of each step, and draws of its distribution without a further direction.
LEVEL, DRAWS = 0.95, 400
# Share of the first singular value below which a further one counts as made by clipping.
FLOOR = 0.05


@dataclass(frozen=True)
class DimensionEstimate:
    """Number of directions, 0 for none, and the p-value of every step."""

    dimension: int
    p_values: tuple[float, ...]


def estimate_dimension(
    slices: np.ndarray, covariance: np.ndarray, sds: Deviations, records: int
) -> DimensionEstimate | None:
    """Estimate d from slices (p + 1, H) and the covariance (p, p); None where noise left no positive eigenvalue.

    Where ``sds.mean`` is given the slices are those of whitened records, and the covariance is not used.
    """
    M, total = about_the_mean(slices)
    p, H = M.shape
    shares = slices[-1] + (1 - slices[-1].sum()) / H
    if sds.mean is None:
        if not np.all(np.isfinite(covariance)) or not np.linalg.eigvalsh(covariance)[-1] > 0:
            return None
        scale, correlation = correlation_of(covariance)
        root = inverse_root(correlation, 2 * sds.second * float(np.mean(scale**-2)))[0] / scale
    else:
        root = np.eye(p)
    rng = stream(0, "inverse regression", "dimension")
    tables = np.empty((DRAWS, p + 1, H))
    tables[:, :-1] = np.outer(total, shares) + sds.means * rng.standard_normal((DRAWS, p, H))
    tables[:, -1] = shares + sds.shares * rng.standard_normal((DRAWS, H))
    sample = rng.standard_normal((DRAWS, p, H)) * np.sqrt(np.maximum(shares, 0.0) / records)
    draws = root @ about_the_mean(tables)[0] + sample - sample.sum(axis=-1, keepdims=True) * shares
    left, strengths, right = np.linalg.svd(root @ M, full_matrices=False)
    p_values = list[float]()
    for k in range(min(p, H - 1)):
        off_left, off_right = (np.eye(len(v)) - v[:, :k] @ v[:, :k].T for v in (left, right.T))
        alone = np.linalg.norm(off_left @ draws @ off_right, 2, axis=(1, 2))
        p_values.append((1 + int(np.count_nonzero(alone >= strengths[k]))) / (1 + DRAWS))
        small = k > 0 and strengths[k] < FLOOR * strengths[0]
        if small or strengths[k] <= np.quantile(alone, LEVEL):
            return DimensionEstimate(k, tuple(p_values))
    return DimensionEstimate(min(p, H - 1), tuple(p_values))
