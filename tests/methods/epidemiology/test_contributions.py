"""Whole contributions of records, and the exact bound of how far one of them moves a release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epidemiology_driver import release
from partywise.core.randomness import stream
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.contributions import (
    VALUE_STEPS,
    _farthest_values,
    contributions,
    undeclared_values,
    value_grid,
)
from partywise.methods.epidemiology.estimates.inference import Inference
from partywise.methods.epidemiology.estimates.moments import means
from partywise.methods.epidemiology.questions import Bands, Questions

COHORT = cohort_questions().layout()
WEIGHT = 4915


def test_the_bound_of_moments_is_that_of_all_pairs_of_values_and_the_missing_one():
    grid = np.vstack([value_grid(WEIGHT, True), [[0, 0]]])
    largest = max(int(((grid - row) ** 2).sum(axis=1).max()) for row in grid[VALUE_STEPS:])
    longest = int((grid**2).sum(axis=1).max())
    assert _farthest_values(WEIGHT, True) == (largest, longest)
    assert 0.98 <= largest / (2 * WEIGHT**2) <= 1 and longest / (0.75 * WEIGHT**2) == pytest.approx(1, abs=1e-3)
    assert _farthest_values(WEIGHT, False)[0] / (2 * WEIGHT**2) == pytest.approx(1, abs=1e-3)


def test_the_squared_move_of_moments_rises_with_the_distance_of_two_values():
    d = np.linspace(0, 2, 2001)
    move = d**2 * (0.5 + (2 - d) ** 2)
    assert (np.diff(move) >= 0).all() and move[-1] == 2


def test_a_bare_pair_of_value_and_square_would_cost_twice_as_much():
    z = np.linspace(-1, 1, 401)
    bare = (z[:, None] - z) ** 2 + (z[:, None] ** 2 - z**2) ** 2
    assert bare.max() == 4


def test_the_bound_is_an_exact_fraction_that_a_set_of_tables_reaches():
    questions = Questions(levels={"a": [0, 1], "b": [0, 1, 2]}, cross=[("a", "b"), ("b",)], complete=["a", "b"])
    items = contributions(questions.layout())
    before, after = (items.sums({"a": np.array([a]), "b": np.array([b])}) for a, b in ((0, 0), (1, 2)))
    assert isinstance(items.squares, Fraction)
    assert items.squares == int(((before - after) ** 2).sum()) == 2 * sum(w * w for w in items.weights)
    assert items.shift == int(np.abs(before - after).sum())


@given(st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_no_two_records_of_the_cohort_are_farther_apart_than_the_bound(seed):
    items = contributions(COHORT)
    columns = draw_cohort(2, stream(seed, "pair"))
    wild = {**columns, "age": np.array([np.nan, 1e300]), "years": np.array([np.nan, 0.0]), "smoking": ["?", "now"]}
    for pair in (columns, {**columns, "age": np.array([20.0, 90.0])}, wild):
        rows = [items.sums({name: np.asarray(column)[[place]] for name, column in pair.items()}) for place in (0, 1)]
        assert int(((rows[0] - rows[1]) ** 2).sum()) <= items.squares


def test_parties_add_up_to_all_records_exactly():
    columns = draw_cohort(1000, stream(1, "cohort"))
    items = contributions(COHORT)
    parts = np.array_split(np.arange(1000), [100, 400])
    by_party = [items.sums({name: column[rows] for name, column in columns.items()}) for rows in parts]
    assert np.array_equal(sum(by_party), items.sums(columns))


def test_weights_follow_the_number_of_cells():
    assert contributions(COHORT).weights[2:4] == (4096, round(4096 * 0.5**0.25))
    assert contributions(COHORT, "equal").weights == (4096,) * 14
    named = contributions(COHORT, {"exposure x smoking": 2.0})
    assert named.weights[0] == 8192 and named.weights[1:] == contributions(COHORT).weights[1:]
    single = Questions(levels={"a": [0, 1]}, cross=[("a",)], complete=["a"]).layout()
    assert contributions(single, distribution="laplace").step == 1


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"exposure x smoke": 1.0}, "no item has this name; take one of exposure x smoking"),
        ({"exposure x smoking": -1.0}, r"weights.exposure x smoking is -1.0: it must lie in \[1/256, 256\]"),
    ],
)
def test_a_weight_that_cannot_be_is_named(rule, sentence):
    with pytest.raises(ValueError, match=sentence):
        contributions(COHORT, rule)


def test_laplace_noise_is_for_tables_alone():
    with pytest.raises(ValueError, match="moments of 'age' are released: its noise is for tables alone"):
        _ = contributions(COHORT, distribution="laplace").shift


def test_steps_do_not_bias_a_mean():
    questions = Questions(means={"age": (20, 90)})
    released = release(contributions(questions.layout()), {"age": np.full(1000, 45.0)}, 1000)
    assert means(released, "age", Inference())[0].estimate == pytest.approx(45.0, abs=0.005)


def test_values_that_are_not_declared_are_missing_and_the_owner_reads_how_many():
    questions = Questions(levels={"smoking": ["never", "now"]}, cross=[("smoking",)])
    columns = {"smoking": np.array(["never", "now", "often", "", "often"])}
    items = contributions(questions.layout())
    assert release(items, columns, 5).table("smoking").values.tolist() == [1, 1, 3]
    assert undeclared_values(items.layout, columns) == {"smoking": 2}
    assert undeclared_values(Questions(table_one={"smoking": list("ab")}, complete=["smoking"]).layout(), columns) == {
        "smoking": 5
    }


@pytest.mark.parametrize("column", [np.array([0, 1, 1]), np.array([0.0, 1.0, 1.0]), np.array(["0", "1", "1"])])
@pytest.mark.parametrize("levels", [[0, 1], ["0", "1"]])
def test_numbers_and_texts_of_a_level_are_the_same_level(column, levels):
    items = contributions(Questions(levels={"a": levels}, cross=[("a",)], complete=["a"]).layout())
    assert release(items, {"a": column}, 3).table("a").values.tolist() == [1, 2]


def test_the_text_none_is_a_level():
    items = contributions(Questions(levels={"relief": ["None", "Some"]}, cross=[("relief",)]).layout())
    columns = {"relief": np.array(["None", "Some", "None"], dtype=object)}
    assert release(items, columns, 3).table("relief").values.tolist() == [2, 1, 0]


def test_a_band_holds_its_lower_edge_and_the_nearest_holds_what_is_outside():
    items = contributions(Questions(levels={"age": Bands([20, 40, 60])}, cross=[("age",)]).layout())
    columns = {"age": np.array([-5.0, 20, 39.9, 40, 60, 99, np.nan])}
    assert release(items, columns, 7).table("age").values.tolist() == [3, 3, 1]


def test_records_outside_of_a_subset_add_nothing_and_their_number_is_not_public():
    keys = {"levels": {"a": [0, 1], "ward": ["x", "y"]}, "cross": [("a",)], "complete": ["a", "ward"]}
    columns = {"a": np.array([0, 1, 1, 1]), "ward": np.array(["x", "x", "x", "y"])}
    released = release(contributions(Questions(**keys, where={"ward": ["x"]}).layout()), columns, 4)
    assert released.table("a").values.tolist() == [1, 2] and released.records is None


def test_reordered_questions_have_the_same_text_and_the_same_numbers():
    first = Questions(
        levels={"a": [0, 1], "b": ["x", "y", "z"]}, cross=[("a", "b"), ("b",)], means={"age": (0, 9)}, by="a"
    ).layout()
    second = Questions(
        levels={"b": ["z", "x", "y"], "a": [1, 0]}, cross=[("b",), ("b", "a")], means={"age": (0, 9)}, by="a"
    ).layout()
    rng = stream(3, "reordered")
    columns = {"a": rng.integers(0, 2, 50), "b": rng.choice(["x", "y", "z", ""], 50), "age": rng.uniform(0, 9, 50)}
    (text, order), (other, other_order) = first.canonical(), second.canonical()
    assert text == other and sorted(order) == list(range(first.entries))
    sums = [contributions(layout).sums(columns) for layout in (first, second)]
    assert np.array_equal(sums[0][order], sums[1][other_order]) and not np.array_equal(*sums)
