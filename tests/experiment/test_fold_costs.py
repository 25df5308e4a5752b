"""What a cross-validation costs: a protocol whose releases read training records alone is charged for those."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import every_protocol
import toy
from partywise.audits.replay import distance, record
from partywise.experiment.cells import executions, run
from partywise.experiment.study import load
from partywise.federation.run import simulate
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.ledger.ledger import Ledger

FOLDS = 3


def folded(study, case):
    """The small cases of a study, one of them with several folds."""
    plan = every_protocol.planned(study)
    made = plan.cases[case]
    return replace(plan, cases=plan.cases | {case: replace(made, grid=replace(made.grid, folds=FOLDS))})


def declared() -> list[tuple[str, str, str]]:
    """Study, case and method of every small fit whose protocol states that it reads training records alone.

    Real ciphers hold the same statistics, and take seconds.
    """
    fits = [(*fit, every_protocol.planned(fit[0]).methods[fit[2]]) for fit in every_protocol.fits()]
    return [
        (study, case, method.label)
        for study, case, _, method in fits
        if method.protocol.reads_training_records
        and case != "unaligned"
        and not (study == "vertical_trees" and getattr(method.options, "cipher", "sized") != "sized")
    ]


def releases(study, case, method, data, fold):
    """All releases of the fit of a fold, in order."""
    plan = folded(study, case)
    (epsilon,) = plan.epsilons(case, method)
    one = executions(plan, case, method, plan.cases[case].parties[0], data)(fold, epsilon)

    def channel():
        simulate(plan.methods[method].protocol.fit, one)
        return one.channel

    return record(channel).calls


def moved(data, row):
    """The same data with another record in the place of one."""
    X, y = data.X.copy(), data.y.copy()
    X[row], y[row] = -3.0 * X[row] + 1.0, y[np.flatnonzero(y != y[row])[0]]
    return replace(data, X=X, y=y)


@pytest.mark.parametrize(("study", "case", "method"), declared())
def test_releases_of_a_fit_rest_on_its_training_records_alone(study, case, method):
    """Another record in fold 1 leaves all statistics of the fit that holds it out, and moves one of the other fit."""
    data = every_protocol.generated(study, case)
    of = load(study).folds(data, FOLDS, folded(study, case).cases[case].settings)
    other = moved(data, int(np.flatnonzero(of == 1)[3]))
    apart = []
    for fold in range(FOLDS):
        before, after = (releases(study, case, method, one, fold) for one in (data, other))
        assert len(before) == len(after)
        apart.append([distance(a.bounded, b.bounded) for a, b in zip(before, after, strict=True)])
    assert not any(apart[1]), "a held-out record moves no statistic"
    assert any(apart[0]) or not apart[0], "a training record moves one"


def test_the_search_finds_a_release_that_reads_held_out_records():
    """The release of the toy study sums all records in every fit, and is not declared."""
    plan = toy.toy_plan(one={"methods": ("anew",), "replicates": 1, "parties": (2,), "folds": 2, "epsilon": (1.0,)})
    data = toy.generate(toy.Settings(), toy.Spec(), lambda *_, **__: np.random.default_rng(3), None)
    x = data.x.copy()
    x[-1] = 0.9 if x[-1] < 0 else -0.9
    sums = []
    for one in (data, replace(data, x=x)):
        execution = executions(plan, "one", "anew", 2, one)(1, 1.0)

        def channel(execution=execution):
            simulate(plan.methods["anew"].protocol.fit, execution)
            return execution.channel

        (call,) = record(channel).calls
        sums.append(call.bounded)
    assert distance(*sums) > 0
    assert not plan.methods["anew"].protocol.reads_training_records


def test_folds_of_a_fit_cost_what_one_fit_less_than_their_number_costs():
    study, case = "vertical_glm", "aligned"
    plan, data = folded(study, case), every_protocol.generated(study, case)
    (method,) = (m for m in plan.methods if plan.methods[m].protocol_name == "noisy_newton")
    cells = run(plan, case, method, plan.cases[case].parties[0], [0], range(FOLDS), {0: data})
    mu = float(cells[0].scalars["mu_upper"])
    whole = Ledger(event for cell in cells for event in cell.ledger)
    total = whole.worst_total(cells[0].names, "row", cells[0].scalars["delta"])
    assert total.mu_upper == pytest.approx(mu * np.sqrt(FOLDS - 1), rel=1e-12), "a record trains in all folds but one"
    assert total.epsilon_certified == pytest.approx(float(gaussian_epsilon(total.mu_upper, total.delta)), rel=1e-9)
