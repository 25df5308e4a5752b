"""The table of docs/intervals.md: what the intervals of every releasing method hold, or why it has none.

    python docs/_intervals.py                           the page's tables from docs/measured/intervals.csv
    python docs/_intervals.py measure [DRAWS [STUDY]]   measures through the protocols, on generated records

Methods are those of the default configuration that draw noise. A method with intervals is fitted to many data sets of
its study's generator, whose numbers are known; a test compares the page with the measurements.
"""

from __future__ import annotations

import csv
import math
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from _scaling import BLOCK, number, rows_of

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "tests" / "support"), str(ROOT / "workflow")]
MEASURED, PAGE = ROOT / "docs" / "measured" / "intervals.csv", ROOT / "docs" / "intervals.md"
DRAWS, ROOT_SEED = 100, 20240601
# Fits of a case without intervals, after which the method counts as one that has none.
TRIED = 3
# By study the sources, settings, parties and epsilon at which its methods are measured: the first that suits a method.
CASES: dict[str, tuple[tuple[str, dict[str, Any], int, float], ...]] = {
    "vertical_glm": (
        ("generated", {"n": 5000, "p": 3}, 3, 2.0),
        ("generated", {"n": 5000, "p": 3, "family": "binomial"}, 3, 2.0),
    ),
    "label_private": (("generated", {"n": 5000, "k": 5}, 2, 1.0), ("generated", {"n": 5000, "k": 5}, 4, 1.0)),
    "sliced_inverse_regression": (("simulated", {"model": "II", "n": 500, "p": 5}, 10, 2.0),),
    "federated_epidemiology": (
        ("generated", {"n": 3000}, 3, 2.0),
        ("generated", {"n": 3000, "partition": "columns"}, 2, 2.0),
    ),
    "federated_survival": (
        ("generated", {"n": 3000, "covariates": False}, 3, 1.0),
        ("generated", {"n": 3000}, 3, 8.0),
    ),
}


# Answers about a question set that are shares: of a level, or of an outcome.
IS_SHARE = re.compile(r"[^|]+ = |risk of ")


class Row(NamedTuple):
    """Measurements of a method: ``least`` is the coverage of the number that is covered least often."""

    study: str
    method: str
    of: str
    records: int | str = ""
    epsilon: float | str = ""
    draws: int | str = ""
    with_intervals: int | str = ""
    least: float | str = ""
    half_width: float | str = ""
    without_noise: float | str = ""
    cpu_seconds: float | str = ""
    reason: str = ""


class Ends(NamedTuple):
    """Intervals (k, 2) of one fit, the same without noise where known, and the truth (k,)."""

    of: str
    bounds: np.ndarray | None
    without_noise: np.ndarray | None
    truth: np.ndarray


def ends_of(estimate: Any, data: Any) -> Ends:
    """Intervals of an estimate, whichever study it is of."""
    from partywise.methods.epidemiology.estimates.inference import Inference
    from partywise.methods.epidemiology.estimates.report import report
    from partywise.models.intervals import Intervals

    if hasattr(data, "questions"):
        fits = (estimate, replace(estimate, noise_sd=0.0, radius=0.0))
        rows = [
            [row for row in report(fit.tables(data.questions), Inference()) if IS_SHARE.match(row.name)] for fit in fits
        ]
        counted, left_out = (np.array([[row.lower, row.upper] for row in answers], dtype=float) for answers in rows)
        return Ends("shares and risks", counted, left_out, np.array([data.truth[row.name] for row in rows[0]]))
    if getattr(estimate, "table", None) is not None and estimate.coefficients is None:
        both = [estimate.bands(together=False, noise=noise) for noise in (True, False)]
        counted, left_out = (
            np.concatenate([np.column_stack([band.lower, band.upper]) for band in bands]) for bands in both
        )
        edges = estimate.table.edges[1:]
        truth = np.concatenate([np.interp(edges, data.true_times, curve) for curve in data.true_survival])
        return Ends("survival at the edges", counted, left_out, truth)
    if hasattr(estimate, "intervals"):
        intervals = estimate.intervals
        truth = data.theta if hasattr(data, "theta") else data.truth
        return Ends("coefficients", intervals.bounds(), intervals.without_noise.bounds(), truth)
    if getattr(estimate, "standard_errors", None) is None:
        return Ends("log hazard ratios", None, None, np.zeros(0))
    bounds = Intervals(estimate.coefficients, estimate.standard_errors).bounds()
    pooled = Intervals(estimate.coefficients, data.pooled_fit.standard_errors).bounds()
    return Ends("log hazard ratios", bounds, pooled, data.truth)


def fit_of(study: str, method: str, case: tuple[str, dict[str, Any], int, float], draw: int) -> tuple[Any, Any, float]:
    """Estimate, data and CPU seconds of a method on one data set of a case; ConfigError where it does not suit it."""
    from partywise.experiment.cells import execution
    from partywise.experiment.data import generate
    from partywise.experiment.plan import plan
    from partywise.federation.run import simulate
    from shipped import shipped

    source, settings, parties, epsilon = case
    grid = {"methods": [method], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [epsilon]}
    cases = {"made": {"source": source, "settings": settings, "grid": grid}}
    planned = plan(study, {**shipped()["studies"][study], "cases": cases, "figures": []}, ROOT_SEED + draw)
    data = generate(planned, "made", [0], ROOT / "resources")[0]
    run = execution(planned, "made", method, parties, 0, epsilon, data)
    start = time.process_time()
    estimate = simulate(planned.methods[method].protocol.fit, run)
    return estimate, data, time.process_time() - start


def row_of(study: str, method: str, options: object, draws: int) -> Row:
    """Measure a method in the first case that suits it; of one without intervals the reason."""
    from partywise.core.errors import ConfigError
    from partywise.models.intervals import interval_reason, reason_name

    reason = interval_reason(None, options)
    for case in CASES.get(study, ()):
        try:
            reasons = [interval_reason(fit_of(study, method, case, draw)[0], options) for draw in range(TRIED)]
        except (ConfigError, ValueError):
            # Records without covariates suit no regression, and other tables' times no curve.
            continue
        if "" in reasons:
            return measured_row(study, method, case, draws)
        reason = reasons[0]
    return Row(study, method, "", reason=reason_name(reason))


def measured_row(study: str, method: str, case: tuple[str, dict[str, Any], int, float], draws: int) -> Row:
    """Coverage and length of the intervals of many fits, and CPU seconds of a fit."""
    covered, widths, seconds, of = list[np.ndarray](), list[list[float]](), list[float](), ""
    for draw in range(draws):
        estimate, data, cost = fit_of(study, method, case, draw)
        of, bounds, without_noise, truth = ends_of(estimate, data)
        seconds.append(cost)
        if bounds is None:
            continue
        # A number that is not determined has no interval.
        inside = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
        covered.append(np.where(np.isnan(bounds[:, 0]), np.nan, inside))
        both = (bounds, np.full_like(bounds, np.nan) if without_noise is None else without_noise)
        lengths = [ends[:, 1] - ends[:, 0] for ends in both]
        widths.append(
            [float(np.mean(row[~np.isnan(row)])) / 2 if not np.isnan(row).all() else np.nan for row in lengths]
        )
    half_width, without = np.median(widths, axis=0)
    rows = np.array(covered)
    usual = np.mean(~np.isnan(rows), axis=0) >= 0.5
    least = float(np.nanmean(rows[:, usual], axis=0).min())
    measured = (draws, len(covered), least, float(half_width), float(without), float(np.mean(seconds)))
    of = " ".join(filter(None, (str(case[1].get("family", "")), of)))
    return Row(study, method, of, case[1]["n"], case[3], *measured)


def measure(draws: int, chosen: Sequence[str]) -> None:
    """Measure every releasing method of the default configuration, of some studies where these are named."""
    from shipped import shipped_plans

    known = rows_of(MEASURED) if chosen else []
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        for study, planned in shipped_plans().items():
            if chosen and study not in chosen:
                writer.writerows(tuple(row.values()) for row in known if row["study"] == study)
                continue
            for label, method in planned.methods.items():
                if method.draws_noise:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        row = row_of(study, label, method.options, draws)
                    print(*row, sep="  ", flush=True)
                    writer.writerow(row)
                    file.flush()


def measured_table(rows: Sequence[dict[str, str]]) -> str:
    """Methods with intervals: coverage of the number that is covered least often, lengths, and cost."""
    from partywise.experiment.tables.templates import pipe_table

    lines = []
    for row in rows:
        if row["least"]:
            least, count = float(row["least"]), int(row["with_intervals"])
            error = math.sqrt(least * (1 - least) / count)
            lengths = (
                number(float(row[name])) if row[name] != "nan" else "" for name in ("half_width", "without_noise")
            )
            lines.append(
                [
                    f"`{row['study']}`: `{row['method']}`",
                    f"{row['of']}, n = {int(row['records']):,}, ε = {float(row['epsilon']):g}",
                    f"{count} of {row['draws']}",
                    f"{least:.3f} ({error:.3f})",
                    *lengths,
                    number(float(row["cpu_seconds"])),
                ]
            )
    heads = [
        "method",
        "intervals of",
        "fits with intervals",
        "least coverage (SE)",
        "half-width",
        "without noise",
        "CPU s",
    ]
    return pipe_table(heads, lines)


def missing_table(rows: Sequence[dict[str, str]]) -> str:
    """Reasons of the methods without intervals, with how many methods of each study have it."""
    from partywise.experiment.tables.templates import pipe_table
    from partywise.models.intervals import REASONS

    by_reason: dict[str, Counter[str]] = {}
    for row in rows:
        if row["reason"]:
            by_reason.setdefault(row["reason"], Counter())[row["study"]] += 1
    lines = [
        [f"`{name}`", REASONS[name], ", ".join(f"{count} of `{study}`" for study, count in studies.items())]
        for name, studies in by_reason.items()
    ]
    return pipe_table(["reason", "meaning", "methods"], lines)


MADE = {"measured": measured_table, "missing": missing_table}


def filled(page: str, rows: Sequence[dict[str, str]]) -> str:
    """The page with its tables made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{MADE[block[2]](rows)}\n\n{block[3]}", page)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS, sys.argv[3:])
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), rows_of(MEASURED)), encoding="utf-8")
