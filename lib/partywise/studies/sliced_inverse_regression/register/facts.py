"""Numbers that the source prints and no fit gives: constants of its formulas, and facts about its data sets."""

from __future__ import annotations

from collections import Counter
from math import isnan, log, sqrt
from typing import Literal

from ....data.carriers import zip_member
from ....data.fetch import fetch_folder, read_files
from ....data.loaders import flights as flights_loader
from ....data.loaders.read import read_table
from ....data.reading import read_columns, to_numbers


def delta_share(n: int, releases: int) -> float:
    """n times the delta of several releases at n^(-1.1) each: from 1 on it is no longer informative."""
    return float(releases * n * float(n) ** -1.1)


def theorem_3(epsilon: float, delta: float) -> float:
    """Bound of theorem 3 on the norm of the inverse covariance, at sensitivity 1."""
    L = log(2 / delta)
    return 4 * L + 2 * epsilon - 4 * sqrt(L**2 + L * epsilon)


def theorem_3_expansion(epsilon: float, delta: float) -> float:
    """Its expansion, as the source uses it."""
    return epsilon**2 / (2 * log(2 / delta))


def taylor_ratio(epsilon: float, delta_power: int) -> float:
    """The expansion in units of the bound, at delta = 10^(-delta_power)."""
    delta = 10.0**-delta_power
    return theorem_3_expansion(epsilon, delta) / theorem_3(epsilon, delta)


def least_constant() -> float:
    """C of the norm C R^2 p log(2/delta) / (n epsilon)^2 that the expansion asks for, at Delta = 2 R sqrt(p) / n.

    At R = n = epsilon = 1 the norm is 1 / approximated = 2 Delta^2 log(2/delta), and Delta^2 = 4 p.
    """
    delta, p = 1e-5, 10
    return 4 * p / theorem_3_expansion(1.0, delta) / (p * log(2 / delta))


def body_fat(fact: Literal["share", "covariates"]) -> float:
    """Share of men above 18 % of body fat, or number of their measurements."""
    table = read_table("body_fat", None, fetch_folder("body_fat").parent)
    return float(table.y.mean()) if fact == "share" else float(table.X.shape[1])


def flights(fact: Literal["rows", "airlines"]) -> float:
    """Flights of the file, or airlines with 5 000 of them whose delay and seven variables are known."""
    contents, _, _ = read_files(flights_loader.RESOURCE, fetch_folder(flights_loader.RESOURCE))
    file = zip_member(contents["flights.csv.zip"], "flights.csv", "flights.csv.zip")
    names = (*flights_loader.TABLE.names, flights_loader.RESPONSE)
    columns = read_columns(file, (*names, "carrier"), "flights.csv")
    if fact == "rows":
        return float(len(columns["carrier"]))
    known = zip(*(to_numbers(columns[name], name) for name in names), strict=True)
    counts = Counter(
        carrier for carrier, row in zip(columns["carrier"], known, strict=True) if not any(map(isnan, row))
    )
    return float(sum(count >= 5000 for count in counts.values()))
