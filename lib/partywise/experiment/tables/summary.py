"""Means and standard errors over replicates, as a tidy table: what the printed summary and the page show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypedDict

import numpy as np

from ...privacy.ledger.total import REPORTED
from ..cells import IN_SAMPLE, STATUS
from ..measures import BYTES_MEASURED, EPSILON_CLAIMED, Better, Heading
from ..measures import IN_SAMPLE as MEASURED_IN_SAMPLE
from ..plan import Plan
from ..results.columns import CellBlock, CubeColumns
from .run_totals import CELL, RUN

# Nobody reads more rows on a screen or a page; the CSV files have all.
MOST_ROWS = 10_000
# Slots that are averaged at a time: what they take is their number times that of the variables.
MOST_SLOTS = 1000
# Behind an epsilon that stands at a delta of 1/n or more.
MARK, FLAG = "!", "delta_exceeds_1_over_n"
# Epsilons of accountants that have a column of their own.
BY_ACCOUNTANTS = {each.variable: each.heading for each in REPORTED.values() if each.heading}
DELTAS = {"epsilon_claimed": "delta_claimed", **dict.fromkeys((*BY_ACCOUNTANTS, RUN), "delta")}
# The same guarantee as a certified epsilon, in other words.
EQUIVALENTS = {"mu_upper": "mu", "tpr_at_1_percent": "TPR at 1 %", "tpr_at_0_1_percent": "TPR at 0.1 %"}
HEADINGS = {
    IN_SAMPLE: MEASURED_IN_SAMPLE.known_as,
    "epsilon_claimed": EPSILON_CLAIMED.known_as,
    **{name: Heading(words, "lower") for name, words in (BY_ACCOUNTANTS | EQUIVALENTS).items()},
    RUN: Heading("certified, whole run", "lower"),
    "bytes_measured": BYTES_MEASURED.known_as,
}


class SlotLabels(TypedDict):
    """Labels of the fits that are averaged together."""

    case: str
    method: str
    parties: int
    epsilon: float


class SummaryRow(SlotLabels):
    """A line of the summary."""

    study: str
    variable: str
    units: str
    mean: str
    se: str
    replicates: int
    folds: int
    heading: str
    better: Better


@dataclass(frozen=True)
class Slot:
    """Averages over the cells of a case, a method, a number of parties and an epsilon.

    labels : of these four; averages : name -> mean, standard error and number of replicates
    delta_at_least_1_over_n : the epsilons, claimed and certified, that are finite at such a total delta in one cell
    """

    labels: SlotLabels
    averages: Mapping[str, tuple[float, float, int]]
    delta_at_least_1_over_n: frozenset[str]


def averages(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over replicates of each replicate's mean over folds, its standard error, and the replicates behind it."""
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
    return np.asarray(_sum(np.where(undefined, 0.0, values), axis) / (~undefined).sum(axis))


def _sum(values: np.ndarray, axis: int) -> np.ndarray:
    """Sum in the order of the axis, from 0.0: its last bit does not depend on the lengths of the other axes."""
    return np.asarray(np.add.accumulate(values, axis).take(-1, axis) + 0.0)


def fault_counts(columns: CubeColumns) -> str:
    """Count the fits per verdict other than ``ok``, in words; empty if all are ok."""
    counts = zip(STATUS, np.bincount(columns.status, minlength=len(STATUS)).tolist(), strict=True)
    faults = islice(counts, STATUS.index("ok") + 1, None)
    return ", ".join(f"{count:,} {word.replace('_', ' ')}" for word, count in faults if count)


def slots(columns: CubeColumns, names: Iterable[str]) -> Iterator[Slot]:
    """The averages of some variables, one case and one method after the other, in the order of the cube."""
    names = list(names)
    for block in columns.places.blocks:
        for parties, epsilons in _parts(block):

            def part(
                values: np.ndarray, block: CellBlock = block, parties: slice = parties, epsilons: slice = epsilons
            ) -> np.ndarray:
                return columns.part(values, block)[:, parties, :, epsilons]

            used = (part(columns.status) > 0).any((0, 2))
            by_name = {name: averages(part(columns.numbers[name])) for name in names}
            delta_at_least_1_over_n = _vain(columns, part)
            for k, e in np.argwhere(used).tolist():
                labels: SlotLabels = {
                    "case": block.case,
                    "method": block.method,
                    "parties": block.parties[parties][k],
                    "epsilon": block.epsilons[epsilons][e],
                }
                numbers = {
                    name: (float(mean[k, e]), float(error[k, e]), int(count[k, e]))
                    for name, (mean, error, count) in by_name.items()
                }
                marked = frozenset(name for name, flags in delta_at_least_1_over_n.items() if flags[k, e])
                yield Slot(labels, numbers, marked)


def _parts(block: CellBlock) -> Iterator[tuple[slice, slice]]:
    """Parts of the parties and epsilons of a block, in their order, each of at most ``MOST_SLOTS`` slots."""
    parties, epsilons = len(block.parties), len(block.epsilons)
    width = min(epsilons, MOST_SLOTS)
    height = MOST_SLOTS // width if width == epsilons else 1
    for k in range(0, parties, height):
        for e in range(0, epsilons, width):
            yield slice(k, k + height), slice(e, e + width)


def _vain(columns: CubeColumns, part: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
    """Masks (parties, epsilon) of a part, by epsilon: finite at a total delta of 1/n or more."""
    if FLAG not in columns.numbers:
        return {}
    flag, n = (part(columns.numbers[name]) for name in (FLAG, "n_protected"))
    flags = {}
    for name, delta in DELTAS.items():
        if name in columns.numbers:
            value, least = (part(columns.numbers[each]) for each in (name, delta))
            with np.errstate(invalid="ignore"):
                flags[name] = ((flag == 1) & (least * n >= 1) & np.isfinite(value)).any((0, 2))
    return flags


def summary_rows(plan: Plan, columns: CubeColumns, names: Iterable[str] | None = None) -> Iterator[SummaryRow]:
    """Tidy table: one row for each case, method, party count, epsilon and variable that has a value."""
    names = sorted(columns.numbers if names is None else set(names) & set(columns.numbers))
    headings = {name: heading(plan, name) for name in names}
    for slot in slots(columns, names):
        for name, (mean, error, count) in slot.averages.items():
            if not count:
                continue
            yield {
                "study": plan.study.name,
                **slot.labels,
                "variable": name,
                "units": columns.units(name),
                "mean": repr(mean),
                "se": repr(error) if np.isfinite(error) else "",
                "replicates": count,
                "folds": plan.cases[slot.labels["case"]].folds,
                "heading": headings[name].words,
                "better": headings[name].better,
            }


def is_certified(name: str) -> bool:
    """Whether a variable is a proved epsilon, which every table rounds upward; a bound from below is not."""
    stated = name.startswith(("epsilon_claimed", "epsilon_target")) or name.endswith("_lower")
    return not stated and ("certified" in name or name.startswith("epsilon_"))


def heading(plan: Plan, name: str) -> Heading:
    """Return the public name of a variable and which values of it are better."""
    declared = plan.study.headings.get(name) or HEADINGS.get(name)
    return declared or Heading(name.replace("_", " "), "neither")


def shown_variables(plan: Plan) -> tuple[str, ...]:
    """Variables of the printed summary and of the page, in order: those of the study, then its guarantees and bytes.

    A study whose claims have units of their own has one certified epsilon, theirs; all else in the ledger is for
    another unit and stays in the cube.
    """
    if plan.study.certified != CELL:
        return (*plan.study.summary, "epsilon_claimed", plan.study.certified, "bytes_measured")
    return (*plan.study.summary, "epsilon_claimed", *BY_ACCOUNTANTS, *EQUIVALENTS, RUN, "bytes_measured")
