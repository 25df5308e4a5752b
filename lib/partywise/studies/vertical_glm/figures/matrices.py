"""Figure of vertical correlation: what is published, certified and private, next to the truth."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fits_of
from ....experiment.plotting.style import BLACK, MARGIN, empty, heading, panels
from .case_facts import borders_of, columns_of, ends

# Entries are written into matrices of at most so many columns.
WRITTEN = 10
# Points of numbers and names; cases, the first and last of a sweep; matrices of a case.
SIZE, ROWS, ABREAST = 7, 5, 3
# Letters above a matrix.
LETTERS = 28
POOLED = "pooled records"
# Differences below this are what sums of floats leave.
ROUNDING = 1e-9


def correlations(cube: xr.Dataset) -> Figure:
    """Correlation matrices of each method at its largest target: one row per case, that of the pooled records first.

    Lines separate the columns of the parties. Above a matrix is its largest difference to that of the pooled records;
    entries beyond 1 are as dark as 1. First replicate and fold, fewest parties. Of more than two methods of a case
    those with the least and the largest difference are drawn; the others are in the summary of the study.
    """
    cases = [case for case in cases_of(cube, "matrix") if _matrices(cube, case)]
    rows = {case: _few(_matrices(cube, case)) for case in ends(cube, cases, ROWS)}
    if not rows:
        return empty("No correlation matrix in this configuration.")
    columns = max(map(len, rows.values()))
    figure, axes = panels(len(rows), columns, 3.3, 2.8 if columns > 1 else 3.3)
    figure.set_layout_engine("constrained", w_pad=MARGIN)
    image = None
    for number, (case, matrices) in enumerate(rows.items()):
        line = axes[number * columns : (number + 1) * columns]
        for ax in line[len(matrices) :]:
            ax.set_axis_off()
        for place, (ax, (words, matrix, parties)) in enumerate(zip(line, matrices, strict=False)):
            image = _panel(ax, matrix, columns_of(cube, case, len(matrix)), place == 0)
            for border in borders_of(cube, case, parties):
                ax.axhline(border - 0.5, color=BLACK, linewidth=1)
                ax.axvline(border - 0.5, color=BLACK, linewidth=1)
            words = fill(words, LETTERS)
            if place and matrices[0][0] == POOLED and matrix.shape == matrices[0][1].shape:
                words += f"\nlargest error {_error(np.abs(matrix - matrices[0][1]).max())}"
            ax.set_title(words, fontsize=8)
        line[0].set_ylabel(title(cube, "case", case))
    assert image is not None
    figure.colorbar(image, ax=axes, extend="both", shrink=0.6, label="correlation", aspect=30)
    heading(figure, _errors(cube, rows))
    return figure


def _errors(cube: xr.Dataset, rows: dict[str, list[tuple[str, np.ndarray, int]]]) -> str:
    """Return the least and the largest error of a method in the case with most of them, or a question."""
    case, matrices = max(rows.items(), key=lambda entry: len(entry[1]))
    errors = _largest_errors(matrices)
    if len(errors) < 2:
        return "Does a method give the correlations of the pooled records?"
    best, *_, worst = sorted(errors, key=errors.__getitem__)
    return (
        f"Largest error of a correlation, {title(cube, 'case', case)}: {_error(errors[best])} ({best}) to "
        f"{_error(errors[worst])} ({worst})"
    )


def _largest_errors(matrices: list[tuple[str, np.ndarray, int]]) -> dict[str, float]:
    """Largest difference of each method's matrix to the pooled one, where there is one of the same columns."""
    (first, pooled, _), *others = matrices
    return {
        words: float(np.abs(matrix - pooled).max())
        for words, matrix, _ in others
        if first == POOLED and matrix.shape == pooled.shape
    }


def _few(matrices: list[tuple[str, np.ndarray, int]]) -> list[tuple[str, np.ndarray, int]]:
    """Return the pooled matrix and those of the least and the largest error, where there are more than fit."""
    errors = _largest_errors(matrices)
    if len(matrices) <= ABREAST or len(errors) < 2:
        return matrices[:ABREAST]
    ranked = sorted(errors, key=errors.__getitem__)
    return [entry for entry in matrices if entry[0] in (POOLED, ranked[0], ranked[-1])]


def _matrices(cube: xr.Dataset, case: str) -> list[tuple[str, np.ndarray, int]]:
    """Words, matrix and number of parties: the pooled matrix, then each method's at its largest target."""
    examples, matrices = example_fits_of(cube, case), list[tuple[str, np.ndarray, int]]()
    for method in map(str, cube["method_label"].values):
        found_at = np.flatnonzero(examples["example_method"].values == method).tolist()
        places = [at for at in found_at if np.isfinite(examples["matrix"].values[at]).any()]
        if not places:
            continue
        few = min(examples["example_parties"].values[at] for at in places)
        at = max(
            (at for at in places if examples["example_parties"].values[at] == few), key=lambda at: _target(examples, at)
        )
        pooled = _square(examples["pooled_matrix"].values[at])
        if not matrices and len(pooled):
            matrices.append((POOLED, pooled, int(few)))
        epsilon = _target(examples, at)
        words = title(cube, "method", method) + (f", ε = {epsilon:g}" if np.isfinite(epsilon) else "")
        matrices.append((words, _square(examples["matrix"].values[at]), int(few)))
    return matrices


def _error(largest: float) -> str:
    """A difference in words."""
    return "0" if largest < ROUNDING else f"{largest:.2g}"


def _target(examples: xr.Dataset, at: int) -> float:
    return float(examples["example_epsilon"].values[at])


def _square(padded: np.ndarray) -> np.ndarray:
    """The matrix without the rows and columns that larger cases have."""
    p = int(np.isfinite(padded[0]).sum())
    return padded[:p, :p]


def _panel(ax: Axes, matrix: np.ndarray, names: list[str], named: bool) -> AxesImage:
    """One matrix; entries beyond 1 are as dark as 1, and written."""
    image = ax.imshow(matrix, cmap="PuOr_r", vmin=-1, vmax=1)
    p = len(matrix)
    ax.set_xticks(range(p), names, rotation=90, fontsize=SIZE)
    ax.set_yticks(range(p), names if named else [""] * p, fontsize=SIZE)
    ax.grid(False)
    ax.tick_params(length=0)
    if p <= WRITTEN:
        for i in range(p):
            for j in range(p):
                tone = "white" if abs(matrix[i, j]) > 0.75 else BLACK
                number = f"{matrix[i, j]:.1f}".replace("0.", ".").replace("-.0", ".0")
                ax.text(j, i, number, ha="center", va="center", fontsize=SIZE, color=tone)
    return image
