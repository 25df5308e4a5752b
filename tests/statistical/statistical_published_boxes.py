"""Our intervals against the printed regions of dsVert, under its noise: the acceptance number on its 31 rows.

Part of ``./run test --long`` alone. The target is the records of the source's own tables, over as many draws.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest

from partywise.studies.federated_epidemiology.register.dsvert import PRINTED_DRAWS, coverage, interval_width

pytestmark = pytest.mark.statistical

LEAST_COVERAGE = 0.93
WIDEST, MEDIAN = 0.65, 0.42


def test_intervals_hold_the_numbers_and_are_narrower_than_every_printed_region():
    text = (files("partywise.studies.federated_epidemiology") / "register" / "dsvert_table.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    ratios, shares = {}, {}
    for row in rows:
        name = row["measure"]
        ratios[name] = float(interval_width(name, PRINTED_DRAWS).mean()) / float(row["width"])
        shares[name] = coverage(name, PRINTED_DRAWS)
        print(f"{name}: coverage {shares[name]:.3f}, width over the printed one {ratios[name]:.3f}")
    least, widest = min(shares.values()), max(ratios.values())
    median = float(np.median(list(ratios.values())))
    print(f"least coverage {least:.3f} (>= {LEAST_COVERAGE}), widest {widest:.3f} (<= {WIDEST}), median {median:.3f}")
    assert len(rows) == 31 and least >= LEAST_COVERAGE and widest <= WIDEST and median <= MEDIAN
