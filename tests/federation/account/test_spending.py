"""One run has one epsilon, whoever says it; several add up by a rule that holds where each was chosen afterwards."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from accounts import event
from partywise.errors import BudgetExceeded
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.spending import Budget, Spending, spent_of
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger

DELTA = 1e-5
TEN = Budget(10.0, DELTA, "row")


def response(name: str, epsilon: float, **terms: Any) -> Event:
    return event(name, mechanism="randomized_response", mu=None, epsilon=epsilon, k=8, **terms)


RUNS = {
    "randomised response": [response("codes", 4.0)],
    "randomised response of many": [response(f"codes {k}", 0.5) for k in range(8)],
    "Gaussians": [event(f"sum {k}", 0.3) for k in range(5)],
    "both": [event("sum", 0.5), response("codes", 2.0)],
    "zCDP": [event("sum", mu=None, rho=0.1), event("other", 0.2)],
    "with a delta of its own": [event("sum", 0.5, delta_numeric=1e-9)],
    "clients": [event("north", 0.5, stratum="client/north"), event("south", 0.4, stratum="client/south")],
}


@pytest.mark.parametrize("what", RUNS)
def test_one_run_costs_in_the_account_what_its_ledger_certifies(what):
    total = Ledger(RUNS[what]).total("server", "row", DELTA)
    spent = spent_of([("run", paid) for paid in RUNS[what]], DELTA)["row"]
    assert spent.epsilon == total.epsilon_certified and 0 < spent.epsilon < math.inf
    assert spent.rule == "composed exactly"


def test_a_budget_of_10_lets_randomised_response_at_4_through_twice_and_over_restarts(tmp_path):
    for number, epsilon in ((1, 4.0), (2, 8.0)):
        with Account(tmp_path / FILE, party="clinic", budget=TEN) as account:
            account.began(f"run {number}", "c")
            account.charge(response("codes", 4.0))
            account.record_end("outcome")
            assert account.costs_by_unit()["row"].epsilon == pytest.approx(epsilon, abs=1e-3)
    with Account(tmp_path / FILE, party="clinic", budget=TEN) as account:
        account.began("run 3", "c")
        with pytest.raises(BudgetExceeded, match=r"It has room for mu squared 0, or epsilon 2 of pure laws\."):
            account.charge(response("codes", 4.0))
        with pytest.raises(BudgetExceeded):
            account.charge(event("sum", 0.1))
        account.charge(response("codes", 2.0))


def test_a_run_that_is_composed_exactly_is_the_only_one_with_a_law_that_is_not_pure():
    """600 responses at .1 cost 60 by their sum, more than the filter has, and less than 10 exactly; no more fits."""
    many = response("codes", 0.1, count=600)
    exact = Ledger([many]).total("server", "row", DELTA).epsilon_certified
    spending = Spending(TEN)
    assert exact < 10 and spending.left < 600 * 0.1**2, "neither the sum nor the filter has room for it"
    spending.require("first", [many])
    for one in (event("sum", 1e-3), response("codes", 1e-3)):
        with pytest.raises(BudgetExceeded):
            spending.require("second", [one])


def test_what_began_within_the_filter_stays_with_it():
    """A run that may be broken off for what it released: no rule but the filter covers both of its ends."""
    first, then = event("sum", 0.5), response("codes", 4.0)
    assert Ledger([first, then]).total("server", "row", DELTA).epsilon_certified < 10
    spending = Spending(TEN)
    spending.require("run", [first])
    with pytest.raises(BudgetExceeded):
        spending.require("run", [then])
    spending.require("another", [event("sum", math.sqrt(gdp_mu(10.0, DELTA) ** 2 - 0.25 - 1e-9))])


def test_a_law_that_depends_on_a_release_is_not_composed_exactly():
    spending = Spending(TEN)
    many = response("codes", 0.1, count=600)
    with pytest.raises(BudgetExceeded):
        spending.require("run", [replace(many, data_dependent_parameters=("radius",))])
    spending.require("run", [many])


def test_runs_add_up_by_the_lesser_of_two_rules():
    small = [("one", response("a", 0.01)), ("two", response("b", 0.02))]
    spent = spent_of(small, DELTA)["row"]
    assert spent.epsilon == pytest.approx(0.03) and spent.rule == "2 runs added"
    gauss = [("one", event("a", 0.3)), ("two", event("b", 0.4))]
    assert spent_of(gauss, DELTA)["row"].epsilon == pytest.approx(float(gaussian_epsilon(0.5, DELTA)))
    assert spent_of(gauss, DELTA)["label"].epsilon == spent_of(gauss, DELTA)["row"].epsilon
    unproved = [("one", event("a", 0.3)), ("two", event("b", 0.4).without_proof)]
    assert spent_of(unproved, DELTA)["row"].epsilon == math.inf and spent_of(unproved, DELTA)["row"].n_unproved == 1
