"""Collaborative screening of columns: the CCMD filter of the source; noisy votes, contrasts and picks, certified.

Source: document 001, section 3.3, algorithm 3. Omega_jh = |mean of x_j in slice h - mean of x_j|. The remark there that
sending index sets leaks nothing is wrong: a set is a function of the data like any other.

By signs: a client holds Z_jh = (1/n) sum_i sign(x_ij) 1(y_i in h) and releases F Z, where F (m, H) holds few public
contrasts between slices, with noise at an exact level. Slices that are not equally filled let the mean sign of a
column into its contrasts; so the mean signs Z 1 and the contrasts F p of the slice proportions are released too, and
the server takes F Z - F p (Z 1)'. Where noise dominates, columns are found better by few contrasts
than by H slices, each with 1/H of the records and noise of its own: at H = 8 a trend over the slices exceeds
its noise 8^(1/2) times as far. Signs are bounded at no cost: per unit of sensitivity they carry E|x| = 0.80 of a normal
column, entries clipped to [-1, 1] 0.68.

By peeling: a client picks columns by the largest of these contrasts under noise of the exponential mechanism, so that
noise does not grow with the number of columns; the server counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack

import numpy as np

from ...core.randomness import stream
from ...privacy.accounted_values import AccountedValue, Public, parameter
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.random import RandomSource
from ...privacy.mechanisms.release import Release, Terms
from ...privacy.mechanisms.selection import ReportNoisyMax
from ...privacy.statistics.bounded import Bounded, SensitivityCertificate
from ...privacy.statistics.counts import membership
from ...privacy.statistics.whole import Whole, whole
from .bounded import ROW
from .moments import check_records, slice_sums
from .slices import Slices

BLOCK_ENTRIES = 1 << 18
# Weight of the mean sign and of the proportions beside contrasts: it lengthens a record by 3 %.
MEAN_WEIGHT = 0.25
# The inverse square of it: weight of contrasts where that of the others is what it is for.
WEIGHT = 16
# Contrasts are whole numbers of steps of 2^-16.
CODE_BITS = 16


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
    """Number of slices of a client that select each column, shape (p,): its multiset, sent in the clear.

    A slice selects the columns whose `mean_differences` exceed the ``threshold`` t of algorithm 3, which the source
    never states, or else its ``top`` columns, the earlier of two equal ones.
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
    """Columns with total multiplicity above K/2 (step 5); a client counts once for every slice, so up to H times."""
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

    Certified for any slices: for any change of one record, the set has at most T elements before and after.
    """
    ballot = whole_votes(top_votes(omega, max_size), max_size, stratum=stratum)
    return IntegerGaussian(mu=mu)(ballot, rng, owner=owner, **terms)


def whole_votes(votes: np.ndarray, max_size: int, *, stratum: str = "*") -> Whole:
    """Votes (p,) of a client with their certificate."""
    most = Public(max_size, because="number of columns that screening keeps, an option of the method")
    return membership(np.flatnonzero(votes), len(votes), most, stratum=stratum)


def vote_select(total, max_size: int, n_directions: int) -> np.ndarray:
    """The ``max_size`` columns with the largest sums of released votes, in increasing order."""
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


def contrasts(slices: Slices) -> np.ndarray:
    """Public contrasts F (m, H) between the slices of a response, whose longest column has length 1.

    Rows sum to zero, so that equally filled slices hide the mean of a column. Slices of a number: a trend (the upper
    half against the lower) and, from three slices on, a curvature (the outer quarters against the inner half). More
    than two classes, which have no order: all H - 1 contrasts.
    """
    H = slices.n_slices
    if slices.labels is not None and H > 2:
        steps = np.tri(H - 1, H)
        np.fill_diagonal(steps[:, 1:], -np.arange(1, H))
        rows = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    else:
        place = np.arange(H) - (H - 1) / 2
        rows = np.sign(place)[None]
        outer = (H + 2) // 4
        if 2 * outer < H:
            inside = np.abs(place) < H / 2 - outer
            curvature = np.where(inside, -1 / inside.sum(), 1 / (2 * outer))
            rows = np.stack([rows[0], curvature / np.abs(curvature).max()])
    return rows / np.linalg.norm(rows, axis=0).max()


def sign_sums(X, codes, n_slices: int) -> np.ndarray:
    """Sums (H, p) of the signs of all columns over every slice; an entry of 0 has the sign 0."""
    X = np.asarray(X)
    # Whole numbers up to 2^24 are exact in float32.
    kind = np.float32 if X.dtype == np.float32 and len(X) < 1 << 24 else np.float64
    member = (np.arange(n_slices)[:, None] == np.asarray(codes)).astype(kind)
    return member @ np.sign(X, dtype=kind)


def whole_contrasts(sums, counts, code: AccountedValue, n: int, *, stratum: str = "*") -> Whole:
    """Contrasts, sums of signs and of slices of one client with their certificate (unit ``row``, n public).

    (m + 1, p + 1) from `sign_sums` (H, p), records (H,) of every slice and the ``code`` F, whole in steps of 2^-16: F
    Z; as last row the sums of signs, as last column F times the records. The corner is a constant.

    Weights are 16 in F Z, L^2 in the sums of signs, p next to F: with w = ``MEAN_WEIGHT`` = 1/4 a record adds the outer
    product of 4 (f, w L) and (s, w sqrt(p)), f its slice's column of F, of length at most L, s its p signs. Where two
    records have cosines x of f and y of s, the square of their difference is at most L^2 p times 32 (1 - x y) + 2 (1 -
    x) + 2 (1 - y) <= 68: opposite signs in the slice of the longest column reach it, as do opposite columns.
    """
    counts = np.asarray(counts, dtype=float)
    sums, code_matrix = np.asarray(sums, dtype=float), np.asarray(parameter("code", code), dtype=float)
    if sums.ndim != 2 or code_matrix.ndim != 2 or code_matrix.shape[1] != len(sums):
        raise ValueError(
            f"code has shape {code_matrix.shape} for sums of shape {sums.shape}; it needs one column a slice."
        )
    if counts.shape != (len(sums),) or not n >= 1 or counts.sum() != n or not np.all(np.abs(sums) <= counts[:, None]):
        raise ValueError(f"n={n!r} records do not reach these sums of signs; give the number of records behind them.")
    rows, p = whole_code(code_matrix), sums.shape[1]
    longest = longest_column(rows)
    weights = np.full((len(rows) + 1, p + 1), WEIGHT)
    weights[-1, :-1], weights[:-1, -1] = longest, p
    return whole(
        np.vstack([rows, np.ones(len(sums))]) @ np.column_stack([sums, counts]),
        4 * (WEIGHT + 1) * p * longest,
        2.0**-CODE_BITS * MEAN_WEIGHT / n,
        "contrasts of signs, mean signs and proportions: 2 L sqrt(p (1 + w^2)) / n, public slices",
        weights=weights,
        depends_on=ROW,
        stratum=stratum,
        parents=code.parents,
    )


def peeling_scores(sums, code: AccountedValue, *, stratum: str = "*") -> Bounded:
    """Scores (p,) of all columns of one client for noisy maxima: the largest absolute contrast F Z of signs, in steps.

    One record adds its sign times its slice's entry of F to each contrast: replacing it moves no contrast, and so no
    score, by more than twice the largest entry, however many columns there are. Mean signs are not taken out, which
    would double that: the mean sign of a column enters where slices are of unequal size.
    """
    rows = whole_code(np.asarray(parameter("code", code), dtype=float))
    certificate = SensitivityCertificate(
        value=2 * float(np.abs(rows).max()),
        norm="linf",
        unit="row",
        relation="replace_one",
        depends_on=ROW,
        assumptions=("number of records public", "slices public"),
        source="contrasts of signs: twice the largest entry of the code",
        grid=1.0,
    )
    scores = np.abs(rows @ np.asarray(sums, dtype=float)).max(axis=0)
    return Bounded(scores, certificate, stratum, parents=code.parents)


def pick_release(
    sums,
    code: AccountedValue,
    size: int,
    epsilon: float,
    rng: RandomSource,
    *,
    distribution: Literal["gumbel", "laplace"],
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release the ``size`` columns with the largest scores, best first: each a pick at ``epsilon``."""
    mechanism = ReportNoisyMax(epsilon, winners=size, distribution=distribution)
    return mechanism(peeling_scores(sums, code, stratum=stratum), rng, owner=owner, **terms)


def picked_ranks(picks: Sequence[np.ndarray], n_columns: int) -> np.ndarray:
    """Ranks (p,) of columns, the most picked one last, from released lists, best first.

    Of equally many picks the earlier ones count more, and at last a fixed permutation: no column gains by its number.
    """
    votes, points = np.zeros(n_columns), np.zeros(n_columns)
    for chosen in map(np.atleast_1d, picks):
        votes[chosen] += 1
        points[chosen] -= np.arange(len(chosen))
    ties = stream(0, "inverse regression", "ties").permutation(n_columns)
    ranks = np.empty(n_columns)
    ranks[np.lexsort((ties, points, votes))] = np.arange(n_columns)
    return ranks


def whole_code(code: np.ndarray) -> np.ndarray:
    """F in steps of 2^-16, whole; ValueError where nothing is left of it, or its entries are not of about 1."""
    rows = np.rint(np.ldexp(code, CODE_BITS))
    if not 0 < np.max(np.abs(rows), initial=0) <= 16 << CODE_BITS:
        raise ValueError("code must have finite entries of at most 16, some of them at least 2^-16: scale it.")
    return rows


def longest_column(rows: np.ndarray) -> int:
    """Largest squared length of a column of whole numbers."""
    return int(np.max(np.sum(rows.astype(np.int64) ** 2, axis=0)))


def contrasts_release(
    sums,
    counts,
    code: AccountedValue,
    n: int,
    mu: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release F Z with mean signs and F p, mu-Gaussian-DP for replacing one record; ``mu = inf`` adds no noise."""
    statistic = whole_contrasts(sums, counts, code, n, stratum=stratum)
    return read_contrasts(IntegerGaussian(mu=mu)(statistic, rng, owner=owner, **terms), statistic, n)


def read_contrasts(release: Release, statistic: Whole, n: int) -> Release:
    """The release of `whole_contrasts` as means over n records: (m + 1, p + 1)."""
    scale = np.full(statistic.integers.shape, 2.0**-CODE_BITS / n)
    scale[-1] = 1 / n
    return release.post_process(lambda value: value / statistic.units * scale)


def about_the_mean_sign(released: np.ndarray) -> np.ndarray:
    """F Z - F p (Z 1)': contrasts (m, p) of signs about their means, from one or merged releases (m + 1, p + 1)."""
    return released[:-1, :-1] - np.outer(released[:-1, -1], released[-1, :-1])


def score(merged) -> np.ndarray:
    """Score of each column (p,) in merged releases (m, p): the sum of its squared contrasts."""
    return np.sum(np.square(np.asarray(merged, dtype=float)), axis=0)
