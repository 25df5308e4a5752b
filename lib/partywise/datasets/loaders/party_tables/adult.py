"""Adult with 14 columns at three parties: does a person earn more than 50 000 dollars a year.

The constants are those of the specification.
"""

from __future__ import annotations

from .described import EVEN, IN_SIGHT, RARE, SOME, USUAL, Column, Described, Holder, Response, indicator

TABLE = Described(
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
