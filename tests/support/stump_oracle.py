"""Boosting of stumps record by record, without a table: what histograms without noise must give."""

from __future__ import annotations

import numpy as np


def boosted_by_records(codes, sizes, residual, h, options):
    """Scores (n,) on top of what left these residuals, and the split (feature, cut) of each round.

    codes : (n, d); sizes : (d,); residual, h : (n,), gradients are ``h F - residual``
    """
    F, splits = np.zeros(len(codes)), []
    for _ in range(options.stumps):
        g = h * F - residual
        best = (0.0, None)
        for f, size in enumerate(sizes):
            for j in range(size - 1):
                left = codes[:, f] <= j
                sums = [(g[side].sum(), h[side].sum()) for side in (left, ~left)]
                if min(sums[0][1], sums[1][1]) <= options.least_hessian:
                    continue
                parts = [s**2 / (w + options.stump_lambda) for s, w in (*sums, (g.sum(), h.sum()))]
                gain = (parts[0] + parts[1] - parts[2]) / 2
                # Ties across an empty bin go to the lower cut.
                if gain > best[0] * (1 + 1e-9) + 1e-15:
                    leaves = [-options.stump_eta * s / (w + options.stump_lambda) for s, w in sums]
                    best = (gain, (f, j, left, *leaves))
        if best[1] is None:
            break
        f, j, left, on_left, on_right = best[1]
        splits.append((f, j))
        F += np.where(left, on_left, on_right)
    return F, splits
