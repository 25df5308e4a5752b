"""All scalars of one cell: what intervals cover, how wide they are, and how far numbers are from the exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...audits.attacks.nested_counts import mean_of_roundings, named_by_jumps, read_by_differences
from ...core.randomness import stream
from ...experiment.measures import finite
from ...federation.roles import records_together
from ...methods.epidemiology.consistency import ReleasedTables
from ...methods.epidemiology.contributions import contributions
from ...methods.epidemiology.estimates.inference import Answer, Inference, sidak_factor
from ...methods.epidemiology.estimates.report import report, report_tests
from ...methods.epidemiology.model import EpidemiologyEstimate
from ...methods.epidemiology.options import RoundedOptions, SuppressedOptions
from ...methods.epidemiology.published import round_to_base
from ...methods.epidemiology.questions import Bands, Questions
from .data import EpidemiologyData
from .measures import KINDS, EpidemiologyExamples, EpidemiologyMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import EpidemiologyConstants

LEVEL = 0.05
# Of intervals about the records, whose noise alone counts.
ABOUT_RECORDS = Inference("cohort")
# Answers to each question of an analyst whose counts are rounded at random, anew for each.
ANSWERS = 200
# Orders of the records by which an analyst asks for counts up to each place.
ORDERS = 20
# How the names of numbers of each kind begin; those of levels have an equals sign, and others are 2 x 2 measures.
STARTS = {
    "quartiles": ("quantile ",),
    "means": ("mean of ", "difference of means ", "standardised difference "),
    "deviations": ("standard deviation ",),
    "strata": ("Mantel-Haenszel ", "standardised "),
    "curves": ("AUC ", "incidence ", "restricted mean "),
    "rates": ("rate ",),
}


def metrics(
    estimate: EpidemiologyEstimate,
    data: EpidemiologyData,
    train: np.ndarray,
    spec: MethodSpec[object, EpidemiologyConstants, object],
) -> EpidemiologyMeasures:
    """Scalars of one fit."""
    inference, known = Inference(data.target), data.known_numbers
    released = estimate.tables(data.questions)
    answers = report(released, inference)
    as_sample = answers if inference.sampling else report(released, Inference())
    measures = _public_measures(estimate, released, answers, spec) | _distances(as_sample, data.exact_answers)
    measures |= EpidemiologyMeasures(records_read=records_read(estimate, data, spec.options))
    if known and any(answer.determined for answer in answers):
        naive = report(replace(estimate, noise_sd=0.0, radius=0.0).tables(data.questions), inference)
        wide = report(released, replace(inference, factor=sidak_factor(max(len(answers), 1))))
        measures |= EpidemiologyMeasures(
            interval_coverage=_coverage(answers, known),
            interval_coverage_without_noise=_coverage(naive, known),
            all_covered=_coverage(wide, known) == 1,
        )
        for ending, numbers in (("", answers), ("_without_noise", naive)):
            by_kind = {kind: [answer for answer in numbers if kind_of(answer.name) == kind] for kind in KINDS}
            coverage = {f"coverage_{kind}{ending}": _coverage(of_kind, known) for kind, of_kind in by_kind.items()}
            measures |= EpidemiologyMeasures.of(coverage)
    return measures


def estimate_measures(
    estimate: EpidemiologyEstimate, train: np.ndarray, spec: MethodSpec[object, EpidemiologyConstants, object]
) -> EpidemiologyMeasures:
    """Return the measures of estimate and public facts, without a record."""
    released = estimate.tables(spec.public.questions)  # type: ignore[attr-defined]
    return _public_measures(estimate, released, report(released, Inference()), spec)


def _public_measures(
    estimate: EpidemiologyEstimate,
    released: ReleasedTables,
    answers: Sequence[Answer],
    spec: MethodSpec[object, EpidemiologyConstants, object],
) -> EpidemiologyMeasures:
    """Measures that follow from a release and its answers."""
    questions: Questions = spec.public.questions  # type: ignore[attr-defined]
    numbers = len(answers)
    if not np.isfinite(estimate.sums).all():
        # Tables that a party refuses have no answers.
        numbers = len(report(replace(estimate, sums=np.ones_like(estimate.sums)).tables(questions), Inference()))
    determined = [answer for answer in answers if answer.determined]
    shares = [answer.noise_share for answer in determined if answer.noise_share is not None]
    p_values = [test.p_value for test in report_tests(released) if test.p_value is not None]
    return EpidemiologyMeasures.of(estimate.numbers) | EpidemiologyMeasures(
        n_protected=_n_protected(estimate.sizes, spec),
        noise_sd=_noise_sd(estimate, questions),
        noise_share=float(np.mean(shares)) if shares else None,
        numbers=numbers,
        missing_numbers=numbers - len(determined),
        rejections=float(np.mean(np.array(p_values) < LEVEL)) if p_values else None,
        identified=bool(determined),
    )


def _noise_sd(estimate: EpidemiologyEstimate, questions: Questions) -> float:
    """Standard deviation of the noise of a count, root mean square over the cells of all tables."""
    terms = contributions(questions.layout(estimate.names), estimate.weights, estimate.distribution)
    deviations = np.broadcast_to(estimate.noise_sd, len(terms.weights)) / np.array(terms.weights)
    cells = [table.entries for table in terms.layout.tables]
    return sqrt(cells @ np.square(deviations[: len(cells)]) / max(sum(cells), 1))


def _n_protected(sizes: Sequence[int], spec: MethodSpec[object, EpidemiologyConstants, object]) -> int:
    """Number of units that one noise covers: those of all clients, or of the largest if each client has its own."""
    together = records_together(spec)
    units = [-(-size // together) for size in sizes]
    return max(units) if getattr(spec.options, "noise", "shared") == "local" else sum(units)


def _coverage(answers: Sequence[Answer], known: Mapping[str, float]) -> float | None:
    """Share of the determined numbers whose interval holds the truth."""
    hits = [answer.holds(known[answer.name]) for answer in answers if answer.determined and answer.name in known]
    return float(np.mean(hits)) if hits else None


def _distances(answers: Sequence[Answer], exact: Mapping[str, Answer]) -> EpidemiologyMeasures:
    """Distance of the determined numbers from the exact ones in the standard errors of these, and ratio of widths."""
    off, ratios = [], []
    for answer in answers:
        pooled = exact.get(answer.name)
        if pooled is None or not (answer.determined and pooled.determined) or not 0 < pooled.width < np.inf:
            continue
        assert answer.estimate is not None and pooled.estimate is not None
        off.append(2 * Inference().factor * (answer.estimate - pooled.estimate) / pooled.width)
        if 0 < answer.width < np.inf:
            ratios.append(log(answer.width / pooled.width))
    return EpidemiologyMeasures(
        error=finite(float(np.median(np.abs(off)))) if off else None,
        width_ratio=float(np.exp(np.mean(ratios))) if ratios else None,
    )


def records_read(estimate: EpidemiologyEstimate, data: EpidemiologyData, options: object) -> float | None:
    """Share of records whose level of the first variable an analyst names who may ask up to any value of a column.

    0 of noisy releases, by their certificate; of exact sums, the records that are alone at a value; None where the
    questions have no column of numbers.
    """
    if estimate.noise_sd or estimate.radius:
        return 0.0
    asked = _asked_columns(estimate, data)
    return None if asked is None else float(_named_by_orders(*asked, estimate.sizes, options)[-1])


def _asked_columns(estimate: EpidemiologyEstimate, data: EpidemiologyData) -> tuple[np.ndarray, np.ndarray] | None:
    """Columns of numbers (k, n) that an analyst may ask by, and codes (n,) of the first variable; None without any."""
    questions, layout = data.questions, data.questions.layout(estimate.names)
    banded = [name for name, levels in {**questions.levels, **questions.table_one}.items() if isinstance(levels, Bands)]
    columns = dict.fromkeys([*banded, *(item.column for item in layout.moments)])
    first = layout.by or next((name for table in layout.tables for name in table.names), None)
    if first is None or not columns:
        return None
    orders = np.array([data.columns[name] for name in columns], dtype=float)
    return orders, layout.variables[first].codes(data.columns)


def _named_by_orders(orders: np.ndarray, codes: np.ndarray, sizes: Sequence[int], options: object) -> np.ndarray:
    """Shares (k,) of records that are named by the first 1, ..., k orders (k, n) of counts of each party."""
    named = np.zeros(orders.shape, dtype=bool)
    for start, end in pairwise(np.cumsum([0, *sizes]).tolist()):
        for place, order in enumerate(orders):
            named[place, start:end] = _name_records([order[start:end]], codes[start:end], options)
    return np.asarray(np.logical_or.accumulate(named).mean(axis=1))


def named_by_questions(estimate: EpidemiologyEstimate, data: EpidemiologyData, options: object) -> np.ndarray | None:
    """Shares of records that are named by 1, 2, ... orders of counts: by each column of numbers, then by sums of them.

    None of noisy releases, and where the questions have no column of numbers.
    """
    asked = None if estimate.noise_sd or estimate.radius else _asked_columns(estimate, data)
    if asked is None:
        return None
    columns, codes = asked
    ranks = np.argsort(np.argsort(columns, axis=1), axis=1)
    sums = stream(0, "orders of an analyst").normal(size=(ORDERS, len(columns))) @ ranks
    return _named_by_orders(np.vstack([columns, sums])[:ORDERS], codes, estimate.sizes, options)


def _name_records(orders: Sequence[np.ndarray], codes: np.ndarray, options: object) -> np.ndarray:
    """Mask (n,) of the records of one party whose level an analyst names, from counts of each level and the others."""
    named = np.zeros(len(codes), dtype=bool)
    for level in np.unique(codes):
        members = codes == level
        if isinstance(options, RoundedOptions) and options.how == "random":
            rng = stream(0, "answers rounded at random")
            show = partial(mean_of_roundings, base=options.base, answers=ANSWERS, rng=rng)
            named |= members & named_by_jumps(orders, members, show)
        elif isinstance(options, RoundedOptions):
            show = partial(round_to_base, base=options.base, how=options.how, rng=stream(0, "unread"))
            named |= members & named_by_jumps(orders, members, show)
        else:
            threshold = options.threshold if isinstance(options, SuppressedOptions) else 1
            for order in orders:
                named |= members & read_by_differences(order, members, threshold)[0]
    return named


def kind_of(name: str) -> str:
    """Kind of a number, by the words of its answer."""
    if " = " in name.partition(" | ")[0]:
        return "shares"
    return next((kind for kind, words in STARTS.items() if name.startswith(words)), "association")


def example_fits(
    estimate: EpidemiologyEstimate,
    data: EpidemiologyData,
    train: np.ndarray,
    spec: MethodSpec[object, EpidemiologyConstants, object],
) -> EpidemiologyExamples:
    """Return the example arrays of a fit, with the exact sums, which no party sees."""
    terms = contributions(data.questions.layout(("all",)))
    exact = EpidemiologyExamples(pooled_sums=terms.sums(data.columns).astype(float))
    named = named_by_questions(estimate, data, spec.options)
    exact = exact if named is None else exact | EpidemiologyExamples(named_by_orders=named)
    return estimate_examples(estimate, train, spec) | exact


def estimate_examples(
    estimate: EpidemiologyEstimate, train: np.ndarray, spec: MethodSpec[object, EpidemiologyConstants, object]
) -> EpidemiologyExamples:
    """Return the released sums with the law of their noise, without a record."""
    return EpidemiologyExamples(
        released_sums=estimate.sums,
        noise_sd_of_items=np.atleast_1d(np.asarray(estimate.noise_sd, dtype=float)),
        noise_law=np.array([estimate.excess, estimate.radius, estimate.distribution == "laplace"], dtype=float),
        client_records=np.array(estimate.sizes, dtype=float),
    )
