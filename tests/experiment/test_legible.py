"""The reader of figures sees each fault that it is meant to see, and none in a figure without one."""

import numpy as np
import pytest

from legible import problems
from partywise.experiment.plotting.style import BLUE, legend_below, panels


def figure():
    """A figure without a fault."""
    made, (ax,) = panels(1, 1, 4, 3)
    ax.plot([0, 1], [0, 1], color=BLUE, marker="o", label="a line")
    ax.set(xlabel="x", ylabel="y", title="one panel")
    legend_below(made, [ax])
    return made, ax


def test_a_good_figure_has_no_problem():
    made, _ = figure()
    assert problems(made) == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda ax: ax.figure.text(0.9, 0.5, "words without an end"), "leaves the canvas"),
        (lambda ax: ax.figure.suptitle("words without an end " * 9), "leaves the canvas"),
        (lambda ax: [ax.text(0.2 + step, 0.8, "some words") for step in (0, 0.1)], "overlaps"),
        (lambda ax: ax.text(0.2, 0.8, "small", fontsize=6), "6 pt"),
        (lambda ax: ax.text(0.2, 0.8, "$10^{3}$", fontsize=8), "5.6 pt"),
        (lambda ax: ax.text(0.2, 0.8, "pale", color="#F0E442"), "'pale' has a contrast"),
        (lambda ax: ax.text(0.2, 0.8, "pale", alpha=0.3), "'pale' has a contrast"),
        (lambda ax: ax.text(0.2, 0.8, "dark on dark", backgroundcolor=BLUE), "'dark on dark' has a contrast"),
        (lambda ax: ax.plot([0, 1], [1, 0], color="#F0E442", label="yellow"), "line 'yellow' has a contrast"),
        (lambda ax: ax.scatter([0.2], [0.2], color="black", alpha=0.2, label="dots"), "points 'dots'"),
        (lambda ax: ax.bar([0.5], [0.5], color="#F0E442"), "bar has a contrast"),
        (lambda ax: ax.legend(loc="center"), "legend covers the line 'a line'"),
        (lambda ax: (ax.legend(loc="lower right"), ax.scatter([0.9], [0.05], color="black")), "covers the points"),
        (lambda ax: (ax.legend(loc="lower right"), ax.bar([0.9], [0.1], color="black")), "covers a bar"),
    ],
)
def test_a_fault_is_seen(spoil, said):
    made, ax = figure()
    spoil(ax)
    assert any(said in problem for problem in problems(made))


def test_white_words_on_a_dark_ground_and_hollow_marks_are_no_fault():
    made, ax = figure()
    ax.text(0.2, 0.8, "white on dark", color="white", backgroundcolor=BLUE)
    ax.plot([0.5], [0.2], marker="o", color=BLUE, markerfacecolor="white", linestyle="none")
    assert problems(made) == []


def test_a_legend_beside_the_data_covers_none():
    made, ax = figure()
    ax.plot(np.array([0.0, np.nan, 1.0]), np.array([0.0, 1.0, 1.0]), color=BLUE, linestyle="none", marker="x")
    ax.legend(loc="lower right")
    assert problems(made) == []
