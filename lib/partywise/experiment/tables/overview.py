"""A study in one line: fits, its worst certified epsilon beside the claim, headline rows."""

from __future__ import annotations

from itertools import islice

from ..plan import Plan
from ..results.columns import Columns
from .run_totals import CELL
from .screen import ended, rows, worst
from .templates import short

COLUMNS = ("fits", "claimed ε", "certified ε, at worst", "of the method", "unit", "headline")
# Characters of a headline row, and how many of them a line holds.
WIDTH, MOST = 160, 2


def overview(plan: Plan, columns: Columns) -> dict[str, str]:
    """Texts of ``COLUMNS``, headline rows as lines; both epsilons are those of the fit with the worst certificate."""
    found = worst(plan, columns)
    claimed = certified = method = "-"
    if found:
        claimed, certified, method = short(found[0].claimed), short(found[0].certified), found[0].title
    if found[1:]:
        certified += f" (finite: {short(found[1].certified)})"
    unit = plan.spec.unit if plan.study.certified == CELL else "of each claim"
    headline = "\n".join(row.strip().replace("+-", "±") for row in islice(rows(plan, columns, WIDTH), MOST))
    return dict(zip(COLUMNS, (ended(columns), claimed, certified, method, unit, headline), strict=True))
