"""Texts of a plan: the paragraph for an ethics board, and the page; both from the plan alone."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import PrecisionPlan

# Targets that the paragraph names.
NAMED = 2
CHANGES = {"replace_one": "replaced by any other", "add_remove": "added or removed"}
HEAD = {
    "target": "target",
    "value": "expected",
    "half_width": "95 % half-width",
    "half_width_without_noise": "without noise",
    "ratio": "ratio",
    "wanted": "wanted",
    "effect": "effect",
    "power": "power",
    "detectable": "detected with power 80 %",
}


def paragraph(plan: PrecisionPlan) -> str:
    """Return at most 150 words for an ethics board: who, what is protected, how well, with which precision."""
    privacy, unit = plan.privacy, f" {plan.unit}" if plan.unit else ""
    rows = [row for row in plan.table if row["wanted"] is not None] or list(plan.table)
    numbers = [{key: number_text(row[key]) for key in list(HEAD)[1:]} for row in rows[:NAMED]]
    widths = "; ".join(
        f"{row['target']} ±{texts['half_width']}{unit} (±{texts['half_width_without_noise']}{unit} without privacy, so "
        f"the interval is {texts['ratio']} times as long)"
        for row, texts in zip(rows, numbers, strict=False)
    )
    attack = number_text(privacy["true_positive_percent"])
    trust = "" if privacy["trust"] == "nobody" else f", as long as {privacy['trust']}"
    return (
        f"{plan.parties} organisations take part, with {plan.n} records in all. {plan.release}. "
        f"The release is differentially private for one record that is {CHANGES[privacy['relation']]}, with epsilon "
        f"{plan.epsilon:g} and delta {plan.delta:g}{trust}. For a person this means: an attacker who knows all other "
        f"records, and who wrongly accuses {privacy['false_positive_percent']} % of those who are not in the study, "
        f"recognises at most {attack} % of those who are. Expected 95 % intervals: "
        f"{widths}. Assumed: {'; '.join(plan.assumptions)}. Nothing was computed from data."
    )


def page(plan: PrecisionPlan) -> str:
    """Return the page of a plan as HTML, which shows ``figure.png`` next to it."""
    rows = "\n".join(
        _row("td", [row["target"], *(number_text(row[key]) for key in list(HEAD)[1:])]) for row in plan.table
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Design of {escape(plan.name)}</title>
<style>body {{font-family: sans-serif; max-width: 50em; margin: 2em auto; line-height: 1.4}}
table {{border-collapse: collapse}} th, td {{padding: .3em .7em; border-bottom: 1px solid #ccc; text-align: left}}
img {{max-width: 100%}}</style></head>
<body>
<h1>Design of {escape(plan.name)}</h1>
<p>{escape(headline(plan))}</p>
<p>{escape(paragraph(plan))}</p>
<table>
{_row("th", HEAD.values())}
{rows}
</table>
<p><img src="figure.png" alt="Half-width over epsilon"></p>
</body>
</html>
"""


def headline(plan: PrecisionPlan) -> str:
    """Return the answer in one line."""
    reached = "; ".join(f"{row['target']} ±{number_text(row['half_width'])}" for row in plan.table if row["wanted"])
    unit = f" {plan.unit}" if plan.unit and reached else ""
    answer = f"{plan.method} with n = {plan.n}, epsilon = {plan.epsilon:g}, delta = {plan.delta:g}"
    return f"{answer}: {reached}{unit}" if reached else answer


def number_text(number: float | None) -> str:
    """A number in three digits, empty without one."""
    return "" if number is None else f"{number:.3g}"


def _row(cell: str, texts: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"
