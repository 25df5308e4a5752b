"""Another link is used by every trainer, solver, metric and estimator, or refused: none falls back on the logit.

The planted link has the mean expit(2 z). Its fit with ridge r is half the logit's fit with ridge r / 2, its descent
with rate l is half the logit's with rate 2 l, and its risk is half the logit's at twice the coefficients.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import partywise.methods.logistic
import partywise.studies.label_private
from doubled_link import DOUBLED
from label_driver import make_data, run
from logit_data import logistic
from partywise.core.randomness import stream
from partywise.methods.logistic import newton
from partywise.methods.logistic.estimator import LabelPrivateLogisticRegression
from partywise.methods.logistic.evaluate import log_loss, predict, risk
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.noise import coefficient_deviations
from partywise.methods.logistic.perturbation import objective_perturbation
from partywise.methods.logistic.planner import fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.protocols import one_release, reference, rounds
from partywise.methods.logistic.trainers import fit_walr, gradient_descent, ordinary_mini_batch, penalised_optimum
from partywise.models.links import LOGIT, Logit
from partywise.studies.label_private import metrics
from partywise.studies.label_private.owner_outputs import owner_outputs

X, Y = logistic(300, 4, "links")
V = dot_product(X, Y)
# Drawn by the logit, before any test forbids it.
DATA = make_data()
THETA = np.array([0.3, -0.5, 0.2, 0.7])
FORMULA = {"exp", "tanh", "expit", "log_expit", "sigmoid", "ndtr"}


@pytest.fixture
def no_logit(monkeypatch):
    """A logit that refuses every question."""

    def refuse(self, *arguments):
        raise AssertionError("the logit was asked in the place of another link")

    methods = [name for name, value in vars(Logit).items() if callable(value) and not name.startswith("_")]
    assert {"mean", "slope", "antiderivative", "log_loss", "loss", "total", "centred_mean", "label"} <= set(methods)
    for name in methods:
        monkeypatch.setattr(Logit, name, refuse)


def plan_of(link, ridge):
    return fixed_plan(X, inf, 1e-5, ridge=ridge, link=link)


def first_order(solver, link, scale):
    plan, given = plan_of(link, 0.1 / scale), {"steps": 30, "batch_size": 32, "learning_rate": 0.2 * scale}
    return fit_walr(X, V, plan, solver, rng=stream(7, "batches"), **given).theta


def mini_batch(link, scale):
    given = {"steps": 30, "batch_size": 32, "learning_rate": 0.2 * scale}
    return ordinary_mini_batch(X, Y, 0.1 / scale, stream(7, "batches"), link=link, **given)


def descent(link, scale, batch):
    return gradient_descent(X, np.tile(V, (20, 1)), 0.2 * scale, stream(7, "own"), batch_size=batch, link=link)


def many(link, scale):
    return fit_many(X, V + np.linspace(-0.01, 0.01, 3)[:, None], plan_of(link, 0.1 / scale))


# For each place: coefficients under a link, for ridges that are divided and rates that are multiplied by a scale.
TRAINERS = {
    "newton": lambda link, scale: fit_walr(X, V, plan_of(link, 0.1 / scale)).theta,
    "newton without ridge": lambda link, scale: fit_walr(X, V, plan_of(link, 0.0)).theta,
    "full batch": lambda link, scale: first_order("full_batch", link, scale),
    "hybrid": lambda link, scale: first_order("hybrid", link, scale),
    "ordinary mini-batch": mini_batch,
    "noisy gradients": lambda link, scale: descent(link, scale, None),
    "noisy gradients of batches": lambda link, scale: descent(link, scale, 32),
    "optimum": lambda link, scale: penalised_optimum(X, Y, 0.1 / scale, link),
    "many releases": many,
}


@pytest.mark.parametrize("name", TRAINERS)
def test_every_trainer_and_the_solver_of_many_releases_use_the_link(name, monkeypatch):
    expected = TRAINERS[name](LOGIT, 2) / 2
    np.testing.assert_allclose(TRAINERS[name](DOUBLED, 1), expected, rtol=1e-6, atol=1e-8)
    assert np.abs(TRAINERS[name](LOGIT, 1) - expected).max() > 0.01, "the test cannot tell the links apart"


def test_releases_that_are_slow_to_solve_use_the_link(monkeypatch):
    monkeypatch.setattr(newton, "SLOW", -1.0)
    np.testing.assert_allclose(many(DOUBLED, 1), many(LOGIT, 2) / 2, rtol=1e-7)


def test_noise_errors_and_metrics_use_the_link():
    doubled, single = (fixed_plan(X, 1.0, 1e-5, ridge=r, link=k) for r, k in ((0.1, DOUBLED), (0.05, LOGIT)))
    deviations = coefficient_deviations(X, 2 * THETA, single) / 2
    np.testing.assert_allclose(coefficient_deviations(X, THETA, doubled), deviations, rtol=1e-10)
    np.testing.assert_allclose(predict(X, THETA, DOUBLED), predict(X, 2 * THETA), rtol=1e-12)
    assert log_loss(X, Y, THETA, DOUBLED) == pytest.approx(log_loss(X, Y, 2 * THETA), rel=1e-12)
    assert risk(X, Y, THETA, DOUBLED) == pytest.approx(risk(X, Y, 2 * THETA) / 2, rel=1e-12)
    assert risk(X, Y, THETA) == log_loss(X, Y, THETA)
    half = (risk(X, Y, 2 * THETA) - risk(X, Y, 0 * THETA)) / 2
    assert risk(X, Y, THETA, DOUBLED) - risk(X, Y, 0 * THETA, DOUBLED) == pytest.approx(half, rel=1e-10)


WALR = {"noise": "iid", "ridge": "fixed"}
STEPS = {"steps": 40, "trace_steps": 40, "learning_rate": 1.0}
BATCHES = {**STEPS, "batch_size": 64}
CELLS = {
    "newton": ("walr", 1.0, {**WALR, "noise_draws": 4}),
    "full batch": ("walr", 1.0, {**WALR, **STEPS, "trainer": "full_batch"}),
    "hybrid": ("walr", 1.0, {**WALR, **BATCHES, "trainer": "hybrid"}),
    "rounds": ("noisy_gradient", 1.0, {"rounds": 5}),
    "sampled": ("label_sgd", 1.0, {"rounds": 5, "rate": 0.5, "learning_rates": (1.0,)}),
    "no privacy": ("non_private", inf, {"ridge": 0.01}),
    **{
        f"no privacy, {trainer}": ("non_private", inf, {**given, "trainer": trainer, "ridge": 0.01})
        for trainer, given in (("full_batch", STEPS), ("hybrid", BATCHES), ("minibatch", BATCHES))
    },
}
# What a number of the logit's cell is multiplied by, where it is not the same.
HALVES = ("excess_risk", "objective_gap", "expected_excess", "noise_sd_excess", "norm_theta", "learning_rate")
HALVES += ("path_norm", "path_objective", "path_gap")
FACTORS = {"ridge": 2.0, "half_width": 0.5, "half_width_without_noise": 0.5} | dict.fromkeys(HALVES, 0.5)


def scaled(options):
    """Options with which the logit fits twice the coefficients."""
    given = dict(options)
    if given.get("ridge") == "fixed":
        given["radius"] = 20.0
    elif "ridge" in given:
        given["ridge"] /= 2
    for name in {"learning_rate"} & set(given):
        given[name] *= 2
    if "learning_rates" in given:
        given["learning_rates"] = tuple(2 * rate for rate in given["learning_rates"])
    return given


def cell(label, options):
    """Estimate, scalars and arrays of a cell; recalibration is logistic whatever the link, and no part of them."""
    protocol, epsilon, _ = CELLS[label]
    found = run(protocol, epsilon, data=deepcopy(DATA), **options)
    arrays = metrics.example_fits(found.estimate, found.data, found.fold.train, found.spec).arrays()
    return found.estimate, found.scalars, {name: values for name, (_, values) in arrays.items()}


@pytest.fixture
def logit_cell(request, monkeypatch):
    """The cell by the logit, before it refuses."""
    monkeypatch.setattr(metrics, "calibration", lambda p, y: (float(p.mean()), 0.0, 0.0))
    label = request.getfixturevalue("label")
    return cell(label, scaled(CELLS[label][2]))


@pytest.mark.parametrize("label", CELLS)
def test_whole_cells_ask_no_other_link_than_that_of_the_plan(label, logit_cell, no_logit, monkeypatch):
    for module, name in ((one_release, "fixed_plan"), (rounds, "label_noise_plan"), (reference, "fixed_plan")):
        monkeypatch.setattr(module, name, partial(getattr(module, name), link=DOUBLED))
    (single, expected, curves), (found, scalars, drawn) = logit_cell, cell(label, CELLS[label][2])
    assert found.link == DOUBLED and single.link == LOGIT
    np.testing.assert_allclose(found.theta, single.theta / 2, rtol=1e-6)
    if found.noise_errors is not None:
        np.testing.assert_allclose(found.noise_errors, single.noise_errors / 2, rtol=1e-5)
    assert scalars.keys() == expected.keys()
    # The labels of the data were made by coefficients of the logit, which half of them are not.
    for name, value in scalars.items():
        if name.startswith("interval_coverage"):
            continue
        if isinstance(value, float):
            wanted = expected[name] * FACTORS.get(name, 1.0)
            assert value == pytest.approx(wanted, rel=1e-5, abs=1e-6), name
        elif name != "steps":
            assert value == expected[name], name
    for name, values in drawn.items():
        wanted = curves[name] * FACTORS.get(name, 1.0)
        np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-6, err_msg=name)


def test_the_estimator_predicts_by_the_link_of_its_fit(no_logit, monkeypatch):
    monkeypatch.setattr(one_release, "fixed_plan", partial(fixed_plan, link=DOUBLED))
    model = LabelPrivateLogisticRegression("walr", epsilon=5.0, **WALR).fit(X[:, 1:], Y, rng=1)
    margins = X @ np.append(model.intercept_, model.coef_)
    np.testing.assert_allclose(model.predict_proba(X[:, 1:])[:, 1], expit(2 * margins), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X[:, 1:]), margins > 0)


REFUSALS = {
    "planner": lambda: plan_label_dp(X, 1.0, 1e-5, link=DOUBLED),
    "plan of the planner": lambda: replace(plan_label_dp(X, 1.0, 1e-5), link=DOUBLED),
    "objective perturbation": lambda: objective_perturbation(X, Y, 1.0, 1e-5, stream(7, "o"), link=DOUBLED),
    "home": lambda: owner_outputs(replace(run("non_private", inf).estimate, link=DOUBLED), None, None, None),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_holds_for_the_logit_alone_refuses_another_link(name):
    with pytest.raises(ValueError, match=r"^link='doubled': .* for the logit alone; \w+ .*\.$"):
        REFUSALS[name]()


def test_noise_and_release_know_no_link():
    for given in (
        {"planner": fixed_plan, "ridge": 0.1},
        {"planner": label_noise_plan, "rounds": 3},
    ):
        planner = given.pop("planner")
        one, other = planner(X, 1.0, 1e-5, **given), planner(X, 1.0, 1e-5, **given, link=DOUBLED)
        assert one.mu == other.mu and np.array_equal(one.covariance, other.covariance)


def test_no_formula_of_a_link_stands_beside_it():
    """Cases draw labels of a known truth, noise has a density, facts check what the source prints."""
    rooms = [Path(package.__file__).parent for package in (partywise.methods.logistic, partywise.studies.label_private)]
    allowed = {"cases.py": FORMULA, "noise.py": {"exp", "ndtr"}, "facts.py": {"exp"}}
    offenders = [
        f"{file.name}:{node.lineno} {name}"
        for room in rooms
        for file in sorted(room.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if (name := getattr(node, "attr", getattr(node, "id", ""))) in FORMULA - allowed.get(file.name, set())
    ]
    assert not offenders
