"""Histograms: sums of gradients and hessians over public bins, and all that is made of them after their release.

Source: document 003; the method is the project's own, "Noisy gradient and Hessian histograms" in
docs/vertical_trees.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .model import StepFunction
from .options import TreeTableOptions
from .stumps import Cuts, boosted_stumps, merged_stumps

# Negative eigenvalues below this share of the largest are rounding.
ROUNDING = 1e-12
# How much of the noise of Hc counts in a penalty next to that of G: the projection of H takes some of it away. Measured
# for 0, .1, .25, .5 and 1 on adult, credit default and abalone at epsilon .1 to 8: with 0 stumps follow noise on credit
# default (log-loss at epsilon 1 higher by .005), with 1 too few are taken on adult (higher by .001).
HESSIAN_NOISE = 0.25
# Share of the variance of working responses -g / h that a leaf is expected to explain before anything is known.
EFFECT = 0.1


@dataclass(frozen=True)
class GradientHistograms:
    """Sums of gradients and hessians of the loss around a first model: with noise, as released.

    sizes : bins of each passive feature, in the order of the pooled columns
    G : (cells,) sums of gradients g in the bins, feature by feature
    H : (cells, cells) symmetric, sums of hessians h in pairs of bins: margins on its diagonal, 0 elsewhere inside a
        feature; blocks of features of different groups are not read
    variance : for each feature the variance of the noise of the sum of G left of every cut as in `Cuts`, (size - 1,)
        where no cells are missing, after `fit_tables` has brought the feature's total to ``gradient``
    gradient, hessian : sums of all g and all h, which the active party knows
    n : records
    groups : group of each feature; pairs of features of one group were measured, of other pairs nothing is known
    hessian_variance : for each feature the variance of the noise in the cells of H of its group, where all of them have
        one; 0 where they have not, and margins and pairs count as they are
    squares : sum of all g squared, which the active party knows; None where the size of effects is not
        estimated
    missing : whether the last bin of a feature is of missing cells; empty where no feature has such a bin
    """

    sizes: tuple[int, ...]
    G: np.ndarray
    H: np.ndarray
    variance: tuple[np.ndarray, ...]
    gradient: float
    hessian: float
    n: int
    groups: tuple[int, ...]
    hessian_variance: tuple[float, ...]
    squares: float | None = None
    missing: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        cells = sum(self.sizes)
        if self.G.shape != (cells,) or self.H.shape != (cells, cells):
            raise ValueError(f"G and H have shapes {self.G.shape} and {self.H.shape}: sizes={self.sizes} need {cells}.")
        if tuple(map(len, self.variance)) != tuple(
            cut_count(size, missing) for size, missing in zip(self.sizes, self.may_miss, strict=True)
        ):
            raise ValueError(f"variance has lengths {tuple(map(len, self.variance))}: give one for each cut.")
        for name in ("groups", "hessian_variance"):
            if len(getattr(self, name)) != len(self.sizes):
                raise ValueError(
                    f"{name}={getattr(self, name)} must have one entry for each of {len(self.sizes)} features."
                )

    @property
    def may_miss(self) -> tuple[bool, ...]:
        """Whether the last bin of each feature is of missing cells."""
        return self.missing or (False,) * len(self.sizes)

    @property
    def noisy(self) -> bool:
        """Whether there is noise in them; without it sums are as they are, those of empty bins exactly 0."""
        return any(np.any(variance) for variance in self.variance)

    @property
    def effect(self) -> float:
        """Variance of the values of leaves before the histograms are known: a share of that of working responses."""
        if self.squares is None or not self.hessian > 0:
            return math.inf
        return EFFECT * self.squares * self.n / self.hessian**2

    @property
    def cells(self) -> tuple[slice, ...]:
        """Cells of each feature."""
        ends = np.cumsum(self.sizes).tolist()
        return tuple(slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True))


def cut_count(size: int, missing: bool) -> int:
    """Number of cuts of a feature, as in `Cuts`."""
    return size - 1 + (max(size - 2, 0) if missing else 0)


def even_variance(size: int, variance: float, missing: bool = False) -> np.ndarray:
    """(cuts,) variance of sums left of a cut, where every cell had noise of one variance before the correction.

    The sum of j of b cells less j/b of the sum of all: ``variance j (b - j) / b``.
    """
    j = np.arange(1, size)
    if missing:
        j = np.append(j, np.arange(2, size))
    return variance * j * (size - j) / size


def fit_tables(
    histograms: GradientHistograms,
    options: TreeTableOptions,
    columns: Sequence[int],
    edges: Sequence[np.ndarray],
    *,
    q: float = 2.0,
) -> tuple[tuple[StepFunction, ...], dict[str, float]]:
    """One table for each feature, which are added to the scores of the first model.

    columns, edges : global number and declared cuts (size - 1,) of each feature

    Post-processing: it reads the histograms only, so it costs nothing.
    """
    measured = consistent(histograms)
    H, least = semi_definite(measured)
    stumps = boosted_stumps(
        _correct_totals(histograms),
        H,
        histograms.sizes,
        noise_of_slopes(histograms),
        stumps=options.stumps,
        eta=options.stump_eta,
        lambda_=options.stump_lambda,
        least_hessian=options.least_hessian,
        q=q,
        ridge=ridge(histograms),
        missing=histograms.missing,
    )
    values, noise = merged_stumps(stumps, histograms.sizes), noise_of_steps(histograms, options)
    tables = list[StepFunction]()
    for f, column in enumerate(columns):
        cover = np.diag(measured)[histograms.cells[f]]
        column_stumps = [stump for stump in stumps if stump.feature == f]
        known, gain = len(edges[f]) + 1, math.fsum(stump.gain for stump in column_stumps)
        arrays = values[f][:known], noise[f][:known], cover[:known]
        table = StepFunction(column, edges[f], arrays[0], arrays[1], arrays[2], gain, len(column_stumps))
        if histograms.may_miss[f]:
            table = replace(table, missing=float(values[f][-1]), missing_cover=float(cover[-1]))
        tables.append(table)
    return tuple(tables), {"stumps": len(stumps), "least_eigenvalue": least}


def fit_outputs(
    histograms: Sequence[GradientHistograms],
    options: TreeTableOptions,
    columns: Sequence[int],
    edges: Sequence[np.ndarray],
    *,
    q: float = 2.0,
) -> tuple[tuple[StepFunction, ...], dict[str, float]]:
    """Tables of each score, from its histograms; numbers of all: stumps, and the least eigenvalue of any."""
    fits = [fit_tables(output_histograms, options, columns, edges, q=q) for output_histograms in histograms]
    tables = tuple(
        replace(table, output=output) for output, (output_tables, _) in enumerate(fits) for table in output_tables
    )
    numbers = [fit_numbers for _, fit_numbers in fits]
    least = min(fit_numbers["least_eigenvalue"] for fit_numbers in numbers)
    return tables, {"stumps": sum(fit_numbers["stumps"] for fit_numbers in numbers), "least_eigenvalue": least}


def ridge(histograms: GradientHistograms) -> np.ndarray:
    """(cells,) L2 on values, as their prior has it: nothing without noise, much where noise hides all effects.

    A leaf with half of the hessian H of a feature and noise of variance V has the posterior mean ``-G / (H / 2 + r)``
    with ``r = V / (effect H / 2)``, of which each of its b / 2 cells bears its part. V is that of the noisiest cut.
    """
    largest = np.array([variance.max(initial=0.0) for variance in histograms.variance])
    if not math.isfinite(histograms.effect):
        return np.zeros(sum(histograms.sizes))
    # Where nothing was released there is no value to keep small.
    largest = np.where(np.isfinite(largest), largest, 0.0)
    return np.repeat(
        4 * largest / (histograms.effect * histograms.hessian * np.array(histograms.sizes)), histograms.sizes
    )


def _correct_totals(histograms: GradientHistograms) -> np.ndarray:
    """G whose cells of every feature sum to the known total: each loses a b-th of the excess."""
    G = histograms.G.astype(float)
    for cells, size in zip(histograms.cells, histograms.sizes, strict=True) if histograms.noisy else ():
        G[cells] -= (G[cells].sum() - histograms.gradient) / size
    return G


def consistent(histograms: GradientHistograms) -> np.ndarray:
    """H (cells, cells) with what is known of sums in it: those of margins and of pairs are the known total.

    Row and column sums of a pair are the margins of its features, by least squares where all cells have noise of one
    variance. A pair that was not measured is the product of its margins over the total. Sums without noise stay.
    """
    H = np.zeros_like(histograms.H, dtype=float)
    cells, total, groups = histograms.cells, histograms.hessian, histograms.groups
    margins = [
        _margin(histograms, f) if histograms.noisy else np.diag(histograms.H)[rows] for f, rows in enumerate(cells)
    ]
    for f, rows in enumerate(cells):
        H[rows, rows] = np.diag(margins[f])
        for e in range(f):
            pair = histograms.H[rows, cells[e]]
            if groups[f] != groups[e]:
                pair = np.outer(margins[f], margins[e]) / (total or 1.0)
            elif histograms.hessian_variance[f]:
                pair = _with_margins(pair, margins[f], margins[e])
            H[rows, cells[e]], H[cells[e], rows] = pair, pair.T
    return H


def _with_margins(pair: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The nearest block (b, b') that sums to these rows (b,) and columns (b',), whose totals agree."""
    interaction = pair - pair.mean(1, keepdims=True) - pair.mean(0) + pair.mean()
    return interaction + np.add.outer(rows / len(columns), columns / len(rows)) - rows.sum() / interaction.size


def _margin(histograms: GradientHistograms, f: int) -> np.ndarray:
    """Margin of a feature with the known sum: its own, and row sums of its pairs where they add information."""
    rows, size = histograms.cells[f], histograms.sizes[f]
    margin = np.diag(histograms.H[rows, rows]).astype(float)
    seen, weight = margin - margin.mean(), 1.0
    others = [e for e in range(len(histograms.sizes)) if e != f and histograms.groups[e] == histograms.groups[f]]
    for e in others if histograms.hessian_variance[f] else ():
        sums = histograms.H[rows, histograms.cells[e]].sum(1)
        # A sum of b cells has b times the variance of a margin.
        seen, weight = seen + (sums - sums.mean()) / histograms.sizes[e], weight + 1 / histograms.sizes[e]
    return seen / weight + histograms.hessian / size


def noise_of_slopes(histograms: GradientHistograms) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from values c (cells,) to the variance (cuts,) of the noise of ``G + Hc`` left of every cut.

    The variance of u'N c, with a block N of noise for each pair, rows and columns centred, is ``|Pu|^2 |Pc|^2``, P
    centring. That of the diagonal is the sum of the squares of c left of the cut.
    """
    cuts, fixed = Cuts.of(histograms.sizes, histograms.missing), np.concatenate(histograms.variance)
    feature = np.repeat(np.arange(len(histograms.sizes)), histograms.sizes)
    groups, scale = np.array(histograms.groups), HESSIAN_NOISE * np.array(histograms.hessian_variance)
    others = (groups[:, None] == groups) & ~np.eye(len(groups), dtype=bool)
    pairs = zip(histograms.sizes, histograms.may_miss, strict=True)
    length = np.concatenate([even_variance(size, 1.0, may_miss) for size, may_miss in pairs])

    def variance(c: np.ndarray) -> np.ndarray:
        means = np.bincount(feature, c) / histograms.sizes
        squares = (c - means[feature]) ** 2
        other_squares = others @ np.bincount(feature, squares)
        return fixed + scale[cuts.feature] * (length * other_squares[cuts.feature] + cuts.sides(squares)[0])

    return variance if np.any(scale) else lambda c: fixed


def noise_of_steps(histograms: GradientHistograms, options: TreeTableOptions) -> tuple[np.ndarray, ...]:
    """(b,) for each feature: deviation that noise gives to the step -G / (H + lambda) of one bin alone.

    The noise of all cells of a feature is taken to be that of the first, which the variance left of its first cut is.
    Infinite where neither H nor options bound the step.
    """
    hessians = np.maximum(np.diag(consistent(histograms)), options.least_hessian) + options.stump_lambda
    deviations = [math.sqrt(variance[0]) if len(variance) else 0.0 for variance in histograms.variance]
    with np.errstate(divide="ignore"):
        steps = 1 / hessians
    pairs = zip(deviations, histograms.cells, histograms.sizes, strict=True)
    return tuple(deviation * steps[cells] if deviation else np.zeros(size) for deviation, cells, size in pairs)


def semi_definite(H: np.ndarray) -> tuple[np.ndarray, float]:
    """The nearest positive semi-definite matrix, negative eigenvalues become 0; and the least eigenvalue before."""
    if not H.size:
        return H, 0.0
    values, vectors = np.linalg.eigh(H)
    if values[0] < -ROUNDING * values[-1]:
        positive = values > 0
        H = (vectors[:, positive] * values[positive]) @ vectors[:, positive].T
    return H, float(values[0])
