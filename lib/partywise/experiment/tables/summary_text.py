"""The summary as text: a table of at most 120 characters a line, read on a screen or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from textwrap import wrap

import numpy as np
from pandas import DataFrame, MultiIndex

from ...privacy.rounding import upward
from ..cells import IN_SAMPLE, STATUS
from ..measures import Heading
from ..plan import Plan
from ..results.columns import CubeColumns
from .run_totals import CELL, RUN, costs_more
from .summary import MARK, MOST_ROWS, Slot, fault_counts, heading, is_certified, shown_variables, slots

WIDTH, INDENT = 120, "  "
# The longest label that a line has room for beside its numbers.
LABEL = 40
ARROWS = {"lower": "\u2193", "higher": "\u2191", "neither": ""}
KEYS = ("method", "parties", "target epsilon")
MIB = 2.0**20
# Measure of methods that leave a bias which no epsilon removes; its long name says so.
APPROXIMATE = "approximate"


def summary_text(plan: Plan, columns: CubeColumns, data_notes: Sequence[str] = ()) -> str:
    """The table of a study; the number after +- is a standard error over replicates.

    Columns that do not fit are in a further table below.  Rows are grouped by case.  ``data_notes`` are sentences on
    records of own data that are left out or clipped: they follow the title.
    """
    run_costs_more = delta_at_least_1_over_n = False
    for slot in slots(columns, (RUN, CELL)):
        run_costs_more, delta_at_least_1_over_n = (
            run_costs_more or _run_costs_more(slot),
            delta_at_least_1_over_n or bool(slot.delta_at_least_1_over_n),
        )
    names = [name for name in shown_variables(plan) if name in columns.numbers and (run_costs_more or name != RUN)]
    if any_in_sample(columns):
        names.insert(len(plan.study.summary), IN_SAMPLE)
    candidates = list(islice(slots(columns, dict.fromkeys((*names, RUN, CELL))), MOST_ROWS + 1))
    printed_slots = candidates[:MOST_ROWS]
    names = [name for name in names if any(slot.averages[name][2] for slot in printed_slots)]
    rows = [_line(columns, slot, names) for slot in printed_slots]
    words = [heading(plan, name) for name in names]
    notes = _notes(plan, columns, names, run_costs_more, delta_at_least_1_over_n)
    if len(candidates) > MOST_ROWS:
        notes.insert(0, f"the first {MOST_ROWS} rows: all of them are in summary.csv")
    cases = [_case(plan, str(slot.labels["case"])) for slot in printed_slots]
    lines = [line for note in notes for line in wrap(f"{note}.", WIDTH, subsequent_indent=INDENT)]
    title = wrap(f"{plan.study.title} ({plan.study.name})", WIDTH)
    title += [line for sentence in data_notes for line in wrap(sentence, WIDTH, subsequent_indent=INDENT)]
    return "\n".join([*title, *_tables(words, cases, rows), *lines, ""])


def any_in_sample(columns: CubeColumns) -> bool:
    """Whether errors of some fit are those of the records that trained it."""
    return bool((columns.numbers.get(IN_SAMPLE, np.zeros(0)) > 0).any())


def _case(plan: Plan, name: str) -> str:
    """The line above the rows of a case."""
    case = plan.cases[name]
    counts = ((case.replicates, "replicate"), (case.folds, "fold"))
    grid = " x ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts)
    return f"{_short(name)}: {grid}"


def _short(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[: LABEL - 9]}...{label[-6:]}"


def _run_costs_more(slot: Slot) -> bool:
    return costs_more(slot.averages[RUN][0], slot.averages[CELL][0])


def _line(columns: CubeColumns, slot: Slot, names: Iterable[str]) -> list[str]:
    """A row of the printed table."""
    labels = slot.labels
    row = [_short(labels["method"]), str(labels["parties"]), f"{labels['epsilon']:.4g}"]
    for name in names:
        mean, error, count = slot.averages[name]
        scale = MIB if columns.units(name) == "byte" else 1.0
        number = upward(mean) if is_certified(name) else f"{mean / scale:.4g}"
        value = number if count else "-"
        if name == IN_SAMPLE and count:
            value = "yes" if mean > 0 else "no"
        if name == RUN and not _run_costs_more(slot):
            value = "same" if count else "-"
        value += MARK if name in slot.delta_at_least_1_over_n else ""
        # The error that matters most in this case: the first variable that has a value here.
        with_error = set(row[len(KEYS) :]) <= {"-"} and np.isfinite(error)
        row.append(value + (f" +- {error / scale:.2g}" if with_error else ""))
    return row


def _tables(words: Sequence[Heading], cases: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The columns in as many tables as they need, each with the labels of its rows."""
    heads = [wrap(word.words, 12, break_long_words=False, break_on_hyphens=False) for word in words]
    for head, word in zip(heads, words, strict=True):
        head[-1] = f"{head[-1]} {ARROWS[word.better]}".rstrip()
    height = max(map(len, heads))
    frame = DataFrame(
        [row[len(KEYS) :] for row in rows],
        MultiIndex.from_tuples([tuple(row[: len(KEYS)]) for row in rows], names=KEYS),
        MultiIndex.from_tuples([(*[""] * (height - len(head)), *(f" {line}" for line in head)) for head in heads]),
    )
    lines: list[str] = []
    # What finds no room in a line stands in a block below, with the labels of its rows.
    for block in frame.to_string(sparsify=False, line_width=WIDTH - len(INDENT)).split("\n\n"):
        table = [f"{INDENT}{line}".rstrip(" \\") for line in block.splitlines()]
        head, body = [line for line in table[: -len(rows)] if line], table[-len(rows) :]
        lines += [""] * bool(lines) + head + ["-" * max(map(len, table))]
        for case, group in groupby(zip(cases, body, strict=True), key=lambda entry: entry[0]):
            lines += [case, *(line for _, line in group)]
    return lines


def _notes(
    plan: Plan, columns: CubeColumns, names: Sequence[str], run_costs_more: bool, delta_at_least_1_over_n: bool
) -> list[str]:
    """Notes below the printed table."""
    notes = [
        f"{ARROWS['lower']} lower is better, {ARROWS['higher']} higher is better; +-: standard error over replicates"
    ]
    notes.append(_guarantee(plan))
    if "tpr_at_1_percent" in names:
        notes.append("mu and TPR: of the certified releases; no attack finds more at that rate of false positives")
    if IN_SAMPLE in names:
        notes.append("in-sample: errors of the records that trained the fit, which flatter it; give several folds")
    if RUN in names:
        notes.append("certified: the releases of one fit; whole run: those of all folds of a replicate together")
    numbers = columns.numbers
    if APPROXIMATE in numbers and bool((numbers[APPROXIMATE] == 1).any()):
        notes.append(f"{APPROXIMATE} in the cube: {columns.described[APPROXIMATE][0]}")
    if "delta_claimed" in numbers and bool((numbers["delta_claimed"] > numbers["delta"]).any()):
        notes.append("claimed at the sum of the deltas that the source gives each release: delta_claimed in the cube")
    if delta_at_least_1_over_n:
        notes.append(
            f"{MARK} the total delta is at least 1/n: publishing a random record meets it, so that it says nothing"
        )
    bad = columns.places.cells[columns.status > STATUS.index("ok")]
    if len(bad):
        first = columns.places.name(int(bad[0]))
        notes.append(f"fits that are not ok: {fault_counts(columns)}, the first is {first}: see status in the cube")
    return notes


def _guarantee(plan: Plan) -> str:
    """Return the note on the unit and the delta for which the certified epsilons hold."""
    if plan.study.certified != CELL:
        return "certified epsilon: for the unit and at the delta of each claim; inf: nothing can be certified"
    deltas: dict[float, list[str]] = {}
    for case in plan.cases:
        deltas.setdefault(plan.delta(case), []).append(case)
    texts = [f"{delta:g}" + (f" ({', '.join(cases)})" if len(deltas) > 1 else "") for delta, cases in deltas.items()]
    joint = any(getattr(method.options, "shares_noise", False) for method in plan.methods.values())
    rest = " (with shared noise at the smaller delta of all records together: delta in the cube)" if joint else ""
    return f"epsilon at delta = {', '.join(texts)} for the unit {plan.spec.unit}{rest}; inf: nothing can be certified"
