"""The shipped tables whose columns may lie at several parties, and what is public of each; standard library only.

Any study whose data are columns at parties can name any of them.  A further table is a loader in
`partywise.datasets.loaders`, named in `partywise.datasets.loaders.read`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp
from typing import Literal

from ...models.criteria import CLASSES, NUMBERS, Criterion
from . import abalone, adult, credit_default, flights
from .declarations import ColumnFacts
from .descriptions import Response, TableDescription
from .tables import TABLES

Name = Literal[
    "abalone",
    "adult",
    "adult_split",
    "azpro",
    "credit_default",
    "doctor_visits",
    "flights",
    "hmda",
    "injury",
    "injury_costs",
    "nhefs",
    "nmes",
]


@dataclass(frozen=True)
class TableFacts:
    """A table and what is known of it before any record is seen.

    resource : data set of the catalogue
    names, columns : of the columns, and what is declared of each; levels : names of the levels of a category, by column
    criterion : what the label is for
    label_bounds : public range of a label that is a number; None for labels 0 and 1
    holders : natural parties with the numbers of their columns, the one with the label first; none where columns are
        dealt in runs
    divided : whether the table comes with its own test rows
    """

    resource: str
    names: tuple[str, ...]
    columns: tuple[ColumnFacts, ...]
    levels: Mapping[str, tuple[str, ...]]
    criterion: Criterion = CLASSES
    label_bounds: tuple[float, float] | None = None
    holders: tuple[tuple[str, tuple[int, ...]], ...] = field(default=())
    divided: bool = False


ADULT_LEVELS = {name: tuple(words.split()) for name, words in adult.LEVELS.items()}
# Whole rings: no abalone reaches more.
RINGS = (0.0, 30.0)
# An hour early to three hours late: what is beyond is as rare.
DELAYS = (-60.0, 180.0)
DEALT = {
    "abalone": TableFacts(
        "abalone",
        tuple(abalone.column_facts()),
        tuple(abalone.column_facts().values()),
        {"sex": abalone.SEXES},
        NUMBERS,
        RINGS,
    ),
    "adult": TableFacts("adult", adult.COLUMNS, adult.column_facts(), ADULT_LEVELS),
    "adult_split": TableFacts("adult_split", adult.COLUMNS, adult.column_facts(), ADULT_LEVELS, divided=True),
    "flights": TableFacts("nyc_flights", tuple(flights.FACTS), tuple(flights.FACTS.values()), {}, NUMBERS, DELAYS),
    "credit_default": TableFacts(
        "credit_default",
        credit_default.NAMES,
        tuple(credit_default.column_facts()[name] for name in credit_default.NAMES),
        {},
    ),
}


@lru_cache
def table_facts(name: Name, response: str | None = None) -> TableFacts:
    """A table with the response of that name, by default its usual one."""
    if name not in DEALT:
        return _of_parties(TABLES[name], TABLES[name].response(response))
    if response is not None:
        raise ValueError(f"response is {response!r}: dataset {name!r} has one; leave it out.")
    return DEALT[name]


def _of_parties(table: TableDescription, response: Response) -> TableFacts:
    """A table that has natural parties."""
    column_facts = tuple(column.facts for column in table.columns)
    names = tuple(column.name for column in table.columns)
    classes = response.families[0] == "binomial"
    low, high = response.statistic
    if response.families[0] in ("gamma", "inverse_gaussian"):
        low, high = exp(low), exp(high)
    holders = tuple((one.name, columns) for one, columns in zip(table.holders, table.groups, strict=True))
    bounds = None if classes else (low, high)
    return TableFacts(table.resource, names, column_facts, {}, CLASSES if classes else NUMBERS, bounds, holders)
