"""Table 1 of a release: counts, percentages and means by group with intervals and tests, as HTML, CSV or a frame."""

from __future__ import annotations

import csv
import html
import io
from dataclasses import dataclass

import numpy as np

from ...privacy.ledger.chain import Frame, frame_of
from .consistency import ReleasedTables
from .estimates.counts import count_answers, level_proportions
from .estimates.curves import quantiles
from .estimates.inference import Answer, Inference, Target
from .estimates.moments import means
from .estimates.report import report_tests
from .estimates.tests import HypothesisTest
from .layout import Variable

HIDDEN = "not determined"


@dataclass(frozen=True)
class TableOne:
    """Rows of a table that describes groups.

    groups : headings of the columns of numbers; rows : name, level, one text per group, and the p-value of a test or ""
    notes : footnotes
    """

    groups: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of all columns."""
        return ("variable", "level", *self.groups, "p")

    def frame(self) -> Frame:
        """Return a pandas data frame of the rows; ImportError without pandas."""
        return frame_of([dict(zip(self.headings, row, strict=True)) for row in self.rows], list(self.headings))

    def csv(self) -> str:
        """Return the rows as CSV, with footnotes as rows that begin with #."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([self.headings, *self.rows, *((f"# {note}",) for note in self.notes)])
        return file.getvalue()

    def html(self) -> str:
        """Return a table in HTML."""
        rows = ["".join(f"<th>{html.escape(text)}</th>" for text in self.headings)]
        rows += ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in self.rows]
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        notes = "\n".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table>\n{body}\n</table>\n{notes}\n"


def release_notes(cost: str, trust: str, target: Target, radius: float = 0.0) -> tuple[str, ...]:
    """Footnotes of a table of one release: its cost in words, whom it protects against, and what intervals are of.

    radius : half-width of the box of published regions, 0 where there is none
    """
    intervals = (
        f"Intervals of 95 % are for the {target} and count the noise of privacy. Percentages are of the "
        "estimates that agree over all tables, and need not be the quotient of the shown counts."
    )
    if radius:
        intervals = (
            f"Regions are ranges over a box of half-width {radius:.4g} counts, which holds all exact cells with "
            "probability 95 %: they are about these records."
        )
    return (
        f"{cost}: of one release, for all numbers together. Trust: {trust}.",
        intervals,
        "Small counts are shown: the guarantee is the same for each, and its interval counts the noise.",
    )


def table_one(released: ReleasedTables, inference: Inference, notes: tuple[str, ...]) -> TableOne:
    """Return the table of the described variables and of the means of a release.

    A category has the shown count, the percentage and its interval by level; a column of means its mean, standard
    deviation and the interval of the mean; a variable in finite bands its median and quartiles.
    """
    layout = released.layout
    group = layout.variables[layout.by] if layout.by else None
    groups = group.levels[: group.known_levels] if group else ("all",)
    tests = {test.name: test for test in report_tests(released)}
    times = {layout.variables[name].columns[0] for name in layout.incidence}
    rows = list[tuple[str, ...]]()
    for name in layout.table_one:
        if name != layout.by:
            rows_of = _bands_rows if layout.variables[name].has_quantiles else _level_rows
            test = tests.get(f"independence of {layout.by} and {name}")
            rows += rows_of(released, name, len(groups), inference, _p_value(test))
    for item in layout.moments:
        if item.column not in times:
            answers = means(released, item.column, inference)
            middle, spread = answers[: len(groups)], answers[len(groups) : 2 * len(groups)]
            test = tests.get(f"equal means of {item.column}")
            texts = [_mean_text(mean, spread[row] if item.squares else None) for row, mean in enumerate(middle)]
            rows.append((item.column, "mean (SD)" if item.squares else "mean", *texts, _p_value(test)))
    return TableOne(groups, tuple(rows), notes)


def _level_rows(
    released: ReleasedTables, name: str, groups: int, inference: Inference, p_value: str
) -> list[tuple[str, ...]]:
    """Rows of a category, one per level: the shown count with the percentage among known levels."""
    variable = released.layout.variables[name]
    by = released.layout.by
    counts = released.table(*([by] if by else []), name)
    visible = np.array([answer.estimate for answer in count_answers(counts, inference)]).reshape(
        -1, len(variable.levels)
    )
    shares = level_proportions(released, name, inference)
    size = len(shares) // groups
    by_group = [_every_level(variable, shares[row * size : (row + 1) * size]) for row in range(groups)]
    rows = []
    for level, label in enumerate(variable.levels):
        texts = [_share_text(visible[row, level], by_group[row][level]) for row in range(groups)]
        rows.append((name if not level else "", label, *texts, p_value if not level else ""))
    return rows


def _every_level(variable: Variable, shares: list[Answer]) -> list[Answer]:
    """Shares of all levels of a group: of two known levels the first is the rest of the last."""
    if variable.known_levels != 2:
        return shares
    return [shares[0].transform(shares[0].name, lambda share: 1 - share), *shares]


def _bands_rows(
    released: ReleasedTables, name: str, groups: int, inference: Inference, p_value: str
) -> list[tuple[str, ...]]:
    """The row of a variable in bands: median and quartiles by group."""
    answers = quantiles(released, name, inference)
    size = len(answers) // max(groups, 1)
    texts = [_quartiles_text(answers[row * size : (row + 1) * size]) for row in range(groups)]
    return [(name, "median [quartiles]", *texts, p_value)]


def _p_value(test: HypothesisTest | None) -> str:
    """p-value of a test; empty without one."""
    if test is None or test.p_value is None:
        return ""
    return "< 0.001" if test.p_value < 0.001 else f"{test.p_value:.3f}"


def _interval_text(answer: Answer, factor: float = 1.0) -> str:
    if answer.lower is None or answer.upper is None:
        return ""
    return f" [{factor * answer.lower:.4g} to {factor * answer.upper:.4g}]"


def _share_text(count: float, share: Answer) -> str:
    if share.estimate is None:
        return f"{count:.0f} ({HIDDEN})"
    return f"{count:.0f} ({100 * share.estimate:.1f}){_interval_text(share, 100)}"


def _mean_text(mean: Answer, deviation: Answer | None) -> str:
    if mean.estimate is None:
        return HIDDEN
    if deviation is None:
        return f"{mean.estimate:.2f}{_interval_text(mean)}"
    spread = HIDDEN if deviation.estimate is None else f"{deviation.estimate:.2f}"
    return f"{mean.estimate:.2f} ({spread}){_interval_text(mean)}"


def _quartiles_text(answers: list[Answer]) -> str:
    texts = [HIDDEN if answer.estimate is None else f"{answer.estimate:.4g}" for answer in answers]
    return f"{texts[1]} [{texts[0]} to {texts[2]}]"
