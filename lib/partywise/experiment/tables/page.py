"""One page of tables for a study: overview, summary, wire, ledger, columns, configuration, versions; no network.

The report of a run takes its sections from the page (``<section id=...>``).  Rows can be filtered by typing words, such
as ``moments 6``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby, islice
from pathlib import Path

from pandas import read_csv
from pandas.errors import EmptyDataError

from ...privacy.rounding import upward
from ..measures import Heading
from ..plan import Plan
from .findings import USUAL, Findings
from .run_totals import CELL, RUN, costs_more
from .summary import FLAG, MOST_ROWS, SummaryRow, heading, is_certified, shown_variables
from .summary_text import ARROWS
from .templates import render, short
from .wire import WireFields

TOTALS = ["case", "method", "parties", "epsilon_target", "epsilon_certified", "colluders"]
TOTALS += ["epsilon_public", "epsilon_any", "mu_upper"]
TOTALS += [
    "tpr_at_1_percent",
    "tpr_at_0_1_percent",
    "n_releases",
    "view_worst",
    "trust_model",
    "trust",
    "sampler",
]
SLOT = ("case", "method", "parties", "epsilon")
CLAIMED = "epsilon_claimed"


def tables_page(
    plan: Plan,
    attributes: Mapping[str, str],
    summary: Iterable[SummaryRow],
    wire: WireFields,
    totals: Path | str,
    dictionary: Iterable[Mapping[str, str]] = (),
    findings: Findings | None = None,
) -> str:
    """The page as HTML."""
    config = json.loads(attributes["config_json"])
    versions = json.loads(attributes["software_versions"]) | {
        name: attributes[name] for name in ("git_commit", "code_sha256", "lock_sha256", "config_sha256")
    }
    return render(
        "tables/study.html.jinja",
        title=plan.study.title,
        findings=findings,
        usual=f"{USUAL:g}",
        summary=summary_wide(plan, summary),
        wire=wire,
        totals=totals_rows(totals),
        dictionary=list(dictionary),
        configuration=json.dumps(config, indent=1, ensure_ascii=False),
        versions=[{"what": key, "value": value} for key, value in versions.items()],
    )


def summary_wide(plan: Plan, rows: Iterable[SummaryRow]) -> list[dict[str, object]]:
    """One row for each case, method, party count and epsilon; mean and standard error of the study's main variables.

    The first columns, which stay in view: the method, what it claims and what is certified.
    """
    grouped = groupby(rows, key=lambda row: (row["case"], row["method"], row["parties"], row["epsilon"]))
    slots = [(place, {row["variable"]: row for row in group}) for place, group in islice(grouped, MOST_ROWS + 1)]
    run_costs_more = any(map(_costs_more, (by_variable for _, by_variable in slots)))
    names = [name for name in shown_variables(plan) if run_costs_more or name != RUN]
    names = [name for name in names if name in (CLAIMED, plan.study.certified) or any(name in at for _, at in slots)]
    titles = {name: _heading_with_arrow(heading(plan, name)) for name in names}
    wide = []
    for place, by_variable in slots:
        case = plan.cases[str(place[0])]
        values = {titles[name]: _with_error(by_variable.get(name), is_certified(name)) for name in names}
        line = {"method": place[1]} | {titles[name]: values[titles[name]] for name in (CLAIMED, plan.study.certified)}
        line |= dict(zip(SLOT, place, strict=True)) | {"replicates": case.replicates, "folds": case.folds} | values
        delta_at_least_1_over_n = float(by_variable[FLAG]["mean"]) > 0 if FLAG in by_variable else False
        wide.append(line | {"delta": "at least 1/n: says nothing" if delta_at_least_1_over_n else ""})
    return wide


def shown_names(plan: Plan) -> tuple[str, ...]:
    """Variables that :func:`summary_wide` reads."""
    return (*shown_variables(plan), CELL, RUN, FLAG)


def _heading_with_arrow(column_heading: Heading) -> str:
    return f"{column_heading.words} {ARROWS[column_heading.better]}".rstrip()


def _costs_more(by_variable: Mapping[str, SummaryRow]) -> bool:
    return {RUN, CELL} <= set(by_variable) and costs_more(
        float(by_variable[RUN]["mean"]), float(by_variable[CELL]["mean"])
    )


def _with_error(row: SummaryRow | None, certified: bool) -> str:
    if row is None:
        return ""
    error = float(row["se"] or 0)
    mean = float(row["mean"])
    return (upward(mean, "∞") if certified else short(mean)) + (f" ± {error:.2g}" if error else "")


def totals_rows(path: Path | str) -> list[dict[str, object]]:
    """The first rows of the totals of a ledger, those that differ in nothing but the replicate as one."""
    try:
        totals = read_csv(path, nrows=MOST_ROWS + 1, keep_default_na=False, na_values=["nan"])
    except EmptyDataError:
        return []
    columns = [name for name in TOTALS if name in totals]
    counts = totals.groupby(columns, sort=False, dropna=False).size().rename("replicates").reset_index()
    rows = counts.to_dict("records")
    for row in rows:
        row |= {name: upward(row[name], "∞") for name in columns if is_certified(name)}
    return [{"replicates": f"{row.pop('replicates')} x"} | row for row in rows]
