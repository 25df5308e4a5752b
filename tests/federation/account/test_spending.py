"""One run has one epsilon, whoever says it; several add up by a rule that holds where each was chosen afterwards."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from accounts import event
from partywise.core.errors import BudgetExceeded
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.spending import (
    AccountBudget,
    Spending,
    coalitions_in_words,
    shares_in_words,
    spent_of,
)
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.ledger.event import SEVERAL, Event
from partywise.privacy.ledger.ledger import Ledger

DELTA = 1e-5
TEN = AccountBudget(10.0, DELTA, "row")


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
        with pytest.raises(BudgetExceeded, match=r"It has room for mu squared 0, or epsilon 2 of pure profiles\."):
            account.charge(response("codes", 4.0))
        with pytest.raises(BudgetExceeded):
            account.charge(event("sum", 0.1))
        account.charge(response("codes", 2.0))


def test_a_run_that_is_composed_exactly_is_the_only_one_with_a_distribution_that_is_not_pure():
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


def test_a_distribution_that_depends_on_a_release_is_not_composed_exactly():
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


def share(name: str, owners: tuple[str, ...], **terms: Any) -> Event:
    """A joint release of epsilon 1 against one colluder, with shares of the noise."""
    weight = str(Fraction(1, max(len(owners) - 1, 1)))
    mu, shares = float(gdp_mu(1.0, DELTA)), tuple((owner, weight) for owner in owners)
    return replace(event(name, mu), owner=SEVERAL, owners=owners, shares=shares, **({"tv": 1e-300} | terms))


THREE = [
    ("first", share("sum", ("north", "river", "hill"))),
    ("second", share("other", ("north", "river"))),
    ("third", share("last", ("north", "hill"))),
]
BY_COALITION = {("river",): 1.465170, ("hill",): 1.249911, ("river", "hill"): 1.834965, (): 1.088390}


@pytest.mark.parametrize(("names", "epsilon"), BY_COALITION.items())
def test_runs_with_shares_add_for_the_same_coalition(names, epsilon):
    found = spent_of(THREE[:2], DELTA, party="north", against=names)["row"]
    assert found.epsilon == pytest.approx(epsilon, abs=1e-6)


def test_the_worst_coalition_over_runs_is_not_the_worst_of_each():
    one = spent_of(THREE, DELTA, party="north")["row"]
    assert one.epsilon == pytest.approx(1.658, abs=5e-4)
    assert spent_of(THREE, DELTA, party="north", against="any")["row"].epsilon > 1.834
    spending = Spending(AccountBudget(1.66, DELTA, "row"), party="north")
    for run, paid in THREE:
        spending.require(run, [paid])
    with pytest.raises(BudgetExceeded):
        spending.require("fourth", [share("more", ("north", "hill"))])
    assert spending.amount_spent == pytest.approx(one.amount, rel=1e-12)
    with pytest.raises(BudgetExceeded):
        Spending(AccountBudget(1.66, DELTA, "row", against="any"), THREE[:2], party="north").require(
            "third", [THREE[2][1]]
        )
    with pytest.raises(ValueError, match="against='all'"):
        AccountBudget(1.0, DELTA, "row", against="all")


def test_who_knows_the_noise_is_counted_against_any_and_by_name():
    dealt = [("first", share("sum", ("north", "river"), knows=("dealer",)))]
    assert spent_of(dealt, DELTA, party="north")["row"].epsilon == pytest.approx(1.0, abs=1e-6)
    for against in ("any", ("dealer",), ("river", "dealer")):
        assert spent_of(dealt, DELTA, party="north", against=against)["row"].epsilon == math.inf
    assert spent_of(dealt, DELTA, party="north", against=("river",))["row"].epsilon < math.inf


def test_of_very_many_owners_each_release_counts_as_it_is_stated():
    owners = tuple(f"client {k}" for k in range(30))
    weight, mu = str(Fraction(1, 15)), 0.3
    rows = [
        replace(event(f"sum {k}", mu), owner=SEVERAL, owners=owners, shares=tuple((name, weight) for name in owners))
        for k in range(2)
    ]
    found = spent_of([("first", rows[0]), ("second", rows[1])], DELTA, party="client 3")["row"]
    assert found.amount == pytest.approx(2 * mu**2, rel=1e-12)


def test_a_distance_is_covered_by_the_rounding_margin_or_by_the_reserve():
    far = event("far", 0.1, tv=1e-12)
    with pytest.raises(BudgetExceeded, match="numeric_reserve"):
        Spending(TEN).require("first", [far])
    factor = 1 + math.exp(10.0)
    for reserve, fits in ((1.001 * factor * 1e-12, True), (0.999 * factor * 1e-12, False)):
        spending = Spending(replace(TEN, numeric_reserve=reserve))
        if fits:
            spending.require("first", [far])
        else:
            with pytest.raises(BudgetExceeded, match="numeric_reserve"):
                spending.require("first", [far])
    near = Spending(TEN)
    near.require("first", [event(f"near {k}", 0.1, tv=1e-300) for k in range(3)])
    assert near.amount_spent == pytest.approx(0.03)
    pure = PrivacyFilter(10.0, 0.0, unit="row", rule="pure")
    assert not pure.would_fit(response("codes", 1.0, tv=1e-300))


def test_a_budget_of_an_older_account_is_the_same_budget(tmp_path):
    path = tmp_path / FILE
    with Account(path, party="north", budget=TEN) as account:
        account.began("a", "c" * 64)
        account.record_end()
    older = path.read_bytes()
    with Account(path, party="north", budget=TEN) as account:
        assert not account.notes
    assert path.read_bytes() == older
    with Account(path, party="north", budget=replace(TEN, against="any")) as account:
        account.began("b", "c" * 64)
        assert [row.kind for row in account.rows()].count("budget") == 2


def test_what_a_party_is_told_of_coalitions():
    delta = 1500**-1.1
    mu = float(gdp_mu(2.0, delta))
    row = replace(THREE[0][1], mu=mu)
    views = coalitions_in_words([row], "north")
    assert list(views) == ["outsiders", "any other single party", "hill and river together"]
    found = [spent_of([("run", row)], delta, party="north", against=view)["row"].epsilon for view in views.values()]
    assert found == pytest.approx([1.576781, 2.0, 3.018603], abs=1e-6)
    assert shares_in_words([row]) == "1/2 of the full variance from each of 3 parties"
    assert coalitions_in_words([event("own", 1.0)], "north") == {} and shares_in_words([event("own", 1.0)]) == ""
    assert list(coalitions_in_words([THREE[1][1]], "north")) == ["outsiders", "any other single party"]
