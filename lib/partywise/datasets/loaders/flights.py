"""Flights from New York 2013 by airline: the arrival delay and seven numbers known when a flight lands.

The source of study 001 takes the seven variables as its R package has them.  Here the two clock times are hours of the
day (1830 is 18.5), and each variable has a public scale on which most of its values lie in [-1, 1]: calendar, clock and
round numbers, with the reason beside each.  They centre this sample to .06 of a scale; no value is read to choose them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..descriptions import TABLES
from ..fetch import read_files
from ..reading import read_columns, require, to_numbers
from ..tables import Table

RESOURCE, RESPONSE = "nyc_flights", "arr_delay"
TABLE = TABLES["flights"]
CLOCKS = ("arr_time", "sched_arr_time")
SMALL, POOLED = ("FL", "AS", "F9", "YV", "HA", "OO"), "six small airlines"
ROWS, LARGE, POOLED_ROWS = 327346, 10, 5480
NOTES = (
    TABLE.record,
    "Only ten airlines have at least 5 000 complete flights; the six small ones (FL, AS, F9, YV, HA, OO) are one "
    "client here, where the source has eleven airlines of 5 000 flights each.",
    "Air time and distance are nearly collinear.",
)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/nyc_flights``, filled by ``datasets.fetch``)."""
    contents, sha256, notes = read_files(RESOURCE, folder)
    table = zip_member(contents["flights.csv.zip"], "flights.csv", "flights.csv.zip")
    columns = read_columns(table, (*TABLE.names, RESPONSE, "carrier"), "flights.csv")
    values = {name: to_numbers(columns[name], name) for name in (*TABLE.names, RESPONSE)}
    for name in CLOCKS:
        values[name] = values[name] // 100 + values[name] % 100 / 60
    raw = np.stack([values[name] for name in TABLE.names], axis=1)
    keep = np.isfinite(raw).all(axis=1) & np.isfinite(values[RESPONSE])
    carrier = np.array(columns["carrier"])[keep]
    carrier = np.where(np.isin(carrier, SMALL), POOLED, carrier)
    found, counts = np.unique(carrier, return_counts=True)
    clients = tuple(str(name) for name in found[np.argsort(-counts, kind="stable")])
    if sha256["flights.csv.zip"] == RESOURCES[RESOURCE].members[0].sha256:
        require(int(keep.sum()) == ROWS, f"{keep.sum()} complete flights where {ROWS} are expected")
        require(len(clients) == LARGE + 1, f"{len(clients)} clients where {LARGE + 1} are expected")
        pooled = int(np.sum(carrier == POOLED))
        require(pooled == POOLED_ROWS, f"{pooled} flights of small airlines where {POOLED_ROWS} are expected")
    number = {name: place for place, name in enumerate(clients)}
    return Table(
        X=raw[keep],
        y=values[RESPONSE][keep],
        client=np.array([number[name] for name in carrier]),
        names=np.array(TABLE.names),
        clients=clients,
        column_facts=TABLE.column_facts,
        sha256={"flights.csv.zip": sha256["flights.csv.zip"]},
        notes=NOTES + notes,
    )
