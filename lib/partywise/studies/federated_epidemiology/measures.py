"""Coverage and width of the intervals of all numbers, their distance from the exact ones, and records that are read."""

from __future__ import annotations

from dataclasses import dataclass

from ...experiment.measures import (
    COVERAGE_WITHOUT_NOISE,
    IDENTIFIED,
    INTERVAL_COVERAGE,
    NOISE_SD,
    RECORDS_READ,
    Measures,
    measure,
)


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
