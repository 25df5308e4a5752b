"""Precision of the numbers of a question set before data: expected tables with the noise of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from ...core.randomness import Rng
from ...federation.estimators.precision import MadeUp, Precision, made_up_clients, require_because
from ...methods.epidemiology.contributions import TableNoise, contributions
from ...methods.epidemiology.estimates.inference import Answer, Inference
from ...methods.epidemiology.estimates.report import report
from ...methods.epidemiology.model import EpidemiologyEstimate, EpidemiologyFacts
from ...methods.epidemiology.plan import Expected, draw_expected, expected_tables
from .own_settings import AskedColumns

# A fit without noise, of parties that do not matter.
EXACT = EpidemiologyEstimate(names=("all",))


@dataclass(frozen=True, kw_only=True)
class QuestionsModel(AskedColumns):
    """Records of which questions will be asked, as they are expected; columns and questions as of own tables.

    expectations : shares by variable in the order of its levels (of two levels that of the last), shares of the cells
        of a table by its variables, as ``arm x died``, and [mean, standard deviation] by column of means
    because : where levels, ranges and shares are public
    """

    expectations: dict[str, object] = field(default_factory=dict)
    because: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_because(self.because, "the levels, ranges and shares are public, such as an earlier study")
        if self.questions.where:
            raise ValueError("questions.where is given: the number of such records is not known; ask about all.")
        self._answers(1000)

    @property
    def shares(self) -> Expected:
        """Expected shares and moments by names of `Questions.plan`."""
        keys = {key: tuple(key.split(" x ")) if " x " in key else key for key in self.expectations}
        return {keys[key]: np.asarray(value, dtype=float) for key, value in self.expectations.items()}

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of the targets: those that are asked for, otherwise all; ValueError for one that it does not have."""
        names = list(self._answers(1000))
        for name in wanted:
            if name not in names:
                raise ValueError(f"{name!r} is not a number of these questions: give one of {', '.join(names)}.")
        return tuple(dict.fromkeys(wanted)) or tuple(names)

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, divided among the parties in runs of equal length."""
        columns = draw_expected(self.question_set.layout(), self.shares, n, rng("records"))
        clients = made_up_clients(columns, n, parties)
        return MadeUp(clients, EpidemiologyFacts(n, self.question_set))

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the precision by expected tables, with the noise that an estimate states."""
        fit = cast(EpidemiologyEstimate, estimate)
        noisy, exact = self._answers(n, fit), self._answers(n, replace(fit, noise_sd=0.0, excess=0.0))
        return _precision([noisy[name] for name in targets], [exact[name] for name in targets])

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision of the released tables themselves."""
        tables = cast(EpidemiologyEstimate, estimate).tables(self.question_set)
        answers = {answer.name: answer for answer in report(tables, Inference())}
        chosen = [answers[name] for name in targets]
        return _precision(chosen, chosen)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        return ("records that are a sample of a population", "columns that are independent where no table is expected")

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations."""
        tables = len(self.question_set.layout().tables)
        return f"One release of noisy counts of {tables} tables leaves them, and no record does"

    @property
    def measured_in(self) -> str:
        """Empty: numbers have units of their own."""
        return ""

    def _answers(self, n: int, fit: EpidemiologyEstimate = EXACT) -> dict[str, Answer]:
        """Expected answers by name, with the noise of a fit."""
        terms = contributions(self.question_set.layout(fit.names), fit.weights, fit.distribution)
        assert isinstance(fit.noise_sd, float)
        released = expected_tables(TableNoise(terms, fit.distribution, 0.0, fit.noise_sd, fit.excess), n, self.shares)
        return {answer.name: answer for answer in report(released, Inference())}


def _precision(noisy: Sequence[Answer], exact: Sequence[Answer]) -> Precision:
    """Precision of answers; one that is not determined hides the rest."""
    values, half_widths, without_noise = (
        np.array([np.nan if value is None else value for value in row])
        for row in (
            [answer.estimate for answer in noisy],
            [answer.width / 2 for answer in noisy],
            [answer.width / 2 for answer in exact],
        )
    )
    hidden = not all(answer.determined for answer in noisy)
    return Precision(values, half_widths, without_noise, np.inf if hidden else 0.0)
