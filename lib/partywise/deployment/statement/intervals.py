"""Intervals in a statement: what they are of and rest on, and the law that makes them again.

The law of records is stated by its parameters and by the seed of its simulation, so that a reader evaluates it once at
the published measurements instead of searching for it: two searches may end a little apart.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from textwrap import wrap

# Any: JSON of a statement that somebody else wrote.
from typing import Any

from ...federation.place_checks import estimate_at
from ...models.intervals import NOT_COMPUTED, FittedLaw, Intervals
from ...models.kinds import Kind

LEVEL, LINES, WIDTH = 0.95, 6, 100
# Diagnostics that do not depend on how the law was found.
DIAGNOSTICS = ("shape_test", "degrees", "clipped")
REGISTERED = "declared in the registered configuration, before any data were opened"
LATE = "declared after the release"


def intervals_at(value: object, place: str) -> Intervals | None:
    """Return the intervals of what a place has of an estimate, or why there are none; None where it has neither."""
    intervals = getattr(estimate_at(value, place), "intervals", None)
    return intervals if isinstance(intervals, Intervals) else None


def interval_facts(table: bytes, intervals: Intervals | None, public: object, registered: bool) -> dict[str, object]:
    """State which numbers of an ``estimate.csv`` have intervals, of what, and from which law; why others have none.

    intervals : of the estimate, where the program makes it of what is published
    public : facts of the run, which may have ``kinds_of_columns``; registered : before data were opened
    """
    rows = csv.DictReader(io.StringIO(table.decode(errors="replace")))
    reasons = Counter("" if row.get("lower") else row.get("note") or NOT_COMPUTED.reason for row in rows)
    numbers = reasons.pop("", 0)
    facts: dict[str, object] = {"kind": "over records and noise" if numbers else "none", "level": LEVEL}
    facts |= {"numbers": numbers, "reasons": dict(reasons)}
    if intervals is None or intervals.record_law is None:
        return facts
    law, kinds = intervals.record_law, _kinds(public)
    facts["law"] = {"name": law.name, "theta": list(law.theta), "draws": law.draws, "seed": list(law.seed)}
    if kinds:
        facts |= {"kinds": kinds, "kinds_declared": REGISTERED if registered else LATE}
    if not intervals.reason:
        diagnostics = {name: intervals.diagnostics[name] for name in DIAGNOSTICS if name in intervals.diagnostics}
        facts |= {"estimand": intervals.estimand, "diagnostics": diagnostics}
    return facts


def _kinds(public: object) -> dict[str, dict[str, str]]:
    """Return the declared kinds of columns by name, with their reasons."""
    kinds: Mapping[str, Kind] = getattr(public, "kinds_of_columns", {})
    return {name: {"kind": kind.words, "because": kind.because} for name, kind in kinds.items()}


def law_of(statement: Mapping[str, Any]) -> FittedLaw | None:
    """Return the law that a statement has; None where it has none, ValueError for a malformed one."""
    law = statement["intervals"].get("law")
    if law is None:
        return None
    name, theta, draws = law["name"], law["theta"], law["draws"]
    if type(name) is not str or type(draws) is not int or not all(type(number) is float for number in theta):
        raise ValueError("law of the intervals needs a name, numbers theta and whole draws")
    return FittedLaw(name, tuple(theta), draws)


def interval_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield at most six lines on the intervals of a statement."""
    what = facts.get("estimand") or facts["kind"]
    lines = _wrap(f"Intervals at {facts['level']:.0%} ({facts['numbers']} numbers of estimate.csv): {what}.")
    if kinds := facts.get("kinds"):
        lines.append(_kinds_line(kinds, facts["kinds_declared"]))
    reasons = list(facts["reasons"].items())
    for place, (reason, count) in enumerate(reasons):
        rest = len(reasons) - place
        room = LINES - len(lines) - (rest > 1)
        texts = (_wrap(f"- {count} numbers have no interval: {why}") for why in (reason, reason.partition(":")[0]))
        written = next((text for text in texts if len(text) <= room), None)
        if written is None:
            numbers = sum(more for _, more in reasons[place:])
            lines.append(f"- {numbers} numbers have none, for {rest} more reasons in statement.json")
            break
        lines += written
    yield from lines


def _wrap(line: str) -> list[str]:
    return wrap(line, WIDTH, subsequent_indent="  ")


def _kinds_line(kinds: Mapping[str, Mapping[str, str]], declared: str) -> str:
    """Return as many kinds as a line holds, and how many more there are."""
    when = "registered" if declared == REGISTERED else declared
    named = [f"{name} {kind['kind']}" for name, kind in kinds.items()]
    for n_named in range(len(named), 0, -1):
        more = f" and {len(named) - n_named} more" if n_named < len(named) else ""
        line = f"- kinds ({when}): {', '.join(named[:n_named])}{more}"
        if len(line) <= WIDTH:
            return line
    return f"- kinds ({when}): {len(named)} in statement.json"
