"""One page of tables for a study: overview, summary, wire, ledger, columns, configuration, versions; no network.

The report of a run takes its sections from the page (``<section id=...>``).  Rows can be filtered by typing words, such
as ``moments 6``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby, islice
from typing import Any

from ..plan import Plan
from ..study import Heading
from .markup import filtered, markdown, short, table
from .overview import overview_row
from .printed import ARROWS
from .run_totals import CELL, RUN, costs_more
from .summary import FLAG, MOST_ROWS, heading, shown_variables

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 1rem auto; max-width: 75rem; padding: 0 1rem; color: #222; }
h1 { font-size: 1.35rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
nav a { margin-right: 1rem; } .wide { overflow: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; }
th { text-align: left; background: #f4f4f4; position: sticky; top: 0; }
td.number { text-align: right; white-space: nowrap; }
input { font: inherit; padding: .3rem; width: min(100%, 26rem); box-sizing: border-box; }
.wide { max-height: 80vh; }
.keys :is(th, td):nth-child(-n+3) { position: sticky; left: 0; box-sizing: border-box; background: #fff; }
.keys :is(th, td):nth-child(-n+3) { white-space: normal; overflow-wrap: anywhere; }
.keys :is(th, td):nth-child(-n+3) { min-width: 5.5rem; max-width: 5.5rem; }
.keys :is(th, td):nth-child(1) { min-width: 9rem; max-width: 9rem; }
.keys :is(th, td):nth-child(2) { left: 9rem; } .keys :is(th, td):nth-child(3) { left: 14.5rem; }
.keys th:nth-child(-n+3) { z-index: 1; background: #f4f4f4; }
pre { background: #f7f7f7; padding: .7rem; overflow-x: auto; }
"""
FILTER = """
for (const box of document.querySelectorAll("input[data-rows]")) box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const row of box.closest("section").querySelector("table").tBodies[0].rows) {
    const cells = Array.from(row.cells, cell => cell.textContent.toLowerCase());
    row.hidden = !words.every(word => cells.some(cell => isNaN(word) ? cell.includes(word) : cell === word));
  }
});
"""
TOTALS = ["case", "method", "parties", "epsilon_target", "epsilon_certified", "mu_upper"]
TOTALS += [
    "tpr_at_1_percent",
    "tpr_at_0_1_percent",
    "n_releases",
    "view_worst",
    "trust_model",
    "assumption",
    "sampler",
]
SLOT = ("case", "method", "parties", "epsilon")
CLAIMED = "epsilon_claimed"


def tables_page(
    plan: Plan,
    attributes: Mapping[str, Any],
    summary: Iterable[Mapping[str, Any]],
    wire: str,
    totals: Iterable[Mapping[str, Any]],
    dictionary: Iterable[Mapping[str, Any]] = (),
    overview: Mapping[str, str] | None = None,
) -> str:
    """The page as HTML.

    Parameters
    ----------
    plan : Plan
    attributes : mapping
        Global attributes of the cube: configuration, versions, revision.
    summary, totals : iterable of rows
        Of the summary and of the totals of the ledger; the page shows the first ten thousand lines of each.
    wire : str
        The wire table in Markdown.
    dictionary : iterable of rows
        What the columns of all tables mean.
    overview : mapping, optional
        Of a study in one line, as the report of a run begins with.
    """
    made = json.loads(attributes["config_json"])
    versions = json.loads(attributes["software_versions"]) | {
        name: attributes[name] for name in ("git_commit", "code_sha256", "lock_sha256", "config_sha256")
    }
    parts = {
        "Overview": overview_row(overview or {}),
        "Summary": filtered(summary_wide(plan, summary), "summary.csv", keys=True),
        "What crosses the wire": markdown(wire),
        "Ledger": filtered(_short_totals(totals), "ledger_totals.csv"),
        "Columns": filtered(list(dictionary), "dictionary.csv"),
        "Configuration": f"<pre>{escape(json.dumps(made, indent=1, ensure_ascii=False))}</pre>",
        "Versions": table([{"what": key, "value": value} for key, value in versions.items()]),
    }
    links = "".join(f'<a href="#{_anchor(title)}">{title}</a>' for title in parts)
    body = "".join(
        f'<section id="{_anchor(title)}">\n<h2>{title}</h2>\n{content}\n</section>\n'
        for title, content in parts.items()
    )
    return html_page(plan.study.title, f"<nav>{links}</nav>\n{body}")


def html_page(title: str, body: str) -> str:
    """A page that needs no network, with a filter above each table that has a field for it."""
    name = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{name}</title><style>{STYLE}</style></head><body><h1>{name}</h1>\n{body}"
        f"<script>{FILTER}</script></body></html>\n"
    )


def summary_wide(plan: Plan, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each case, method, party count and epsilon; mean and standard error of the study's main variables.

    The first columns, which stay in view: the method, what it claims and what is certified.
    """
    grouped = groupby(rows, key=lambda row: tuple(row[key] for key in SLOT))
    slots = [(place, {row["variable"]: row for row in group}) for place, group in islice(grouped, MOST_ROWS + 1)]
    run_costs_more = any(map(_costs_more, (found for _, found in slots)))
    names = [name for name in shown_variables(plan) if run_costs_more or name != RUN]
    names = [name for name in names if name in (CLAIMED, plan.study.certified) or any(name in at for _, at in slots)]
    titles = {name: _arrowed(heading(plan, name)) for name in names}
    wide = []
    for place, found in slots:
        case = plan.cases[str(place[0])]
        values = {titles[name]: _with_error(found.get(name)) for name in names}
        line = {"method": place[1]} | {titles[name]: values[titles[name]] for name in (CLAIMED, plan.study.certified)}
        line |= dict(zip(SLOT, place, strict=True)) | {"replicates": case.replicates, "folds": case.folds} | values
        delta_at_least_1_over_n = float(found[FLAG]["mean"]) > 0 if FLAG in found else False
        wide.append(line | {"delta": "at least 1/n: says nothing" if delta_at_least_1_over_n else ""})
    return wide


def shown_names(plan: Plan) -> tuple[str, ...]:
    """Variables that :func:`summary_wide` reads."""
    return (*shown_variables(plan), CELL, RUN, FLAG)


def _arrowed(found: Heading) -> str:
    return f"{found.words} {ARROWS[found.better]}".rstrip()


def _costs_more(found: Mapping[str, Mapping[str, Any]]) -> bool:
    return {RUN, CELL} <= set(found) and costs_more(float(found[RUN]["mean"]), float(found[CELL]["mean"]))


def _with_error(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    error = float(row["se"] or 0)
    return short(float(row["mean"])) + (f" ± {error:.2g}" if error else "")


def _short_totals(totals: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the totals, those that differ in nothing but the replicate as one."""
    found: dict[tuple[Any, ...], list[int]] = {}
    shown: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in islice(totals, MOST_ROWS + 1):
        line = {key: row[key] for key in TOTALS if key in row}
        key = tuple(map(repr, line.values()))
        shown.setdefault(key, line)
        found.setdefault(key, []).append(row.get("replicate", 0))
    return [{"replicates": f"{len(found[key])} x"} | line for key, line in shown.items()]


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
