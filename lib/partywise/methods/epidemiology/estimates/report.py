"""All numbers and tests that a question set reports from one release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..consistency import ReleasedTables
from .counts import level_proportions
from .curves import cumulative_incidence, quantiles, rates, roc_curve
from .inference import Answer, Inference
from .moments import means
from .strata import mantel_haenszel, standardise
from .tests import HypothesisTest, equal_means, independence, mantel_haenszel_test
from .two_by_two import two_by_two


def report(released: ReleasedTables, inference: Inference) -> tuple[Answer, ...]:
    """Return the numbers of a question set, in its order.

    Described variables give shares of their levels by group, or quartiles if they are in finite bands; means their
    standard deviations and differences; tables of two binary variables and strata the measures of association, and
    those of a binary variable and a score in bands the area under the curve; curves their last values, and rates.
    """
    layout, answers, inference = released.layout, list[Answer](), inference.of_release(released)
    for name in layout.table_one:
        variable = layout.variables[name]
        answers += (quantiles if variable.has_quantiles else level_proportions)(released, name, inference)
    times = {layout.variables[name].columns[0] for name in layout.incidence}
    for moments in layout.moments:
        if moments.column not in times:
            answers += means(released, moments.column, inference)
    blocks = association_blocks(released, inference)
    for score, outcome in scores_of(released):
        blocks[f"{score} x {outcome}"] = [roc_curve(released, score, outcome, inference).area]
    for name in layout.incidence:
        block = blocks.setdefault(name, [])
        for curves in cumulative_incidence(released, name, inference):
            block += [curve[-1] for curve in curves.incidence.values()]
            block.append(curves.restricted_mean)
        if layout.variables[name].columns[0] in released.moments:
            block += rates(released, name, inference)
    return (*answers, *_distinct(blocks))


def _distinct(blocks: Mapping[str, Sequence[Answer]]) -> Iterator[Answer]:
    """Yield the answers of all blocks; names that several tables or curves have end in that of theirs."""
    names = Counter(answer.name for block in blocks.values() for answer in block)
    for title, block in blocks.items():
        for answer in block:
            yield answer if names[answer.name] == 1 else replace(answer, name=f"{answer.name} ({title})")


def association_blocks(released: ReleasedTables, inference: Inference) -> dict[str, list[Answer]]:
    """Return the measures of every table of two binary variables and over its strata, by the words of the table."""
    blocks = dict[str, list[Answer]]()
    for exposure, outcome, strata in _associations(released):
        block = blocks.setdefault(" x ".join((exposure, outcome, *strata)), [])
        block += two_by_two(released, exposure, outcome, inference)
        if strata:
            block += mantel_haenszel(released, exposure, outcome, strata, inference)
            block += standardise(released, exposure, outcome, strata, inference)
    return blocks


def report_tests(released: ReleasedTables) -> tuple[HypothesisTest, ...]:
    """Return the tests of a question set: of every described category and mean between groups, and over strata.

    A box has none.
    """
    if released.radius:
        return ()
    layout, answers = released.layout, list[HypothesisTest]()
    if layout.by is not None:
        others = [name for name in layout.table_one if name != layout.by and not layout.variables[name].edges]
        answers += [independence(released, layout.by, name) for name in others]
        times = {layout.variables[name].columns[0] for name in layout.incidence}
        if layout.variables[layout.by].known_levels == 2:
            answers += [equal_means(released, item.column) for item in layout.moments if item.column not in times]
    rows = [row for row in _associations(released) if row[2]]
    return (*answers, *(mantel_haenszel_test(released, *row) for row in rows))


def _associations(released: ReleasedTables) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield exposure, outcome and strata of every table that begins with two binary categories."""
    variables = released.layout.variables
    for first, *rest in released.layout.cross:
        if rest and all(variables[name].known_levels == 2 and not variables[name].edges for name in (first, rest[0])):
            yield first, rest[0], tuple(rest[1:])


def scores_of(released: ReleasedTables) -> Iterator[tuple[str, str]]:
    """Yield score and outcome of every table of a binary category and a variable in bands."""
    variables = released.layout.variables
    for names in released.layout.cross:
        bands = [name for name in names if variables[name].edges]
        others = [name for name in names if not variables[name].edges]
        if len(bands) == len(others) == 1 and variables[others[0]].known_levels == 2:
            yield bands[0], others[0]
