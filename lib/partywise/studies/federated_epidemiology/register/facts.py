"""Printed tables of others, from the packaged records: answers, tests and counts of question sets without noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from math import log
from pathlib import Path

import numpy as np

from ....audits.worlds import World
from ....core.randomness import stream
from ....federation.estimators.precision import NORMAL_95
from ....methods.epidemiology.consistency import ReleasedTables, consistent_tables
from ....methods.epidemiology.contributions import contributions
from ....methods.epidemiology.estimates.counts import count_answers
from ....methods.epidemiology.estimates.inference import Answer, Inference
from ....methods.epidemiology.estimates.report import report, report_tests
from ....methods.epidemiology.estimates.tests import HypothesisTest
from ....methods.epidemiology.published import How, round_to_base
from ....methods.epidemiology.questions import Questions
from ..cases import read_cohort
from ..claims import CountSettings, NestedSettings, ThresholdSettings
from ..leaks import another_case, named_cases, read_diagnoses
from ..tables import TABLES, CohortColumn, shipped_questions

# Widths of the bands from which quartiles of skewed columns are read: near the resolution of the measurement.
STEPS = {"bilirubin": 0.1, "cholesterol": 2.0, "copper": 1.0, "alkaline phosphatase": 20.0, "triglycerides": 1.0}
# Example of the contingency tables of statsmodels: exposed in the first row, events in the first column.
FOUR_COUNTS = ((35, 21), (25, 58))
BINARY = ("no", "yes")
# Data sets of 1,000 records, 15 % of them cases, on which rules for counts are tried.
ROOT_SEED, DATA_SETS = 20240601, 20
FORMS: dict[str, Callable[[float], float]] = {
    "identity": float,
    "log": log,
    "absolute": abs,
    "complement": lambda share: 1 - share,
}


def answer(questions: str, name: str, end: str = "estimate", scale: float = 1.0, on: str = "identity") -> float:
    """Return one number of a question set without noise, with the interval of textbooks.

    end : ``estimate``, ``lower``, ``upper``, or ``error``, the standard error on the scale of logarithms
    on : ``identity``, ``log``, ``absolute``, or ``complement`` for the other one of two levels
    """
    number = _answers(questions)[name]
    if end == "error":
        assert number.lower is not None and number.upper is not None
        return log(number.upper / number.lower) / (2 * NORMAL_95)
    value = float(getattr(number, end))
    return scale * FORMS[on](value)


def hypothesis(questions: str, name: str, of: str = "p_value") -> float:
    """Return the p-value or the ``statistic`` of a test of a question set without noise."""
    return float(getattr(_tests(questions)[name], of))


def count(questions: str, name: str) -> float:
    """Return the records of some levels, named as ``sex = men, admitted = yes``."""
    variables = [part.partition(" = ")[0] for part in name.split(", ")]
    answers = count_answers(_release(questions).table(*variables), Inference("cohort"))
    return next(float(number.estimate or 0) for number in answers if number.name == name)


def read_shares(threshold: int) -> np.ndarray:
    """Shares (DATA_SETS,) of 200 known birthdays whose diagnoses are differences of tables under the threshold."""
    settings = ThresholdSettings(threshold=threshold)
    return np.array([read_diagnoses(settings, data).mean() for data in _data_sets(settings)])


def named_shares(base: int, how: How, orders: int) -> np.ndarray:
    """Shares (DATA_SETS,) of cases at which a count of cases, which grows by one, is seen to grow after rounding."""
    show = partial(_round_counts, base=base, how=how)
    return np.array([named_cases(data, show).mean() for data in _data_sets(NestedSettings(orders=orders))])


def midpoint_distance(base: int, end: str) -> float:
    """Largest distance of a count from 1 to 10 times the base ``above`` or ``below`` its midpoint."""
    counts = np.arange(1, 10 * base + 1)
    distances = counts - _round_counts(counts, base=base, how="midpoint")
    return float(distances.max() if end == "above" else -distances.min())


def _round_counts(counts: np.ndarray, base: int, how: How) -> np.ndarray:
    """Counts as a rule without randomness rounds them."""
    return round_to_base(counts, base, how, stream(ROOT_SEED, "unread"))


def _data_sets(settings: CountSettings) -> list[World]:
    """Records with values by which an analyst may ask, and cases among them."""
    audits = (
        another_case(settings, None, partial(stream, ROOT_SEED, "counts", number), Path())
        for number in range(DATA_SETS)
    )
    return [World(data.x[0], data.y[0]) for data in audits]


@lru_cache(maxsize=16)
def _answers(questions: str) -> dict[str, Answer]:
    return {number.name: number for number in report(_release(questions), Inference(interval="wald"))}


@lru_cache(maxsize=16)
def _tests(questions: str) -> dict[str, HypothesisTest]:
    return {result.name: result for result in report_tests(_release(questions))}


@lru_cache(maxsize=16)
def _release(name: str) -> ReleasedTables:
    """Tables of a question set without noise: of a shipped table, or one of those below by its name."""
    questions, columns = QUESTIONS[name]() if name in QUESTIONS else _of_table(name)
    layout = questions.layout()
    # The largest weight, whose steps are the finest.
    terms = contributions(layout, {item.name: 256.0 for item in layout.moments})
    return consistent_tables(terms, terms.sums(columns), 0.0, len(next(iter(columns.values()))))


Asked = tuple[Questions, Mapping[str, np.ndarray]]


def _of_table(name: str, **changes: object) -> Asked:
    """A shipped table with its own questions, or with others."""
    block = changes or TABLES[name].question_block
    return shipped_questions(TABLES[name].columns, block), read_cohort(name, Path("resources"))


def _pbc(*, all_rows: bool) -> Asked:
    """Table 1 of pbc as tableone prints it: means of coded columns too, by treatment or of all 418 persons."""
    columns, table = dict(read_cohort("pbc", Path("resources"), all_rows=all_rows)), TABLES["pbc"].columns
    # Any column of numbers may be empty where all persons are there.
    numbers = [replace(column, missing=1) for column in table if column.bounds]
    for column in table:
        if column.levels and column.name != "sex":
            entries = list(map(float, column.entries or column.levels))
            matches = [columns[column.name] == level for level in column.levels]
            name, ends = f"code of {column.name}", (min(entries), max(entries))
            columns[name] = np.select(matches, entries, np.nan)
            numbers.append(CohortColumn(name=name, bounds=ends, missing=1, because="numbers of the file"))
    block: dict[str, object] = {"means": [column.name for column in numbers], "table_one": ["sex"]}
    if not all_rows:
        block |= {"by": "treatment", "table_one": ["sex", "status", "edema", "stage"]}
    categories = [column for column in table if column.levels]
    return shipped_questions([*categories, *numbers], block), columns


def _quartiles() -> Asked:
    """Skewed columns of pbc in narrow bands, by treatment."""
    columns = [TABLES["pbc"].columns[0]]
    for column in TABLES["pbc"].columns:
        if column.bounds and column.name in STEPS:
            (low, high), step = column.bounds, STEPS[column.name]
            columns.append(replace(column, edges=tuple(np.arange(low - step / 2, high + step, step))))
    block = {"by": "treatment", "table_one": list(STEPS)}
    return shipped_questions(columns, block), read_cohort("pbc", Path("resources"))


def _four_counts(*, transposed: bool) -> Asked:
    """Records of the example of two rows and two columns."""
    counts = np.array(FOUR_COUNTS).T if transposed else np.array(FOUR_COUNTS)
    codes = np.indices((2, 2)).reshape(2, -1).repeat(counts[::-1, ::-1].ravel(), axis=1)
    columns = dict(zip(("exposure", "outcome"), np.array(BINARY)[codes], strict=True))
    binary = [CohortColumn(name=name, levels=BINARY, because="the page") for name in columns]
    return shipped_questions(binary, {"cross": [["exposure", "outcome"]]}), columns


QUESTIONS: dict[str, Callable[[], Asked]] = {
    "pbc by treatment": lambda: _pbc(all_rows=False),
    "pbc, all": lambda: _pbc(all_rows=True),
    "pbc, quartiles": _quartiles,
    "four counts": lambda: _four_counts(transposed=False),
    "four counts, transposed": lambda: _four_counts(transposed=True),
    "berkeley, crude": lambda: _of_table("berkeley", by="sex", table_one=["admitted"]),
    "mgus2": lambda: _of_table("mgus2", by="sex", means=["age"], cross=[["cause"]]),
} | {
    f"berkeley, department {name}": partial(
        _of_table, "berkeley", cross=[["sex", "admitted"]], where={"department": [name]}
    )
    for name in "ABCDEF"
}
