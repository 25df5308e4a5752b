"""Precision of coefficients before data: released sums of a declared law of records, with the intervals of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, cast

import numpy as np

from ....core.checks import CheckedFields, Positive, Range
from ....core.randomness import Rng
from ....federation.estimators.precision import NORMAL_95, MadeUp, Precision, require_because
from ....federation.parties import Party, split_columns
from ....models.family_facts import FACTS, FamilyName
from ....models.kinds import Kind
from ....models.simulation.planning import PlannedLaw
from ....models.simulation.regression import LAWS, Regression
from ....privacy.accounted_values import Public
from ..model import GlmEstimate, GlmFacts
from .intervals import RecordLaw, law_parameters, moment_question, score_question
from .scores import NoisyScores

INTERCEPT = "intercept"


@dataclass(frozen=True)
class RegressionModel(CheckedFields):
    """Records as they are expected: columns, dealt to the parties in runs, and a response at the first party.

    family : of the response
    kinds : by column, its distribution: normal, [uniform, low, high], [binary, low, high] or [lognormal, shift]
    because : where all of this is public
    coefficients : by column, in its unit, 0 where not given; intercept : where every column is 0
    dispersion : of Gaussian and Gamma responses
    correlation : of the latent normal numbers of neighbouring columns; of others that to the power of their distance
    location, scale : by column, public centre and typical deviation, which are also expected; by default 0 and 1, of
        a binary column the middle and half of the distance of its values, of a uniform one mean and deviation, of a
        lognormal one 1 above its shift and 1
    shares : by binary column, the share of its larger value, 0.5 where not given
    radii : by party, to which its scaled columns are clipped; by the rule of the options where not given
    response : public range of the response statistic, which is the logarithm of Gamma responses; not of binomial ones
    unit : of the coefficients
    """

    family: FamilyName
    kinds: dict[str, object]
    because: str = ""
    coefficients: dict[str, float] = field(default_factory=dict)
    intercept: float = 0.0
    dispersion: Positive = 1.0
    correlation: Annotated[float, Range(-0.9, 0.9)] = 0.0
    location: dict[str, float] = field(default_factory=dict)
    scale: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    radii: tuple[Positive, ...] = ()
    response: tuple[float, float] | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_because(self.because, "kinds and ranges are public, such as the meaning of the columns")
        if self.family not in LAWS:
            raise ValueError(f"family is {self.family!r}, which is not designed yet: use one of {', '.join(LAWS)}.")
        if not self.kinds:
            raise ValueError("kinds is empty: name every column with its distribution, such as {age: normal}.")
        for column in self.kinds:
            self._kind(column)
        for key in ("coefficients", "location", "scale", "shares"):
            for column, value in getattr(self, key).items():
                self._check_fact(key, column, value)
        if (self.response is None) != (self.family == "binomial"):
            state = f"is {list(self.response)}" if self.response else "is missing"
            remedy = "leave it out, labels are 0 and 1" if self.response else "give its least and its largest value"
            raise ValueError(f"response {state} with family {self.family!r}: {remedy}.")
        if self.response is not None and not self.response[0] < self.response[1]:
            raise ValueError(f"response is {list(self.response)}: give two numbers, the smaller one first.")
        if self.dispersion != 1 and not FACTS[self.family].estimates_dispersion:
            raise ValueError(f"dispersion is {self.dispersion:g}: family {self.family!r} has none, leave it out.")

    def _check_fact(self, key: str, column: str, value: float) -> None:
        """Refuse a fact about a column that is not declared, or out of range."""
        if column not in self.kinds:
            raise ValueError(f"{key}.{column} is {value!r}: kinds declares no such column; add it, or leave this out.")
        kind = self._kind(column)
        if key == "location" and kind.name == "lognormal" and value <= kind.shift:
            raise ValueError(f"location.{column} is {value!r}: give a mean above its shift, {kind.shift:g}.")
        if key == "scale" and not 0 < value < np.inf:
            raise ValueError(f"scale.{column} is {value!r}: give a positive number, its typical deviation.")
        if key == "shares" and not (0.02 <= value <= 0.98 and kind.name == "binary"):
            raise ValueError(f"shares.{column} is {value!r}: give a share in [0.02, 0.98], of a binary column.")

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of the columns, those that are asked for first; ValueError for one that is not declared."""
        for name in wanted:
            if name not in (*self.kinds, INTERCEPT):
                raise ValueError(
                    f"{name!r} is not a target: give one of the columns {', '.join(self.kinds)}, or {INTERCEPT}."
                )
        return tuple(dict.fromkeys([*wanted, *self.kinds]))

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, their columns divided among the parties."""
        if not 2 <= parties <= len(self.kinds):
            raise ValueError(
                f"parties is {parties}: give 2 to {len(self.kinds)}, so that every one holds a column of `kinds`."
            )
        if self.radii and len(self.radii) != parties:
            raise ValueError(f"model.radii is {list(self.radii)}: give {parties} numbers, one per party.")
        law = self._law
        sample = law.draw(self._parameters, rng("records").standard_normal((n, law.base_size)))
        y = sample.response[:n]
        if law.response_law.draw is None:
            y = (rng("responses").random(n) < sample.weights[n:]).astype(float)
        X = self._location + self._scale * sample.columns[:n]
        holders = []
        for place, columns in enumerate(split_columns(X.shape[1], parties, "contiguous")):
            block = {"X": X[:, columns]} | ({} if place else {"y": y})
            holders.append(Party(f"party {place + 1}", "passive" if place else "active", block, columns))
        radii = zip(holders, self.radii, strict=False)
        facts = replace(self._facts, radii={holder.name: Public(c, because=self.because) for holder, c in radii})
        return MadeUp(holders, facts)

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the precision of a fit of the law of records, with the noise of an estimate on made-up ones."""
        fitted, names = cast(GlmEstimate, estimate), tuple(self.kinds)
        released = fitted.scores or fitted.moments
        assert released is not None
        parameters = law_parameters(self._parameters, released.public, self.family)
        if isinstance(released, NoisyScores):
            law = RecordLaw(released.public, released.location, released.scale, self.family, names, np.nan)
            question = score_question(released, parameters, fitted.clip_counts, law)
        else:
            question = moment_question(released, fitted.clip_counts, self.family, names, np.nan)
        planned = self._planned_law.errors(question, parameters, is_rough)
        places = self._places(targets)
        half_widths, without_noise = (
            NORMAL_95 * errors[places] for errors in (planned.standard_errors, planned.without_noise)
        )
        return Precision(self._coefficients[places], half_widths, without_noise, planned.excess)

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision that an estimate reports of itself."""
        intervals, places = cast(GlmEstimate, estimate).intervals, self._places(targets)
        nothing = np.full(len(places), np.nan)
        if intervals.centre is None or intervals.standard_errors is None:
            return Precision(nothing, nothing, nothing, np.inf)
        return Precision(intervals.centre[places], NORMAL_95 * intervals.standard_errors[places], nothing)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        return (
            "columns of the declared kinds that depend on each other as normal numbers do",
            "a linear predictor",
            "the variance of the family",
            "independent records",
        )

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations."""
        return "Noisy sums over all records of products of two columns leave them, and no record does"

    @property
    def measured_in(self) -> str:
        """Unit of the coefficients."""
        return self.unit

    def _places(self, targets: Sequence[str]) -> list[int]:
        """Places of targets among the coefficients, the intercept first."""
        return [[INTERCEPT, *self.kinds].index(name) for name in targets]

    def _kind(self, column: str) -> Kind:
        return Kind.of_text(column, self.kinds[column], self.because)

    def _constants(self, column: str) -> tuple[float, float]:
        """Centre and deviation of a column."""
        kind = self._kind(column)
        center, deviation = {
            "normal": (0.0, 1.0),
            "lognormal": (kind.shift + 1, 1.0),
            "binary": (sum(kind.ends) / 2, (kind.ends[1] - kind.ends[0]) / 2),
            "uniform": (sum(kind.ends) / 2, (kind.ends[1] - kind.ends[0]) / np.sqrt(12)),
        }[kind.name]
        return self.location.get(column, center), self.scale.get(column, deviation)

    @cached_property
    def _location(self) -> np.ndarray:
        return np.array([self._constants(column)[0] for column in self.kinds])

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.array([self._constants(column)[1] for column in self.kinds])

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """(1 + p,) expected coefficients, the intercept first."""
        return np.array([self.intercept, *(self.coefficients.get(column, 0.0) for column in self.kinds)])

    @cached_property
    def _law(self) -> Regression:
        """The law of scaled columns, and of the response as it is."""
        constants = zip(self.kinds, self._location, self._scale, strict=True)
        return Regression(tuple(self._kind(column).in_units(*units) for column, *units in constants), self.family)

    @cached_property
    def _parameters(self) -> np.ndarray:
        """Parameters of that law."""
        law, slopes = self._law, self._coefficients[1:] * self._scale
        means = [_mean(kind, self.shares.get(column, 0.5)) for column, kind in zip(self.kinds, law.kinds, strict=True)]
        distances = np.abs(np.subtract.outer(np.arange(len(means)), np.arange(len(means))))
        level = self.intercept + self._coefficients[1:] @ self._location
        dispersion = [np.log(self.dispersion)] * FACTS[self.family].estimates_dispersion
        columns = law.columns.start(np.array(means), np.asarray(float(self.correlation)) ** distances)
        return np.concatenate([columns, [level], slopes, dispersion])

    @cached_property
    def _facts(self) -> GlmFacts:
        """Public facts of the run."""
        ends = (0.0, 1.0) if self.response is None else self.response
        return GlmFacts(
            self.family,
            tuple(self.kinds),
            location=Public(self._location, because=self.because),
            scale=Public(self._scale, because=self.because),
            statistic=Public(np.array(ends), because=self.because),
            eta_start=Public(float(self._parameters[self._law.columns.size]), because=self.because),
            kinds=tuple(self._kind(column) for column in self.kinds),
        )

    @cached_property
    def _planned_law(self) -> PlannedLaw:
        return PlannedLaw()


def _mean(kind: Kind, share: float) -> float:
    """Mean of a scaled column."""
    low, high = kind.ends
    return {"binary": low + (high - low) * share, "uniform": (low + high) / 2}.get(kind.name, 0.0)
