"""One page of tables for a study: summary, what crosses the wire, ledger, configuration and versions; no network.

The page goes into the report of a run.  Rows can be filtered by typing words, such as ``moments 6``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby, islice
from typing import Any

from ..plan import Plan
from ..study import Heading
from .printed import ARROWS
from .rows import inert
from .run_totals import CELL, RUN, costs_more
from .summary import FLAG, MOST_ROWS, heading, shown_variables

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 1rem auto; max-width: 75rem; padding: 0 1rem; color: #222; }
h1 { font-size: 1.35rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
nav a { margin-right: 1rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; }
th { text-align: left; background: #f4f4f4; position: sticky; top: 0; }
td.number { text-align: right; white-space: nowrap; }
input { font: inherit; padding: .3rem; width: min(100%, 26rem); }
pre { background: #f7f7f7; padding: .7rem; overflow-x: auto; }
"""
FILTER = """
for (const box of document.querySelectorAll("input[data-table]")) box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const row of document.getElementById(box.dataset.table).tBodies[0].rows) {
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
    "sampler",
]
SLOT = ("case", "method", "parties", "epsilon")


def tables_page(
    plan: Plan,
    attributes: Mapping[str, Any],
    summary: Iterable[Mapping[str, Any]],
    wire: str,
    totals: Iterable[Mapping[str, Any]],
    dictionary: Iterable[Mapping[str, Any]] = (),
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
    """
    made = json.loads(attributes["config_json"])
    versions = json.loads(attributes["software_versions"]) | {
        name: attributes[name] for name in ("git_commit", "code_sha256", "lock_sha256", "config_sha256")
    }
    parts = {
        "Summary": _filtered("summary", summary_wide(plan, summary), "summary.csv"),
        "What crosses the wire": _markdown(wire),
        "Ledger": _filtered("ledger", _short_totals(totals), "ledger_totals.csv"),
        "Columns": _filtered("columns", list(dictionary), "dictionary.csv"),
        "Configuration": f"<pre>{escape(json.dumps(made, indent=1, ensure_ascii=False))}</pre>",
        "Versions": _table([{"what": key, "value": value} for key, value in versions.items()]),
    }
    links = "".join(f'<a href="#{_anchor(title)}">{title}</a>' for title in parts)
    body = "".join(f'<h2 id="{_anchor(title)}">{title}</h2>\n{content}\n' for title, content in parts.items())
    name = escape(plan.study.title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{name}</title><style>{STYLE}</style></head><body><h1>{name}</h1>\n<nav>{links}</nav>\n{body}"
        f"<script>{FILTER}</script></body></html>\n"
    )


def summary_wide(plan: Plan, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each case, method, party count and epsilon; mean and standard error of the study's main variables."""
    grouped = groupby(rows, key=lambda row: tuple(row[key] for key in SLOT))
    slots = [(place, {row["variable"]: row for row in group}) for place, group in islice(grouped, MOST_ROWS + 1)]
    dearer = any(map(_costs_more, (found for _, found in slots)))
    names = [name for name in shown_variables(plan) if dearer or name != RUN]
    titles = {name: _arrowed(heading(plan, name)) for name in names}
    wide = []
    for place, found in slots:
        case = plan.cases[str(place[0])]
        line = dict(zip(SLOT, place, strict=True)) | {"replicates": case.replicates, "folds": case.folds}
        line |= {titles[name]: _with_error(found.get(name)) for name in names}
        vain = float(found[FLAG]["mean"]) > 0 if FLAG in found else False
        wide.append(line | {"delta": "at least 1/n: says nothing" if vain else ""})
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
    return _short(float(row["mean"])) + (f" ± {error:.2g}" if error else "")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return str(value)


def _table(rows: Sequence[Mapping[str, Any]], name: str = "") -> str:
    if not rows:
        return "<p>Nothing in this configuration.</p>"
    head = "".join(f"<th>{escape(str(key))}</th>" for key in rows[0])
    body = "\n".join("<tr>" + "".join(map(_cell, row.values())) + "</tr>" for row in rows)
    identity = f' id="{name}"' if name else ""
    return f'<div class="wide"><table{identity}><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(value: Any) -> str:
    text = inert(_short(value))
    number = isinstance(value, int | float) or text[:1].isdigit()
    return f'<td class="number">{escape(text)}</td>' if number else f"<td>{escape(text)}</td>"


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


def _filtered(name: str, rows: Sequence[Mapping[str, Any]], file: str) -> str:
    hint = "words to keep, such as: moments 6"
    name = f"{name}-rows"
    more = f"<p>The first {MOST_ROWS} rows: all of them are in {file}.</p>" if len(rows) > MOST_ROWS else ""
    rows = rows[:MOST_ROWS]
    return f'{more}<p><input data-table="{name}" aria-label="filter" placeholder="{hint}"></p>{_table(rows, name)}'


def _markdown(text: str) -> str:
    """Headings, paragraphs and pipe tables; nothing else occurs in the wire table."""
    out = []
    for piped, group in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        lines = list(group)
        if piped:
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            out.append(_table([dict(zip(cells[0], row, strict=True)) for row in cells[2:]]))
            continue
        out += [_paragraph(line) for line in lines if line]
    return "\n".join(out)


def _paragraph(line: str) -> str:
    if line.startswith("## "):
        return f"<h3>{escape(line[3:])}</h3>"
    return f"<p>{escape(line.lstrip('# '))}</p>"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
