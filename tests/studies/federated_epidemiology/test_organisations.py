"""A case whose columns are at two organisations: its plan, its split, and what its certified protocol makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partywise.core.errors import ConfigError
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.federation.run import simulate
from partywise.studies.federated_epidemiology.metrics import metrics
from partywise.studies.federated_epidemiology.settings import COHORT_ORGANISATIONS

STUDY, DELTA = "federated_epidemiology", 1e-5


def planned(method: str, parties: int = 2, **settings: Any) -> Plan:
    """A plan of one method on the generated cohort."""
    grid = {"methods": [method], "parties": [parties], "folds": 1, "epsilon": [2.0], "replicates": 1}
    methods = {method: {"protocol": method} | ({"cipher": "sized"} if method == "products" else {})}
    case = {"source": "generated", "settings": {"n": 1500} | settings, "grid": grid}
    return plan(STUDY, {"spec": {"delta": DELTA}, "methods": methods, "cases": {"tried": case}, "figures": []}, 7)


def test_two_organisations_answer_the_paper_and_its_intervals_hold():
    study = planned("products", partition="columns")
    data = generate(study, "tried", [0], "resources")[0]
    run = execution(study, "tried", "products", 2, 0, 2.0, data)
    assert [(party.name, party.role, len(party.columns)) for party in run.parties] == [
        ("hospital", "passive", 11),
        ("registry", "passive", 4),
    ]
    for party in run.parties:
        assert set(party.block) == set(COHORT_ORGANISATIONS[party.name])
    estimate = simulate(study.methods["products"].protocol.fit, run)
    total = run.channel.ledger.total("analyst", "row", DELTA)
    assert total.epsilon_certified == pytest.approx(2.0, abs=1e-9)
    numbers = metrics(estimate, data, np.ones(1500, dtype=bool), run.spec)
    assert numbers.numbers == 78 and numbers.n_protected == 1500 and numbers.interval_coverage > 0.85
    # Tables of the hospital alone have the noise once: 8 of 11, with about half of the cells.
    low, high = min(estimate.noise_sd), max(estimate.noise_sd)
    assert high == pytest.approx(np.sqrt(2) * low)


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("products", {}, "methods lists products: .*clients of the case hold different records; take protocol tables"),
        (
            "tables",
            {"partition": "columns"},
            "methods lists tables: .*organisations of the case hold different columns",
        ),
        (
            "reference",
            {"partition": "columns"},
            "lists reference: its clients hold different records, .*; take protocol products",
        ),
        ("products", {"partition": "columns", "parties": 3}, "has the clients hospital, registry; give 2"),
        ("products", {"partition": "records"}, "partition.*rows, columns"),
    ],
)
def test_a_protocol_that_contradicts_the_division_is_refused_in_the_plan(method, settings, words):
    with pytest.raises(ConfigError, match=words):
        planned(method, **settings)
