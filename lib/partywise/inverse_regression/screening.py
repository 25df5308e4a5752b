"""Collaborative screening of columns: the CCMD filter of the source, and noisy votes that can be certified.

Source: seed 001, section 3.3, algorithm 3. Omega_jh = |mean of x_j in slice h - mean of x_j|. The remark there that
sending index sets leaks nothing is wrong: a set is a function of the data like any other.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from ..privacy.accounted import Public
from ..privacy.mechanisms.release import Release, Terms
from ..privacy.mechanisms.selection import NoisyVotes
from ..privacy.statistics.counts import membership
from .moments import check_records, slice_sums
from .slices import Slices

__all__ = [
    "ccmd_multiplicity",
    "ccmd_select",
    "mean_differences",
    "slice_profile",
    "top_votes",
    "vote_release",
    "vote_select",
]

BLOCK_ENTRIES = 1 << 18


def slice_profile(X, y, slices: Slices) -> tuple[np.ndarray, np.ndarray]:
    """Means (p, H) of every slice of unclipped records, 0 where it is empty, and its counts (H,)."""
    X, y = check_records(X, y)
    sums, counts = np.zeros((slices.n_slices, X.shape[1])), np.zeros(slices.n_slices, dtype=np.int64)
    rows = max(BLOCK_ENTRIES // X.shape[1], 256)
    for start in range(0, len(X), rows):
        part, number = slice_sums(X[start : start + rows], y[start : start + rows], slices)
        sums += part
        counts += number
    sums[counts == 0] = 0.0
    return sums.T / np.maximum(counts, 1), counts


def mean_differences(means, counts) -> np.ndarray:
    """Omega of algorithm 3, shape (p, H): |slice mean - overall mean|, 0 for an empty slice."""
    means, counts = np.asarray(means, dtype=float), np.asarray(counts)
    overall = means @ (counts / counts.sum())
    return np.where(counts > 0, np.abs(means - overall[:, None]), 0.0)


def ccmd_multiplicity(omega, *, threshold: float | None = None, top: int | None = None) -> np.ndarray:
    """How many slices of a client select each column, shape (p,): its multiset, sent in the clear.

    Parameters
    ----------
    omega : ndarray of shape (p, H)
        `mean_differences`.
    threshold : float, optional
        t of algorithm 3 (which the source never states): a slice selects the columns with Omega_jh > t.
    top : int, optional
        Instead of t: a slice selects its ``top`` columns, the earlier of two equal ones.

    Raises
    ------
    ValueError
        Unless exactly one rule is given, t >= 0, and 1 <= top <= p.
    """
    omega = np.asarray(omega, dtype=float)
    if (threshold is None) == (top is None):
        raise ValueError(f"threshold={threshold!r} and top={top!r}: give exactly one of them.")
    if threshold is not None:
        if not threshold >= 0:
            raise ValueError(f"threshold={threshold!r} must be non-negative.")
        return np.count_nonzero(omega > threshold, axis=1)
    filled = np.any(omega > 0, axis=0)
    return sum((_top(column, top) for column in omega.T[filled]), np.zeros(len(omega), dtype=np.int64))


def ccmd_select(multiplicities) -> np.ndarray:
    """Columns with total multiplicity above K/2 (step 5); a client counts once for every slice, so up to H times.

    Parameters
    ----------
    multiplicities : ndarray of shape (K, p)
        What the clients sent.
    """
    table = np.atleast_2d(np.asarray(multiplicities))
    return np.flatnonzero(table.sum(axis=0) > len(table) / 2)


def top_votes(omega, max_size: int) -> np.ndarray:
    """0/1 votes (p,) for the ``max_size`` columns with the largest max_h Omega_jh."""
    return _top(np.max(np.asarray(omega, dtype=float), axis=1), max_size)


def vote_release(
    omega,
    max_size: int,
    mu: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release of a client's votes, mu-Gaussian-DP: l2 sensitivity sqrt(2 T) for at most T = ``max_size`` indices.

    Certified for any slices: whatever one record changes, the set has at most T elements before and after.
    """
    chosen = np.flatnonzero(top_votes(omega, max_size))
    most = Public(max_size, because="number of columns that screening keeps, an option of the method")
    ballot = membership(chosen, len(omega), most, stratum=stratum)
    return NoisyVotes(mu=mu, max_size=max_size)(ballot, rng, owner=owner, **terms)


def vote_select(total, max_size: int, n_directions: int) -> np.ndarray:
    """The ``max_size`` columns with the largest sums of released votes, in increasing order.

    Raises
    ------
    ValueError
        Unless d <= max_size <= p.
    """
    total = np.asarray(total, dtype=float)
    if not n_directions <= max_size <= len(total):
        raise ValueError(f"max_size={max_size!r} must lie between d={n_directions} and p={len(total)}.")
    return np.flatnonzero(_top(total, max_size))


def _top(scores: np.ndarray, size: int | None) -> np.ndarray:
    """0/1 marks of the largest scores, the earlier of equal ones first."""
    if size is None or size != int(size) or not 1 <= size <= len(scores):
        raise ValueError(f"{size!r} columns cannot be chosen out of p={len(scores)}; give a number from 1 to p.")
    least = np.partition(scores, -size)[-size]
    chosen = (scores > least).astype(np.int64)
    chosen[np.flatnonzero(scores == least)[: size - chosen.sum()]] = 1
    return chosen
