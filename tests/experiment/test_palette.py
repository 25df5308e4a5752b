"""The colours of figures: dark enough on white, and told apart by people with colour vision deficiencies."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

from legible import MARK, TEXT, contrast
from partywise.experiment.plotting.style import (
    BLACK,
    COLORS,
    DASHES,
    GREY,
    NEUTRALS,
    OPEN,
    heading,
    look,
    panels,
)
from shipped import shipped_plans

# Linear RGB as it is seen: Machado, Oliveira and Fernandes (2009), table of complete deficiencies.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
APART = 25


def lab(color, seen):
    """CIELAB of a colour as it is seen, on the white of sRGB."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(seen) @ linear, 0, 1) / (0.9505, 1, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("color", [*COLORS, *NEUTRALS])
def test_lines_stand_out_on_white(color):
    assert contrast(color) >= MARK


def test_words_in_grey_can_be_read():
    assert contrast(GREY) >= TEXT and contrast(BLACK) == pytest.approx(21)


@pytest.mark.parametrize("name", SEEN)
def test_any_two_colors_are_told_apart(name):
    places = [lab(color, SEEN[name]) for color in (*COLORS, *NEUTRALS)]
    assert min(np.linalg.norm(one - other) for one, other in combinations(places, 2)) > APART


def test_pale_yellow_and_orange_are_seen_as_pale():
    assert contrast("#F0E442") < 1.5 and contrast("#E69F00") < MARK
    assert contrast((0, 0, 0, 0.2)) < MARK < contrast((0, 0, 0, 0.5))


def test_horizontal_lines_which_are_grey_differ_in_dashes_and_look_like_no_curve_of_the_first_methods():
    assert len(set(map(str, DASHES))) == len(DASHES)
    curves = {(color, str(dashes)) for color, dashes in zip((*OPEN, *OPEN), (*DASHES, *DASHES), strict=False)}
    assert (GREY, "-") not in curves


@pytest.mark.parametrize("study", shipped_plans())
def test_methods_of_a_study_differ_in_look_and_the_first_ones_in_color(study):
    """Of two titles of a study, color, marker and dashes together are never the same."""
    methods = shipped_plans()[study].methods
    labels, titles = list(methods), [method.title for method in methods.values()]
    claims = [int(method.uses_epsilon) for method in methods.values()]
    coords = {"method_title": ("method_label", titles), "method_claims": ("method_label", claims)}
    cube = xr.Dataset(coords={"method_label": labels, **coords})
    looks = {style.label: style for style in (look(cube, label) for label in labels)}
    assert len({(style.color, style.marker, str(style.line)) for style in looks.values()}) == len(looks) > 1
    for cycle, claimed in ((COLORS, 1), (OPEN, 0)):
        first = [looks[title].color for title, claim in zip(titles, claims, strict=True) if claim == claimed]
        assert list(dict.fromkeys(first)) == list(cycle[: len(set(first))])


@pytest.mark.parametrize("width", [5.0, 7.0, 9.0])
def test_a_title_leaves_no_word_alone_on_its_last_line(width):
    words = "What privacy costs and whom it trusts; mean over 2 replicates, bands: one standard error over all of them"
    figure, _ = panels(1, 1, width, 2)
    heading(figure, words)
    lines = figure.get_suptitle().split("\n")
    assert " ".join(lines) == words
    assert len(lines) == 1 or min(map(len, lines)) > 0.6 * max(map(len, lines))
