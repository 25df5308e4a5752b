"""Published measurements make the program run again: the same estimate, and sensitivities by formulas of the list."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from every_protocol import fits, generated, planned
from partywise.deployment.rehearsal import KNOWING, open_ciphers
from partywise.deployment.session.outcome import plain
from partywise.deployment.statement.measurements import (
    FORMULAS,
    MeasurementReplay,
    Recorder,
    deviation_of,
    formula_of,
    table_of,
    values_in,
)
from partywise.experiment.cells import execution
from partywise.federation.estimators.estimate_rows import rows_of
from partywise.federation.estimators.estimate_rows import table_of as estimate_table
from partywise.federation.identity import Identity
from partywise.federation.place_checks import PlacedRun
from partywise.federation.secure_streams import SecureStreams

METHODS = (
    ("federated_epidemiology", "products"),
    ("functional_boosting", "moments"),
    ("functional_boosting", "moments_dealer"),
    ("label_private", "label_sgd"),
    ("sliced_inverse_regression", "whiten_shared"),
    ("vertical_glm", "private_moments"),
    ("vertical_glm", "private_newton"),
)


def run_with(study: str, method: str, recorder: Recorder) -> dict[str, bytes]:
    """The table of what every place without data holds in the end, of a small case with secret noise."""
    plan = planned(study)
    case = next(case for one, case, label in fits() if (one, label) == (study, method))
    given = plan.cases[case].parties[0], 0, plan.epsilons(case, method)[0], generated(study, case)
    run: Any = execution(plan, case, method, *given)
    run.rng_for, run.channel.real, run.identity = SecureStreams(run.rng_for), True, Identity("run")
    run.channel.trusted = frozenset(KNOWING)
    ciphers = dict.fromkeys((key for key, _ in open_ciphers(run.spec.options)), "paillier")
    run.spec = replace(run.spec, options=replace(run.spec.options, **ciphers))
    placed = PlacedRun(run, whole=False)
    if isinstance(recorder, MeasurementReplay):
        placed.charge_to(recorder)
    with recorder.watching(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plan.methods[method].protocol.fit(placed)
    return {place: estimate_table(rows_of(plain(found, place))) for place in placed.names[len(placed.parties) :]}


@pytest.mark.parametrize(("study", "method"), METHODS)
def test_what_was_measured_makes_the_same_estimate(study, method):
    first = Recorder()
    held = run_with(study, method, first)
    again = MeasurementReplay(values_in(table_of(first)))
    assert run_with(study, method, again) == held
    assert again.values.keys() == first.values.keys() != set()
    for name, values in again.values.items():
        np.testing.assert_array_equal(values.ravel(), first.values[name].ravel())
        assert formula_of(again.events[name], again.statistics[name])[0] in FORMULAS


def test_products_of_two_parties_have_the_noise_of_both():
    recorder = Recorder()
    run_with("vertical_glm", "private_moments", recorder)
    name = "second moments"
    assert {value for value in recorder.values if not value.startswith("clipped")} == {name}
    copies, event = recorder.copies(name), recorder.events[name]
    assert set(copies) == {1, 2}
    assert deviation_of(event, 2) == pytest.approx(np.sqrt(2) * deviation_of(event, 1), rel=1e-15)


def test_tables_of_two_organisations_have_the_noise_of_both_and_those_of_one_its_own():
    recorder = Recorder()
    run_with("federated_epidemiology", "products", recorder)
    copies = {name: set(recorder.copies(name)) for name in recorder.values}
    assert copies == {"tables": {2}, "tables of one organisation": {1}}
    # The parts of the squared budget are those of the squared sensitivity: alike in counts of a weight.
    (two, one), units = (recorder.events[name] for name in copies), "row"
    assert deviation_of(two) == pytest.approx(deviation_of(one), rel=1e-12) and {two.unit, one.unit} == {units}
    assert {event.sampler for event in (two, one)} == {"secure"}


def test_another_value_makes_another_estimate_and_a_missing_one_none():
    first = Recorder()
    held = run_with("sliced_inverse_regression", "whiten_shared", first)
    values = values_in(table_of(first))
    name = min(values)
    moved = {**values, name: values[name] + 0.5}
    assert run_with("sliced_inverse_regression", "whiten_shared", MeasurementReplay(moved)) != held
    del values[name]
    with pytest.raises(LookupError):
        run_with("sliced_inverse_regression", "whiten_shared", MeasurementReplay(values))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"a,b\n", "first row"),
        (b"release,entry,value,sd,unit,copies\nx,1,2,,,1\n", "row 2 is missing"),
        (b"release,entry,value,sd,unit,copies\nx,0,two,,,1\n", "row 2 has 'two'"),
    ],
)
def test_a_table_that_no_writer_wrote_is_refused(table, words):
    with pytest.raises(ValueError, match=words):
        values_in(table)
