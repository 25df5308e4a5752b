"""A budget is never exceeded, whatever is asked of it and in whatever order."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from fixed import fixed
from partywise.core.errors import BudgetExceeded, CertificationError
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import gdp_mu, zcdp_rho
from partywise.privacy.accounting.gaussian_profile import pure_mu
from partywise.privacy.ledger import compose as accounting
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import Gaussian, QuantileRadius
from partywise.privacy.statistics.records import clipped_coefficients

DELTA = 1e-5


def event(release_id="r", **fields):
    values = {"owner": "p1", "mechanism": "noise", "unit": "row", "depends_on": ("features", "label"), **fields}
    return Event(release_id=release_id, **values)


@pytest.mark.parametrize("unit", ["row;flavour", "flavour;row", "flavour"])
def test_each_unit_of_an_event_that_protects_none_must_be_known(unit):
    """One known unit among others does not make the others known."""
    with pytest.raises(ValueError, match=rf"unit='{unit}' of event 'r' is unknown"):
        event(mechanism="none", unit=unit)
    assert event(mechanism="none", unit="row;label", certified=False).unit == "row;label"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"depends_on": ()}, r"depends_on=\[\] of event 'r' must name some of"),
        ({"depends_on": ("colour",)}, r"depends_on=\['colour'\] of event 'r' must name some of"),
        ({"depends_on": ("colour", "label")}, r"depends_on=\['colour', 'label'\] of event 'r' must name some of"),
        ({"relation": "label_flip"}, "relation='label_flip' of event 'r' needs unit='label', not 'row'"),
        ({"relation": "swap"}, "relation='swap' of an event is unknown"),
        ({"owner": ""}, "owner='' of an event must be a non-empty string"),
        ({"mechanism": "none", "certified": False, "mu": 1.0}, "has no profile and is never certified"),
        ({"mechanism": "none"}, "has no profile and is never certified"),
        ({"key_holders": ("p1",)}, "only a cipher has a key"),
        ({"owners": ("p1", "p2")}, "both or none"),
        ({"tv": 1.0}, r"tv=1.0 of event 'r' must lie in \[0, 1\)"),
        ({"tv": -1e-9}, r"must lie in \[0, 1\)"),
    ],
)
def test_a_field_of_an_event_that_cannot_be_is_named(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        event(**({"mu": 1.0} if fields.get("mechanism") != "none" else {}) | fields)


PROFILES = st.one_of(
    st.tuples(st.just("mu"), st.floats(0.01, 1)),
    st.tuples(st.just("epsilon"), st.floats(0.01, 1)),
)


@given(st.lists(st.tuples(PROFILES, st.integers(1, 4)), max_size=25), st.sampled_from(["gdp", "zcdp"]))
@settings(deadline=None, max_examples=50)
def test_what_was_let_through_never_exceeds_the_budget(asked, rule):
    budget = PrivacyFilter(2.0, DELTA, rule=rule)
    passed = []
    for number, ((name, value), count) in enumerate(asked):
        row = event(f"r{number}", **{name: value}, count=count)
        before = (budget.remaining, budget.amount_spent)
        fits = budget.would_fit(row)
        assert (budget.remaining, budget.amount_spent) == before
        if fits:
            budget.spend(row)
            passed.append(row)
        else:
            with pytest.raises(BudgetExceeded):
                budget.spend(row)
            assert (budget.remaining, budget.amount_spent) == before
    # The accountant knows the whole profile and finds no more than the filter allowed.
    assert accounting.epsilon(passed, DELTA) <= 2.0
    assert budget.amount_spent <= budget.budget * (1 + 1e-12)


def test_equal_shares_of_a_budget_fit_and_one_more_does_not():
    shares = {"gdp": ("mu", gdp_mu(1.0, DELTA) / math.sqrt(20)), "zcdp": ("rho", zcdp_rho(1.0, DELTA) / 20)}
    shares["pure"] = ("epsilon", 0.05)
    for rule, (name, value) in shares.items():
        budget = PrivacyFilter(1.0, DELTA, rule=rule)
        for number in range(20):
            budget.spend(event(f"r{number}", **{name: value}))
        assert budget.remaining == pytest.approx(0.0, abs=1e-12)
        with pytest.raises(BudgetExceeded, match=r"noise 'more' costs .* is left of epsilon = 1.* Use more noise"):
            budget.spend(event("more", **{name: value / 100}))
        assert issubclass(BudgetExceeded, CertificationError)


def test_a_refused_event_leaves_the_filter_as_it_was():
    budget = PrivacyFilter(1.0, DELTA)
    with pytest.raises(BudgetExceeded):
        budget.spend(event(mu=5.0, unit="label"))
    # Not even the unit of the refused event is kept.
    budget.spend(event(mu=0.1))
    assert budget.amount_spent == pytest.approx(0.01)
    with pytest.raises(BudgetExceeded):
        budget.spend(event(mu=math.inf))
    assert budget.would_fit(event(mu=0.0)) and budget.amount_spent == pytest.approx(0.01)


def test_no_noise_is_drawn_for_what_does_not_fit():
    bounded = clipped_coefficients(np.ones((4, 2)), None, fixed(1.0))
    rng, budget = stream(1, "noise"), PrivacyFilter(1.0, DELTA)
    mechanism = Gaussian(mu=0.2)
    with pytest.raises(BudgetExceeded):
        for _ in range(100):
            mechanism(bounded, rng, owner="p1", budget=budget)
    state = rng.bit_generator.state
    with pytest.raises(BudgetExceeded):
        mechanism(bounded, rng, owner="p1", budget=budget)
    assert rng.bit_generator.state == state
    assert budget.amount_spent <= budget.budget


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.0, 10.0, 40.0, 600.0])
def test_the_gaussian_of_a_pure_distribution_passes_through_its_kink(epsilon):
    mu = pure_mu(epsilon)
    with mpmath.workdps(50):
        kink = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        # At type I error kink the Gaussian curve has type II error kink: Phi(-mu/2).
        assert abs(mpmath.ncdf(-mpmath.mpf(mu) / 2) / kink - 1) < 1e-9
    if epsilon < 30:
        error = np.linspace(1e-6, 1 - 1e-6, 999)
        pure = np.maximum.reduce([0 * error, 1 - np.exp(epsilon) * error, np.exp(-epsilon) * (1 - error)])
        gaussian = ndtr(-np.array([float(mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1)) for x in error]) - mu)
        assert np.all(gaussian <= pure + 1e-12)
        # A smaller mu would cut the corner.
        smaller = ndtr(-float(mpmath.sqrt(2) * mpmath.erfinv(2 / (1 + mpmath.exp(epsilon)) - 1)) - 0.99 * mu)
        assert smaller > 1 / (1 + math.exp(epsilon))
    assert pure_mu(0.0) == 0.0 and pure_mu(math.inf) == math.inf


@pytest.mark.parametrize(
    ("rule", "fields", "cost"),
    [
        ("gdp", {"mu": 0.3, "count": 2}, 0.18),
        ("gdp", {"epsilon": 0.5}, pure_mu(0.5) ** 2),
        ("gdp", {"mu": 0.3, "rate": 0.1, "relation": "add_remove"}, 0.09),
        ("zcdp", {"mu": 0.3, "count": 2}, 0.09),
        ("zcdp", {"epsilon": 0.2, "k": 9}, 0.02),
        ("zcdp", {"rho": 0.05}, 0.05),
        ("pure", {"epsilon": 0.2, "count": 3}, 0.6),
    ],
)
def test_the_price_of_an_event(rule, fields, cost):
    budget = PrivacyFilter(4.0, DELTA, rule=rule)
    budget.spend(event(**fields))
    assert budget.amount_spent == pytest.approx(cost, rel=1e-12)
    assert budget.remaining == pytest.approx(budget.budget - cost, rel=1e-12)


@pytest.mark.parametrize(("rule", "fields"), [("gdp", {"rho": 0.1}), ("pure", {"mu": 0.1}), ("pure", {"rho": 0.1})])
def test_profiles_that_a_rule_cannot_charge_are_refused(rule, fields):
    with pytest.raises(CertificationError, match=f"rule '{rule}' cannot charge") as caught:
        PrivacyFilter(1.0, DELTA, rule=rule).spend(event(**fields))
    assert not isinstance(caught.value, BudgetExceeded)


def test_unproved_events_fit_no_budget():
    for budget in (PrivacyFilter(math.inf, DELTA), PrivacyFilter(1.0, DELTA, unit="label")):
        with pytest.raises(CertificationError, match="nothing finite is proved"):
            budget.spend(event(mu=1.0, certified=False))


def test_a_named_unit_charges_by_the_table():
    budget = PrivacyFilter(3.0, DELTA, unit="label")
    budget.spend(event("a", mu=0.1, unit="features", depends_on=("features",)))
    assert budget.amount_spent == 0.0
    budget.spend(event("b", mu=0.1))
    budget.spend(event("c", mu=0.1, relation="add_remove"))
    assert budget.amount_spent == pytest.approx(0.05)
    with pytest.raises(CertificationError, match="unit 'label'"):
        budget.spend(event("d", mu=0.1, unit="features"))
    users = PrivacyFilter(3.0, DELTA, unit="user", rows_per_user=3)
    users.spend(event(mu=0.1))
    assert users.amount_spent == pytest.approx(0.09)


def test_units_are_not_mixed_without_a_question():
    budget = PrivacyFilter(1.0, DELTA)
    budget.spend(event("a", mu=0.1))
    for other in ({"unit": "label"}, {"relation": "add_remove"}):
        with pytest.raises(ValueError, match="name the unit that the budget protects"):
            budget.spend(event("b", mu=0.1, **other))


def test_the_numeric_reserve_is_a_budget_of_its_own():
    budget = PrivacyFilter(1.0, DELTA, numeric_reserve=1e-6)
    assert budget.budget == gdp_mu(1.0, 9e-6) ** 2
    budget.spend(event("a", mu=0.01, delta_numeric=6e-7))
    with pytest.raises(BudgetExceeded, match="numeric reserve"):
        budget.spend(event("b", mu=0.01, delta_numeric=6e-7))
    budget.spend(event("c", mu=0.01, delta_numeric=4e-7))
    with pytest.raises(BudgetExceeded):
        PrivacyFilter(1.0, DELTA).spend(event(mu=0.01, delta_numeric=1e-30))


def test_an_infinite_budget_lets_everything_through():
    budget = PrivacyFilter(math.inf, DELTA)
    budget.spend(event(mu=math.inf))
    assert budget.remaining == math.inf


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("epsilon=-1", {"epsilon": -1.0}),
        ("delta=1.0", {"delta": 1.0}),
        ("rule='renyi'", {"rule": "renyi"}),
        ("numeric_reserve=0.1", {"numeric_reserve": 0.1}),
        ("unit='person'", {"unit": "person"}),
        ("against='outsider'", {"against": "outsider"}),
    ],
)
def test_bad_filters_are_refused(argument, changes):
    with pytest.raises(ValueError, match=argument.replace(".", r"\.")):
        PrivacyFilter(**{"epsilon": 1.0, "delta": DELTA, **changes})


def adaptive(budget, radius, release_id, sigma=16.0):
    """Curves clipped to a private radius, at a noise level that ignores it: what they cost is seen with the radius."""
    curves = clipped_coefficients(np.ones((20, 3)), None, radius)
    terms = {"budget": budget, "release_id": release_id}
    return Gaussian(sigma=sigma)(curves, stream(3, release_id), owner="p1", **terms)


def a_radius(audience="*"):
    return QuantileRadius(0.5)(np.full(400, 1.5), stream(3, "r"), owner="p1", release_id="radius", audience=audience)


def test_a_budget_that_was_fixed_in_advance_is_charged_whole_for_releases_whose_distribution_was_not():
    budget, radius = PrivacyFilter.of_mu(2.0, unit="features", name="budget"), a_radius()
    first, second = (adaptive(budget, radius, name) for name in ("first", "second"))
    assert 0 < budget.amount_spent < budget.budget == 4.0
    ledger = Ledger([budget.row, radius.event, first.event, second.event])
    assert all(row.certified for row in ledger.rows)
    for view, paid in (("p1", 0.0), ("p2", 4.0 + 1.0), ((), 4.0 + 1.0)):
        assert ledger.total(view, "features", DELTA).mu_total ** 2 == pytest.approx(paid), view
    assert ledger.total("p2", "label", DELTA).epsilon_certified == 0
    with pytest.raises(BudgetExceeded):
        adaptive(budget, radius, "third", sigma=0.5)


def test_without_the_row_the_name_or_the_unit_of_a_budget_nothing_is_certified():
    radius = a_radius()
    named = PrivacyFilter.of_mu(2.0, unit="features", name="budget")
    without_row = Ledger([radius.event, adaptive(named, radius, "a").event])
    assert without_row.total("p2", "features", DELTA).epsilon_certified == math.inf
    for other in (PrivacyFilter.of_mu(2.0, unit="features"), PrivacyFilter.of_mu(2.0, unit="row", name="budget")):
        rows = [other.row] if other.name else []
        ledger = Ledger([*rows, radius.event, adaptive(other, radius, "a").event])
        assert ledger.total("p2", "features", DELTA).epsilon_certified == math.inf
    with pytest.raises(ValueError, match="a budget with a row needs both"):
        _ = PrivacyFilter(1.0, DELTA, name="budget").row


@pytest.mark.parametrize("rule", ["gdp", "zcdp", "pure"])
def test_the_row_of_a_budget_is_the_budget(rule):
    budget = PrivacyFilter(1.5, DELTA, unit="row", rule=rule, name="budget")
    found = Ledger([budget.row])
    member = event("member", mu=0.0, data_dependent_parameters=("budget",))
    found.append(member)
    cost = found.total("p2", "row", DELTA).epsilon_certified
    # A pure profile is a little cheaper at this delta, and zCDP was bounded more loosely by the filter than by the
    # ledger.
    assert {"gdp": 1.4999999, "pure": 1.4999, "zcdp": 1.0}[rule] < cost <= 1.5
    assert Ledger.from_rows(found.to_rows()).total("p2", "row", DELTA).epsilon_certified == cost


@pytest.mark.parametrize(("amount", "times", "total"), [(0.1, 3, 0.3), (0.1, 7, 0.7), (0.2, 3, 0.6), (0.1, 10, 1.0)])
def test_amounts_add_as_the_decimals_that_they_print_as(amount, times, total):
    """As floats three times 0.1 is more than 0.3."""
    budget = PrivacyFilter(total, 0.0, rule="pure")
    terms = {"unit": "row", "depends_on": {"label"}, "epsilon": amount}
    for number in range(times):
        budget.spend(Event(f"release {number}", "clinic", "laplace", **terms))
    assert (budget.amount_spent, budget.remaining) == (total, 0.0)
    with pytest.raises(BudgetExceeded):
        budget.spend(Event("one more", "clinic", "laplace", **(terms | {"epsilon": 1e-12})))
    together = PrivacyFilter(total, 0.0, rule="pure")
    together.spend(Event("all", "clinic", "laplace", **terms, count=times))
    assert together.remaining == 0.0


def test_the_sentence_prints_what_differs():
    budget = PrivacyFilter(0.3, 0.0, rule="pure")
    terms = {"unit": "row", "depends_on": {"label"}}
    with pytest.raises(BudgetExceeded, match=r"costs epsilon = 0\.300000001 .*; 0\.3 of 0\.3 is left"):
        budget.spend(Event("sum", "clinic", "laplace", **terms, epsilon=0.300000001))


def test_a_short_reserve_is_named_with_a_value_that_helps():
    """Of masks, which cost nothing but their delta."""
    mask = Event("mask", "clinic", "closed", unit="row", depends_on={"label"}, mu=0.0, delta_numeric=1.2345e-12)
    with pytest.raises(BudgetExceeded, match=r"state numeric_reserve = 1\.24e-12 or more") as refusal:
        PrivacyFilter(1.0, 1e-5, unit="row").spend(mask)
    assert "mu squared" not in str(refusal.value)
    PrivacyFilter(1.0, 1e-5, unit="row", numeric_reserve=1.24e-12).spend(mask)
