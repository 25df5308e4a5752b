"""Gradient and Hessian histograms of all passive columns from the integers that their owners released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....privacy.statistics.newton import GRID, ONE, hessians
from ..gradient_histograms import GradientHistograms, even_variance
from .plan import HistogramPlan, PartyShare


def integers_of(g: np.ndarray, plan: HistogramPlan) -> tuple[np.ndarray, np.ndarray]:
    """Gradients (n,), clipped to the public bound, and their hessians, both in steps of 2^-32: int64."""
    most = math.floor(plan.bound * ONE)
    # Those of more than two classes are rounded towards 0, so that in absolute value they sum to 2 at most.
    steps = (np.rint if plan.outputs == 1 else np.trunc)(np.clip(g, -plan.bound, plan.bound) * ONE).astype(np.int64)
    steps = np.clip(steps, -most, most)
    if plan.hessian is None:
        return steps, hessians(steps)
    return steps, np.full(len(g), int(plan.hessian * ONE), dtype=np.int64)


def assemble_histograms(
    released: Sequence[np.ndarray], g: np.ndarray, h: np.ndarray, plan: HistogramPlan
) -> GradientHistograms:
    """Histograms of the passive columns in the order of global numbers, from what every party released (`Cells`)."""
    columns = sorted(column for share in plan.shares for column in share.columns)
    owner = {column: (k, share) for k, share in enumerate(plan.shares) for column in share.columns}
    sizes = tuple(_size(owner[column][1], column) for column in columns)
    missing = tuple(owner[column][1].missing[owner[column][1].columns.index(column)] for column in columns)
    starts = dict(zip(columns, np.concatenate(([0], np.cumsum(sizes))).tolist(), strict=False))
    G, H = np.zeros(sum(sizes)), np.zeros((sum(sizes), sum(sizes)))
    for values, share in zip(released, plan.shares, strict=True):
        _place(values * GRID, share, starts, G, H)
    return GradientHistograms(
        sizes,
        G,
        H,
        tuple(even_variance(size, plan.sigma**2, may_miss) for size, may_miss in zip(sizes, missing, strict=True)),
        float(g.sum() * GRID),
        float(h.sum() * GRID),
        len(g),
        tuple(owner[column][0] for column in columns),
        tuple((owner[column][1].ratio * plan.sigma) ** 2 for column in columns),
        float(((g * GRID) ** 2).sum()),
        missing if any(missing) else (),
    )


def class_histograms(
    released: Sequence[np.ndarray], g: np.ndarray, h: np.ndarray, plan: HistogramPlan
) -> tuple[GradientHistograms, ...]:
    """Histograms of each output, from what every party released of all, and g, h (outputs * n,), class by class."""
    if plan.outputs == 1:
        return (assemble_histograms(released, g, h, plan),)
    by_party = [np.split(values, plan.outputs) for values in released]
    records = zip(np.split(g, plan.outputs), np.split(h, plan.outputs), strict=True)
    return summing_to_zero(
        [assemble_histograms([outputs[k] for outputs in by_party], *both, plan) for k, both in enumerate(records)]
    )


def summing_to_zero(histograms: Sequence[GradientHistograms]) -> tuple[GradientHistograms, ...]:
    """Histograms of classes with curvatures 2 p (1 - p), and gradients that sum to 0 in each cell, as without noise.

    Least squares takes from each class a share of the excess, and one k-th of the variance with it.
    """
    excess = sum(histogram.G for histogram in histograms) / len(histograms) if histograms[0].noisy else 0.0
    return tuple(
        replace(
            histogram,
            G=histogram.G - excess,
            H=2 * histogram.H,
            variance=tuple((1 - 1 / len(histograms)) * part for part in histogram.variance),
            hessian=2 * histogram.hessian,
            hessian_variance=tuple(4 * part for part in histogram.hessian_variance),
        )
        for histogram in histograms
    )


def _size(share: PartyShare, column: int) -> int:
    return share.cells.sizes[share.columns.index(column)]


def _place(values: np.ndarray, share: PartyShare, starts: dict[int, int], G: np.ndarray, H: np.ndarray) -> None:
    """One party's sums where they belong in the histograms of all columns."""
    sizes, at = share.cells.sizes, share.cells.margins
    cells = [starts[column] + np.arange(size) for column, size in zip(share.columns, sizes, strict=True)]
    G[np.concatenate(cells)] = values[:at]
    for rows, size in zip(cells, sizes, strict=True):
        H[rows, rows] = values[at : at + size]
        at += size
    for f, e in share.cells.pairs:
        block = values[at : at + sizes[f] * sizes[e]].reshape(sizes[f], sizes[e])
        H[np.ix_(cells[f], cells[e])], H[np.ix_(cells[e], cells[f])] = block, block.T
        at += block.size
