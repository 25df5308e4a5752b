"""Views that differ by owner only: the short way to the worst total is the long way, whatever the ledger holds."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from partywise.privacy.ledger import ledger as ledgers
from partywise.privacy.ledger.event import Event, clear_event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.total import default_views, total_of, worst_view
from partywise.privacy.ledger.views import sum_public_views, views_differ_by_owner
from partywise.randomness import stream

DELTA = 1e-5
LAWS = [{"mu": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "k": 2}, {"mu": 0.0}, {"rho": 0.2}, {"mu": math.inf}]


def anything(rng: np.random.Generator, clients: int) -> Ledger:
    """A ledger of public rows in strata, of other laws; half of them with rows that nothing is proved of."""
    rows: list[Event] = []
    doubt = 0.15 * (rng.random() < 0.5)
    for number in range(int(rng.integers(0, 3 * clients + 1))):
        owner = f"client {rng.integers(clients)}"
        if rng.random() < doubt:
            rows.append(clear_event(f"clear {number}", owner, ("row",), "server"))
            continue
        named = (rows[rng.integers(len(rows))].release_id,) if rows and rng.random() < 0.2 else ()
        rows.append(
            Event(
                release_id=f"release {number}",
                owner=owner,
                mechanism="gaussian",
                unit=str(rng.choice(["row", "label"])) if doubt else "row",
                depends_on=frozenset({"label", "features"}),
                stratum=owner if rng.random() < 0.8 else f"client {rng.integers(clients)}",
                certified=bool(rng.random() >= doubt),
                delta_numeric=float(rng.choice([0.0, 0.0, 1e-9])),
                data_dependent_parameters=named,
                **LAWS[rng.integers(len(LAWS) if doubt else 3)],
            )
        )
    return Ledger(rows)


def long_way(ledger: Ledger, names: list[str], unit: str):
    """Every view summed row by row."""
    costs = ledger._costs(unit, None)
    sums = {name: ledger._sum(view, costs) for name, view in default_views(names).items()}
    worst = worst_view(sums, DELTA)
    return total_of(worst, sums[worst], unit, DELTA)


@pytest.mark.parametrize("clients", [1, 2, 3, 6])
@pytest.mark.parametrize("unit", ["row", "label"])
def test_the_short_way_is_the_long_way(clients, unit):
    rng = stream(7, "views", clients, unit)
    finite = 0
    for _ in range(120):
        ledger = anything(rng, clients)
        names = [f"client {k}" for k in range(clients)] + (["server"] if rng.random() < 0.7 else [])
        rows = list(zip(ledger.rows, ledger._costs(unit, None), strict=True))
        assert views_differ_by_owner(rows)
        found = ledger.worst_total(names, unit, DELTA)
        assert repr(found) == repr(long_way(ledger, names, unit))
        finite += 0 < found.epsilon_certified < math.inf
    assert finite > 20


def test_rows_for_some_or_of_no_stratum_take_the_long_way():
    row = {"owner": "a", "mechanism": "gaussian", "unit": "row", "depends_on": frozenset({"label"}), "mu": 1.0}
    for other in ({"audience": ("server",)}, {"stratum": "*"}):
        event = Event("release", **({"stratum": "a"} | row | other))
        assert not views_differ_by_owner([(event, event.cost("row"))])
        assert Ledger([event]).worst_total(["a", "b", "server"], "row", DELTA).view_worst in (
            "server",
            "b",
            "all but a",
        )


def test_two_hundred_clients_cost_milliseconds(monkeypatch):
    names = [f"client {k}" for k in range(200)]
    fields = {"mechanism": "gaussian", "unit": "row", "depends_on": frozenset({"label"}), "mu": 0.4}
    ledger = Ledger(Event(f"{kind} {name}", name, stratum=name, **fields) for name in names for kind in ("M", "S"))
    start = time.process_time()
    found = ledger.worst_total([*names, "server"], "row", DELTA)
    short = time.process_time() - start
    monkeypatch.setattr(ledgers, "views_differ_by_owner", lambda rows: False)
    start = time.process_time()
    assert repr(ledger.worst_total([*names, "server"], "row", DELTA)) == repr(found)
    assert short < (time.process_time() - start) / 3


def test_the_sums_of_all_views_agree_one_by_one():
    ledger = anything(stream(7, "views", "each"), 5)
    names = [f"client {k}" for k in range(5)] + ["server"]
    costs, views = ledger._costs("row", None), default_views(names)
    short = sum_public_views(list(zip(ledger.rows, costs, strict=True)), views)
    for name, view in views.items():
        slow = ledger._sum(view, costs)
        assert (short[name].strata, short[name].certified) == (slow.strata, slow.certified), name
