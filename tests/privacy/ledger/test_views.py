"""Default views in one pass: what a view adds up to is what its rows add up to, whatever the ledger holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.law import Law
from partywise.privacy.accounting.tally import Tally
from partywise.privacy.ledger import reach
from partywise.privacy.ledger.event import UNNAMED, Event, clear_event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.total import default_views, named_views, total_of, worst_view
from partywise.privacy.ledger.views import sum_views
from partywise.randomness import stream

DELTA = 1e-5
LAWS = [{"mu": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "k": 2}, {"mu": 0.0}, {"rho": 0.2}, {"mu": 0.3}, {"mu": math.inf}]


def anything(rng: np.random.Generator, names: list[str], spread: float, doubt: float = 0.0) -> Ledger:
    """A ledger of other laws, some rows computed from others: in strata and public, or for some and about everybody."""
    rows: list[Event] = []
    count = int(rng.integers(0, 3 * len(names) + 1))
    laws = int(rng.choice([2, 5, len(LAWS) if doubt else 5]))
    for number in range(count):
        owner = UNNAMED if rng.random() < 0.1 * spread else str(rng.choice(names))
        audience = tuple(map(str, rng.choice(names, rng.integers(1, 3)))) if rng.random() < spread else ("*",)
        if rng.random() < doubt:
            rows.append(clear_event(f"clear {number}", owner, ("row",), audience))
            continue
        # A row may name one that comes later, too: the ledger takes it, without a proof.
        last = count if rng.random() < 0.1 * spread else number
        named = tuple(f"release {rng.integers(last)}" for _ in range(int(rng.integers(1, 3))) if last and spread)
        rows.append(
            Event(
                release_id=f"release {number}",
                owner=owner,
                mechanism="gaussian",
                unit=str(rng.choice(["row", "label"])) if doubt else "row",
                depends_on=frozenset({"label", "features"}),
                audience=audience,
                stratum=owner if rng.random() < 1 - 0.4 * spread else str(rng.choice([*names, "*"])),
                certified=bool(rng.random() >= doubt),
                delta_numeric=float(rng.choice([0.0, 0.0, 1e-9])) if laws > 2 else 0.0,
                data_dependent_parameters=named if rng.random() < 0.4 else (),
                **LAWS[rng.integers(laws)],
            )
        )
    return Ledger(rows)


def sums_of(ledger: Ledger, names: list[str], unit: str):
    costs = ledger._costs(unit, None)
    return sum_views(ledger.rows, costs, ledger._position, named_views(names), names)


def long_way(ledger: Ledger, names: list[str], unit: str):
    """Every view summed row by row."""
    costs = ledger._costs(unit, None)
    return {name: ledger._sum(view, costs) for name, view in default_views(names).items()}


@pytest.mark.parametrize("parties", [1, 2, 3, 6])
@pytest.mark.parametrize("unit", ["row", "label"])
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_every_view_is_the_sum_of_its_rows(parties, unit, spread):
    rng = stream(7, "views", parties, unit, str(spread))
    finite = narrower = 0
    for _ in range(60):
        names = [f"party {k}" for k in range(parties)] + (["server"] if rng.random() < 0.7 else [])
        ledger = anything(rng, names, spread, doubt=0.15 * (rng.random() < 0.4))
        found, wanted = sums_of(ledger, names, unit), long_way(ledger, names, unit)
        assert list(found) == list(wanted)
        for name in names:
            one, other = found[name], wanted[name]
            assert (one.certified, one.gaussian) == (other.certified, other.gaussian), name
            assert set(one.strata) <= set(other.strata), name
            assert repr((one.mu, one.rho, one.epsilon(DELTA))) == repr((other.mu, other.rho, other.epsilon(DELTA))), (
                name
            )
            narrower += set(one.strata) < set(other.strata)
        worst = worst_view(wanted, DELTA)
        total = ledger.worst_total(names, unit, DELTA)
        assert repr(total) == repr(total_of(worst, wanted[worst], unit, DELTA))
        finite += 0 < total.epsilon_certified < math.inf
    assert finite > 10
    assert narrower > 0 or parties < 3 or spread > 0


def test_a_party_called_as_a_view_is_asked_about_as_it_always_was():
    rows = [
        Event(f"r{k}", name, "gaussian", "row", {"label"}, mu=1.0 + k) for k, name in enumerate(["public", "a", "b"])
    ]
    names = ["public", "a", "all but a"]
    ledger = Ledger(rows)
    wanted = long_way(ledger, names, "row")
    assert ledger.worst_total(names, "row", DELTA).view_worst == worst_view(wanted, DELTA)
    with pytest.raises(ValueError, match="repeats a name"):
        ledger.worst_total(["a", "a"], "row", DELTA)


def test_a_tally_rounds_once_and_forgets_what_is_taken_out():
    rng = stream(7, "tally")
    laws = [Law(mu=float(mu)) for mu in np.exp(rng.normal(0, 9, 40))] + [Law(mu=5e-324), Law(mu=1e-160), Law(mu=1e150)]
    laws += [Law(rho=0.1), Law(epsilon=0.5, k=3), Law(epsilon=0.5, k=2, count=4), Law(mu=0.2, rate=0.1), Law(mu=0.0)]
    tally, extra = Tally(), Tally()
    for law in laws:
        tally.add(law, 1e-9)
    assert tally.composition == compose(laws, math.fsum([1e-9] * len(laws)))
    for law in (Law(mu=math.inf), Law(rho=math.inf), Law(epsilon=0.5, k=3), Law(mu=1e200), Law(mu=math.pi)):
        extra.add(law, 0.1, 7)
    tally.join(extra)
    assert tally.composition.mu_squared == tally.composition.rho == math.inf
    tally.join(extra, -1)
    assert tally.composition == compose(laws, math.fsum([1e-9] * len(laws)))
    three = Tally()
    three.add(Law(mu=math.sqrt(0.1)), times=3)
    square = Law(mu=math.sqrt(0.1)).mu_squared
    assert Fraction(three.composition.mu_squared) != 3 * Fraction(square)
    assert three.composition.mu_squared == math.fsum([square] * 3)


@pytest.mark.parametrize("kind", ["public", "everybody", "server", "computed"])
def test_views_of_many_parties_are_looked_at_as_often_as_there_are_rows(monkeypatch, kind):
    """Counted work, not time: tallies joined, and ways asked about, at two sizes."""
    counted = {"joins": 0, "asked": 0}
    join, sees = Tally.join, reach.sees

    def joining(self, other, sign=1):
        counted["joins"] += 1
        join(self, other, sign)

    def seeing(ways, name):
        counted["asked"] += 1
        return sees(ways, name)

    monkeypatch.setattr(Tally, "join", joining)
    monkeypatch.setattr("partywise.privacy.ledger.views.sees", seeing)
    work = []
    for clients in (100, 400):
        counted.update(joins=0, asked=0)
        names = [f"client {k}" for k in range(clients)]
        fields = {"mechanism": "gaussian", "unit": "row", "depends_on": frozenset({"label"})}
        where = {"audience": ("server",)} if kind in ("server", "computed") else {}
        rows = []
        for k, name in enumerate(names):
            stratum = "*" if kind == "everybody" else name
            rows.append(Event(f"first of {name}", name, stratum=stratum, mu=0.1 + 0.01 * k, **where, **fields))
            if kind == "computed":
                parents = (rows[-1].release_id,)
                terms = {"mechanism": "post_processing", "data_dependent_parameters": parents, "mu": 0.0}
                rows.append(Event(f"answer to {name}", "server", **{**fields, **terms}))
        ledger = Ledger(rows)
        found = ledger.worst_total([*names, "server"], "row", DELTA)
        assert found.epsilon_certified > 0
        assert repr(found) == repr(
            total_of(
                found.view_worst,
                ledger._sum(default_views([*names, "server"])[found.view_worst], ledger._costs("row", None)),
                "row",
                DELTA,
            )
        )
        work.append(dict(counted))
    few, many = work
    assert few["joins"] > 0 and many["joins"] <= 4.1 * few["joins"]
    assert many["asked"] <= 4.1 * few["asked"] + 4
