"""Coverage and width of the intervals of all numbers, their distance from the exact ones, and records that are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    COVERAGE_WITHOUT_NOISE,
    IDENTIFIED,
    INTERVAL_COVERAGE,
    NOISE_SD,
    RECORDS_READ,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np

# Kinds of numbers in words.
KINDS = {
    "shares": "shares of levels",
    "quartiles": "quartiles",
    "means": "means, differences",
    "deviations": "standard deviations",
    "association": "2 x 2 measures",
    "strata": "over strata",
    "curves": "areas, curves",
    "rates": "rates",
}
COVERED = "share of the determined numbers whose 95 % interval holds the truth"
NAIVE = "share of those whose interval holds the truth if it leaves the noise of privacy out"


@dataclass(frozen=True, kw_only=True)
class EpidemiologyMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    error: float | None = measure(
        "median distance of the numbers from those of the pooled records, in the standard errors of these",
        heading="error of numbers, SE",
        better="lower",
        summary=True,
        headline=1,
        noise_free=0.0,
    )
    interval_coverage: float | None = measure(INTERVAL_COVERAGE, summary=True)
    width_ratio: float | None = measure(
        "width of the intervals over that of the pooled records' intervals for a population: geometric mean",
        heading="width over exact width",
        better="lower",
        summary=True,
        headline=2,
        noise_free=1.0,
    )
    missing_numbers: int | None = measure(
        "numbers that the release does not determine, or that a party refused",
        heading="numbers not determined",
        better="lower",
        summary=True,
    )
    records_read: float | None = measure(RECORDS_READ, summary=True)
    interval_coverage_without_noise: float | None = measure(COVERAGE_WITHOUT_NOISE)
    all_covered: bool | None = measure(
        "1 if the intervals of all determined numbers together, at 95 % for any correlation, hold the truth"
    )
    noise_share: float | None = measure("share of the variance of a number that is noise, their mean")
    numbers: int | None = measure("numbers that the questions ask for")
    rejections: float | None = measure("share of the tests of the questions that reject at 5 %")
    noise_sd: float | None = measure(NOISE_SD)
    identified: bool | None = measure(IDENTIFIED)
    coverage_shares: float | None = measure(f"{COVERED}: {KINDS['shares']}")
    coverage_quartiles: float | None = measure(f"{COVERED}: {KINDS['quartiles']}")
    coverage_means: float | None = measure(f"{COVERED}: {KINDS['means']}")
    coverage_deviations: float | None = measure(f"{COVERED}: {KINDS['deviations']}")
    coverage_association: float | None = measure(f"{COVERED}: {KINDS['association']}")
    coverage_strata: float | None = measure(f"{COVERED}: {KINDS['strata']}")
    coverage_curves: float | None = measure(f"{COVERED}: {KINDS['curves']}")
    coverage_rates: float | None = measure(f"{COVERED}: {KINDS['rates']}")
    coverage_shares_without_noise: float | None = measure(f"{NAIVE}: {KINDS['shares']}")
    coverage_quartiles_without_noise: float | None = measure(f"{NAIVE}: {KINDS['quartiles']}")
    coverage_means_without_noise: float | None = measure(f"{NAIVE}: {KINDS['means']}")
    coverage_deviations_without_noise: float | None = measure(f"{NAIVE}: {KINDS['deviations']}")
    coverage_association_without_noise: float | None = measure(f"{NAIVE}: {KINDS['association']}")
    coverage_strata_without_noise: float | None = measure(f"{NAIVE}: {KINDS['strata']}")
    coverage_curves_without_noise: float | None = measure(f"{NAIVE}: {KINDS['curves']}")
    coverage_rates_without_noise: float | None = measure(f"{NAIVE}: {KINDS['rates']}")


@dataclass(frozen=True, kw_only=True)
class EpidemiologyExamples(ExampleFits):
    """Arrays of an example fit, from which figures compute every number."""

    released_sums: np.ndarray | None = example("sum of an item over all records as released, in steps", "entry")
    pooled_sums: np.ndarray | None = example("exact sum of an item, in steps of the usual weights", "pooled_entry")
    noise_sd_of_items: np.ndarray | None = example(
        "standard deviation of the noise of a sum in steps: one of all items, or that of each", "item"
    )
    noise_law: np.ndarray | None = example(
        "excess kurtosis of the noise, half-width of a published box in counts, and 1 for weights of geometric noise",
        "noise_fact",
    )
    named_by_orders: np.ndarray | None = example(
        "share of records that an analyst names by counts up to each place of so many orders", "order"
    )
    client_records: np.ndarray | None = example("records of a client", "client")
