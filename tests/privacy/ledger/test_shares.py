"""Noise to which several parties add a share: what a release costs depends on whose shares a coalition knows."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.accounting.compose import Composition, cost, tv_delta
from partywise.privacy.accounting.tradeoff import power
from partywise.privacy.ledger.event import SEVERAL, Event
from partywise.privacy.ledger.ledger import Ledger

CLIENTS = ("north", "river", "hill")


def shared(owners, mu, colluders=1, name="sum", **more):
    """A row of a sum with shares of noise, of which any ``colluders`` parties may know theirs."""
    weight = str(Fraction(1, len(owners) - min(colluders, len(owners) - 1)))
    fields = {
        "owner": SEVERAL,
        "owners": tuple(owners),
        "shares": tuple((owner, weight) for owner in owners),
        "mechanism": "rounded_gaussian",
        "unit": "row",
        "depends_on": frozenset({"features"}),
        "mu": mu,
        "tv": 1e-300,
        "exact": True,
    }
    return Event(release_id=name, **(fields | more))


def names(count):
    return tuple(f"client {k}" for k in range(count))


@pytest.mark.parametrize(
    ("clients", "by_colluders"),
    [
        (3, {0: 1.576781, 1: 2.0, 2: 3.018603}),
        (10, {0: 1.882695, 1: 2.0, 5: 2.809482, 9: 7.371336}),
    ],
)
def test_epsilon_against_so_many_colluders(clients, by_colluders):
    delta = (500 * clients) ** -1.1
    everybody = names(clients)
    ledger = Ledger([shared(everybody, gdp_mu(2.0, delta))])
    for number, epsilon in by_colluders.items():
        found = ledger.total(everybody[:number], "row", delta)
        assert found.epsilon_certified == pytest.approx(epsilon, abs=1e-6)
    declared = ledger.worst_total((*everybody, "server"), "row", delta)
    assert declared.epsilon_certified == pytest.approx(2.0, abs=1e-6)
    assert declared.trust == "no two parties join their knowledge"
    assert declared.colluders == 1 and math.isnan(found.epsilon_any)
    assert declared.epsilon_public == pytest.approx(by_colluders[0], abs=1e-6)
    assert declared.epsilon_any == pytest.approx(by_colluders[clients - 1], abs=1e-6)
    anybody = ledger.worst_total((*everybody, "server"), "row", delta, against="any")
    assert anybody.epsilon_certified == anybody.epsilon_any == declared.epsilon_any
    assert (anybody.trust, anybody.colluders) == ("nobody", clients - 1)
    three = Ledger([shared(everybody, gdp_mu(2.0, delta), colluders=2)])
    assert three.worst_total(everybody, "row", delta).trust == "no 3 parties join their knowledge"


def test_releases_of_other_parties_add_for_the_same_coalition():
    mu = gdp_mu(1.0, 1e-5)
    ledger = Ledger([shared(CLIENTS, mu, name="first"), shared(CLIENTS[:2], mu, name="second")])
    expected = {("river",): 1.465170, ("hill",): 1.249911, ("river", "hill"): 1.834965, (): 1.088390}
    for view, epsilon in expected.items():
        assert ledger.total(view, "row", 1e-5).epsilon_certified == pytest.approx(epsilon, abs=1e-6)
    three = Ledger([*ledger.rows, shared(("north", "hill"), mu, name="third")])
    against = max(three.total((name,), "row", 1e-5).epsilon_certified for name in ("river", "hill"))
    assert against == pytest.approx(1.658, abs=5e-4)


def test_whoever_holds_all_data_has_nothing_to_learn_and_who_knows_noise_has_all():
    ledger = Ledger([shared(CLIENTS, 1.0)])
    assert ledger.total(CLIENTS, "row", 1e-5).epsilon_certified == 0
    dealt = Ledger([shared(CLIENTS, 1.0, knows=("dealer",))])
    assert dealt.total(("dealer",), "row", 1e-5).epsilon_certified == math.inf
    assert dealt.total(("river",), "row", 1e-5).certified
    assert dealt.worst_total((*CLIENTS, "dealer"), "row", 1e-5).certified
    assert dealt.worst_total((*CLIENTS, "dealer"), "row", 1e-5, against="any").epsilon_certified == math.inf
    assert dealt.worst_total((*CLIENTS, "dealer"), "row", 1e-5).epsilon_any == math.inf


def test_local_noise_holds_against_all_others_and_says_what_the_public_has():
    rows = [
        Event(
            release_id=name,
            owner=name,
            mechanism="rounded_gaussian",
            unit="row",
            depends_on=frozenset({"features"}),
            mu=1.0,
            audience=("server",),
        )
        for name in CLIENTS
    ]
    found = Ledger(rows).worst_total((*CLIENTS, "server"), "row", 1e-5)
    assert (found.colluders, found.trust, found.epsilon_public) == (2, "nobody", 0.0)
    assert found.epsilon_any == found.epsilon_certified > 0
    row = found.to_row()
    assert [row[name] for name in ("trust", "colluders", "epsilon_public")] == ["nobody", 2, 0.0]
    assert row["epsilon_any"] == found.epsilon_certified


def brute_force(rows, view):
    """sqrt of the sum of mu^2 over what a view pays of each row; None where nothing is proved."""
    square = 0.0
    for row in rows:
        if set(row.held_by) <= view or not ("*" in row.audience or view & set(row.audience)):
            continue
        honest = sum(float(part) for name, part in row.weights.items() if name not in view) if row.shares else 1.0
        square += row.mu**2 / honest
    return math.sqrt(square)


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.statistical)])
def test_every_coalition_of_random_ledgers_is_the_sum_of_its_rows(count):
    rng = np.random.default_rng(11)
    for _ in range(count):
        parties = int(rng.integers(2, 7))
        everybody, rows = names(parties), []
        for k in range(int(rng.integers(1, 5))):
            size = int(rng.integers(1, parties + 1))
            owners = tuple(rng.permutation(everybody)[:size].tolist())
            audience = ("*",) if rng.random() < 0.5 else ("server", *rng.permutation(everybody)[:1].tolist())
            mu = float(rng.uniform(0.1, 2))
            if size == 1:
                alone = {"owner": owners[0], "owners": (), "shares": (), "tv": 0.0}
                rows.append(replace(shared(everybody[:2], mu, name=f"r{k}"), audience=audience, **alone))
            elif rng.random() < 0.3:
                # Either of two owners adds all of the noise, under masks.
                made = shared(owners, mu, size - 1, name=f"r{k}", audience=audience)
                rows.append(replace(made, shares=(), tv=1e-33))
            else:
                rows.append(shared(owners, mu, int(rng.integers(0, size)), name=f"r{k}", audience=audience))
        ledger, places = Ledger(rows), (*everybody, "server")
        views = [frozenset(view) for size in range(len(places)) for view in itertools.combinations(places, size)]
        for view in views:
            found = ledger.total(view, "row", 1e-6)
            assert found.mu_total == pytest.approx(brute_force(rows, view), rel=1e-12)
        holding = {name for row in rows for name in row.held_by}
        limit = min((row.colluders for row in rows if row.shares), default=len(holding) - 1)
        for against, most in (("declared", limit), ("any", parties)):
            asked = [view for view in views if len(view & holding) <= most and not holding <= view]
            worst = max(brute_force(rows, view) for view in asked)
            assert ledger.worst_total(places, "row", 1e-6, against=against).mu_total == pytest.approx(worst, rel=1e-12)


def test_many_parties_have_a_bound():
    everybody = names(30)
    ledger = Ledger([shared(everybody, 1.0), shared(everybody[:12], 0.5, 3, name="other")])
    found = ledger.worst_total((*everybody, "server"), "row", 1e-6)
    assert found.view_worst == "any coalition"
    # One colluder of either: 1 and, of twelve ninth parts without the largest, .25 / (11 / 9).
    assert found.mu_total == pytest.approx(math.sqrt(1 + 0.25 / (11 / 9)), rel=1e-12)


def test_a_person_with_several_rows_costs_as_many_times_the_profile():
    row = shared(CLIENTS, 0.2)
    one, three = (Ledger([row]).total(("river",), "user", 1e-5, rows_per_user=m).mu_total for m in (1, 3))
    assert three == pytest.approx(3 * one, rel=1e-12) and one == pytest.approx(0.2, rel=1e-12)


def test_a_distance_takes_its_part_of_delta():
    profile = Composition(mu_squared=1.0)
    assert replace(profile, tv=1e-300).epsilon(1e-5) == pytest.approx(profile.epsilon(1e-5), rel=2e-12)
    for tv in (1e-9, 1e-8):
        epsilon = replace(profile, tv=tv).epsilon(1e-5)
        assert profile.delta(epsilon) + tv_delta(tv, epsilon) == pytest.approx(1e-5, rel=1e-9)
        assert replace(profile, tv=tv).delta(epsilon) <= 1e-5 * (1 + 1e-9)
        assert power(replace(profile, tv=tv), 0.01) >= power(profile, 0.01) + tv
    assert replace(profile, tv=1e-4).epsilon(1e-5) == math.inf
    large = Composition(mu_squared=40.0**2, tv=1e-300)
    assert large.epsilon(1e-5) == math.inf and cost(mu=40.0).epsilon(1e-5) < math.inf
    assert (2 * replace(profile, tv=1e-9)).tv == 2e-9 and replace(profile, tv=1e-9).merge(profile).tv == 1e-9


def test_rows_keep_their_shares_in_a_file(tmp_path):
    ledger = Ledger([shared(CLIENTS, 1.0)])
    digest = ledger.write(tmp_path / "ledger.jsonl")
    assert Ledger.read(tmp_path / "ledger.jsonl", digest).rows == ledger.rows
    row = {name: str(value) if value is not None else "" for name, value in ledger.rows[0].to_row().items()}
    assert Event.from_row(row) == ledger.rows[0]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"owners": ()}, "owners"),
        ({"owner": "north"}, "owners"),
        ({"shares": (("north", "1/2"), ("south", "1/2"))}, "among its owners"),
        ({"shares": (("north", "-1/2"),)}, "positive weights"),
        ({"mu": None, "epsilon": 1.0}, "positive weights"),
        ({"tv": 1.0}, "tv=1.0"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(shared(CLIENTS, 1.0), **fields)
