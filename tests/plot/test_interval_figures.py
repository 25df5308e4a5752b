"""Figures of the coverage and the length of intervals, and the notes on fits that are drawn without bars."""

from __future__ import annotations

import numpy as np
import pytest

from invented import invented
from partywise.experiment.plotting.select import title
from partywise.experiment.plotting.series import series
from partywise.experiment.plotting.style import GREY
from partywise.experiment.results.attributes import flag_attributes, meanings
from partywise.models.intervals import REASONS
from partywise.plot.intervals import missing_intervals
from pipeline import ROOT
from shipped import shipped_plans
from small_cube import computed

MEASURES = {"interval_coverage": "interval_coverage", "interval_half_width": "half_width"}
STUDIES = ("vertical_glm", "label_private", "federated_survival")


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("study", STUDIES)
def test_each_method_has_a_panel_with_its_means_before_those_without_noise(study, name):
    cube = invented(shipped_plans(ROOT / "config" / "paper.yaml")[study], replicates=5)
    figure, measure = shipped_plans()[study].study.figures[name](cube), MEASURES[name]
    panels = [ax for ax in figure.axes if ax.axison]
    assert 1 <= len(panels) <= 6
    titles = {title(cube, "method", method): method for method in map(str, cube["method_label"].values)}
    cases = {title(cube, "case", case).replace("\n", " "): case for case in map(str, cube["case"].values)}
    for ax in panels:
        grey, coloured, *_ = ax.get_lines()
        method = titles[coloured.get_label()]
        words = ax.get_title().replace("\n", " ")
        assert grey.get_color() == GREY and words.startswith(coloured.get_label())
        named = [case for text, case in cases.items() if text and words.endswith(text)]
        among = named or list(cases.values())
        for line, variable in ((coloured, measure), (grey, f"{measure}_without_noise")):
            drawn = np.array(line.get_xydata(), float)
            wanted = [series(cube, variable, case, method, "epsilon") for case in among]
            assert any(
                np.array_equal(drawn, np.column_stack([one.x, one.mean])[np.isfinite(one.x)]) for one in wanted if one
            ), (words, variable)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("study", STUDIES)
def test_intervals_at_one_target_are_nothing_to_compare(study, name):
    cube = invented(shipped_plans(ROOT / "config" / "paper.yaml")[study], replicates=5)
    private = cube["epsilon"].values[np.isfinite(cube["epsilon"].values)]
    values = cube[MEASURES[name]].sel(epsilon=private)
    counts = values.notnull().sum([dim for dim in values.dims if dim != "epsilon"])
    kept = cube.sel(epsilon=[private[int(np.argmax(counts.values))]])
    assert kept[MEASURES[name]].notnull().any()
    text, *_ = shipped_plans()[study].study.figures[name](kept).axes[0].texts
    assert "intervals at several targets of epsilon in this configuration" in " ".join(text.get_text().split())


def test_a_cube_states_which_fits_have_intervals_and_why_others_have_none(tmp_path):
    block = {
        "spec": {"delta": 1e-5, "unit": "row"},
        "methods": {
            "plain": {"protocol": "joint"},
            "moments": {"protocol": "moments", "cipher": "sized"},
            "gradient": {"protocol": "noisy_gradient", "title": "noisy gradient"},
        },
        "cases": {
            "made": {
                "source": "generated",
                "settings": {"n": 1000, "p": 2},
                "grid": {
                    "methods": ["plain", "moments", "gradient"],
                    "replicates": 1,
                    "parties": [2],
                    "folds": 1,
                    "epsilon": [0.1, 8.0],
                },
            }
        },
    }
    cube = computed("vertical_glm", block, 3, tmp_path).isel(case=0, replicate=0, parties=0, fold=0)
    words = meanings(cube["interval"])
    known = {key: str(words.sel(method_label=key[0], epsilon=key[1]).item()) for key in WANTED}
    assert known == WANTED
    for (method, epsilon), word in WANTED.items():
        fit = cube.sel(method_label=method, epsilon=epsilon)
        has = method == "plain" or word == "known"
        assert np.isfinite([fit[name].item() for name in NUMBERS]).all() == has, (method, epsilon)
    assert cube["identified"].sel(method_label="moments").values.tolist()[:2] == [0.0, 1.0]
    assert 0 < cube["shape_test"].sel(method_label="moments", epsilon=8.0) <= 1
    shown = cube.expand_dims(["case", "replicate", "parties", "fold"])
    for name in ("interval", "status"):
        shown[name].attrs = cube[name].attrs
    assert missing_intervals(shown, "made", "gradient", 8.0) == [f"noisy gradient has no intervals: {REASONS['later']}"]
    assert missing_intervals(shown, "made", "moments", 8.0) == []
    assert missing_intervals(shown.drop_vars("interval"), "made", "gradient", 8.0) == []


WANTED = {
    ("plain", np.inf): "no_noise",
    ("moments", 0.1): "not_identified",
    ("moments", 8.0): "known",
    ("gradient", 8.0): "later",
}
NUMBERS = ("half_width", "half_width_without_noise", "interval_coverage", "interval_coverage_without_noise")


def test_short_names_of_reasons_are_apart_as_flags_of_a_cube():
    words = str(flag_attributes(tuple(REASONS))["flag_meanings"]).split(" ")
    assert len(set(words)) == len(REASONS) and [word.replace("_", " ") for word in words] == list(REASONS)
