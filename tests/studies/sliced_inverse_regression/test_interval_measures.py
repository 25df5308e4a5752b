"""Numbers of the intervals of a direction in the cells of the study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.federation.run import simulate
from partywise.models.intervals import Intervals, reason_of
from partywise.studies.sliced_inverse_regression.metrics import metrics


def test_intervals_of_a_direction_are_compared_with_the_true_one_whatever_its_sign(tmp_path):
    grid = {"methods": ["noised"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [4.0]}
    made = {"source": "simulated", "settings": {"model": "II", "n": 300, "p": 4}, "grid": grid}
    methods = {"noised": {"protocol": "certified"}}
    planned = plan(
        "sliced_inverse_regression", {"spec": {"unit": "row"}, "methods": methods, "cases": {"made": made}}, 1
    )
    data = generate(planned, "made", [0], tmp_path)[0]
    run = execution(planned, "made", "noised", 2, 0, 4.0, data)
    estimate = simulate(planned.methods["noised"].protocol.fit, run)

    def numbers(intervals: Intervals) -> dict:
        values = metrics(replace(estimate, intervals=intervals), data, run.fold.train, run.spec).as_dict()
        names = ("identified", "interval_coverage", "interval_coverage_without_noise", "half_width")
        return {name: values[name] for name in names if name in values}

    truth = data.beta[:, 0] / np.linalg.norm(data.beta[:, 0])
    errors = np.full(4, 0.1)
    for sign in (1.0, -1.0):
        assert numbers(Intervals(sign * (truth + 0.05), errors, noise_part=errors)) == {
            "identified": True,
            "interval_coverage": 1.0,
            "interval_coverage_without_noise": 0.0,
            "half_width": pytest.approx(0.196, abs=1e-3),
        }
    assert numbers(Intervals(reason=reason_of("not identified"))) == {"identified": False}
    assert numbers(Intervals(reason=reason_of("undeclared kinds"))) == {}
