"""What one event costs each unit: records, labels, features, persons; and which events and questions are refused."""

import math
from dataclasses import replace

import pytest

from ledger_driver import BOTH, DELTA, epsilon_of, event
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.reach import clear_event

# What a ledger says of sampling that is not credited is tested in test_odometer.py.
pytestmark = pytest.mark.filterwarnings("ignore:sampling at rate")


@pytest.mark.parametrize(
    ("unit", "depends_on", "label", "features", "row"),
    [
        ("row", BOTH, "cost", "cost", "cost"),
        ("row", ("label",), "cost", "cost", "cost"),
        ("user", BOTH, "cost", "cost", "cost"),
        ("label", ("label",), "cost", 0, "cost"),
        ("label", BOTH, "cost", math.inf, math.inf),
        ("features", ("features",), 0, "cost", "cost"),
        ("features", BOTH, math.inf, "cost", math.inf),
    ],
)
def test_the_table_of_units(unit, depends_on, label, features, row):
    cost = gaussian_epsilon(1.0, DELTA)
    for question, answer in (("label", label), ("features", features), ("row", row)):
        found = epsilon_of([event(unit=unit, depends_on=depends_on)], question)
        assert found == (cost if answer == "cost" else answer), (unit, depends_on, question)


@pytest.mark.parametrize(
    ("units", "label", "features", "row"),
    [
        (("label",), math.inf, 0, math.inf),
        (("features",), 0, math.inf, math.inf),
        (("row",), math.inf, math.inf, math.inf),
        (("user",), math.inf, math.inf, math.inf),
        (("label", "features"), math.inf, math.inf, math.inf),
    ],
)
def test_the_table_of_clear_values(units, label, features, row):
    for question, answer in (("label", label), ("features", features), ("row", row)):
        assert epsilon_of([clear_event("c", "p1", units, "active")], question) == answer


@pytest.mark.parametrize(("beside", "free"), [({}, True), ({"delta_numeric": 1e-9}, False), ({"tv": 1e-9}, False)])
def test_a_free_profile_costs_what_is_beside_it(beside, free):
    assert (event(mu=0.0, **beside).cost("row") == 0.0) is free


def test_add_remove_doubles_mu_and_label_flips_count_for_rows():
    assert epsilon_of([event(relation="add_remove")]) == gaussian_epsilon(2.0, DELTA)
    flipped = event(unit="label", depends_on=("label",), relation="label_flip")
    total = Ledger([flipped]).total("active", "row", DELTA)
    assert (total.epsilon_certified, total.relation) == (gaussian_epsilon(1.0, DELTA), "replace_one")
    assert Ledger([flipped]).total("active", "label", DELTA).relation == "label_flip"


@pytest.mark.parametrize(
    ("profile", "users", "added"),
    [
        ({"mu": 0.3}, PrivacyProfile(mu=0.9), PrivacyProfile(mu=0.6)),
        ({"mu": 0.3, "count": 4}, PrivacyProfile(mu=0.9, count=4), PrivacyProfile(mu=0.6, count=4)),
        ({"epsilon": 0.3}, PrivacyProfile(epsilon=0.9), PrivacyProfile(epsilon=0.6)),
        (
            {"epsilon": 0.3, "k": 50, "count": 2},
            PrivacyProfile(epsilon=0.9, count=2),
            PrivacyProfile(epsilon=0.6, count=2),
        ),
        ({"rho": 0.1}, PrivacyProfile(rho=0.9), PrivacyProfile(rho=0.4)),
        # Nothing is gained by sampling in a group: every record may be included.
        ({"mu": 0.3, "rate": 0.1}, PrivacyProfile(mu=0.9), PrivacyProfile(mu=0.6)),
    ],
)
def test_the_table_of_groups(profile, users, added):
    row = event(**{"mu": None, **profile})

    def total(unit, rows=(row,), **users):
        return Ledger(rows).total("active", unit, DELTA, **users).epsilon_certified

    assert total("user", rows_per_user=3) == pytest.approx(compose([users]).epsilon(DELTA), rel=1e-12)
    assert total("user") == math.inf, "an unknown number of rows proves nothing"
    assert total("row") == total("user", rows_per_user=1) <= total("user", rows_per_user=2)
    assert total("row", [replace(row, relation="add_remove")]) == compose([added]).epsilon(DELTA)
    # An event about users costs itself, whatever is asked and known.
    of_user = [replace(row, unit="user")]
    assert {total(unit, of_user) for unit in ("row", "label", "features", "user")} == {total("row")}
    # A release about labels alone costs a person all their labels; one that reads features proves nothing.
    label = replace(row, unit="label", relation="replace_one", depends_on=frozenset(["label"]))
    assert total("user", [label], rows_per_user=3) == total("user", rows_per_user=3)
    assert total("user", [replace(label, depends_on=frozenset(BOTH))], rows_per_user=3) == math.inf
    assert total("user", [clear_event("c", "p1", ("label",), "active")], rows_per_user=1) == math.inf
    # All labels of a person: features that are read, or sent as they are, cost nothing; the labels cost as a group.
    read = [replace(label, depends_on=frozenset(BOTH)), clear_event("c", "p1", ("features",), "active")]
    assert total("user_label", read, rows_per_user=3) == total("user", rows_per_user=3)
    assert total("user_label", read) == total("user", read, rows_per_user=3) == math.inf
    assert total("user_label", [row], rows_per_user=3) == total("user", rows_per_user=3)
    assert total("user_label", of_user, rows_per_user=3) == total("row")
    assert total("user_label", [clear_event("c", "p1", ("label",), "active")], rows_per_user=1) == math.inf


def test_sampling_is_credited_where_one_neighbour_contributes_nothing():
    flipped = {"unit": "label", "depends_on": ("label",), "relation": "label_flip"}
    sampled = event(mu=1.0, rate=0.05, count=20, **flipped)
    found = epsilon_of([sampled], "label")
    assert found == compose([PrivacyProfile(mu=1.0, rate=0.05, count=20)]).epsilon(DELTA)
    assert found == epsilon_of([sampled], "row")
    replaced = event(mu=1.0, rate=0.05, count=20)
    assert epsilon_of([replaced]) == gaussian_epsilon(math.sqrt(20), DELTA) > 3 * found


def test_what_lies_outside_a_distribution_has_no_group_rule():
    row = event(mu=0.3, delta_numeric=1e-9)
    assert epsilon_of([row]) == gaussian_epsilon(0.3, DELTA - 1e-9)
    assert epsilon_of([replace(row, relation="add_remove")]) == math.inf
    assert Ledger([row]).total("active", "user", DELTA, rows_per_user=2).epsilon_certified == math.inf


@pytest.mark.parametrize("rows_per_user", [0, 1.5, -1])
def test_a_bad_number_of_rows_is_refused(rows_per_user):
    with pytest.raises(ValueError, match="rows_per_user="):
        Ledger([event()]).total("active", "user", DELTA, rows_per_user=rows_per_user)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"owner": ""}, "owner=''"),
        ({"unit": "person"}, "unit='person'"),
        ({"depends_on": ()}, "depends_on="),
        ({"depends_on": ("age",)}, "depends_on="),
        ({"mu": -1.0}, "mu=-1.0"),
        ({"mu": math.nan}, "mu=nan"),
        ({"count": 0}, "count=0"),
        ({"count": 1.5}, "count=1.5"),
        ({"relation": "swap"}, "relation='swap'"),
        ({"relation": "label_flip"}, "needs unit='label'"),
        ({"trust_model": "hope"}, "trust_model='hope'"),
        ({"sampler": "dice"}, "sampler='dice'"),
        ({"audience": ("a;b",)}, "audience="),
        ({"mechanism": "none", "mu": None}, "never certified"),
        ({"epsilon": 1.0}, "mu and epsilon"),
        ({"mu": None, "epsilon": -1.0}, "epsilon=-1.0"),
        ({"mu": None, "rho": math.nan}, "rho=nan"),
        ({"k": 3}, "k=3"),
        ({"mu": None, "epsilon": 1.0, "k": 1}, "k=1"),
        ({"mu": None, "epsilon": 1.0, "k": 2.5}, "k=2.5"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": 1.5}, "rate=1.5"),
        ({"mu": None, "epsilon": 1.0, "rate": 0.5}, "rate=0.5"),
        ({"delta_numeric": 1.0}, "delta_numeric=1.0"),
        ({"delta_numeric": -1e-9}, "delta_numeric=-1e-09"),
        ({"epsilon_distance": -1.0}, "epsilon_distance=-1.0"),
        ({"count": math.inf}, "count=inf"),
    ],
)
def test_bad_events_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        event(**fields)


def test_bad_questions_are_refused():
    with pytest.raises(ValueError, match="unit='person' of a question"):
        Ledger([event()]).total("active", "person", DELTA)
    with pytest.raises(ValueError, match="delta=1"):
        Ledger([event()]).total("active", "row", 1)
    with pytest.raises(TypeError, match="must be a tuple of names"):
        event(audience="active")
    with pytest.raises(TypeError, match="takes Event rows"):
        Ledger([{"mu": 1.0}])
    assert Ledger([event()]).total("active", "row", 0.0).epsilon_certified == math.inf
