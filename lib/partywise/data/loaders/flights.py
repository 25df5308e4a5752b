"""Flights from New York 2013 by airline: the arrival delay and seven numbers known when a flight lands.

The source of study 001 takes the seven variables as its R package has them.  Here the two clock times are hours of the
day (1830 is 18.5).
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
NOTES = (
    TABLE.record,
    "Only ten airlines have at least 5 000 complete flights; the six small ones (FL, AS, F9, YV, HA, OO) are one "
    "client here, where the source has eleven airlines of 5 000 flights each.",
    "Air time and distance are nearly collinear.",
)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/nyc_flights``, filled by ``data.fetch``)."""
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
    unknown = sorted(set(carrier) - set(TABLE.clients))
    require(not unknown, f"there is no airline {', '.join(unknown)}")
    client = np.array([TABLE.clients.index(name) for name in carrier])
    if sha256["flights.csv.zip"] == RESOURCES[RESOURCE].members[0].sha256:
        rows, fewest = TABLE.response(RESPONSE).rows, int(np.bincount(client).min())
        require(len(client) == rows, f"{len(client)} complete flights where {rows} are expected")
        require(fewest == TABLE.least, f"an airline has {fewest} flights where {TABLE.least} are expected")
    return Table(
        X=raw[keep],
        y=values[RESPONSE][keep],
        client=client,
        names=np.array(TABLE.names),
        clients=TABLE.clients,
        column_facts=TABLE.column_facts,
        sha256={"flights.csv.zip": sha256["flights.csv.zip"]},
        notes=NOTES + notes,
    )
