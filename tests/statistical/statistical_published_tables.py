"""Printed tables, released: how often intervals for these records hold what is printed, and how wide they are.

Part of ``./run test --long`` alone.  The shipped tables of Berkeley, of eight cities and of mgus2 are released by the
protocol itself, three parties with Gaussian shares against one colluder, 400 times; delta is n^-1.1.  Coverage is that
of the printed number where one is printed (mgus2: of the same bins without noise, for the notes print no curve), by
intervals for these records.  Printed beside it: the median interval for a population, and its width over the width
without noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pytest

from epidemiology_driver import by_name
from partywise.data.fetch import fetch
from partywise.methods.epidemiology.consistency import ReleasedTables
from partywise.methods.epidemiology.estimates.curves import cumulative_incidence
from partywise.methods.epidemiology.estimates.inference import Answer, Inference
from partywise.methods.epidemiology.estimates.report import report
from partywise.methods.epidemiology.estimator import FederatedEpidemiology
from partywise.studies.federated_epidemiology.cases import read_cohort
from partywise.studies.federated_epidemiology.tables import RESOURCE, TABLES
from pipeline import ROOT

pytestmark = [
    pytest.mark.statistical,
    # A curve that noise hides to its last bin is no fault of the other numbers.
    pytest.mark.filterwarnings("ignore:the fit is not_estimable"),
]

DRAWS = 400
COHORT, POPULATION = Inference("cohort"), Inference("population")
# The crude odds ratio of Berkeley and the standardised difference are those of the printed counts.
PRINTED = {
    "berkeley": {
        "Mantel-Haenszel odds ratio": 0.9046968,
        "odds ratio": 1198 * 1278 / (1493 * 557),
        "risk of admitted, exposed": 0.445,
        "risk of admitted, unexposed": 0.304,
        "standardised risk difference": -0.0426,
    },
    "cities": {"Mantel-Haenszel odds ratio": 2.174, "Mantel-Haenszel risk ratio": 1.519},
    "mgus2": {
        "incidence of malignancy at 120": 0.0639,
        "incidence of death at 120": 0.5323,
        "incidence of malignancy at 240": 0.0993,
        "incidence of death at 240": 0.7236,
    },
}


def answers_of(released: ReleasedTables, inference: Inference) -> Mapping[str, Answer]:
    """Numbers of the report, and those of curves at every edge."""
    answers = dict(by_name(report(released, inference)))
    for name in released.layout.incidence:
        for curves in cumulative_incidence(released, name, inference):
            answers |= {answer.name: answer for curve in curves.incidence.values() for answer in curve}
    return answers


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("name", PRINTED)
def test_printed_numbers_are_held_by_intervals_for_these_records(name, epsilon):
    fetch(RESOURCE, ROOT / "resources" / RESOURCE)
    table, columns = TABLES[name], read_cohort(name, ROOT / "resources")
    exact = FederatedEpidemiology(table.questions, "reference", parties=3).fit(columns)
    exact_answers = answers_of(exact.released_, POPULATION)
    model = FederatedEpidemiology(
        table.questions,
        epsilon=epsilon,
        delta=table.rows**-1.1,
        parties=3,
        noise="shared",
        distribution="gaussian",
    )
    held, ends = defaultdict(list), defaultdict(list)
    for draw in range(DRAWS):
        released = model.fit(columns, rng=draw).released_
        cohort, population = (answers_of(released, inference) for inference in (COHORT, POPULATION))
        for what, value in PRINTED[name].items():
            if cohort[what].determined:
                held[what].append(cohort[what].holds(value))
            if population[what].determined:
                ends[what].append((population[what].lower, population[what].upper))
    assert model.privacy_.epsilon_certified == pytest.approx(epsilon, rel=1e-9)
    for what, value in PRINTED[name].items():
        if not held[what]:
            print(f"{name}, epsilon {epsilon:g}, {what}: not determined in any draw")
            continue
        low, high = np.median(ends[what], axis=0)
        width = float(np.median(np.diff(ends[what], axis=1))) / exact_answers[what].width
        print(
            f"{name}, epsilon {epsilon:g}, {what} {value:.7g}: {np.mean(held[what]):.3f} of {len(held[what])} draws, "
            f"({low:.3f}, {high:.3f}), {width:.2f} times as wide"
        )
    for what, value in PRINTED[name].items():
        assert exact_answers[what].estimate == pytest.approx(value, abs=6e-4)
        # Where noise hides a number in many draws, those in which it is given are chosen by the noise.
        if len(held[what]) > 0.9 * DRAWS:
            assert 0.91 <= np.mean(held[what]) <= 0.98, what
    assert sum(len(row) > 0.9 * DRAWS for row in held.values()) >= 2
