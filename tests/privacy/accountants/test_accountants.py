"""Accountants behind one interface: none is below the exact one, none is optimistic, and another one is one file."""

import json
import math
import subprocess
import sys

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting import rdp

from ledger_driver import event
from loss_oracle import random_profiles
from partywise.core.errors import CertificationError
from partywise.privacy import accountants as room
from partywise.privacy.accountants import Accountant, accountants
from partywise.privacy.accountants.exact import Exact
from partywise.privacy.accountants.renyi import ORDERS, RDP, divergences
from partywise.privacy.accounting.compose import Composition, compose, cost
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.total import MEANINGS, REPORTED
from pipeline import ROOT, environment

ALL = accountants()
DELTA = 1e-5
MIXED = 3 * cost(mu=0.4) + 2 * cost(epsilon=0.5, k=4)


def test_the_room_holds_four_ways_and_the_formula_for_comparison():
    assert {"exact", "zcdp", "simple_zcdp", "rdp", "dp_accounting"} <= set(ALL) and ALL["exact"] is Exact
    assert set(REPORTED) == {name for name, kind in ALL.items() if kind.variable} >= {"exact", "simple_zcdp"}


@pytest.mark.parametrize("name", sorted(set(ALL) - {"exact"}))
@pytest.mark.parametrize("seed", range(6))
def test_no_accountant_is_below_the_exact_one(name, seed):
    profiles = random_profiles(np.random.default_rng(seed), sampled=seed > 3)
    composition = compose(profiles)
    least = Exact(composition).epsilon(DELTA)
    assert least == composition.epsilon(DELTA) and 0 < least < math.inf
    # On a grid both libraries round up, each by its own steps.
    assert least * (1 - 1e-4) <= ALL[name](composition).epsilon(DELTA) <= 15 * least


def test_dp_accounting_composes_to_nearly_the_exact_epsilon():
    for composition in (MIXED, 5 * cost(mu=0.3, rate=0.2) + cost(mu=0.5)):
        exact = composition.epsilon(DELTA)
        assert ALL["dp_accounting"](composition).epsilon(DELTA) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(
    ("profiles", "events", "relation"),
    [
        ([PrivacyProfile(mu=0.5, count=7)], [dp.SelfComposedDpEvent(dp.GaussianDpEvent(2.0), 7)], "ADD_OR_REMOVE_ONE"),
        ([PrivacyProfile(rho=0.1, count=3)], [dp.ZCDpEvent(0.3)], "ADD_OR_REMOVE_ONE"),
        (
            [PrivacyProfile(epsilon=0.7, k=5, count=4)],
            [dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(0.0, 5), 4)],
            None,
        ),
        (
            [PrivacyProfile(mu=1.25, rate=0.01, count=500), PrivacyProfile(mu=0.2)],
            [
                dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(0.8)), 500),
                dp.GaussianDpEvent(5.0),
            ],
            "ADD_OR_REMOVE_ONE",
        ),
    ],
    ids=["gaussian", "zcdp", "response", "sampled"],
)
def test_renyi_divergences_are_those_of_the_other_library(profiles, events, relation):
    """At whole orders, where both have the same formulas; a mu of one percent more is another number."""
    whole = ORDERS[(np.round(ORDERS) == ORDERS) & (ORDERS < 100)]
    found = divergences(compose(profiles))[np.isin(ORDERS, whole)]
    if relation is None:
        keep = math.exp(0.7) / (math.exp(0.7) + 4)
        p, q = np.array([keep, *[(1 - keep) / 4] * 4]), np.array([(1 - keep) / 4, keep, *[(1 - keep) / 4] * 3])
        expected = np.array([4 * math.log(np.sum(p**a * q ** (1 - a))) / (a - 1) for a in whole])
    else:
        accountant = rdp.RdpAccountant(whole, dp.NeighboringRelation[relation])
        for one in events:
            accountant.compose(one)
        expected = accountant._rdp
    assert found == pytest.approx(expected, rel=1e-9)
    assert found != pytest.approx(expected * 1.01, rel=1e-3)


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_has_no_noise_is_infinite_and_nothing_costs_nothing(name):
    for profile in ({"mu": math.inf}, {"epsilon": math.inf}):
        assert ALL[name](cost(**profile)).epsilon(DELTA) == math.inf
    assert ALL[name](Composition()).epsilon(DELTA) == 0
    with pytest.raises(ValueError, match=r"delta=1\.5 must lie in \[0, 1\)"):
        ALL[name](MIXED).epsilon(1.5)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"simple_zcdp"}))
def test_what_is_added_to_delta_is_taken_off_it(name):
    """The simple formula is one of rho and delta alone, as its meaning says."""
    loose = compose([PrivacyProfile(mu=1.0)], delta_numeric=DELTA / 2)
    bare = ALL[name](compose([PrivacyProfile(mu=1.0)]))
    assert ALL[name](loose).epsilon(DELTA) == bare.epsilon(DELTA / 2) > bare.epsilon(DELTA)
    assert ALL[name](loose).epsilon(DELTA / 4) == math.inf


@pytest.mark.parametrize("name", sorted(ALL))
def test_only_compositions_are_accounted(name):
    for unknown in (event(mu=1.0), PrivacyProfile(mu=1.0), [PrivacyProfile(mu=1.0)], None):
        with pytest.raises(TypeError, match="give a Composition"):
            ALL[name](unknown)


def test_a_distribution_without_a_rule_raises_and_is_infinite_in_a_total():
    rho = cost(rho=0.1) + cost(mu=0.5)
    with pytest.raises(CertificationError, match="'dp_accounting' has no rule for Composition"):
        ALL["dp_accounting"](rho)
    known, unknown = [event("a", mu=0.5)], [event("a", mu=0.5), event("b", mu=None, rho=0.1)]
    total = Ledger(unknown).total("active", "row", DELTA)
    assert total.epsilon_by(ALL["dp_accounting"]) == math.inf > total.epsilon_certified
    assert Ledger(known).total("active", "row", DELTA).epsilon_by(ALL["dp_accounting"]) < math.inf


def test_a_total_holds_every_reported_epsilon_and_answers_the_others():
    rows = [event("a", mu=0.5), event("b", mu=None, epsilon=0.3), event("c", mu=0.7, stratum="clients/x")]
    total = Ledger(rows).total("active", "row", DELTA)
    whole = compose([PrivacyProfile(mu=0.5), PrivacyProfile(mu=0.7), PrivacyProfile(epsilon=0.3)])
    composed = {
        name: kind(whole).epsilon(DELTA) if kind.supports(whole) else math.inf for name, kind in REPORTED.items()
    }
    assert total.epsilons == composed
    assert total.epsilon_certified == total.epsilons["exact"] < total.epsilons["simple_zcdp"]
    assert total.epsilon_by(RDP) == RDP(whole).epsilon(DELTA)
    row = total.to_row()
    assert list(row) == list(MEANINGS) and row["eps_simple"] == total.epsilons["simple_zcdp"]
    unproved = Ledger([*rows, event("d", mu=1.0, certified=False)]).total("active", "row", DELTA)
    assert {*unproved.epsilons.values(), unproved.epsilon_by(RDP)} == {math.inf}
    assert unproved.epsilon_certified_part == total.epsilon_certified


def test_another_accountant_is_one_file(tmp_path):
    """Its epsilon is in totals, in the cube, in the tables and their dictionary, and over a column of the summary."""
    command = [sys.executable, str(ROOT / "tests" / "support" / "accountant_driver.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["totals"]["gaussian"]["tenfold"] == 20 and found["totals"]["pure"]["tenfold"] == math.inf
    assert found["cube"]["epsilon_tenfold"] == [10 * mu for mu in found["cube"]["mu_total"]] != []
    meant = {
        row["table"]: row["meaning"] for row in found["tables"]["dictionary"] if row["column"] == "epsilon_tenfold"
    }
    assert set(meant) == {"tidy.csv", "ledger_totals.csv"} and {*meant.values(), found["meaning"]} == {
        "ten times mu, for tests"
    }
    assert all(float(row["epsilon_tenfold"]) > 0 for row in found["tables"]["ledger_totals"])
    headings = {row["variable"]: (row["heading"], row["better"]) for row in found["tables"]["summary"]}
    assert headings["epsilon_tenfold"] == ("tenfold epsilon", "lower") and "tenfold" in found["text"]


@pytest.mark.parametrize(("own", "other"), [('"tenfold"', '"rdp"'), ("epsilon_tenfold", "eps_simple")])
def test_two_accountants_do_not_share_a_name_or_a_variable(tmp_path, monkeypatch, own, other):
    text = (ROOT / "tests" / "support" / "accountants" / "tenfold.py").read_text(encoding="utf-8")
    file = f"same_as_{other.strip(chr(34))}"
    (tmp_path / f"{file}.py").write_text(text.replace(own, other), encoding="utf-8")
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    with pytest.raises(ValueError, match="has the name or the variable of another accountant: rename it"):
        accountants()
    del sys.modules[f"{room.__name__}.{file}"]
    delattr(room, file)


def test_an_accountant_is_abstract_until_it_bounds():
    with pytest.raises(TypeError, match="abstract"):
        Accountant(MIXED)
