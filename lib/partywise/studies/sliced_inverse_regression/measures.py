"""Distance to the true subspace, what happened on the way, and what the source printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    COVERAGE_WITHOUT_NOISE,
    DIVERGED,
    HALF_WIDTH,
    HALF_WIDTH_WITHOUT_NOISE,
    IDENTIFIED,
    INTERVAL_COVERAGE,
    SHAPE_TEST,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class SlicingMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    loss: float | None = measure(
        "Frobenius distance of the projections on the estimated and the true subspace",
        heading="projection loss",
        better="lower",
        summary=True,
        headline=1,
    )
    loss_bound: float | None = measure(
        "upper 95 % bound of the loss, from what is released alone", heading="bound of loss (95 %)", summary=True
    )
    worse_than_random: bool | None = measure(
        "1 if the loss exceeds that of a random subspace, sqrt(2 d (1 - d/p))",
        heading="worse than random",
        better="lower",
        summary=True,
    )
    angle: float | None = measure(
        "largest principal angle between the estimated and the true subspace",
        "degree",
        heading="angle, degrees",
        better="lower",
        summary=True,
    )
    separation: float | None = measure(
        "share of the variance of projected records between slices, mean over directions",
        heading="separation of slices",
        better="higher",
        summary=True,
        headline=2,
    )
    entry_clip_share: float | None = measure(
        "share of the entries behind the moments of the fit that the public radius clipped",
        heading="clipped share",
        summary=True,
    )
    paper_mean: float | None = measure(
        "mean loss that the source prints for this cell", heading="loss in the source", summary=True
    )
    selected_columns: int | None = measure("columns that screening kept", heading="columns kept", summary=True)
    paper_bracket: float | None = measure(
        "bracket that the source prints for this cell, of the size of a standard deviation"
    )
    interval_coverage: float | None = measure(INTERVAL_COVERAGE)
    interval_coverage_without_noise: float | None = measure(COVERAGE_WITHOUT_NOISE)
    half_width: float | None = measure(HALF_WIDTH)
    half_width_without_noise: float | None = measure(HALF_WIDTH_WITHOUT_NOISE)
    identified: bool | None = measure(IDENTIFIED)
    shape_test: float | None = measure(SHAPE_TEST)
    n_records: int | None = measure("records of each client")
    n_columns: int | None = measure("columns p")
    dimension: int | None = measure("directions found by their singular values, where the method estimates them")
    size: int | None = measure("columns with a contrast beyond noise and sampling, where the method counts them")
    floored_eigenvalues: int | None = measure("eigenvalues of the merged second moment that were raised")
    indefinite: bool | None = measure("1 if the merged second moment has an eigenvalue that is not positive")
    unidentified: bool | None = measure("1 if the last direction is tied with the next or empty")
    skipped_clients: int | None = measure("clients that were too small to take part")
    completed: bool | None = measure("1 if screening kept fewer columns than directions and was completed")
    support_kept: float | None = measure("share of the true support that screening kept")
    false_positives: float | None = measure("kept columns outside the true support")
    sd_means: float | None = measure(
        "noise standard deviation of an entry of the slice means (the floor, for shaped noise)"
    )
    sd_second: float | None = measure("noise standard deviation of a diagonal entry of the second moment")
    epsilon_user: float | None = measure("certified epsilon of all records of one person together")
    clip_radius: float | None = measure(
        "radius of the ball to which records are clipped before their second moment is released"
    )
    shrunk: float | None = measure("share of whitened records that the ball shrank")
    diverged: bool | None = measure(DIVERGED)


@dataclass(frozen=True, kw_only=True)
class SlicingExamples(ExampleFits):
    """Arrays of an example fit."""

    record_coordinates: np.ndarray | None = example(
        "coordinates of real records in the estimated subspace", "record_shown", "direction"
    )
    shown_response: np.ndarray | None = example("response (or class) of these records", "record_shown")
