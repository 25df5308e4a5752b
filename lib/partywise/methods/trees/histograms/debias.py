"""Gradient and Hessian histograms from codes that their owners randomised: by the inverse of the noise.

Source: the method is the project's own, "Noisy gradient and Hessian histograms" in docs/vertical_trees.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....privacy.mechanisms.randomized_response import RandomizedResponse
from ..gradient_histograms import GradientHistograms, cut_count

# Sums of strata are scaled to their margins so often.
RAKINGS = 30


def debias_histograms(
    codes: np.ndarray,
    released: np.ndarray,
    sizes: Sequence[int],
    epsilon: float,
    g: np.ndarray,
    h: np.ndarray,
    strata: np.ndarray | None = None,
    missing: tuple[bool, ...] = (),
) -> GradientHistograms:
    """Tables over the true codes, from codes (n, d) by randomised response, read where they were released (n, d).

    G is without bias, brought to the known total; H has shares that are not negative. A pair of features comes from the
    records that release both; where there is none, from products of its margins in every stratum of ``strata`` (n,),
    known as g and h are: inside one, features that no record releases together are taken to be independent.
    """
    groups = np.zeros(len(g), dtype=np.int64) if strata is None else strata
    randomisers = [RandomizedResponse(epsilon, size) for size in sizes]
    may_miss = missing or (False,) * len(sizes)
    margins = [_margins(codes[:, f], released[:, f], randomisers[f], g, h, may_miss[f]) for f in range(len(sizes))]
    ends = np.cumsum(sizes).tolist()
    cells = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    H = np.zeros((ends[-1], ends[-1]))
    apart: dict[int, np.ndarray] = {}
    for f, rows in enumerate(cells):
        H[rows, rows] = np.diag(margins[f][1])
        for e, columns in enumerate(cells[:f]):
            both = np.flatnonzero(released[:, f] & released[:, e])
            pair = _pair(codes[both, f], codes[both, e], h[both], (randomisers[f], randomisers[e]), float(h.sum()))
            if pair is None:
                for k in {f, e} - set(apart):
                    sums = _by_stratum(codes[:, k], released[:, k], randomisers[k], h, groups)
                    apart[k] = _rake(sums, margins[k][1])
                pair = _independent(apart[f], apart[e])
            H[rows, columns], H[columns, rows] = pair, pair.T
    return GradientHistograms(
        sizes=tuple(sizes),
        G=np.concatenate([margin[0] for margin in margins]),
        H=H,
        variance=tuple(margin[2] for margin in margins),
        gradient=float(g.sum()),
        hessian=float(h.sum()),
        n=len(g),
        groups=(0,) * len(sizes),
        hessian_variance=(0.0,) * len(sizes),
        squares=float((g**2).sum()),
        missing=missing,
    )


def nearest_shares(values: np.ndarray, total: float) -> np.ndarray:
    """The nearest numbers that are not negative and sum to a total: all lose the same, down to 0."""
    if not total > 0:
        return np.zeros_like(values)
    flat = values.ravel()
    ordered = np.sort(flat)[::-1]
    loss = (np.cumsum(ordered) - total) / np.arange(1, flat.size + 1)
    return np.maximum(flat - loss[np.flatnonzero(ordered > loss)[-1]], 0.0).reshape(values.shape)


def _margins(
    codes: np.ndarray,
    released: np.ndarray,
    randomiser: RandomizedResponse,
    g: np.ndarray,
    h: np.ndarray,
    missing: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of g and of h in the bins of one feature, and the variance of the former left of every cut."""
    rows, n, k = np.flatnonzero(released), len(g), randomiser.k
    if not rows.size:
        return np.full(k, g.sum() / k), np.full(k, h.sum() / k), np.full(cut_count(k, missing), np.inf)
    released_codes = codes[rows]

    def estimate_sums(weights: np.ndarray) -> np.ndarray:
        return randomiser.debias_sums(np.bincount(released_codes, weights, minlength=k))

    scale, hessian = n / rows.size, h[rows].sum()
    G, H = scale * estimate_sums(g[rows]), estimate_sums(h[rows]) * (h.sum() / hessian)
    if math.isinf(randomiser.epsilon) and rows.size == n:
        return G, H, np.zeros(cut_count(k, missing))
    squares = g[rows] ** 2
    total = float(squares.sum())
    shares = nearest_shares(estimate_sums(squares), total) / total if total > 0 else np.full(k, 1 / k)
    # Records that were not drawn make the excess, each in its own bin.
    G -= (G.sum() - g.sum()) * shares
    variance = scale**2 * total * _cut_variance(shares, randomiser, rows.size / n, missing)
    return G, nearest_shares(H, h.sum()), variance


def _cut_variance(
    shares: np.ndarray, randomiser: RandomizedResponse, drawn: float, missing: bool = False
) -> np.ndarray:
    """(cuts,) variance of the sum left of every cut, for squared gradients that sum to 1 over the drawn records.

    shares : (k,) of the squared gradients in the true bins; drawn : share of the records that were drawn

    A released index is left of cut j with probability ``p + (j - 1) q`` where the true one is, and ``j q`` elsewhere.
    Sampling adds the noise of a sum whose total is known.
    """
    keep, other = randomiser.matrix()[0, :2]
    j, left = np.arange(1, randomiser.k), np.cumsum(shares)[:-1]
    if missing:
        j, left = (
            np.append(j, np.arange(2, randomiser.k)),
            np.append(left, left[: max(randomiser.k - 2, 0)] + shares[-1]),
        )
    inside, outside = keep + (j - 1) * other, j * other
    flips = inside * (1 - inside) * left + outside * (1 - outside) * (1 - left)
    return flips / (keep - other) ** 2 + (1 - drawn) * left * (1 - left)


def _pair(
    first: np.ndarray,
    second: np.ndarray,
    h: np.ndarray,
    randomisers: tuple[RandomizedResponse, RandomizedResponse],
    total: float,
) -> np.ndarray | None:
    """Sums (k, k') of h in pairs of bins, from the records that release both; None if there is none."""
    if not len(h):
        return None
    shape = randomisers[0].k, randomisers[1].k
    seen = np.bincount(first * shape[1] + second, h, minlength=shape[0] * shape[1]).reshape(shape)
    pair = randomisers[1].debias_sums(randomisers[0].debias_sums(seen, axis=0), axis=1) * (total / h.sum())
    return pair if math.isinf(randomisers[0].epsilon) else nearest_shares(pair, total)


def _by_stratum(
    codes: np.ndarray, released: np.ndarray, randomiser: RandomizedResponse, h: np.ndarray, strata: np.ndarray
) -> np.ndarray:
    """(S, k) sums of h in the bins of one feature, for each stratum; the sum of a stratum is known."""
    count = int(strata.max()) + 1
    totals = np.bincount(strata, h, minlength=count)
    rows = np.flatnonzero(released)
    cells = strata[rows] * randomiser.k + codes[rows]
    seen = np.bincount(cells, h[rows], minlength=count * randomiser.k).reshape(count, randomiser.k)
    # A stratum of which nothing was released has the shares of all.
    seen = np.where(seen.sum(1, keepdims=True) > 0, seen, seen.sum(0) if rows.size else 1.0)
    values = randomiser.debias_sums(seen) * (totals / seen.sum(1))[:, None]
    return np.array([nearest_shares(row, total) for row, total in zip(values, totals.tolist(), strict=True)])


def _rake(strata: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Sums (S, k) scaled in turn to the margin (k,) of all and to their own totals, which stay.

    A pair of such features agrees with both margins: where it did not, hessians of small bins would contradict
    those of their pairs, and steps grow without end.
    """
    totals = strata.sum(1)
    for _ in range(RAKINGS):
        for axis, wanted in ((0, margin), (1, totals)):
            sums = strata.sum(axis)
            factor = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
            strata = strata * np.expand_dims(factor, axis)
    return strata


def _independent(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(k, k') sums of h in pairs of bins, from those of strata (S, k) and (S, k') whose features are independent."""
    totals = first.sum(1)
    return (first / np.where(totals > 0, totals, 1.0)[:, None]).T @ second
