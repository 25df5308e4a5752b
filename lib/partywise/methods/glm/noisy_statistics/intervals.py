"""Intervals of coefficients from noisy sums over records, from releases and public facts alone.

They count noise as well as the sample, and are about records before clipping (`partywise.models.simulation`). They
are post-processing of what was released, so that they cost nothing and any reader may compute them. Of a score, the
coefficients that it was computed at are constants: they follow from earlier releases, and given these a score has the
law of all releases together. The covariance of the records' parts of several scores belongs to that law.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ....models.families import FAMILIES
from ....models.family_facts import FACTS, FamilyName
from ....models.intervals import Intervals, reason_of
from ....models.kinds import LEVELS, WAITING
from ....models.simulation.base import ReleasedSum, Sample, law_fault
from ....models.simulation.fit import Fit
from ....models.simulation.regression import LAWS, Regression
from ....models.simulation.targets import ColumnsApart, Identification, Question, intervals
from ....privacy.ledger.event import Event
from .clip_counts import NoisyCounts
from .moments import MomentScale, NoisyMoments
from .scaling import statistic
from .scores import Matrix, NoisyScores, ScoreClip, with_constant
from .submodels import MARGIN

SHAPES = "normal columns"
DECLARED = "the declared kinds of columns"
PARTLY = "the declared kinds of columns, normal where none is declared"
REST = (
    "of coefficients before clipping, over records and noise; they rest on {}, and untested on a linear predictor, the "
    "family's variance, Gaussian dependence of columns and records drawn independently"
)
# Largest deviation of the logarithm of a dispersion: coverage of moments fell to 0.93 at 0.36; that of Gaussian fits by
# noisy Newton was 0.915 beyond it (44 fits, SE 0.023), and 0.943 from 0.2 on (159 fits, SE 0.009).
SCATTER = 0.35


def refusal(public: MomentScale, family: FamilyName, names: Sequence[str], events: Iterable[Event] = ()) -> str:
    """Return why public facts alone exclude intervals, as of `partywise.models.intervals.reason_of`; empty if not.

    events : rows of the releases
    """
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
    fault = next(filter(None, map(law_fault, events)), "")
    return reason_of("law from data", fault) if fault else ""


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


@dataclass(frozen=True)
class RecordLaw:
    """Law of scaled records and their responses before they are clipped.

    public : where they are clipped; location, scale : (p,) of the columns, whose names are ``names``
    delta : of all releases together
    A Gaussian response is s (t - t_0) in the law, in units of a record; others are as they are.
    """

    public: MomentScale
    location: np.ndarray
    scale: np.ndarray
    family: FamilyName
    names: Sequence[str]
    delta: float

    @cached_property
    def model(self) -> Regression:
        """The law; columns whose kinds are not declared are normal."""
        return Regression(self.public.shapes, self.family)

    @property
    def units(self) -> tuple[float, float]:
        """Return s and t_0 of `response_units`."""
        return response_units(self.public, self.family)

    def response(self, sample: Sample) -> np.ndarray:
        """(m,) responses y of drawn records."""
        unit, level = self.units
        return level + sample.response / unit

    def statistic(self, sample: Sample) -> np.ndarray:
        """(m,) response statistics s (t - t_0) of drawn records."""
        if self.family == "gaussian":
            return sample.response
        return self.public.weight * (statistic(sample.response, self.family) - self.public.center)

    def clip_columns(self, sample: Sample) -> np.ndarray:
        """(m, p) scaled columns of drawn records, as their holders clip them."""
        return self.public.clip_columns(sample.columns)

    def scores(self, sample: Sample, clip: ScoreClip, at: np.ndarray) -> np.ndarray:
        """(m, 1 + p) clipped scores of drawn records at coefficients (1 + p,) of scaled columns."""
        x = with_constant(self.clip_columns(sample))
        return clip.of_model(x, FAMILIES[self.family].score(self.response(sample), x @ at))

    def coefficients(self, theta: np.ndarray) -> np.ndarray:
        """(1 + p,) coefficients as columns were given, the intercept first."""
        unit, level = self.units
        beta = self.model.coefficients(theta) / unit
        slopes = beta[1:] / self.scale
        return np.append(beta[0] + level - slopes @ self.location, slopes)

    @property
    def apart(self) -> ColumnsApart:
        """The test of whether columns are seen to vary apart from each other."""
        return ColumnsApart(self.model.columns, self.names, self.delta)

    def question(
        self,
        sums: Sequence[ReleasedSum],
        start: np.ndarray,
        counts: NoisyCounts | None,
        identification: Identification | None = None,
    ) -> Question:
        """Return the question of intervals to released sums and to counts beyond public bounds, which test the law.

        start : rough parameters
        """
        public = self.public
        if counts is not None:
            sums = [*sums, counts.sum(lambda sample: counts.of_model(sample.columns, self.statistic(sample), public))]
        return Question(
            self.model,
            sums,
            start,
            self.coefficients,
            identification or self.apart,
            public.is_declared,
            counts is not None,
            lambda sample: public.beyond(sample.columns),
            REST.format(DECLARED if public.is_declared else PARTLY if any(public.kinds) else SHAPES),
        )


@dataclass(frozen=True)
class ResponsesApart:
    """Whether responses are seen to scatter around their means, which only scores that are clipped show."""

    columns: ColumnsApart

    def excess(self, fitted: Fit) -> float:
        """Return the error of the scatter, or of how the least column varies apart from the others, over its limit."""
        return max(self.columns.excess(fitted), _scatter(fitted))

    def fault(self, fitted: Fit, n: int) -> str:
        """Return a sentence on what noise hides."""
        if self.columns.excess(fitted) >= _scatter(fitted):
            return self.columns.fault(fitted, n)
        return (
            f"scores that are hardly clipped do not show how far {n} responses scatter around their means, which "
            "intervals depend on: use protocol 'moments', which releases it, or a smaller `bound`"
        )


def _scatter(fitted: Fit) -> float:
    """Deviation of the logarithm of the dispersion, the last parameter, as a multiple of its limit."""
    return float(np.sqrt(fitted.covariance_of(lambda theta: theta[-1:])[0][0])) / SCATTER


def intervals_of(
    moments: NoisyMoments, counts: NoisyCounts | None, family: FamilyName, names: Sequence[str], delta: float
) -> Intervals:
    """Return intervals of all coefficients as columns were given, the intercept first, from noisy moments."""
    if reason := refusal(moments.public, family, names, (moments.event, *(counts.events if counts else ()))):
        return Intervals(reason=reason)
    return intervals(moment_question(moments, counts, family, names, delta))


def moment_question(
    moments: NoisyMoments, counts: NoisyCounts | None, family: FamilyName, names: Sequence[str], delta: float
) -> Question:
    """Return the question of intervals to noisy moments; delta is that of all releases together."""
    public = moments.public
    law = RecordLaw(public, moments.location, moments.scale, family, names, delta)
    least, most = (1 - MARGIN) * public.half_width * np.array([-1.0, 1.0]) + public.center
    unit, level = law.units
    units = np.append(np.ones(public.columns), unit)
    mean = np.append(moments.mean[:-1], np.clip(moments.response, least, most) - level) * units
    released = moments.sum(lambda sample: public.of_model(sample.columns, law.statistic(sample)))
    return law.question([released], law.model.start(mean, moments.covariance * np.outer(units, units)), counts)


def intervals_of_scores(
    noisy: NoisyScores, matrix: Matrix, coefficients: np.ndarray, counts: NoisyCounts | None, law: RecordLaw
) -> Intervals:
    """Return intervals likewise, from noisy second moments of columns and noisy scores.

    matrix, coefficients : of these moments, and (1 + p,) of scaled columns: where the fit of the law begins
    """
    if reason := refusal(law.public, law.family, law.names, (*noisy.events, *(counts.events if counts else ()))):
        return Intervals(reason=reason)
    has_dispersion = FACTS[law.family].estimates_dispersion
    mean = matrix.second[0, 1:]
    columns = law.model.columns.start(mean, matrix.second[1:, 1:] - np.outer(mean, mean))
    # Residuals as large as their bound: what is hardly clipped shows no dispersion.
    unit, size = law.units[0], noisy.clip.residual_size(len(coefficients))
    scatter = [min(2 * float(np.log(size)), -2 * float(np.log(unit)))] * has_dispersion
    start = law_parameters(np.concatenate([columns, coefficients, scatter]), law.public, law.family)
    return intervals(score_question(noisy, law.model.within(start), counts, law))


def score_question(noisy: NoisyScores, start: np.ndarray, counts: NoisyCounts | None, law: RecordLaw) -> Question:
    """Return the question of intervals to noisy scores; ``start``: rough parameters."""
    of_records = [lambda sample: noisy.moments_of(law.clip_columns(sample))]
    of_records += [partial(law.scores, clip=noisy.clip, at=at) for at in noisy.at]
    sums = noisy.sums(of_records)
    apart = ResponsesApart(law.apart) if FACTS[law.family].estimates_dispersion else law.apart
    return law.question(sums, start, counts, apart)
