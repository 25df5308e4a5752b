"""The register in words, made of the CSV file: the sentence of the README, pages of the documentation and of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from ..tables.templates import pipe_table, render
from .table import RegisterRow, counts
from .verdict import RULE, SHARE, STATUSES, Z

KINDS = {
    "value": "numbers",
    "at_most": "bounds and comparisons",
    "at_least": "bounds and comparisons",
    "between": "bounds and comparisons",
    "epsilon": "claims of privacy",
    "claimed_at_most": "claims of privacy",
    "claimed_at_least": "claims of privacy",
    "hidden": "claims of privacy",
    "none": "printed without a number, or without its data",
}
# Share of true numbers that lie more than Z standard errors away: two tails of the normal distribution at 3.
BY_CHANCE = 0.0027
# Columns of the page of HTML with their headings, and those that are numbers.
SHOWN = {
    "source": "source",
    "place": "place",
    "quantity": "quantity",
    "printed": "printed",
    "spread": "bracket",
    "reproduction": "ours",
    "se": "standard error",
    "replicates": "replicates",
    "z": "z",
    "within_5_percent": "within 5 %",
    "certified": "certified epsilon",
    "status": "status",
    "because": "because",
    "command": "command",
    "cpu_minutes": "CPU min",
}
NUMBERS = {"printed", "spread", "reproduction", "se", "replicates", "z", "certified", "cpu_minutes"}


def sentence(rows: Sequence[RegisterRow], fitted: Sequence[str]) -> str:
    """Return sentences with all counts, and one per clause on what was ``fitted`` to the printed numbers."""
    by_status = counts(rows)
    close, rounded, zero = closeness(rows)
    sources = len({row.source for row in rows})
    about = "".join(f" {clause[0].upper()}{clause[1:]}." for clause in fitted)
    return (
        f"The register compares {len(rows)} printed numbers and sentences of {sources} sources with our results. "
        f"{by_status['reproduced']} are reproduced, {by_status['differs']} differ and {by_status['not reproducible']} "
        f"cannot be reproduced, each for a stated reason. {by_status['refuted']} claims of privacy are refuted by an "
        f"attack or by exact arithmetic. Of the reproduced ones, {close} are numbers within {SHARE:.0%} of the printed "
        f"one, {rounded} are so only after allowing for its rounding, and {zero} are printed as 0.{about}"
    )


def closeness(rows: Sequence[RegisterRow]) -> tuple[int, int, int]:
    """Count the reproduced numbers that are close to what is printed, that rounding alone makes so, and printed zeros.

    All three have ``within_5_percent``, whose distance is taken from the nearest number that rounds to the printed one.
    """
    near = [row for row in rows if row.status == "reproduced" and row.within_5_percent == "yes"]
    pairs = [(Fraction(row.printed), Fraction(row.reproduction)) for row in near]
    zero = sum(printed == 0 for printed, _ in pairs)
    share = Fraction(str(SHARE))
    close = sum(printed != 0 and abs(computed - printed) <= share * abs(printed) for printed, computed in pairs)
    return close, len(pairs) - close - zero, zero


def page(rows: Sequence[RegisterRow], notable: Sequence[str], notes: Mapping[str, str], fitted: Sequence[str]) -> str:
    """Return the page of the site; ``notes`` are facts about all entries of a source, ``fitted`` as in `sentence`."""
    parts = [
        "# Claims register",
        "This page lists which printed numbers and claims of privacy of the sources hold. The rule of comparison and "
        "the commands are in the [artifact appendix](../artifact_appendix.md#main-results-and-claims).",
        pipe_table(("source", "entries", *STATUSES), _by(rows, lambda row: _source(row.source))),
        sentence(rows, fitted),
        *(f"{_source(source).capitalize()}: {note}" for source, note in notes.items()),
        "## By kind",
        pipe_table(("kind", "entries", *STATUSES), _by(rows, lambda row: KINDS[row.kind])),
        "## Reasons for entries that differ or cannot be reproduced",
        _reasons(rows),
        "## Selected entries",
        _rows([row for name in notable for row in rows if row.id == name]),
    ]
    return "\n\n".join(parts) + "\n"


def _source(document: str) -> str:
    return f"seed {document}" if document.isdigit() else f"`{document}`"


def _by(rows: Sequence[RegisterRow], key: Callable[[RegisterRow], str]) -> Iterator[tuple[object, ...]]:
    """Counts of each status for every value of a key, and for all."""
    for name in dict.fromkeys(map(key, rows)):
        group = [row for row in rows if key(row) == name]
        yield (name, len(group), *counts(group).values())
    yield ("all", len(rows), *counts(rows).values())


def chance(rows: Sequence[RegisterRow]) -> str:
    """Return sentences on what chance decides: differences, uninformative agreement, bounds that are close."""
    tried = [row for row in rows if row.kind == "value" and row.z and row.se]
    by_z = [row for row in tried if row.status == "reproduced" and row.within_5_percent == "no"]
    full = [row for row in rows if row.status == "reproduced" and row.saturated]
    bounds = [row for row in rows if row.kind in ("at_most", "at_least", "between") and row.z]
    near = [row for row in bounds if abs(float(row.z)) < 1]
    n_reproduced = sum(row.status == "reproduced" for row in near)
    widest = max((float(row.resolution) for row in by_z if row.resolution), default=0.0)
    return (
        f"{len(tried)} numbers were compared with a standard error. If all of them were true, about "
        f"{BY_CHANCE * len(tried):.0f} would differ by more than {Z:g} standard errors. {len(by_z)} are reproduced by "
        f"their standard error alone, and the least exact of these could have missed a difference of {widest:.0%}. "
        f"{len(full)} of the reproduced numbers are uninformative: almost any setting reproduces them. "
        f"{len(near)} bounds and comparisons lie within one standard error of their bound: the side is chance, "
        f"for the {n_reproduced} that count as reproduced and for the others."
    )


def _reasons(rows: Sequence[RegisterRow]) -> str:
    """Reasons with their counts; what was looked up for each entry is counted apart."""
    grouped: dict[tuple[str, str], list[RegisterRow]] = {}
    for row in rows:
        if row.because:
            grouped.setdefault((row.source, _bare(row.because)), []).append(row)
    lines = []
    for (source, reason), group in grouped.items():
        looked = Counter(row.because.endswith("which agrees)") for row in group if row.because != _bare(row.because))
        lookups = f" Looked up: {looked[True]} of {looked.total()} agree there." if looked else ""
        first = group[0].id + (f" to {group[-1].id}" if len(group) > 1 else "")
        lines.append((source, len(group), group[0].status, reason + "." + lookups, first))
    return pipe_table(("source", "entries", "status", "because", "first and last"), lines)


def _bare(because: str) -> str:
    return because.partition(" (there ")[0]


def _rows(rows: Sequence[RegisterRow]) -> str:
    lines = (
        (r.source, r.place, r.printed, r.reproduction + (f" ({r.se})" if r.se else ""), r.z, r.certified, r.status)
        for r in rows
    )
    head = ("source", "place", "printed", "ours (standard error)", "z", "certified", "status")
    return pipe_table(head, lines)


def html(rows: Sequence[RegisterRow], fitted: Sequence[str] = ()) -> str:
    """One page of HTML without network, a table with a search and filters; ``fitted`` as in `sentence`."""
    return render(
        "register/claims.html.jinja",
        title="Claims register",
        sentence=sentence(rows, fitted),
        rule=RULE,
        statuses=STATUSES,
        columns=SHOWN,
        numbers=NUMBERS,
        rows=rows,
    )
