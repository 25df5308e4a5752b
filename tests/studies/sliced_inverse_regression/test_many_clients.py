"""A fit of many clients: work and memory grow with their number, counted and not timed."""

from __future__ import annotations

import cProfile
import pstats
import tracemalloc

import pytest

from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan

SCREENED = {"model": "II", "n": 40, "p": 40, "active": 3}


def one_cell(clients: int, method: str, **settings):
    """A plan of one cell with that many clients, and its data."""
    grid = {"methods": [method], "replicates": 1, "parties": [clients], "folds": 1, "epsilon": [2.0]}
    given = {"model": "II", "n": 40, "p": 4} | settings | {"clients": clients}
    case = {"source": "simulated", "settings": given, "grid": grid}
    block = {"methods": {method: {"protocol": method}}, "cases": {"many": case}, "figures": []}
    return plan("sliced_inverse_regression", block, 7)


def calls(clients: int, method: str, **settings) -> int:
    """Calls of functions, those of C among them, that data, fit and totals take."""
    made, profile = one_cell(clients, method, **settings), cProfile.Profile()
    profile.enable()
    (cell,) = run(made, "many", method, clients, [0], [0], generate(made, "many", [0], "resources"))
    profile.disable()
    assert cell.scalars["n_releases"] > 0 and len(cell.names) == clients + 1
    return pstats.Stats(profile).total_calls


@pytest.mark.filterwarnings("ignore:epsilon_.* is at a total delta")
@pytest.mark.parametrize(
    ("method", "settings"), [("certified", {}), ("whitened", {}), ("published", {}), ("certified", SCREENED)]
)
def test_four_times_the_clients_take_four_times_the_calls(method, settings):
    calls(20, method, **settings)  # what is imported, cached or drawn once
    few, many = calls(60, method, **settings), calls(240, method, **settings)
    assert 3 < many / few < 4.2


@pytest.mark.filterwarnings("ignore:epsilon_.* is at a total delta")
def test_a_further_client_takes_at_most_25_kilobytes():
    def peak(clients: int) -> int:
        made = one_cell(clients, "certified")
        data = generate(made, "many", [0], "resources")
        tracemalloc.start()
        run(made, "many", "certified", clients, [0], [0], data)
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken

    peak(20)
    few, many = peak(150), peak(600)
    assert 0 < many - few < 25_000 * 450


def test_all_clients_together_keep_a_bounded_number_of_entries():
    from partywise.studies.sliced_inverse_regression.simulation import clients

    kept = {}
    for count in (1, 100, 128, 10_000, 10**7):
        made = one_cell(count, "certified", **SCREENED).cases["many"].settings
        kept[count] = clients.SimulatedRecords({}, None, made, "signs").room
    assert kept[1] == kept[100] == kept[128] == clients.REMEMBERED
    assert all(count * room <= clients.TOGETHER for count, room in kept.items())


@pytest.mark.filterwarnings("ignore:epsilon_.* is at a total delta")
def test_records_that_are_drawn_again_are_the_same(monkeypatch):
    from partywise.studies.sliced_inverse_regression.simulation import clients

    def result():
        made = one_cell(12, "certified", **SCREENED)
        (cell,) = run(made, "many", "certified", 12, [0], [0], generate(made, "many", [0], "resources"))
        return cell.scalars, cell.wire

    kept = result()
    monkeypatch.setattr(clients, "TOGETHER", 12)
    assert result() == kept
