"""Order of the model from what is released: how many directions, and how many columns, exceed noise and sampling alone.

Slice means are whitened by the released covariance. In step k the first k directions are taken out of the slice means
and of draws of noise and sampling; the next singular value is compared with the largest ones of these draws, as in the
rank tests of Li (1991) and Bura and Yang (2011), with the noise of privacy added. A column counts if a contrast of its
slice means exceeds sqrt(2 log p) standard deviations, about the largest of p null columns. Everything is a function of
releases and public numbers, and the draws are the same for the same releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ....core.randomness import stream
from ..certified import about_the_mean
from ..estimate import RANK_FLOOR, correlation_of, floored_spectrum, inverse_root
from ..model import SlicingSpec
from ..screening import contrasts
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


class OrderOptions(Protocol):
    """Options of the protocols that estimate the order."""

    @property
    def dimension(self) -> str: ...
    @property
    def size(self) -> str: ...


@dataclass(frozen=True)
class ModelOrder:
    """Numbers of directions and of columns that count; None where they are not estimated."""

    rank: DimensionEstimate | None = None
    size: int | None = None

    def directions(self, stated: int) -> int:
        """Directions of the basis, at least one: as estimated, else as stated."""
        return stated if self.rank is None else max(self.rank.dimension, 1)


NOT_ESTIMATED = ModelOrder()


def estimate_order(
    spec: SlicingSpec[OrderOptions],
    slices: np.ndarray,
    covariance: np.ndarray,
    sds: Deviations,
    records: int,
    least: float = 0.0,
) -> ModelOrder:
    """Estimate what the options ask for; arguments as of `estimate_dimension` and `estimate_size`."""
    rank = size = None
    if spec.options.dimension == "estimated":
        rank = estimate_dimension(slices, covariance, sds, records)
    if spec.options.size == "estimated":
        code = contrasts(spec.public.public_slices)
        size = estimate_size(slices, covariance, sds, records, code, spec.public.n_columns, least)
    return ModelOrder(rank, size)


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


def estimate_size(
    slices: np.ndarray,
    covariance: np.ndarray,
    sds: Deviations,
    records: int,
    code: np.ndarray,
    n_columns: int,
    least: float = 0.0,
) -> int | None:
    """Number of columns with a contrast F m_j of slice means beyond sqrt(2 log p) deviations of noise and sampling.

    code F (m, H); ``n_columns`` p, all columns before screening. A column that does not depend on the response passes
    with probability P(|Z| > sqrt(2 log p)) per contrast. Where ``sds.mean`` is given the slices are those of records
    that were whitened by the covariance, with eigenvalues of at least ``least``; None if none is positive.
    """
    M, mean = about_the_mean(slices)
    shares = slices[-1] + (1 - slices[-1].sum()) / M.shape[1]
    variances, scale = np.maximum(np.diagonal(covariance), 2 * sds.second), np.ones(len(M))
    if sds.mean is not None:
        if not np.linalg.eigvalsh(covariance)[-1] > 0:
            return None
        lifted, vectors, _, _ = floored_spectrum(covariance, least)
        back = (vectors * np.sqrt(lifted)) @ vectors.T
        M, mean, variances = back @ M, back @ mean, np.sum(back**2, axis=1)
        scale = np.sqrt(variances)
    about = code - (code @ shares)[:, None]
    noise = np.outer(scale * sds.means, np.linalg.norm(about, axis=1))
    noise_of_shares = np.outer(np.abs(mean) * sds.shares, np.linalg.norm(code, axis=1))
    # A constant column has a variance of rounding alone.
    variances = np.maximum(variances, RANK_FLOOR * mean**2)
    sampling = np.outer(np.sqrt(variances / records), np.sqrt(np.maximum(about**2 @ shares, 0.0)))
    deviations = np.sqrt(noise**2 + noise_of_shares**2 + sampling**2)
    return int(np.count_nonzero(np.any(np.abs(M @ about.T) > math.sqrt(2 * math.log(n_columns)) * deviations, axis=1)))
