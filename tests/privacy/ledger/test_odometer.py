"""Running totals of a ledger, compositions that add, and sampling that is not credited."""

import math
import warnings
from dataclasses import replace

import pytest

import partywise as pw
from partywise.privacy.accounting.compose import Composition
from partywise.privacy.ledger.compose import delta, epsilon
from partywise.privacy.ledger.reach import clear_event

DELTA = 1e-5


def event(name: str, **fields) -> pw.Event:
    given = {"release_id": name, "owner": "clinic", "mechanism": "gaussian", "unit": "row"}
    return pw.Event(**{**given, "depends_on": frozenset({"label", "features"}), **fields})


def test_readings_are_the_totals_of_the_ledgers_that_end_there():
    rows = [
        event("a", mu=0.3, stratum="clinics/north"),
        event("b", mu=0.6, stratum="clinics/south"),
        event("c", epsilon=0.2),
        event("d", mu=0.3, stratum="clinics/north", owner="analyst"),
        event("e", rho=0.01, stratum="clinics/north"),
        event("f", mu=0.4),
    ]
    readings = pw.Ledger(rows).odometer("analyst", "row", DELTA)
    assert [reading.release_id for reading in readings] == ["a", "b", "c", "e", "f"]
    for reading in readings:
        whole = pw.Ledger(rows[: reading.step + 1]).total("analyst", "row", DELTA)
        assert reading.epsilon == whole.epsilon_certified
    assert sorted(r.epsilon for r in readings) == [r.epsilon for r in readings]
    assert readings[0].cost == "mu = 0.3" and readings[0].owner == "clinic"


def test_from_the_first_unproved_release_on_a_reading_is_infinite():
    rows = [event("a", mu=0.3), clear_event("b", "clinic", ("row",), "analyst"), event("c", mu=0.1)]
    ledger = pw.Ledger(rows)
    assert [math.isinf(r.epsilon) for r in ledger.odometer("analyst", "row", DELTA)] == [False, True, True]
    assert ledger.odometer("analyst", "row", DELTA)[1].cost == "not proved"
    assert len(ledger.odometer((), "row", DELTA)) == 2
    assert ledger.odometer("clinic", "row", DELTA) == []
    with pytest.raises(ValueError, match=r"delta=1\.5 must lie in"):
        ledger.odometer("analyst", "row", 1.5)


def test_compositions_add_and_are_repeated():
    gaussian, pure, sampled = pw.cost(mu=0.1), pw.cost(epsilon=0.2), pw.cost(mu=1.0, rate=0.01)
    assert (100 * gaussian).mu == pytest.approx(1.0, rel=1e-12)
    assert (100 * gaussian).epsilon(DELTA) == pytest.approx(pw.gaussian_epsilon(1.0, DELTA), rel=1e-9)
    assert (3 * pure).epsilon(0.0) == pytest.approx(0.6) and 3 * pure == pure + pure + pure == sum([pure] * 3)
    both = gaussian * 4 + pure * 2
    assert both == pw.cost(mu=0.1, count=4) + pw.cost(epsilon=0.2, count=2)
    assert (sampled * 1000).epsilon(DELTA) == pytest.approx(1.8283, abs=1e-4)
    assert 0 * gaussian == Composition() and (0 * gaussian).epsilon(0.0) == 0
    for wrong in (1.5, -1, True):
        with pytest.raises(ValueError, match="a whole number of times"):
            gaussian * wrong
    with pytest.raises(TypeError):
        gaussian + 1.0
    for words, message in (
        ({}, "states no profile"),
        ({"mu": -1.0}, "mu=-1.0"),
        ({"mu": 1.0, "rho": 1.0}, "exactly one"),
    ):
        with pytest.raises(ValueError, match=message):
            pw.cost(**words)


def test_sampling_that_gains_nothing_is_said():
    """634 where 1.83 was meant: the same profile, under a relation for which no gain by sampling is proved."""
    steps = event("steps", mu=1.0, rate=0.01, count=1000)
    with pytest.warns(UserWarning, match=r"rate=0.01 of release 'steps' is not credited under relation='replace_one'"):
        assert pw.Ledger([steps]).total("analyst", "row", DELTA).epsilon_certified == pytest.approx(633.93, abs=0.01)
    with pytest.warns(UserWarning, match="state relation='add_remove' or 'label_flip'"):
        epsilon([steps], DELTA)
    added = replace(steps, relation="add_remove")
    with pytest.warns(UserWarning, match="a total is about the replacement of a record, a group of two"):
        pw.Ledger([added]).total("analyst", "row", DELTA)
    flips = replace(steps, relation="label_flip", unit="label", depends_on=frozenset({"label"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert epsilon([added], DELTA) == pytest.approx(1.8283, abs=1e-4)
        assert pw.Ledger([flips]).total("analyst", "label", DELTA).epsilon_certified == pytest.approx(1.8283, abs=1e-4)
        # Nobody is warned of what nobody is charged for.
        assert pw.Ledger([steps]).total("clinic", "features", DELTA).epsilon_certified == 0


@pytest.mark.parametrize("below", [-1e-9, -math.inf, math.nan])
def test_delta_at_an_epsilon_that_is_none_is_refused_of_uncertified_releases_too(below):
    uncertified = [clear_event("a", "clinic", ("row",), "analyst")]
    assert delta(uncertified, 1.0) == 1.0
    with pytest.raises(ValueError, match="must be non-negative"):
        delta(uncertified, below)
