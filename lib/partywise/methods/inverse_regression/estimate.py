"""Basis from moments: aggregation over clients, and pooled sliced inverse regression.

Everything here is post-processing where its inputs are releases; nothing reads a record except `sir`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from ...privacy.accounted_values import Clear, Public
from .moments import SliceMoments, centre, check_records, client_moments
from .slices import class_slices, equal_frequency, public_slices

INVERSIONS = ("floor", "plain")
# Below this share of the largest eigenvalue of a correlation matrix, a covariance is singular up to rounding.
RANK_FLOOR = 1e-10
# A spectrum that holds a smaller share than this of its largest magnitude has no inverse in floating point.
SINGULAR = 1e-14


def noise_edge(sd: float, p: int) -> float:
    """Largest eigenvalue that isometric noise of deviation sd gives a (p, p) matrix: sd sqrt(2 p), of many columns."""
    return sd * math.sqrt(2 * p)


def floored_spectrum(second, least: float = 0.0) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Eigenvalues raised to ``least``, eigenvectors, how many were raised, whether one was <= 0.

    ``least`` is what noise makes of nothing (`noise_edge`), in the scale of the records; without noise eigenvalues that
    are no more than rounding are raised.
    """
    values, vectors = np.linalg.eigh(np.asarray(second, dtype=float))
    if not values[-1] > 0:
        raise ValueError(
            f"second has no positive eigenvalue (largest {values[-1]:.3g}): noise or constant columns left nothing; "
            "use more records or a larger budget."
        )
    lifted = np.maximum(values, max(least, RANK_FLOOR * values[-1]))
    return lifted, vectors, int(np.count_nonzero(lifted > values)), bool(values[0] <= 0)


def inverse_root(second, least: float = 0.0) -> tuple[np.ndarray, int, bool]:
    """Symmetric Sigma^(-1/2) of the floored matrix, the number of raised eigenvalues, and the flag ``indefinite``."""
    values, vectors, floored, indefinite = floored_spectrum(second, least)
    return (vectors / np.sqrt(values)) @ vectors.T, floored, indefinite


def invert(second, directions, inversion: str = "floor", least: float = 0.0) -> tuple[np.ndarray, int, bool]:
    """Sigma^(-1) U, how many eigenvalues were raised, and whether one was not positive: the last step of algorithm 1.

    Eigenvalues below ``least`` are raised to it; without noise, those of the correlation matrix that are no more than
    rounding, for any scales of the columns. ``"plain"`` is the published inverse: it also inverts an indefinite
    matrix, and reports it. Only a singular matrix, which has no inverse, is floored.
    """
    if inversion not in INVERSIONS:
        raise ValueError(f"inversion={inversion!r} is unknown; use one of {INVERSIONS}.")
    if inversion == "plain":
        values, vectors = np.linalg.eigh(np.asarray(second, dtype=float))
        magnitudes = np.abs(values)
        if magnitudes.min() > SINGULAR * magnitudes.max():
            return vectors @ ((vectors.T @ directions) / values[:, None]), 0, bool(values[0] <= 0)
    if least:
        values, vectors, floored, indefinite = floored_spectrum(second, least)
        return vectors @ ((vectors.T @ directions) / values[:, None]), floored, indefinite
    scale, correlation = correlation_of(second)
    values, vectors, floored, indefinite = floored_spectrum(correlation)
    return (
        vectors @ ((vectors.T @ (directions / scale[:, None])) / values[:, None]) / scale[:, None],
        floored,
        indefinite,
    )


def correlation_of(second) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations (p,) of the columns, 1 where there is none, and the correlation matrix (p, p)."""
    matrix = np.asarray(second, dtype=float)
    variances = np.diagonal(matrix)
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))
    return scale, matrix / np.outer(scale, scale)


def eigengap_dimension(strengths, largest: int | None = None) -> int:
    """The d with the largest gap s_d - s_{d+1} (step 3, with the sign that makes sense)."""
    s = np.asarray(strengths, dtype=float)
    if s.ndim != 1 or len(s) < 2 or not np.all(np.isfinite(s)) or np.any(np.diff(s) > 0):
        raise ValueError(f"strengths={strengths!r} must be at least two finite, decreasing numbers.")
    most = len(s) - 1 if largest is None else largest
    if not 1 <= most <= len(s) - 1:
        raise ValueError(f"largest={largest!r} must lie between 1 and {len(s) - 1}.")
    return int(np.argmax((s[:-1] - s[1:])[:most])) + 1


def dp_lda(means, second, inversion: str = "floor") -> np.ndarray:
    """Discriminant direction Sigma^(-1) (m_1 - m_0), (p, 1), from released means (p, 2) over n and second moment.

    Document 001, example 1 and section 3: post-processing, at no further cost. For classes of equal size and centred
    records it is the direction of sliced inverse regression with H = 2.
    """
    matrix = np.asarray(means, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != 2:
        raise ValueError(f"means has shape {matrix.shape}; discriminant analysis needs two classes, shape (p, 2).")
    return invert(second, matrix[:, 1:] - matrix[:, :1], inversion)[0]


AGGREGATIONS = ("mean", "kernel", "projector")
# Singular values closer than this share of the largest are tied, or zero.
TIE = 1e-10


@dataclass(frozen=True, eq=False)
class Subspace:
    """An estimated basis and what happened on the way."""

    # (p, d); only its span counts.
    basis: np.ndarray
    # Singular values (aggregation ``mean``, pooled estimator) or eigenvalues, decreasing.
    strengths: np.ndarray
    # Eigenvalues of the covariance that were raised, and whether one was not positive.
    n_floored: int = 0
    indefinite: bool = False
    # Whether the d-th strength is zero or tied with the next: the span is then arbitrary.
    unidentified: bool = False


def leading(means, weights, n_directions: int, aggregation: str = "mean") -> tuple[np.ndarray, np.ndarray]:
    """First d directions (p, d) of the slice mean matrices (p, H) of several clients, and their strengths, decreasing.

    Left singular vectors of sum w_k M_k (``mean``, algorithm 1 of document 001); eigenvectors of sum w_k M_k M_k'
    (``kernel``); or of sum w_k U_k U_k' with U_k the first d left singular vectors of M_k (``projector``). The last two
    are readings of its tables.
    """
    stack, w = values_of(means), np.asarray(weights, dtype=float)
    if aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation={aggregation!r} is unknown; use one of {AGGREGATIONS}.")
    if stack.ndim != 3 or len(stack) == 0 or w.shape != (len(stack),) or not np.all(w > 0):
        raise ValueError(f"means of shape {stack.shape} need at least one client and a positive weight for each.")
    if not 1 <= n_directions <= min(stack.shape[1:]):
        raise ValueError(f"n_directions={n_directions!r} must lie between 1 and min(p, H) = {min(stack.shape[1:])}.")
    w = w / w.sum()
    if aggregation == "mean":
        left, strengths, _ = np.linalg.svd(np.tensordot(w, stack, 1), full_matrices=False)
        return left[:, :n_directions], strengths
    factors = stack
    if aggregation == "projector":
        factors = np.linalg.svd(stack, full_matrices=False)[0][:, :, :n_directions]
    flat = (np.sqrt(w)[:, None, None] * factors).transpose(1, 0, 2).reshape(stack.shape[1], -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    return vectors[:, : -n_directions - 1 : -1], values[::-1]


def aggregate(
    means,
    weights,
    second,
    n_directions: int,
    *,
    aggregation: str = "mean",
    inversion: str = "floor",
    least: float = 0.0,
) -> Subspace:
    """Server's estimate B = Sigma^(-1) U_d from received matrices (document 001, algorithm 1); arguments of `leading`.

    ``second`` are the received second moments (K, p, p), or their weighted mean (p, p); ``least`` as of `invert`.
    """
    w, stack, matrix = np.asarray(weights, dtype=float), values_of(means), values_of(second)
    if stack.ndim == 3 and stack.shape[1] != matrix.shape[-1]:
        raise ValueError(
            f"means of shape {stack.shape} and second of shape {matrix.shape}: slice means are (K, p, H), one slice a "
            "column, for second moments of p columns."
        )
    if matrix.ndim == 3:
        matrix = np.tensordot(w / w.sum(), matrix, 1)
    directions, strengths = leading(stack, w, n_directions, aggregation)
    basis, floored, indefinite = invert(matrix, directions, inversion, least)
    return Subspace(basis, strengths, floored, indefinite, has_tie(strengths, n_directions))


def values_of(matrices) -> np.ndarray:
    """Matrices of several clients as one float array: an array as it is, releases by their values."""
    if isinstance(matrices, np.ndarray):
        return np.asarray(matrices, dtype=float)
    return np.array([getattr(matrix, "value", matrix) for matrix in matrices], dtype=float)


def has_tie(strengths: np.ndarray, n_directions: int) -> bool:
    """Whether the d-th of decreasing strengths is zero or equal to the next, up to rounding."""
    last = strengths[n_directions - 1]
    after = strengths[n_directions] if n_directions < len(strengths) else 0.0
    return bool(last - after <= TIE * strengths[0])


def classical(moments: SliceMoments, n_directions: int) -> Subspace:
    """Sliced inverse regression as Li (1991) defined it: Lambda0 v = lambda Sigma v on centred moments.

    Lambda0 = sum_h m_h m_h' / p_h (document 001, section 2.1) is never formed: with Sigma = L L' the directions are
    L'^(-1) times the left singular vectors of L^(-1) (m_h / sqrt(p_h))_h. The federated kernel M M' of section 2.2
    (`aggregate`) has the same span where the model holds exactly; in a sample with d < H - 1 the two differ.
    """
    about = centre(moments)
    check_directions(n_directions, about.p, about.n_slices)
    filled = about.counts > 0
    factor = about.means[:, filled] / np.sqrt(about.counts[filled] / about.n)
    lower, floored, indefinite = _factor(about.second)
    left, strengths, _ = np.linalg.svd(np.linalg.solve(lower, factor), full_matrices=False)
    if left.shape[1] < n_directions:
        # Fewer slices hold records than directions were asked for: any complement completes the basis.
        left = np.linalg.qr(np.concatenate([left, np.eye(about.p)], axis=1))[0]
        strengths = np.concatenate([strengths, np.zeros(left.shape[1] - len(strengths))])
    basis = np.linalg.solve(lower.T, left[:, :n_directions])
    return Subspace(basis, strengths, floored, indefinite, has_tie(strengths, n_directions))


def _factor(second: np.ndarray) -> tuple[np.ndarray, int, bool]:
    """L with L L' = Sigma: the Cholesky factor, or a root of the floored matrix where Sigma is singular.

    Pivots are those of the correlation matrix, so that units of columns decide nothing.
    """
    scale, correlation = correlation_of(second)
    try:
        lower = np.linalg.cholesky(correlation)
        if np.min(np.diagonal(lower) ** 2) > RANK_FLOOR:
            return scale[:, None] * lower, 0, False
    except np.linalg.LinAlgError:
        pass
    values, vectors, floored, indefinite = floored_spectrum(correlation)
    return scale[:, None] * vectors * np.sqrt(values), floored, indefinite


def check_directions(n_directions: int, p: int, n_slices: int) -> None:
    """ValueError unless 1 <= d <= min(p, H - 1)."""
    most = min(p, n_slices - 1)
    if n_directions != int(n_directions) or not 1 <= n_directions <= most:
        raise ValueError(
            f"n_directions={n_directions!r} must lie between 1 and min(p, H - 1) = {most}; use more slices or fewer "
            "directions."
        )


def sir(X, y, n_slices: int, n_directions: int, edges=None) -> np.ndarray:
    """Pooled sliced inverse regression without privacy, (p, d): Li (1991); document 001, section 2.1.

    Solutions v of Lambda0 v = lambda Sigma v by decreasing lambda, with v' Sigma v = 1; signs are arbitrary. Numbers in
    y are cut at ``edges`` or into slices of nearly equal size, equal responses staying together; other labels are
    classes, ``n_slices`` of them. One pass over blocks of records about the mean of the first block, so that a large
    mean costs no digits.
    """
    X, y = check_records(X, y)
    if edges is not None:
        slices = public_slices(Public(edges, because="given by the caller"), n_slices)
    elif y.dtype.kind in "fiub":
        slices = equal_frequency(y, n_slices)
    else:
        slices = class_slices(Clear(np.unique(y), units=("label",)))
    check_directions(n_directions, X.shape[1], n_slices)
    if slices.n_slices != n_slices:
        raise ValueError(f"n_slices={n_slices!r} but y has {slices.n_slices} classes; make them equal.")
    moments = client_moments(X, y, slices, shift=Clear(X[:1024].mean(axis=0, dtype=float), units=("row",)))
    space = classical(moments, n_directions)
    report = {
        f"{moments.empty} of {n_slices} slices hold no record": moments.empty,
        f"{space.n_floored} eigenvalues of a singular covariance were raised; screen columns first": space.n_floored,
        "the directions are not identified: strengths are zero or tied": space.unidentified,
    }
    for message, happened in report.items():
        if happened:
            warnings.warn(f"sir: {message}.", UserWarning, stacklevel=2)
    return space.basis
