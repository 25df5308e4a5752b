"""Means and standard errors over replicates, as a tidy table and as the text printed at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ..cells import STATUS
from ..plan import Plan
from ..results.columns import Block, Columns
from .run_totals import CELL, RUN, costs_more

MIB = 2.0**20
# Nobody reads more rows on a screen or a page; the CSV files have all.
MOST_ROWS = 10_000
# Slots that are averaged at a time: what they take is their number times that of the variables.
MOST_SLOTS = 1000
SLOT = ("case", "method", "parties", "epsilon")
# Behind an epsilon that stands at a delta of 1/n or more.
MARK, FLAG = "!", "delta_exceeds_1_over_n"
DELTAS = {"epsilon_claimed": "delta_claimed", CELL: "delta", RUN: "delta"}
# What stands beside a certified epsilon: the same guarantee in other words.
BESIDE = {"mu_upper": "mu", "tpr_at_1_percent": "TPR at 1 %", "tpr_at_0_1_percent": "TPR at .1 %"}
HEADINGS = {
    "epsilon_claimed": "claimed",
    CELL: "certified",
    **BESIDE,
    RUN: "whole run",
    "bytes_measured": "MiB sent",
}


@dataclass(frozen=True)
class Slot:
    """What is averaged together: the cells of a case, a method, a number of parties and an epsilon.

    labels : of these four; averages : name -> mean, standard error and number of replicates
    vain : the epsilons, claimed and certified, that are finite at a total delta of 1/n or more in one of the cells
    """

    labels: Mapping[str, Any]
    averages: Mapping[str, tuple[float, float, int]]
    vain: frozenset[str]


def averages(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over replicates of each replicate's mean over folds, its standard error, and the replicates behind it.

    Parameters
    ----------
    values : ndarray, shape (replicate, parties, fold, epsilon)
        Of one case and one method. Undefined cells (NaN) are left out.

    Returns
    -------
    mean, error, count : ndarray, shape (parties, epsilon)
        The standard error is NaN where fewer than two replicates have a finite value.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        each = _mean(values, 2)
        known = ~np.isnan(each)
        count = known.sum(0)
        mean = _mean(each, 0)
        squares = _sum(np.where(known, (each - mean) ** 2, 0.0), 0)
        error = np.sqrt(squares / np.where(count > 1, count - 1, np.nan) / np.where(count > 0, count, np.nan))
    return mean, error, count


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean of what is defined, NaN where nothing is."""
    undefined = np.isnan(values)
    return _sum(np.where(undefined, 0.0, values), axis) / (~undefined).sum(axis)


def _sum(values: np.ndarray, axis: int) -> np.ndarray:
    """Sum in the order of the axis, from 0.0: its last bit does not depend on the lengths of the other axes."""
    return np.add.accumulate(values, axis).take(-1, axis) + 0.0


def slots(columns: Columns, names: Iterable[str]) -> Iterator[Slot]:
    """The averages of some variables, one case and one method after the other, in the order of the cube."""
    names = list(names)
    for block in columns.places.blocks:
        for parties, epsilons in _parts(block):

            def part(values: np.ndarray, block: Block = block, chosen: Any = np.s_[:, parties, :, epsilons]) -> Any:
                return columns.part(values, block)[chosen]

            used = (part(columns.status) > 0).any((0, 2))
            found = {name: averages(part(columns.numbers[name])) for name in names}
            vain = _vain(columns, part)
            for k, e in np.argwhere(used).tolist():
                place = (block.case, block.method, block.parties[parties][k], block.epsilons[epsilons][e])
                numbers = {
                    name: (float(mean[k, e]), float(error[k, e]), int(count[k, e]))
                    for name, (mean, error, count) in found.items()
                }
                marked = frozenset(name for name, flags in vain.items() if flags[k, e])
                yield Slot(dict(zip(SLOT, place, strict=True)), numbers, marked)


def _parts(block: Block) -> Iterator[tuple[slice, slice]]:
    """Parts of the parties and epsilons of a block, in their order, each of at most ``MOST_SLOTS`` slots."""
    parties, epsilons = len(block.parties), len(block.epsilons)
    width = min(epsilons, MOST_SLOTS)
    height = MOST_SLOTS // width if width == epsilons else 1
    for k in range(0, parties, height):
        for e in range(0, epsilons, width):
            yield slice(k, k + height), slice(e, e + width)


def _vain(columns: Columns, part: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
    """Where over (parties, epsilon) of a part an epsilon is finite at a total delta of 1/n or more."""
    if FLAG not in columns.numbers:
        return {}
    flag, n = (part(columns.numbers[name]) for name in (FLAG, "n_protected"))
    found = {}
    for name, delta in DELTAS.items():
        if name in columns.numbers:
            value, least = (part(columns.numbers[each]) for each in (name, delta))
            with np.errstate(invalid="ignore"):
                found[name] = ((flag == 1) & (least * n >= 1) & np.isfinite(value)).any((0, 2))
    return found


def summary_rows(plan: Plan, columns: Columns, names: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """Tidy table: one row for each case, method, party count, epsilon and variable that has a value."""
    names = sorted(columns.numbers if names is None else set(names) & set(columns.numbers))
    for slot in slots(columns, names):
        for name, (mean, error, count) in slot.averages.items():
            if not count:
                continue
            row: dict[str, Any] = {"variable": name, "units": columns.units(name), "mean": repr(mean)}
            row["se"] = repr(error) if np.isfinite(error) else ""
            yield {"study": plan.study.name, **slot.labels, **row, "replicates": count}


def summary_text(plan: Plan, columns: Columns) -> str:
    """The table printed at the end of a run; what stands behind +- is a standard error over replicates."""
    dearer = vain = False
    for slot in slots(columns, (RUN, CELL)):
        dearer, vain = dearer or _dearer(slot), vain or bool(slot.vain)
    names = [name for name in (*plan.study.summary, *HEADINGS) if name in columns.numbers and (dearer or name != RUN)]
    table = [["case", "method", "parties", "target", *(HEADINGS.get(name, name) for name in names)]]
    shown = list(islice(slots(columns, names if dearer else [*names, RUN]), MOST_ROWS + 1))
    table += [_line(columns, slot, names) for slot in shown[:MOST_ROWS]]
    lines = _aligned(table)
    title = f"{plan.study.title} ({plan.study.name})"
    notes = _notes(plan, columns, dearer, vain)
    if len(shown) > MOST_ROWS:
        notes.insert(0, f"the first {MOST_ROWS} rows: all of them are in summary.csv")
    return "\n".join([title, lines[0], "-" * len(lines[0]), *lines[1:], *(f"{note}." for note in notes), ""])


def _dearer(slot: Slot) -> bool:
    return costs_more(slot.averages[RUN][0], slot.averages[CELL][0])


def _line(columns: Columns, slot: Slot, names: Iterable[str]) -> list[str]:
    """A row of the printed table."""
    labels = slot.labels
    row = [labels["case"], labels["method"], str(labels["parties"]), f"{labels['epsilon']:.4g}"]
    for name in names:
        mean, error, count = slot.averages[name]
        scale = MIB if columns.units(name) == "byte" else 1.0
        value = f"{mean / scale:.4g}" if count else "-"
        if name == RUN and not _dearer(slot):
            value = "same" if count else "-"
        value += MARK if name in slot.vain else ""
        # The error that matters most in this case: the first variable that has a value here.
        with_error = set(row[4:]) <= {"-"} and np.isfinite(error)
        row.append(value + (f" +- {error / scale:.2g}" if with_error else ""))
    return row


def _notes(plan: Plan, columns: Columns, dearer: bool, vain: bool) -> list[str]:
    """What stands below the printed table."""
    deltas: dict[float, list[str]] = {}
    for case in plan.cases:
        deltas.setdefault(plan.delta(case), []).append(case)
    shown = [f"{delta:g}" + (f" ({', '.join(cases)})" if len(deltas) > 1 else "") for delta, cases in deltas.items()]
    notes = [f"epsilon at delta = {', '.join(shown)} for the unit {plan.spec.unit}; inf: nothing can be certified"]
    if "tpr_at_1_percent" in columns.numbers:
        notes.append("mu and TPR: of the certified releases; no attack finds more at that rate of false positives")
    if dearer:
        notes.append("certified: the releases of one fit; whole run: those of all folds of a replicate together")
    numbers = columns.numbers
    if "delta_claimed" in numbers and bool((numbers["delta_claimed"] > numbers["delta"]).any()):
        notes.append("claimed at the sum of the deltas that the source gives each release: delta_claimed in the cube")
    if vain:
        notes.append(
            f"{MARK} the total delta is at least 1/n: publishing a random record meets it, so that it says nothing"
        )
    bad = columns.places.cells[columns.status > STATUS.index("ok")]
    if len(bad):
        first = columns.places.name(int(bad[0]))
        notes.append(f"{len(bad)} fits did not converge or diverged, the first is {first}: see status in the cube")
    return notes


def _aligned(table: list[list[str]]) -> list[str]:
    """Columns of equal width: the first two to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    places = list(enumerate(widths))
    rows = [[row[i].ljust(width) if i < 2 else row[i].rjust(width) for i, width in places] for row in table]
    return ["  ".join(row).rstrip() for row in rows]
