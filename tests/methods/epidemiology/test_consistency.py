"""Consistent tables: equal to generalised least squares with all constraints stacked, in closed form."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from epidemiology_driver import release, shared_deviation
from partywise.core.randomness import stream
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.consistency import consistent_tables
from partywise.methods.epidemiology.contributions import contributions
from partywise.methods.epidemiology.questions import Questions

LEVELS = {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}


def margins(table, names, start, size):
    """Rows that add the cells of a table, which begins at ``start``, to its margin on names."""
    cells = np.eye(size)[start : start + table.entries].reshape(*table.shape, size)
    margin = cells.sum(axis=tuple(axis for axis, name in enumerate(table.names) if name not in names))
    rest = [name for name in table.names if name in names]
    return np.moveaxis(margin, [rest.index(name) for name in names], range(len(names))).reshape(-1, size)


def stacked(layout, known):
    """Constraints (rows, values) of all tables: equal margins of common variables, and the known ones."""
    starts = np.cumsum([0, *(table.entries for table in layout.tables)])
    rows, values = [], []
    for number, table in enumerate(layout.tables):
        for names, value in known.items():
            if set(names) <= set(table.names):
                rows.append(margins(table, list(names), starts[number], starts[-1]))
                values.append(np.ravel(value))
    for (i, left), (j, right) in itertools.combinations(enumerate(layout.tables), 2):
        names = [name for name in left.names if name in right.names]
        rows.append(margins(left, names, starts[i], starts[-1]) - margins(right, names, starts[j], starts[-1]))
        values.append(np.zeros(len(rows[-1])))
    return np.vstack(rows), np.concatenate(values)


@pytest.mark.parametrize("by_party", [False, True])
@pytest.mark.parametrize("subset", [False, True])
def test_the_closed_form_is_the_projection(by_party, subset):
    keys = {"where": {"c": [0]}} if subset else {}
    questions = Questions(
        levels=LEVELS, cross=[("a", "b", "c"), ("c", "a"), ("b",)], complete=LEVELS, by_party=by_party, **keys
    )
    layout = questions.layout(["north", "south"])
    items = contributions(layout)
    sizes = [20, 40]
    steps = stream(1, "steps").normal(0, 4096 * 5, layout.entries)
    sd = 4096 * 3.0
    released = consistent_tables(items, steps, sd, 60, sizes if by_party else None)
    known = {} if subset else {(): 60.0, **({("party",): sizes} if by_party else {})}
    rows, values = stacked(layout, known)
    deviations = [np.full(t.entries, sd / w) for t, w in zip(layout.tables, items.weights, strict=True)]
    variances = np.concatenate(deviations) ** 2
    cells = np.concatenate([part.ravel() / w for part, w in zip(layout.split(steps), items.weights, strict=True)])
    inverse = np.linalg.pinv(rows @ (variances[:, None] * rows.T), rcond=1e-10)
    gain = variances[:, None] * rows.T @ inverse
    projected = cells - gain @ (rows @ cells - values)
    covariance = np.diag(variances) - gain @ (rows * variances)
    start = 0
    for table in layout.tables:
        block = slice(start, start + table.entries)
        start += table.entries
        counts = released.table(*table.names)
        np.testing.assert_allclose(counts.values.ravel(), projected[block], rtol=0, atol=1e-10)
        np.testing.assert_allclose(counts.covariance, covariance[block, block], rtol=0, atol=1e-10)


def test_without_noise_tables_are_those_of_the_records():
    columns = draw_cohort(500, stream(2, "cohort"))
    items = contributions(cohort_questions().layout())
    released = release(items, columns, 500)
    parts = items.layout.split(items.sums(columns))[: len(items.layout.tables)]
    for table, part, weight in zip(items.layout.tables, parts, items.weights[: len(parts)], strict=True):
        np.testing.assert_allclose(released.table(*table.names).values, part / weight, atol=1e-10)


def test_margins_of_different_tables_agree_and_have_less_noise():
    columns = draw_cohort(3000, stream(2, "cohort"))
    items = contributions(cohort_questions().layout())
    sd = shared_deviation(items, 3000, 2.0)
    released = release(items, columns, 3000, sd, "noise")
    tables = [counts for names, counts in released.tables.items() if "exposure" in names]
    sizes = np.array([counts.margin("exposure").values for counts in tables])
    assert len(tables) == 10 and np.ptp(sizes, axis=0).max() < 1e-9
    noise = released.table("exposure").covariance[0, 0]
    assert noise < 0.2 * 8 * (sd / items.weights[0]) ** 2


def test_axes_follow_the_names():
    counts = np.arange(12.0).reshape(2, 3, 2)
    items = contributions(Questions(levels=LEVELS, cross=[("a", "b", "c")], complete=LEVELS).layout())
    released = consistent_tables(items, counts.ravel() * items.weights[0], 0.0, int(counts.sum()))
    np.testing.assert_allclose(released.table("c", "a", "b").values, counts.transpose(2, 0, 1), atol=1e-10)
    np.testing.assert_allclose(released.table("c", "b").values, counts.sum(axis=0).T, atol=1e-10)


def test_a_table_that_was_not_released_is_named_with_its_cost():
    questions = cohort_questions()
    items = contributions(questions.layout())
    wider = contributions(replace(questions, cross=[*questions.cross, ("sex", "stage")]).layout())
    increase = 100 * (math.sqrt(wider.squares / items.squares) - 1)
    released = release(items, draw_cohort(50, stream(2, "cohort")), 50)
    with pytest.raises(
        KeyError, match=r"add \('sex', 'stage'\) to cross; its 8 cells widen the noise .* by " + f"{increase:.1f} %"
    ):
        released.table("sex", "stage")
    with pytest.raises(KeyError, match="ask for 'height' in the question set"):
        released.table("sex", "height")
