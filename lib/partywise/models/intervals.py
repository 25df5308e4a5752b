"""Intervals of coefficients that count the noise of privacy in addition to sampling, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri

from ..core.verdicts import LEAST_RECORDS, TOLERATED

# Every reason why a number has no interval: short names, with the sentences of fits that give none of their own.
REASONS: Mapping[str, str] = {
    "no noise": "no noise was drawn, so that the numbers may not be published; ordinary standard errors apply",
    "single records": "linear predictors of single records were released, not sums",
    "selection": "predictors were selected by the same noisy curves; the law of that selection is not known",
    "not at an optimum": "noise in every step: the last need not be near an optimum",
    "effect or events": "not reported at this size of effect or share of events",
    "trees": "the same noisy numbers chose the structure of the trees and give their leaves",
    "one draw": "one draw of the exponential mechanism carries no information on its own spread; use a histogram",
    "updates": "updates of clients are not sums over records",
    "law from data": "the law of the noise depends on the data",
    "test of a guarantee": "the numbers are about the mechanism itself and estimate nothing of a population",
    "later": "this version has no interval for this estimate; the deviation of its noise is given where it is known",
    "bias": "the estimate has a bias that no epsilon removes",
    "coarser model": "cells are a coarser model than any that made the labels",
    "private features": "the curvature of private features is not released",
    "penalised path": "a penalised path has no standard errors",
    "clipped": "public bounds clip too many records",
    "not identified": "noise hides how columns vary apart from each other",
    "shapes": "the declared shapes of columns do not fit the share of clipped records",
    "undeclared kinds": "declare how columns are distributed (kinds), or use a larger radius",
    "dependent records": "several records of one person",
    "few records": f"fewer than {LEAST_RECORDS} records: the normal law of sums is not used",
    "few numbers": "fewer released numbers than parameters",
    "not converged": "the fit of the released numbers has not converged",
    "too coarse": "the simulation is too coarse at the largest number of draws",
    "test": "a statistic of a test, not an estimate",
    "not estimable": "the released numbers do not determine the estimate",
    "not asked for": "intervals were not asked for",
    "not computed": "not computed for this protocol",
}


def reason_of(name: str, sentence: str = "") -> str:
    """Return ``name: sentence`` for a name of `REASONS`; its own sentence where none is given."""
    return f"{name}: {sentence or REASONS[name]}"


def named_reason(text: str) -> str:
    """Return a reason with its short name; sentences of earlier versions have none, and others than today's."""
    if text.partition(":")[0] in REASONS:
        return text
    return reason_of(next((name for name, sentence in REASONS.items() if sentence == text), "not computed"), text)


def reason_name(reason: str) -> str:
    """Return the short name of a reason; ValueError for one that is not in `REASONS`."""
    name = reason.partition(":")[0]
    if name not in REASONS:
        raise ValueError(f"reason={reason!r} of missing intervals must begin with one of {', '.join(REASONS)}.")
    return name


def level_of(alpha: float) -> float:
    """Return the level 1 - alpha of intervals; ValueError for an alpha outside (0, 1)."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} must lie in (0, 1): give 0.05 for intervals of 95 %.")
    return 1 - alpha


@dataclass(frozen=True)
class FittedLaw:
    """Law of one record that is nearest to released numbers: what it takes to make intervals again.

    name : of the family of laws, part of the seed of its simulation; theta : its parameters; draws : simulated records
    """

    name: str
    theta: tuple[float, ...]
    draws: int

    @property
    def seed(self) -> tuple[int, str, str, int]:
        """Address of the stream of its base numbers."""
        return 0, "intervals", self.name, self.draws


@dataclass(frozen=True, eq=False)
class Intervals:
    """Normal intervals of coefficients, from releases and public facts alone: they cost nothing.

    centre : (k,) coefficients without the bias of a ridge and, to first order, of the noise
    standard_errors : (k,) of the centres, over records and noise
    reason : why there are none, as of `reason_of`; empty where there are some
    noise_part : (k,) part of the standard errors that is the noise of privacy in the centres; None where not computed
    estimand : what they are of and rest on; empty for coefficients among clipped records
    models_clipping : whether clipping is part of the law that they rest on, so that it does not withhold them
    diagnostics : scalars of the computation, by name: steps, draws, distance, clipped
    record_law : the law of records that they follow from, or that showed why there are none; None of others
    """

    centre: np.ndarray | None = None
    standard_errors: np.ndarray | None = None
    reason: str = ""
    noise_part: np.ndarray | None = None
    estimand: str = ""
    models_clipping: bool = False
    diagnostics: Mapping[str, float | int | str] = field(default_factory=dict)
    record_law: FittedLaw | None = None

    def __post_init__(self) -> None:
        if self.centre is None or self.standard_errors is None:
            reason_name(self.reason)

    @property
    def needs_little_clipping(self) -> bool:
        """Whether a holder that clips many records withholds them: there are some, or a release showed other shapes."""
        return not self.models_clipping and (self.centre is not None or reason_name(self.reason) == "shapes")

    def bounds(self, level: float = 0.95) -> np.ndarray | None:
        """Intervals (k, 2); None where there are none, `ValueError` for a level outside (0, 1)."""
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} of an interval must lie in (0, 1).")
        if self.centre is None or self.standard_errors is None:
            return None
        reach = float(ndtri((1 + level) / 2)) * self.standard_errors
        return np.column_stack([self.centre - reach, self.centre + reach])

    @property
    def without_noise(self) -> Intervals:
        """Intervals at the same centres as if no noise were in them; none where its part is not known."""
        if self.standard_errors is None or self.noise_part is None:
            return NOT_COMPUTED
        variances = np.maximum(self.standard_errors**2 - self.noise_part**2, 0.0)
        return replace(self, standard_errors=np.sqrt(variances), noise_part=np.zeros_like(variances))

    def times(self, units: np.ndarray) -> Intervals:
        """Intervals of the coefficients times units (k,)."""
        centre, errors, noise = (
            None if part is None else part * units for part in (self.centre, self.standard_errors, self.noise_part)
        )
        return replace(self, centre=centre, standard_errors=errors, noise_part=noise)

    def numbers(self, truth: np.ndarray | None = None) -> dict[str, float | bool | None]:
        """Return the numbers of `interval_numbers`, whether the centres are identified, and the p-value of shapes."""
        bounds, shape_test = self.bounds(), self.diagnostics.get("shape_test")
        values: dict[str, float | bool | None] = (
            {} if isinstance(shape_test, str | None) else {"shape_test": shape_test}
        )
        if bounds is not None:
            return values | interval_numbers(bounds, self.without_noise.bounds(), truth)
        return ({"identified": False} if reason_name(self.reason) == "not identified" else {}) | values


def noise_line(reason: str, thing: str = "a coefficient") -> str:
    """Return the summary's line on the noise in coefficients; ``reason`` is empty where its deviations are stated."""
    if reason:
        return f"noisy: the standard deviation of its noise is not computed: {reason}"
    return f"noisy: 'noise sd' is what the noise of privacy alone gives {thing}, to first order"


def interval_numbers(
    bounds: np.ndarray, without_noise: np.ndarray | None = None, truth: np.ndarray | None = None
) -> dict[str, float | bool | None]:
    """Numbers of 95 % intervals (k, 2), by the names that they have in cubes.

    without_noise : (k, 2) intervals that leave the noise of privacy out, where these are known
    truth : (k,) by which the data were made, where that is known
    """
    values: dict[str, float | bool | None] = {"identified": True}
    for ends, suffix in ((bounds, ""), (without_noise, "_without_noise")):
        if ends is not None:
            half_width = float(np.mean(ends[:, 1] - ends[:, 0])) / 2
            values[f"half_width{suffix}"] = half_width if np.isfinite(half_width) else None
            if truth is not None:
                values[f"interval_coverage{suffix}"] = float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    return values


# Diagnostics by their names, as people read them.
DIAGNOSTICS: Mapping[str, str] = {
    "shape_test": "p-value of the shapes of columns",
    "clipped": "share of records clipped by the fitted law",
    "draws": "simulated records",
    "steps": "steps of the fit",
    "distance": "chi-square distance of released and fitted numbers",
    "degrees": "its degrees of freedom",
}


def summary_lines(intervals: Intervals) -> list[str]:
    """Return the lines below the table of a summary: what intervals are of and how they came, or why there are none."""
    if intervals.centre is None:
        return [] if reason_name(intervals.reason) == "no noise" else ["", f"no intervals: {intervals.reason}"]
    lines = ["", f"intervals: {intervals.estimand or 'over records and noise'}"]
    if intervals.diagnostics:
        values = {DIAGNOSTICS.get(name, name): value for name, value in intervals.diagnostics.items()}
        facts = (f"{name} {f'{value:.3g}' if isinstance(value, float) else value}" for name, value in values.items())
        lines.append(f"computed with: {', '.join(facts)}")
    return lines


def interval_reason(estimate: object, options: object) -> str:
    """Return why an estimate has no intervals, as of `reason_of`; empty where it has some.

    Its own ``intervals`` or ``interval_reason`` come first, then ``no_interval`` of the options of its protocol, a name
    of `REASONS`.
    """
    intervals = getattr(estimate, "intervals", None)
    reason = intervals.reason if intervals is not None else getattr(estimate, "interval_reason", NOT_COMPUTED.reason)
    if reason != NOT_COMPUTED.reason:
        return str(reason)
    declared = getattr(options, "no_interval", "")
    if getattr(options, "noise_free", False) or not (declared or getattr(options, "uses_epsilon", True)):
        declared = "no noise"
    return reason_of(declared or "not computed")


# What nobody can check who has the release alone.
CONDITION = f"valid if clipping took at most {100 * TOLERATED:g} % of any party's records and of their squares"
NOT_COMPUTED = Intervals(reason=reason_of("not computed"))
NOT_ASKED_FOR = Intervals(reason=reason_of("not asked for"))
