"""Summary of a study in a few lines, and in one: fits, the worst epsilon next to its claim, headline rows.

The first two lines are on every screen; of the others, which are in order of weight, as many as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, islice

import numpy as np

from ...federation.account.interface import EXPERIMENT, RELEASE
from ...privacy.rounding import upward
from ..cells import IN_SAMPLE, RUN_MODE
from ..claims import Claim
from ..measures import Heading
from ..plan import Plan
from ..results.columns import CubeColumns
from .run_totals import CELL, RUN
from .summary import Slot, fault_counts, heading, slots
from .templates import short

WIDTH = 100
OVERVIEW = ("fits", "claimed ε", "certified ε, at worst", "of the method", "unit", "headline")
# Characters of a headline row, and how many of them a line holds.
HEADLINE, MOST = 160, 2
CLAIMED = "epsilon_claimed"
# Of several targets the one whose guarantee most people ask for.
USUAL = 1.0
# A certified epsilon may exceed its target by what rounding leaves.
ROUNDING = 1e-6


def screen_text(plan: Plan, columns: CubeColumns) -> str:
    """The lines of a study, each of at most ``WIDTH`` characters."""
    lines = [f"{plan.study.name}: {fit_outcomes(columns)}", _worst(plan, columns)]
    lines += [*_runs_apart(columns), *rows(plan, columns)]
    return "".join(f"{_short(line, WIDTH)}\n" for line in lines)


def fit_outcomes(columns: CubeColumns) -> str:
    """Count the fits, and those that did not end well by verdict, in words."""
    return f"{int((columns.status > 0).sum()):,} fits, {fault_counts(columns) or 'all of them ok'}"


def _runs_apart(columns: CubeColumns) -> Iterator[str]:
    """Yield a line per mode with the number of fits whose parties were processes of their own."""
    words = columns.display_values(RUN_MODE, slice(None)) if RUN_MODE in columns.names() else []
    for mode, why in ((EXPERIMENT, ": all know the seeds of the noise, which protects nobody"), (RELEASE, "")):
        if count := words.count(mode):
            yield f"  {count:,} of parties apart in mode {mode}{why}"


def _worst(plan: Plan, columns: CubeColumns) -> str:
    """The worst certified epsilon, for what unit, and its claim; the worst finite one too where not all are."""
    extremes = worst(plan, columns)
    if not extremes:
        return "  no fit claims an ε"
    texts = [
        f"{upward(extreme.epsilon_certified)} ({_short(extreme.title, 22)}, claims {_number(extreme.epsilon_claimed)})"
        for extreme in extremes
    ]
    first = f"  unit {_unit(plan)}, certified at worst: ε {texts[0]}"
    if np.isfinite(extremes[0].epsilon_certified):
        return first
    return f"{first}; finite: {texts[1]}" if texts[1:] else f"{first}; none is finite"


def _unit(plan: Plan) -> str:
    """Return the unit that the epsilons of a study protect; claims under audit have a unit each."""
    audited = any(isinstance(case.source, Claim) for case in plan.cases.values())
    return "of each claim" if audited else plan.spec.unit


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


def whole(run: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Epsilon of a whole replicate where its releases are kept, of a fit elsewhere."""
    return np.where(np.isnan(run), cell, run)


def _labels(columns: CubeColumns, cell: int) -> tuple[str, str]:
    """Case and method of a cell."""
    places = columns.places
    case, method = np.unravel_index(int(places.cells[cell]), places.shape)[:2]
    labels = list(places.labels.values())
    return str(labels[0][case]), str(labels[1][method])


@dataclass(frozen=True)
class _Row:
    text: str
    protected: bool


def rows(plan: Plan, columns: CubeColumns, width: int = WIDTH) -> Iterator[str]:
    """Counts first, then a row for each group of cases: those with a certified fit before the others."""
    headline = [name for name in plan.study.headline if name in columns.numbers]
    measured = [name for name in headline if heading(plan, name).better != "neither"]
    yield from (_flag_counts(plan, columns, name) for name in headline if name not in measured)
    if not measured:
        return
    names = list(dict.fromkeys([*measured, CELL, RUN, IN_SAMPLE]))
    all_slots = slots(columns, [name for name in names if name in columns.numbers])
    groups = groupby(all_slots, key=lambda slot: plan.cases[slot.labels["case"]].group)
    group_rows = [row for _, group in groups if (row := _group(plan, list(group), measured, width))]
    yield from (row.text for row in sorted(group_rows, key=lambda row: not row.protected))


def _flag_counts(plan: Plan, columns: CubeColumns, variable: str) -> str:
    """Count the slots in which a flag is up, per method, in words."""
    up: dict[str, list[bool]] = {}
    for slot in slots(columns, [variable]):
        mean, _, count = slot.averages[variable]
        if count:
            up.setdefault(plan.methods[slot.labels["method"]].title, []).append(mean > 0)
    counts = ", ".join(f"{sum(flags)} of {len(flags)} {title}" for title, flags in up.items())
    return f"  {heading(plan, variable).words}: {counts}"


def _group(plan: Plan, group: Sequence[Slot], measured: Sequence[str], width: int) -> _Row | None:
    """The best certified fit of the first of some cases at the usual target, and the same protocol without noise."""
    for variable in measured:
        having = [slot for slot in group if slot.averages[variable][2]]
        if not having:
            continue
        first = having[0].labels["case"]
        having = [slot for slot in having if slot.labels["case"] == first]
        private = most_private(at_usual([slot for slot in having if 0 < epsilon_of(slot) < np.inf]))
        better = heading(plan, variable)
        best = _best(private or having, variable, better)
        cases = {slot.labels["case"] for slot in group}
        title = _short(plan.cases[first].title, 28) if len(cases) == 1 else f"{_short(first, 28)}, 1 of {len(cases)}"
        mean, error, _ = best.averages[variable]
        value = f"{_number(mean)}" + (f" +- {error:.1g}" if np.isfinite(error) else "")
        guarantee = f"at ε {upward(epsilon_of(best))}" if private else "without a guarantee"
        start = f"  {title}: {better.words} {value}{_in_sample(best)} {guarantee}, "
        free = _noise_free(plan, having, best, variable) if private else ""
        room = width - len(start) - len(free)
        return _Row(f"{start}{_short(plan.methods[best.labels['method']].title, room)}{free}", bool(private))
    return None


def _noise_free(plan: Plan, having: Sequence[Slot], beside: Slot, variable: str) -> str:
    """Return the result of the same protocol without noise at the same parties; another model is not a reference."""
    for slot in having:
        free = np.isinf(epsilon_of(slot)) and np.isinf(slot.labels["epsilon"])
        if free and slot.labels["parties"] == beside.labels["parties"] and _same_but_noise(plan, slot, beside):
            return f"; {_number(slot.averages[variable][0])} without noise"
    return "; not run without noise"


def _same_but_noise(plan: Plan, noise_free: Slot, noisy: Slot) -> bool:
    """Whether two methods run one protocol with one set of options, except those that set the noise."""
    first, second = (plan.methods[slot.labels["method"]] for slot in (noise_free, noisy))
    if (first.protocol_name, type(first.options)) != (second.protocol_name, type(second.options)):
        return False
    noise = getattr(first.options, "noise_fields", ())
    names = [entry.name for entry in fields(first.options) if entry.name not in noise]
    return all(getattr(first.options, name) == getattr(second.options, name) for name in names)


def epsilon_of(slot: Slot) -> float:
    """Certified epsilon of a slot: of the folds of a replicate together where that is known."""
    run, cell = (slot.averages[name] for name in (RUN, CELL))
    return run[0] if run[2] else cell[0]


def at_usual(candidates: Sequence[Slot]) -> list[Slot]:
    """Return the slots at the target nearest to 1; all slots if none has a target."""
    targets = {slot.labels["epsilon"] for slot in candidates if np.isfinite(slot.labels["epsilon"])}
    if not targets:
        return list(candidates)
    usual = min(sorted(targets), key=lambda value: abs(np.log(value / USUAL)))
    return [slot for slot in candidates if slot.labels["epsilon"] == usual]


def most_private(candidates: Sequence[Slot]) -> list[Slot]:
    """Return the slots whose fits keep their target; if none does, those with the least certified epsilon.

    A method that is certified at an epsilon without meaning would win by its accuracy.
    """
    within_target = [
        slot
        for slot in candidates
        if np.isfinite(target := slot.labels["epsilon"]) and slot.averages[CELL][0] <= target * (1 + ROUNDING)
    ]
    least = min(map(epsilon_of, candidates), default=np.inf)
    return within_target or [slot for slot in candidates if epsilon_of(slot) == least]


def _best(candidates: Sequence[Slot], variable: str, better: Heading) -> Slot:
    sign = -1.0 if better.better == "higher" else 1.0
    return min(candidates, key=lambda slot: sign * slot.averages[variable][0])


def _in_sample(slot: Slot) -> str:
    return " (in-sample)" if slot.averages.get(IN_SAMPLE, (0.0, 0.0, 0))[0] > 0 else ""


def _number(value: float) -> str:
    return f"{value:.4g}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def overview(plan: Plan, columns: CubeColumns, left_out: Sequence[str] = ()) -> dict[str, str]:
    """Texts of ``OVERVIEW``, headline rows as lines; both epsilons are those of the fit with the worst certificate.

    ``left_out`` are sentences on records of own data that are not used: lines below the fits.
    """
    extremes = worst(plan, columns)
    claimed = certified = method = "-"
    if extremes:
        claimed, method = short(extremes[0].epsilon_claimed), extremes[0].title
        certified = upward(extremes[0].epsilon_certified, "∞")
    if extremes[1:]:
        certified += f" (finite: {upward(extremes[1].epsilon_certified)})"
    headline = "\n".join(row.strip().replace("+-", "±") for row in islice(rows(plan, columns, HEADLINE), MOST))
    fits = "\n".join([fit_outcomes(columns), *left_out])
    return dict(zip(OVERVIEW, (fits, claimed, certified, method, _unit(plan), headline), strict=True))
