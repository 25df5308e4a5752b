"""Intervals of coefficients from noisy sums over records, from releases and public facts alone.

They count noise as well as the sample, and are about records before clipping (`partywise.models.simulation`). They
are post-processing of what was released, so that they cost nothing and any reader may compute them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....models.family_facts import FACTS, FamilyName
from ....models.intervals import Intervals, reason_of
from ....models.kinds import LEVELS, WAITING
from ....models.simulation.base import Sample, law_fault
from ....models.simulation.regression import LAWS, Regression
from ....models.simulation.targets import ColumnsApart, Question, intervals
from .clip_counts import NoisyCounts
from .moments import MomentScale, NoisyMoments
from .scaling import statistic
from .submodels import MARGIN

SHAPES = "normal columns"
DECLARED = "the declared kinds of columns"
PARTLY = "the declared kinds of columns, normal where none is declared"
REST = (
    "of coefficients before clipping, over records and noise; they rest on {}, and untested on a linear predictor, the "
    "family's variance, Gaussian dependence of columns and records drawn independently"
)


def refusal(public: MomentScale, family: FamilyName, names: Sequence[str]) -> str:
    """Return why public facts alone exclude intervals, as of `partywise.models.intervals.reason_of`; empty if not."""
    if family not in LAWS:
        return reason_of("later", f"responses of family {family!r} have no law for intervals yet")
    if public.records_per_person > 1:
        return reason_of(
            "dependent records",
            f"several records of one person, up to {public.records_per_person}: the law counts records as independent",
        )
    for name, kind in zip(names, public.kinds, strict=False):
        if kind is not None and kind.name == LEVELS:
            return reason_of("later", f"column {name!r} is of a category of several levels: {WAITING[LEVELS]}")
    return ""


def intervals_of(
    moments: NoisyMoments, counts: NoisyCounts | None, family: FamilyName, names: Sequence[str], delta: float
) -> Intervals:
    """Return intervals of all coefficients as columns were given, the intercept first."""
    if reason := refusal(moments.public, family, names):
        return Intervals(reason=reason)
    if fault := next(filter(None, map(law_fault, (moments.event, *(counts.events if counts else ())))), ""):
        return Intervals(reason=reason_of("law from data", fault))
    return intervals(moment_question(moments, counts, family, names, delta))


def response_units(public: MomentScale, family: FamilyName) -> tuple[float, float]:
    """Return s and t_0 of a Gaussian response, which is s (t - t_0) in its law; other responses are as they are."""
    return (public.weight, public.center) if family == "gaussian" else (1.0, 0.0)


def law_parameters(natural: np.ndarray, public: MomentScale, family: FamilyName) -> np.ndarray:
    """Return the parameters (size,) of the law of a release, from those of scaled columns and responses as they are."""
    model, theta = Regression(public.shapes, family), np.array(natural, dtype=float)
    unit, level = response_units(public, family)
    coefficients = model.coefficients(theta)
    coefficients[0] -= level
    coefficients *= unit
    if FACTS[family].estimates_dispersion:
        theta[-1] += 2 * np.log(unit)
    return theta


def moment_question(
    moments: NoisyMoments,
    counts: NoisyCounts | None,
    family: FamilyName,
    names: Sequence[str],
    delta: float | None = None,
) -> Question:
    """Return the law of records before they are clipped, which counts of those beyond public bounds test.

    delta : of all releases together, for a refusal that names an epsilon; None of a plan, which asks for one itself
    """
    public, is_scaled = moments.public, family == "gaussian"
    model = Regression(public.shapes, family)
    unit, level = response_units(public, family)

    def response(sample: Sample) -> np.ndarray:
        return sample.response if is_scaled else public.weight * (statistic(sample.response, family) - public.center)

    def coefficients(theta: np.ndarray) -> np.ndarray:
        beta = model.coefficients(theta) / unit
        slopes = beta[1:] / moments.scale
        return np.append(beta[0] + level - slopes @ moments.location, slopes)

    least, most = (1 - MARGIN) * public.half_width * np.array([-1.0, 1.0]) + public.center
    units = np.append(np.ones(public.columns), unit)
    mean = np.append(moments.mean[:-1], np.clip(moments.response, least, most) - level) * units
    sums = [moments.sum(lambda sample: public.of_model(sample.columns, response(sample)))]
    if counts is not None:
        sums.append(counts.sum(lambda sample: counts.of_model(sample.columns, response(sample), public)))
    return Question(
        model,
        sums,
        model.start(mean, moments.covariance * np.outer(units, units)),
        coefficients,
        ColumnsApart(model.columns, names, delta),
        public.is_declared,
        counts is not None,
        lambda sample: public.beyond(sample.columns),
        REST.format(DECLARED if public.is_declared else PARTLY if any(public.kinds) else SHAPES),
    )
