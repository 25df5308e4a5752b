"""The worst coalition is the worst of all: of few names by asking each, of many by a bound that none exceeds."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from ledger_driver import DELTA, event
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger import reach
from partywise.privacy.ledger.coalitions import ANYBODY, FEW, Tally
from partywise.privacy.ledger.event import UNNAMED, Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.reach import clear_event, closed_event

PROFILES = [
    {"mu": 0.5},
    {"mu": 1.0},
    {"epsilon": 1.0, "k": 2},
    {"mu": 0.0},
    {"rho": 0.2},
    {"mu": 0.3},
    {"mu": math.inf},
]


def anything(rng: np.random.Generator, names: list[str], doubt: float) -> Ledger:
    """Rows of several profiles, some computed from others or closed: in cells of two partitions, public or not."""
    rows: list[Event] = []
    for number in range(int(rng.integers(0, 3 * len(names) + 1))):
        owner = UNNAMED if rng.random() < 0.1 else str(rng.choice(names))
        audience = tuple(map(str, rng.choice(names, rng.integers(1, 3)))) if rng.random() < 0.6 else ("*",)
        if rng.random() < doubt:
            rows.append(clear_event(f"clear {number}", owner, ("row",), audience))
        elif rng.random() < 0.15:
            key = str(rng.choice([*names, "no single party"]))
            rows.append(closed_event(f"cipher {number}", owner, ("row",), tuple(set(audience) - {"*"}), (key,)))
        else:
            named = tuple(f"release {k}" for k in rng.integers(number, size=2)) if number else ()
            stratum = str(rng.choice([f"clients/{owner}", "chunks/0", "chunks/1", "*"]))
            knows = (str(rng.choice(names)),) if rng.random() < 0.1 else ()
            profile = PROFILES[rng.integers(len(PROFILES) if doubt else 5)]
            parents = named if rng.random() < 0.4 else ()
            terms = {"audience": audience, "stratum": stratum, "knows": knows, "data_dependent_parameters": parents}
            rows.append(event(f"release {number}", owner=owner, **{"mu": None} | profile, **terms))
    return Ledger(rows)


def opened(ledger: Ledger, view: frozenset[str]) -> bool:
    """Whether a view opens what is closed, or has somebody who knows what is behind a row: of another's data."""
    for row in ledger.rows:
        keyed = row.mechanism == "cipher" and set(row.key_holders) <= view and view & set(row.audience)
        if row.cost("row") != 0.0 and row.owner not in view and (keyed or view & set(row.knows)):
            return True
    return False


def coalitions(ledger: Ledger, names: list[str]) -> list[frozenset[str]]:
    """All that keep the assumptions and leave the records of somebody out; of a cipher its owner opens, nobody's."""
    rows = [row for row in ledger.rows if row.cost("row") != 0.0]
    owners = {row.owner for row in rows if row.mechanism != "cipher" or row.owner not in row.key_holders} & set(names)
    every = (frozenset(view) for size in range(len(names) + 1) for view in combinations(names, size))
    return [view for view in every if not (owners and owners <= view) and not opened(ledger, view)]


@pytest.mark.parametrize("parties", [1, 2, 3, 4])
@pytest.mark.parametrize("doubt", [0.0, 0.15])
def test_the_worst_coalition_is_the_worst_of_all(parties, doubt):
    rng = stream(7, "coalitions", parties, str(doubt))
    finite = several = nothing = 0
    for _ in range(45):
        names = [f"party {k}" for k in range(parties)] + (["server"] if rng.random() < 0.7 else [])
        ledger = anything(rng, names, doubt)
        totals = {view: ledger.total(view, "row", DELTA) for view in coalitions(ledger, names)}
        worst = ledger.worst_total(names, "row", DELTA)
        assert worst.epsilon_certified == max(total.epsilon_certified for total in totals.values())
        found = frozenset(worst.view_worst.split("+")) - {"public"}
        # Where nobody sees anything, the name is still that of a coalition that could be asked about.
        assert repr(totals[found].epsilon_certified_part) == repr(worst.epsilon_certified_part)
        assert totals[found].n_releases == worst.n_releases
        nothing += not worst.n_releases
        finite += 0 < worst.epsilon_certified < math.inf
        several += len(found) > 1
    assert finite > 5
    assert nothing > 1 or parties > 3
    assert several > 2 or parties < 3


@pytest.mark.parametrize(("receivers", "epsilon"), [(2, 6.57), (3, 8.39), (4, 10.0), (5, 11.5)])
def test_receivers_together_learn_more_than_each_and_than_all_but_one(receivers, epsilon):
    """Each has a release of another owner of columns: 4.38 was certified, by each place and by all but one."""
    rows = [event(f"p{k}", owner=f"p{k}", audience=(f"r{k}",), mu=1.0) for k in range(receivers)]
    ledger, together = Ledger(rows), [f"r{k}" for k in range(receivers)]
    names = [*(row.owner for row in rows), *together]
    listed = [frozenset([name]) for name in names] + [frozenset(names) - {name} for name in names]
    assert max(ledger.total(view, "row", DELTA).epsilon_certified for view in listed) == pytest.approx(4.38, abs=0.005)
    worst = ledger.worst_total(names, "row", DELTA)
    assert worst.epsilon_certified == pytest.approx(epsilon, abs=0.05)
    assert worst.view_worst == "+".join(together)


@pytest.mark.parametrize(
    ("parties", "ledgers"), [(3, 30), (6, 30), (FEW + 5, 8), pytest.param(FEW + 5, 30, marks=pytest.mark.statistical)]
)
def test_no_coalition_exceeds_what_is_called_worst(parties, ledgers):
    rng = stream(8, "bound", parties)
    bounds = 0
    for _ in range(ledgers):
        names = [f"party {k}" for k in range(parties)] + ["server"]
        ledger = anything(rng, names, 0.0)
        worst = ledger.worst_total(names, "row", DELTA)
        bounds += worst.view_worst == ANYBODY
        drawn = [frozenset(map(str, rng.choice(names, rng.integers(len(names)), replace=False))) for _ in range(40)]
        for view in (*(frozenset([name]) for name in names), *(frozenset(names) - {name} for name in names), *drawn):
            if not opened(ledger, view) and {row.owner for row in ledger.rows} - view:
                assert ledger.total(view, "row", DELTA).epsilon_certified <= worst.epsilon_certified * (1 + 1e-9)
    assert bounds > 5 or parties < FEW


def test_the_bound_of_many_is_no_row_too_large():
    """Rows that their own receiver owns, or that nobody may see, are within nobody's reach."""
    names = [f"client {k}" for k in range(20)]
    rows = [event(f"to {name}", owner="client 0", audience=(name,), mu=1.0) for name in names[1:]]
    rows += [event("to itself", owner="client 3", audience=("client 3",), mu=50.0), event("kept", audience=(), mu=50.0)]
    total = Ledger(rows).worst_total(names, "row", DELTA)
    assert (total.view_worst, total.n_releases) == (ANYBODY, 19)
    assert total.mu_total == pytest.approx(math.sqrt(19))


def test_one_place_that_sees_everything_is_the_worst_of_many():
    names = [f"client {k}" for k in range(40)]
    rows = [event(name, owner=name, audience=("server",), stratum=f"clients/{name}", mu=1.0) for name in names]
    total = Ledger(rows).worst_total([*names, "server"], "row", DELTA)
    assert (total.view_worst, total.n_releases, total.mu_total) == ("server", 40, 1.0)


def test_whoever_opens_what_crossed_closed_has_no_proof_against_it():
    rows = [
        event("noisy", owner="active", audience=("p1",), mu=0.5),
        closed_event("gradients", "active", ("label",), ("p1",), ("server",)),
        event("sum", owner=UNNAMED, unit="row", mu=1.0, knows=("dealer",)),
    ]
    ledger, names = Ledger(rows), ["active", "p1", "server", "dealer"]

    def epsilon(*view):
        return ledger.total(view, "label", DELTA).epsilon_certified

    assert math.isfinite(epsilon("p1")) and math.isfinite(epsilon("server")) and math.isfinite(epsilon())
    assert epsilon("p1", "server") == epsilon("dealer") == epsilon("active", "dealer") == math.inf
    assert math.isfinite(epsilon("active", "p1", "server")), "its own labels"
    assert ledger.total(("p1", "server"), "features", DELTA).epsilon_certified < math.inf, "only labels were closed"
    worst = ledger.worst_total(names, "label", DELTA)
    assert worst.epsilon_certified == pytest.approx(float(gaussian_epsilon(math.sqrt(1.25), DELTA)))
    assert worst.trust == (
        "dealer does not collude; server (key) colludes with no receiver; "
        "encryption under the key of server holds (a computational assumption)"
    )
    assert Ledger(rows[:1]).worst_total(names, "label", DELTA).trust == "nobody"


def test_what_its_owner_encrypts_rests_on_the_encryption():
    """No coalition opens it, and whoever breaks the scheme does."""
    rows = [
        closed_event(f"labels of {owner}", owner, ("label",), ("p1",), (owner,)) for owner in ("active", "bank", "shop")
    ]
    names = ["active", "bank", "shop", "p1"]
    assert Ledger(rows[:1]).worst_total(names, "label", DELTA).trust == (
        "encryption under the key of active holds (a computational assumption)"
    )
    assert "under the keys of active, bank and shop holds" in Ledger(rows).worst_total(names, "label", DELTA).trust
    assert Ledger(rows).worst_total(names, "features", DELTA).trust == "nobody"
    shares = [closed_event("share", "p3", ("features",), ("p1",), ("p1", "p2", "p3"))]
    assert Ledger(shares).worst_total(["p1", "p2", "p3"], "features", DELTA).trust == "nobody"
    shares = [closed_event("share", "p3", ("features",), ("p1",), ("p1", "p2"))]
    assert Ledger(shares).worst_total(["p1", "p2"], "features", DELTA).trust == "p1 and p2 do not collude"


def test_a_share_is_opened_by_all_who_have_one():
    ledger = Ledger([closed_event("share", "p3", ("features",), (name,), ("p1", "p2")) for name in ("p1",)])
    for view, certified in ((("p1",), True), (("p2",), True), (("p1", "p2"), False), (("p1", "p2", "p3"), True)):
        assert ledger.total(view, "features", DELTA).certified is certified, view


def test_a_party_named_twice_is_refused():
    with pytest.raises(ValueError, match="repeats a name"):
        Ledger().worst_total(["a", "a"], "row", DELTA)


def test_a_tally_rounds_once():
    rng = stream(7, "tally")
    profiles = [PrivacyProfile(mu=float(mu)) for mu in np.exp(rng.normal(0, 9, 40))] + [
        PrivacyProfile(mu=5e-324),
        PrivacyProfile(mu=1e-160),
        PrivacyProfile(mu=1e150),
    ]
    profiles += [
        PrivacyProfile(rho=0.1),
        PrivacyProfile(epsilon=0.5, k=3),
        PrivacyProfile(epsilon=0.5, k=2, count=4),
        PrivacyProfile(mu=0.2, rate=0.1),
        PrivacyProfile(mu=0.0),
    ]
    whole, one, other = Tally(), Tally(), Tally()
    for place, profile in enumerate(profiles):
        whole.add(profile, 1e-9)
        (one, other)[place % 2].add(profile, 1e-9)
    one.join(other)
    assert whole.composition == one.composition == compose(profiles, math.fsum([1e-9] * len(profiles)))
    three = Tally()
    three.add(PrivacyProfile(mu=math.sqrt(0.1)), times=3)
    square = PrivacyProfile(mu=math.sqrt(0.1)).mu_squared
    assert Fraction(three.composition.mu_squared) != 3 * Fraction(square)
    assert three.composition.mu_squared == math.fsum([square] * 3)


@pytest.mark.parametrize("kind", ["public", "everybody", "server", "computed", "others"])
def test_many_parties_are_looked_at_as_often_as_there_are_rows(monkeypatch, kind):
    """Counted work, not time: tallies joined, and ways asked about, at two sizes."""
    counted = {"joins": 0, "asked": 0}
    join, reveals = Tally.join, reach.reveals

    def joining(self, other):
        counted["joins"] += 1
        join(self, other)

    def seeing(ways, view):
        counted["asked"] += 1
        return reveals(ways, view)

    monkeypatch.setattr(Tally, "join", joining)
    for module in ("coalitions", "ledger"):
        monkeypatch.setattr(f"partywise.privacy.ledger.{module}.reveals", seeing)
    work = []
    for clients in (100, 400):
        counted.update(joins=0, asked=0)
        names = [f"client {k}" for k in range(clients)]
        where = {"audience": ("server",)} if kind in ("server", "computed") else {}
        rows = []
        for k, name in enumerate(names):
            where = {"audience": (names[k - 1],)} if kind == "others" else where
            stratum = "*" if kind == "everybody" else f"clients/{name}"
            rows.append(event(f"first of {name}", owner=name, stratum=stratum, mu=0.1 + 0.01 * k, **where))
            if kind == "computed":
                terms = {"mechanism": "post_processing", "data_dependent_parameters": (rows[-1].release_id,), "mu": 0.0}
                rows.append(event(f"answer to {name}", owner="server", **terms))
        found = Ledger(rows).worst_total([*names, "server"], "row", DELTA)
        assert found.epsilon_certified > 0
        assert found.view_worst == (ANYBODY if kind == "others" else "server")
        work.append(dict(counted))
    few, many = work
    assert many["joins"] <= 4.1 * few["joins"]
    assert many["asked"] <= 4.1 * few["asked"] + 4
