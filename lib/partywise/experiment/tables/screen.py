"""Findings of a study from its cube: verdicts, the weakest guarantee, certified fits next to noise-free ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, islice

import numpy as np

from ...federation.account.interface import EXPERIMENT
from ...privacy.rounding import upward
from ..cells import IN_SAMPLE, RUN_MODE, STATUS
from ..measures import Heading
from ..plan import MethodPlan, Plan
from ..results.columns import CubeColumns
from .findings import NONE, NOT_RUN, USUAL, Findings, PrivateResult, WorstGuarantee
from .run_totals import CELL, RUN
from .summary import Slot, heading, slots

# How many methods a sentence on verdicts names.
MOST_METHODS = 3
CLAIMED = "epsilon_claimed"
# What a note on own data says of records that no fit uses.
LEFT_OUT = "left out"
# A certified epsilon may exceed its target by what rounding leaves.
ROUNDING = 1e-6
# Units of a guarantee in plain words; a study may have words of its own.
UNITS = {
    "row": "record",
    "user": "person",
    "label": "label",
    "user_label": "person's labels",
    "features": "features",
}
# Verdicts on fits as the ends of sentences about one fit or several.
VERDICTS = {
    "not_converged": "did not converge",
    "diverged": "diverged",
    "not_finite": "ended with values that are not finite",
    "separated": "met classes that are separated",
    "singular": "met a singular matrix",
    "clipped": "clipped too many records",
    "constant_response": "met a constant response",
    "too_few_events": "met too few events",
    "empty_group": "met an empty group",
    "one_slice": "found a single slice",
    "more_columns_than_records": "met more columns than records",
    "not_estimable": "could not be estimated",
    "uninformative": "found nothing beyond noise",
}


def findings(plan: Plan, columns: CubeColumns, data_notes: Sequence[str] = ()) -> Findings:
    """Return what a study found; ``data_notes`` are sentences on records of own data that are left out or clipped."""
    extremes = worst(plan, columns)
    return Findings(
        study=plan.study.name,
        fits=int((columns.status > 0).sum()),
        verdicts=tuple(_verdicts(plan, columns)),
        claims=tuple(_flag_counts(plan, columns, name) for name in plan.study.headline if _is_flag(plan, name)),
        worst=_guarantee(extremes[0]) if extremes else None,
        results=tuple(results(plan, columns)),
        warnings=(*_warnings(plan, columns), *_one_per_file(data_notes)),
        question=plan.study.question,
    )


def _verdicts(plan: Plan, columns: CubeColumns) -> Iterator[str]:
    """Yield a sentence per verdict other than ``ok``: how many fits, and of which methods."""
    for code, name in enumerate(STATUS):
        if name not in VERDICTS or not (count := int((columns.status == code).sum())):
            continue
        titles = dict.fromkeys(
            plan.methods[block.method].short
            for block in columns.places.blocks
            if (columns.status[block.first : block.stop] == code).any()
        )
        names = ", ".join(islice(titles, MOST_METHODS))
        more = f" and {len(titles) - MOST_METHODS} more methods" if len(titles) > MOST_METHODS else ""
        yield f"{count:,} fit{'s' * (count > 1)} {VERDICTS[name]} ({names}{more})"


def _warnings(plan: Plan, columns: CubeColumns) -> Iterator[str]:
    """Yield sentences on modes without protection and on guarantees at a delta that allows everything."""
    words = columns.display_values(RUN_MODE, slice(None)) if RUN_MODE in columns.names() else []
    if count := words.count(EXPERIMENT):
        yield f"{count:,} distributed fits in mode {EXPERIMENT}: all parties know the noise, and nothing is protected"
    names = [name for name in (CELL, RUN) if name in columns.numbers and plan.study.certified == CELL]
    if any(slot.delta_at_least_1_over_n for slot in slots(columns, names)):
        yield "a delta of 1/n or more allows publishing a whole record: see delta in summary.csv"


def _one_per_file(notes: Sequence[str]) -> Iterator[str]:
    """Yield the first note on each file, those on records that are left out before others, and count the rest."""
    ordered = sorted(notes, key=lambda note: (note.partition(": ")[0], LEFT_OUT not in note))
    for _, group in groupby(ordered, key=lambda note: note.partition(": ")[0]):
        first, *rest = group
        more = f" {len(rest)} more note{'s' * (len(rest) > 1)} on this file: summary.txt" if rest else ""
        yield first + more


@dataclass(frozen=True)
class Worst:
    """The largest of some certified epsilons, what its method claims, and the title of that."""

    epsilon_certified: float
    epsilon_claimed: float
    title: str


def worst(plan: Plan, columns: CubeColumns) -> list[Worst]:
    """The largest certified epsilon of the fits that claim one, of all folds together; then the largest finite one.

    Empty where no fit claims an epsilon; of length 1 where all are finite, or none.
    """
    claimed, certified = columns.numbers[CLAIMED], whole(columns.numbers[RUN], columns.numbers[CELL])
    if plan.study.certified != CELL:
        certified = columns.number(plan.study.certified)
    claims = np.isfinite(claimed) & (claimed > 0) & ~np.isnan(certified)
    finite = claims & np.isfinite(certified)
    extremes = []
    for chosen in (claims, *([finite] if finite.sum() < claims.sum() else [])):
        if chosen.any():
            at = np.flatnonzero(chosen)
            first = int(at[np.argmax(certified[at])])
            title = plan.methods[_labels(columns, first)[1]].title
            extremes.append(Worst(float(certified[first]), float(claimed[first]), title))
    return extremes


def _guarantee(extreme: Worst) -> WorstGuarantee:
    return WorstGuarantee(upward(extreme.epsilon_certified), _number(extreme.epsilon_claimed), extreme.title)


def whole(run: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Epsilon of a whole replicate where its releases are kept, of a fit elsewhere."""
    return np.where(np.isnan(run), cell, run)


def _labels(columns: CubeColumns, cell: int) -> tuple[str, str]:
    """Case and method of a cell."""
    places = columns.places
    case, method = np.unravel_index(int(places.cells[cell]), places.shape)[:2]
    labels = list(places.labels.values())
    return str(labels[0][case]), str(labels[1][method])


def results(plan: Plan, columns: CubeColumns) -> list[PrivateResult]:
    """Return the results of each group of cases that has a measured value: those at the usual epsilon come first."""
    measured = [name for name in plan.study.headline if name in columns.numbers and not _is_flag(plan, name)]
    if not measured:
        return []
    names = dict.fromkeys([*measured, CELL, RUN, plan.study.certified, IN_SAMPLE])
    all_slots = slots(columns, [name for name in names if name in columns.numbers])
    groups = groupby(all_slots, key=lambda slot: plan.cases[slot.labels["case"]].group)
    rows = [row for _, group in groups for row in _rows(plan, list(group), measured)]
    return sorted(rows, key=lambda row: (row.private == NONE, bool(row.epsilon)))


def _is_flag(plan: Plan, variable: str) -> bool:
    """Whether a variable is counted: no direction of its values is better."""
    return heading(plan, variable).better == "neither"


def _flag_counts(plan: Plan, columns: CubeColumns, variable: str) -> str:
    """Count the slots in which a flag is up, per method, in words."""
    up: dict[str, list[bool]] = {}
    for slot in slots(columns, [variable]):
        mean, _, count = slot.averages[variable]
        if count:
            up.setdefault(plan.methods[slot.labels["method"]].title, []).append(mean > 0)
    counts = ", ".join(f"{sum(flags) or 'none'} of {len(flags)} {title}" for title, flags in up.items())
    return f"{heading(plan, variable).words}: {counts}"


def _rows(plan: Plan, group: Sequence[Slot], measured: Sequence[str]) -> list[PrivateResult]:
    """Return the best certified fit of the first case for each unit that is protected; if none is, the best noise-free.

    Guarantees for different units are not comparable, so none of them is the best of all.
    """
    for variable in measured:
        if not (with_value := [slot for slot in group if slot.averages[variable][2]]):
            continue
        case = with_value[0].labels["case"]
        candidates = [slot for slot in with_value if slot.labels["case"] == case]
        units = dict[str, list[Slot]]()
        for slot in candidates:
            if 0 < epsilon_of(plan, slot) < np.inf:
                units.setdefault(unit_of(plan, plan.methods[slot.labels["method"]]), []).append(slot)
        if units:
            return [_private_row(plan, candidates, unit, slots, variable) for unit, slots in units.items()]
        quiet = [slot for slot in candidates if _without_noise(plan, slot)]
        best = _best(quiet or candidates, variable, heading(plan, variable))
        number = _number(best.averages[variable][0]) if quiet else NOT_RUN
        return [PrivateResult(plan.cases[case].title, "-", _measure(plan, best, variable), NONE, number)]
    return []


def _without_noise(plan: Plan, slot: Slot) -> bool:
    """Whether no fit of a slot adds noise."""
    return bool(np.isinf(slot.labels["epsilon"])) or not plan.methods[slot.labels["method"]].draws_noise


def _private_row(
    plan: Plan, candidates: Sequence[Slot], unit: str, protecting: Sequence[Slot], variable: str
) -> PrivateResult:
    """Return the best fit that protects a unit at the usual target, and the same model without noise."""
    best = _best(most_private(plan, at_usual(protecting)), variable, heading(plan, variable))
    epsilon = epsilon_of(plan, best)
    is_usual = best.labels["epsilon"] == USUAL and epsilon <= USUAL * (1 + ROUNDING)
    return PrivateResult(
        title=plan.cases[best.labels["case"]].title,
        protects=unit,
        measure=_measure(plan, best, variable),
        private=_with_error(best, variable),
        noise_free=_noise_free(plan, candidates, best, variable),
        epsilon="" if is_usual else upward(epsilon),
    )


def _measure(plan: Plan, slot: Slot, variable: str) -> str:
    """Name what is measured, and which values are better."""
    in_sample = " (in-sample)" if slot.averages.get(IN_SAMPLE, (0.0, 0.0, 0))[0] > 0 else ""
    words = heading(plan, variable)
    return f"{words.words}{in_sample}, {words.better}"


def unit_of(plan: Plan, method: MethodPlan) -> str:
    """Return what the guarantee of a method protects: the unit of its options, or that of the study, in plain words."""
    unit = getattr(method.options, "unit", None) or plan.spec.unit
    return plan.study.units.get(unit, UNITS.get(unit, unit))


def _noise_free(plan: Plan, candidates: Sequence[Slot], private: Slot, variable: str) -> str:
    """Return the result of the same model without noise, on the same data at the same parties.

    It is 0, or another constant, of a measure that is a distance from that fit; the fit of the method that the
    configuration names; or that of the same protocol with the same options except those of the noise.
    """
    constant = plan.study.own_measures[variable].quantity.noise_free
    if constant is not None:
        return _number(constant)
    labels = plan.methods[private.labels["method"]].without_noise
    for slot in candidates:
        same = slot.labels["method"] in labels if labels else _same_but_noise(plan, slot, private)
        if same and _without_noise(plan, slot) and slot.labels["parties"] == private.labels["parties"]:
            return _number(slot.averages[variable][0])
    return NOT_RUN


def _same_but_noise(plan: Plan, noise_free: Slot, noisy: Slot) -> bool:
    """Whether two methods run one protocol with one set of options, except those that set the noise."""
    first, second = (plan.methods[slot.labels["method"]] for slot in (noise_free, noisy))
    if (first.protocol_name, type(first.options)) != (second.protocol_name, type(second.options)):
        return False
    noise = getattr(first.options, "noise_fields", ())
    names = [entry.name for entry in fields(first.options) if entry.name not in noise]
    return all(getattr(first.options, name) == getattr(second.options, name) for name in names)


def epsilon_of(plan: Plan, slot: Slot) -> float:
    """Certified epsilon of a slot: of the folds of a replicate together where that is known."""
    if plan.study.certified != CELL:
        return slot.averages[plan.study.certified][0]
    run, cell = (slot.averages[name] for name in (RUN, CELL))
    return run[0] if run[2] else cell[0]


def at_usual(candidates: Sequence[Slot]) -> list[Slot]:
    """Return the slots at the target nearest to 1; all slots if none has a target."""
    targets = {slot.labels["epsilon"] for slot in candidates if np.isfinite(slot.labels["epsilon"])}
    if not targets:
        return list(candidates)
    usual = min(sorted(targets), key=lambda value: abs(np.log(value / USUAL)))
    return [slot for slot in candidates if slot.labels["epsilon"] == usual]


def most_private(plan: Plan, candidates: Sequence[Slot]) -> list[Slot]:
    """Return the slots whose fits keep their target; if none does, those with the least certified epsilon.

    A method that is certified at an epsilon without meaning would win by its accuracy.
    """
    within_target = [
        slot
        for slot in candidates
        if np.isfinite(target := slot.labels["epsilon"])
        and slot.averages[plan.study.certified][0] <= target * (1 + ROUNDING)
    ]
    least = min((epsilon_of(plan, slot) for slot in candidates), default=np.inf)
    return within_target or [slot for slot in candidates if epsilon_of(plan, slot) == least]


def _best(candidates: Sequence[Slot], variable: str, better: Heading) -> Slot:
    sign = -1.0 if better.better == "higher" else 1.0
    return min(candidates, key=lambda slot: sign * slot.averages[variable][0])


def _with_error(slot: Slot, variable: str) -> str:
    mean, error, _ = slot.averages[variable]
    return _number(mean) + (f" +- {error:.1g}" if np.isfinite(error) else "")


def _number(value: float) -> str:
    return f"{value:.3g}"
