"""The rows of a figure's CSV file: every kind of drawing by its numbers, in the words of its axes."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from matplotlib import pyplot as plt

from partywise.experiment.plotting.save import save_figure
from partywise.experiment.plotting.style import empty, heading
from partywise.experiment.plotting.values import PLACE, drawn_values


@pytest.fixture(autouse=True)
def closed():
    """Figures of a test are closed after it."""
    yield
    plt.close("all")


def numbers(ax, **wanted) -> list[tuple[object, ...]]:
    """Numbers of the rows with some words, without empty ones."""
    rows = [row for row in drawn_values(ax.figure) if all(row.get(key) == value for key, value in wanted.items())]
    return [tuple(row[key] for key in ("x", "x to", "y", "y to", "value") if row.get(key, "") != "") for row in rows]


def test_a_line_with_its_band_and_a_level():
    figure, ax = plt.subplots()
    ax.plot([1, 2, 3], [0.1, np.nan, 1 / 3], color="red", label="noisy\nmoments")
    ax.fill_between([1, 2, 3], [0, 1, 2], [4, 5, 6], color="red", alpha=0.2)
    ax.plot([1, 1], [7, 8], linestyle="none", marker=".", color="red")
    ax.axhline(0.5, color="grey", label="no noise")
    ax.axvline(2.5, color="black")
    ax.set(xlabel="target\nε", ylabel="error", title="one case")
    rows = drawn_values(figure)
    assert {(row["panel"], row["title"], row["horizontal"], row["vertical"]) for row in rows} == {
        (1, "one case", "target ε", "error")
    }
    assert numbers(ax, series="noisy moments", **{"drawn as": "line"}) == [(1, 0.1), (3, 0.3333333333)]
    assert numbers(ax, series="noisy moments", **{"drawn as": "band"}) == [(1, 0, 4), (2, 1, 5), (3, 2, 6)]
    assert numbers(ax, series="noisy moments", **{"drawn as": "points"}) == [(1, 7), (1, 8)]
    assert numbers(ax, series="no noise") == [(0.5,)] and next(row for row in rows if row["series"] == "")["x"] == 2.5


def test_something_without_a_label_is_of_no_series_where_its_colour_has_two():
    _, ax = plt.subplots()
    ax.plot([1], [2], color="red", label="one")
    ax.plot([1], [3], color="red", linestyle="--", label="other")
    ax.plot([1], [4], color="red")
    assert numbers(ax, series="") == [(1, 4)]


def test_bars_steps_points_and_ends():
    figure, axes = plt.subplots(1, 4)
    axes[0].barh([0, 1], [5, 7], left=[0, 1], label="share")
    axes[0].set_yticks([0, 1], ["first\nmethod", "second"])
    axes[1].bar([1, 2], [3, 4])
    axes[2].vlines([1, 2], [0, 1], [2, np.nan], color="blue")
    axes[2].hlines(3, 0, 9)
    axes[3].scatter([1, 2], [3, np.nan])
    axes[3].stairs([5, 6], [0, 1, 4])
    axes[3].text(0, 0, "words are no values")
    assert numbers(axes[0], panel=1, series="share") == [(0, 5, "first method"), (1, 8, "second")]
    assert numbers(axes[0], panel=2) == [(1, 0, 3), (2, 0, 4)]
    assert numbers(axes[0], panel=3) == [(1, 0, 2), (0, 9, 3)]
    assert numbers(axes[0], panel=4) == [(1, 3), (0, 1, 5), (1, 4, 6)]
    assert {row["drawn as"] for row in drawn_values(figure)} == {"bar", "points", "step"}


@pytest.mark.parametrize("origin", ["upper", "lower"])
def test_an_image_is_its_cells_and_its_scale_of_colours_is_none(origin):
    figure, ax = plt.subplots()
    image = ax.imshow(np.array([[1.0, 2.0], [np.nan, 4.0]]), extent=(0, 2, 0, 4), origin=origin)
    figure.colorbar(image, label="correlation")
    low, high = (1, 3) if origin == "lower" else (3, 1)
    assert numbers(ax) == [(0.5, low, 1), (1.5, low, 2), (1.5, high, 4)]


def test_a_panel_without_words_has_those_of_the_panels_around_it():
    """As in a grid, where a column has one title and one label below, and a row one at its left."""
    figure, axes = plt.subplots(2, 2)
    for ax, name in zip(axes[0], ("a", "b"), strict=True):
        ax.set_title(name)
    for ax, name in zip(axes[1], ("J", "epsilon"), strict=True):
        ax.set_xlabel(name)
    for ax, name in zip(axes[:, 0], ("error", "bytes"), strict=True):
        ax.set_ylabel(name)
    for ax in axes.flat:
        ax.plot([1], [1])
    assert [(row["title"], row["horizontal"], row["vertical"]) for row in drawn_values(figure)] == [
        ("a", "J", "error"),
        ("b", "epsilon", "error"),
        ("a", "J", "bytes"),
        ("b", "epsilon", "bytes"),
    ]


def test_what_is_hidden_or_off_has_no_row():
    figure, axes = plt.subplots(1, 2)
    axes[0].plot([1], [2], visible=False)
    axes[0].plot([1], [3], transform=axes[0].transAxes)
    axes[1].plot([1], [2])
    axes[1].set_axis_off()
    assert drawn_values(figure) == []


def test_a_file_has_the_rows_and_an_empty_figure_their_names(tmp_path):
    figure, ax = plt.subplots()
    ax.plot([1, 2], [3, 4], label="=a")
    heading(figure, "Errors fall")
    for name, drawn in (("one", figure), ("none", empty("No case of this kind."))):
        save_figure(drawn, *(tmp_path / f"{name}.{kind}" for kind in ("svg", "pdf", "png", "csv")))
    with (tmp_path / "one.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["series"], row["x"], row["y"]) for row in rows] == [("'=a", "1.0", "3.0"), ("'=a", "2.0", "4.0")]
    assert (tmp_path / "none.csv").read_text() == ",".join(PLACE) + "\n"
    assert "<title>No case of this kind.</title>" in (tmp_path / "none.svg").read_text(encoding="utf-8")
