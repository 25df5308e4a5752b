"""A stratum is a cell of a partition: cells of one compose in parallel, those of two add up."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest

from ledger_driver import DELTA, epsilon_of, event
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.ledger import total
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.statistics.bounded import Bounded, sum_certificate
from partywise.privacy.strata import cell_of, partition_of

# What three rows of mu 1 cost a record that all are about.
THREE = float(gaussian_epsilon(math.sqrt(3), DELTA))


def test_cells_of_different_partitions_add_up():
    """A client, a chunk and a set of features: one record may lie in all of them (8.39; 4.38 if they were disjoint)."""
    rows = [event(name, stratum=name, mu=1.0) for name in ("clients/client 1", "chunks/0/1", "released features/2+1")]
    assert epsilon_of(rows) == pytest.approx(THREE, rel=1e-12) == pytest.approx(8.39, abs=0.005)
    alike = [event(name, stratum=name, mu=1.0) for name in ("clients/a", "clients/b", "clients/c")]
    assert epsilon_of(alike) == pytest.approx(4.38, abs=0.005)
    readings = Ledger(rows).odometer("active", "row", DELTA)
    assert [round(reading.epsilon, 2) for reading in readings] == [4.38, 6.57, 8.39]


def test_the_total_is_the_largest_choice_of_one_cell_a_partition():
    profiles = ({"mu": 0.7}, {"mu": None, "epsilon": 1.0, "k": 3}, {"mu": None, "rho": 0.05}, {"mu": 0.3})
    cells = [f"{partition}/{cell}" for partition, count in (("a", 3), ("b", 2), ("c", 2)) for cell in range(count)]
    rows = [
        event(f"{cell} {k}", stratum=cell, **profiles[(place + k) % 4])
        for place, cell in enumerate(cells)
        for k in range(2)
    ]
    rows.append(event("all", mu=0.2))
    choices = product(*([c for c in cells if c[0] == partition] for partition in "abc"))
    largest = max(epsilon_of([row for row in rows if row.stratum in ("*", *choice)]) for choice in choices)
    assert epsilon_of(rows) == pytest.approx(largest, rel=1e-9)
    assert Ledger(rows).worst_total(["p1", "active"], "row", DELTA).epsilon_certified == epsilon_of(rows)
    assert Ledger(rows).odometer("active", "row", DELTA)[-1].epsilon == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("also", [{}, {"mu": 1.0}, {"rho": 0.5}, {"mu": 0.1, "delta_numeric": 9e-6}], ids=str)
def test_too_many_choices_have_a_bound(monkeypatch, also):
    """Ten sums of three partitions times three cells, where 20 may be tried: one cell stands for those of the last."""
    monkeypatch.setattr(total, "CHOICES", 20)
    rows = [
        event(f"{p}/{c}", stratum=f"{p}/{c}", mu=None, epsilon=0.02 + 0.01 * c, k=c + 2)
        for p in "abcd"
        for c in range(3)
    ]
    if also:
        rows += [event(f"{p}/2 more", stratum=f"{p}/2", **({"mu": None} | also)) for p in "abcd"]
    largest = epsilon_of([row for row in rows if row.stratum.endswith("/2")])
    assert largest * (1 - 1e-9) <= epsilon_of(rows) <= epsilon_of([replace(row, stratum="*") for row in rows])


@pytest.mark.parametrize("stratum", ["client 1", "", "/", "clients/", "/a", "*/a", " /a", "clients/ "])
def test_a_stratum_without_a_partition_or_a_cell_is_refused(stratum):
    with pytest.raises(ValueError, match="must be '\\*' or 'partition/cell'"):
        event(stratum=stratum)
    with pytest.raises(ValueError, match="must be '\\*' or 'partition/cell'"):
        Bounded(1.0, sum_certificate(1.0, "test", "row", ("label",)), stratum)


def test_cells_are_named_by_one_grammar():
    assert cell_of("clients", "north/1") == "clients/north/1" and partition_of("clients/north/1") == "clients"
    with pytest.raises(ValueError, match="begins the cell"):
        cell_of("a/b", "c")


def test_a_row_of_an_earlier_version_is_about_all_records():
    row = event(stratum="clients/a").to_row()
    assert Event.from_row(row).stratum == "clients/a"
    old = {name: value for name, value in row.items() if name not in ("knows", "key_holders")} | {"stratum": "client a"}
    assert Event.from_row(old).stratum == "*"
