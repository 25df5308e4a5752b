"""Intervals of what follows from a fitted data model, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import chdtrc

from ...core.verdicts import LEAST_RECORDS, TOLERATED
from ...privacy.accounting.calibration import gaussian_epsilon
from ..intervals import FittedLaw, Intervals, reason_of
from .base import DataModel, ReleasedSum, Sample, base_numbers
from .columns import Columns
from .fit import DRAWS, Fit, Target, fit

# So many released numbers are simulated at most.
MOST_NUMBERS = 900
# Largest deviation of the logarithm of what is left of a column given the others.
IDENTIFIED = 0.10
# What an epsilon is proposed for: noise that hides a column makes its own estimate of the error uncertain as well.
AIM = 0.075
# Share of clipped records from which on intervals state it.
HEAVY, BEYOND = 0.05, "the intervals rest on the declared model beyond the radius"
# Least p-value of the declared shapes; their test simulates so many records for each one that there is.
FITS, DRAWS_PER_RECORD = 0.01, 4


class Identification(Protocol):
    """A test of whether noise hides what a law needs to see apart."""

    def excess(self, fitted: Fit) -> float:
        """Return the error of what must be seen, over its limit: at a minimum it must not exceed 1."""

    def fault(self, fitted: Fit, n: int) -> str:
        """Return a sentence on what noise hides in n records, with the remedy."""


@dataclass(frozen=True, eq=False)
class Question:
    """Released sums, a law of their records, and the numbers that are wanted.

    model : law of one record; start : rough parameters; target : the wanted numbers, of the parameters
    identification : the test that fits the law
    declared : whether the kinds of columns are public facts, otherwise they count as normal
    tested : whether the sums hold counts of records that are clipped, for which no parameter is free
    beyond : (m, K) whether drawn records are clipped, by block of columns
    estimand : what the intervals are of, and what they rest on
    """

    model: DataModel
    sums: Sequence[ReleasedSum]
    start: np.ndarray
    target: Target
    identification: Identification
    declared: bool
    tested: bool
    beyond: Callable[[Sample], np.ndarray]
    estimand: str = ""


def intervals(question: Question) -> Intervals:
    """Fit the law of the records to the sums; every test reads released numbers and public facts alone."""
    fitted = fit_of(question)
    return fitted if isinstance(fitted, Intervals) else intervals_at(question, fitted)


def fit_of(question: Question) -> Fit | Intervals:
    """Return the fit, or intervals that state why there are none."""
    numbers, records = sum(len(released.value) for released in question.sums), question.sums[0].n
    size = question.model.size
    if records < LEAST_RECORDS:
        return _none("few records", f"n = {records} is below {LEAST_RECORDS}, from where sums count as normal")
    if numbers < size:
        return _none("few numbers", f"{numbers} released numbers do not determine {size} parameters")
    if numbers > MOST_NUMBERS:
        return _none("later", f"{numbers} released numbers are more than the {MOST_NUMBERS} that are simulated")
    if not question.declared and not question.tested:
        return _none(
            "undeclared kinds",
            "nothing that was released tests whether columns are normal: declare how they are distributed (`kinds`), "
            "or release counts of records beyond public bounds (`count_clipped`)",
        )
    least = DRAWS_PER_RECORD * records if question.tested else 0
    fitted = fit(question.model, question.sums, question.start, question.target, least, question.identification.excess)
    if fitted.status == "not identified":
        return _none("not identified", question.identification.fault(fitted, records))
    if fitted.status == "not converged":
        return _none(
            "not converged", "the law of the records does not settle at the released numbers: give a larger epsilon"
        )
    if fitted.status != "converged":
        return _none("too coarse", f"the error of {fitted.draws} simulated records is not small: use fewer records")
    if question.tested and (p_value := shape_test(fitted)) < FITS:
        reason = reason_of(
            "shapes",
            f"the {'declared' if question.declared else 'normal'} shapes of records do not fit their shares beyond "
            f"public bounds (p = {p_value:.1g}): declare other kinds of columns (`kinds`), or use a larger radius or "
            "range of the response",
        )
        return Intervals(
            reason=reason,
            models_clipping=question.declared,
            diagnostics={"shape_test": p_value},
            record_law=_record_law(question, fitted),
        )
    if not question.declared and (clipped := clipped_shares(question, fitted).max()) > TOLERATED:
        sentence = (
            f"{100 * clipped:.2g} % of records are clipped: declare how columns are distributed (`kinds`), or use a "
            "larger radius"
        )
        return Intervals(reason=reason_of("undeclared kinds", sentence), record_law=_record_law(question, fitted))
    return fitted


def intervals_at(question: Question, fitted: Fit) -> Intervals:
    """Return the intervals that a fit gives, to which nothing objects."""
    total, by_noise, _ = fitted.covariance_of(question.target)
    clipped = float(clipped_shares(question, fitted).max())
    beyond = f"; {100 * clipped:.2g} % of records were clipped: {BEYOND}" if clipped > HEAVY else ""
    return Intervals(
        question.target(fitted.theta),
        np.sqrt(total),
        noise_part=np.sqrt(by_noise),
        estimand=question.estimand + beyond,
        models_clipping=question.declared,
        diagnostics={
            "steps": fitted.steps,
            "draws": fitted.draws,
            "distance": fitted.distance,
            "degrees": fitted.degrees,
            "shape_test": shape_test(fitted) if question.tested else "none",
            "clipped": clipped,
        },
        record_law=_record_law(question, fitted),
    )


def _record_law(question: Question, fitted: Fit) -> FittedLaw:
    return FittedLaw(question.model.name, tuple(fitted.theta.tolist()), fitted.draws)


def _none(name: str, sentence: str) -> Intervals:
    return Intervals(reason=reason_of(name, sentence))


@dataclass(frozen=True)
class ColumnsApart:
    """Whether every column, of stated names, is seen to vary apart from all others.

    delta : of all releases, at which a refusal names an epsilon; None where it names none
    """

    columns: Columns
    names: Sequence[str]
    delta: float | None = None

    def excess(self, fitted: Fit) -> float:
        """Return the error of how the least column varies apart from the others, over its limit."""
        return float(np.sqrt(fitted.covariance_of(self.columns.residual_logs)[0].max())) / IDENTIFIED

    def fault(self, fitted: Fit, n: int) -> str:
        """Return a sentence on the column that varies least apart from the others, with the remedy."""
        total, by_noise, _ = fitted.covariance_of(self.columns.residual_logs)
        place = int(np.argmax(total))
        by_records = total[place] - by_noise[place]
        remedy = "too few records, or columns that depend on each other: leave it out"
        if by_records < AIM**2 / 2:
            factor = float(np.sqrt(by_noise[place] / (AIM**2 - by_records)))
            remedy = "epsilon is too small"
            if self.delta is not None:
                now, enough = (gaussian_epsilon(fitted.mu * times, self.delta) for times in (1.0, factor))
                remedy = (
                    f"epsilon {now:.3g} is too small; about {enough:.2g} would be enough, in a release of its own, "
                    "which adds to the account"
                )
        return f"noise hides how column {self.names[place]!r} varies apart from the others at n = {n}: {remedy}"


def shape_test(fitted: Fit) -> float:
    """Return the p-value of the released numbers that no parameter is free for, if the shapes hold."""
    return float(chdtrc(fitted.degrees, fitted.distance)) if fitted.degrees else 1.0


def clipped_shares(question: Question, fitted: Fit) -> np.ndarray:
    """Shares (K,) of the records of the fitted law that each block's radius clips."""
    half = base_numbers(question.model.name, question.model.base_size, DRAWS)
    sample = question.model.draw(fitted.theta, np.concatenate([half, -half]))
    return np.asarray(sample.weights @ question.beyond(sample) / DRAWS)
