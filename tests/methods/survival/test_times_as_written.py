"""Ties of times in single and in double precision, arrays for lists, and timelines that end at the horizon."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from partywise.federation.parties import Party
from partywise.methods.survival.protocols.common import local_rows
from partywise.methods.survival.records import as_written

MONTHS = pw.stream(8, "months").integers(1, 40, size=300) / 10
GROUP = np.arange(300) % 2
CURVES = {
    "table": {"epsilon": 4.0},
    "reference": {},
    "risk_sets": {},
    "encrypted_histogram": {"width": 0.3},
    "noised_times": {},
}


def block(times):
    n = len(times)
    return {"times": times, "events": np.ones(n, bool), "covariates": np.zeros((n, 0)), "groups": np.zeros(n, int)}


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_times_of_single_precision_tie_with_those_of_doubles(kind):
    short = MONTHS.astype(kind)
    assert np.any(short.astype(float) != MONTHS)
    np.testing.assert_array_equal(as_written(short), MONTHS)
    rows = [local_rows(Party("clinic", "client", block(times)), 3.0).times for times in (short, MONTHS)]
    np.testing.assert_array_equal(*rows)


def test_a_fit_of_single_precision_is_that_of_doubles():
    X = pw.stream(8, "covariate").normal(size=(300, 1))
    fits = [
        pw.FederatedCox("reference", horizon=3.0, parties=2, random_state=1).fit(X, times).params_
        for times in (MONTHS, MONTHS.astype(np.float32))
    ]
    np.testing.assert_array_equal(*fits)


@pytest.mark.parametrize("protocol", CURVES)
def test_a_timeline_ends_at_the_horizon(protocol):
    model = pw.FederatedKaplanMeier(protocol, horizon=1.9, parties=2, random_state=1, **CURVES[protocol]).fit(MONTHS)
    assert model.timeline.max() <= 1.9 and model.survival_function_.shape == (1, len(model.timeline))
    np.testing.assert_array_equal(model.survival_function_, model.predict(model.timeline[model.timeline >= 0]))
    median = model.median_survival_time_[0]
    assert median is None or median <= 1.9


def test_arrays_are_taken_as_lists_are():
    fits = [
        pw.FederatedKaplanMeier(epsilon=4.0, horizon=2.0, edges=edges, groups=groups, parties=2, random_state=1)
        .fit(MONTHS, group=GROUP)
        .survival_function_
        for edges, groups in (([0.0, 0.5, 2.0], [0, 1]), (np.array([0.0, 0.5, 2.0]), np.array([0, 1])))
    ]
    np.testing.assert_array_equal(*fits)
