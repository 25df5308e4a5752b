"""Replicate of the study, its public facts, and its division among owners: blocks of records, or of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...federation.parties import Party
from ...methods.epidemiology.consistency import ReleasedTables, consistent_tables
from ...methods.epidemiology.contributions import contributions
from ...methods.epidemiology.estimates.inference import Answer, Inference
from ...methods.epidemiology.estimates.report import report
from ...methods.epidemiology.layout import organisations_of
from ...methods.epidemiology.model import EpidemiologyFacts
from ...methods.epidemiology.questions import Questions
from .settings import Target


@dataclass(frozen=True, eq=False)
class EpidemiologyData:
    """One replicate: records in the order in which clients hold them.

    columns : (n,) by name; "" is a missing text and nan a missing number
    questions : public question set; target : as of `EpidemiologyCaseSettings`
    sizes : records of natural clients, empty where blocks are dealt; client_names : what these are called
    truth : numbers of the population by the names of their answers, where they are known
    organisations : columns of each, where they hold the same records; public
    """

    columns: Mapping[str, np.ndarray]
    questions: Questions
    target: Target = "population"
    sizes: tuple[int, ...] = ()
    client_names: tuple[str, ...] = ()
    truth: Mapping[str, float] = field(default_factory=dict)
    organisations: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def exact(self) -> ReleasedTables:
        """Tables of all records, without noise."""
        terms = contributions(self.questions.layout(("all",)))
        return consistent_tables(terms, terms.sums(self.columns), 0.0, len(self), [len(self)])

    @cached_property
    def exact_answers(self) -> Mapping[str, Answer]:
        """Numbers of all records with the intervals of textbooks, for a population, by name."""
        return {answer.name: answer for answer in report(self.exact, Inference())}

    @property
    def known_numbers(self) -> Mapping[str, float]:
        """Numbers that intervals are to hold: of the population, or of these records where they are the target."""
        if self.target == "population":
            return self.truth
        return {name: answer.estimate for name, answer in self.exact_answers.items() if answer.estimate is not None}

    def public(self) -> EpidemiologyFacts:
        """The part of the data set that is public."""
        return EpidemiologyFacts(len(self), self.questions, self.sizes)


def split(data: EpidemiologyData, n_parties: int, spec: object, settings: object) -> list[Party]:
    """Neighbouring blocks of records at so many clients, or the natural clients; or organisations with columns."""
    if data.organisations:
        return organisations_of(data.columns, data.questions.layout(), data.organisations)
    ends = np.cumsum(data.public().sizes(n_parties))[:-1]
    names = data.client_names or tuple(f"client {k + 1}" for k in range(n_parties))
    parts = {name: np.split(np.asarray(column), ends) for name, column in data.columns.items()}
    return [Party(name, "client", {key: parts[key][number] for key in parts}) for number, name in enumerate(names)]


def folds(data: EpidemiologyData, n_folds: int, settings: object) -> np.ndarray:
    """All records train: every comparison is with the exact tables of all of them."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: nothing is held out, so there is 1 fold.")
    return np.zeros(len(data), dtype=int)
