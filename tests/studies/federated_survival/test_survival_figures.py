"""Figures of federated survival from a small cube: what is drawn is what the cube holds, whatever its labels."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.experiment.tables.templates import TypesetTable
from partywise.studies.federated_survival.study import STUDY
from relabel import content, relabelled
from small_cube import computed


def block() -> dict:
    """Hazard ratios and curves at two targets, with methods that have none."""
    grid = {"replicates": 2, "parties": [2], "folds": 1, "epsilon": [2.0, 20.0]}
    return {
        "spec": {"delta": 1e-5, "unit": "row"},
        "methods": {
            "all": {"protocol": "reference", "title": "in one place"},
            "clear": {"protocol": "risk_sets", "title": "sums in the clear"},
            "counts": {"protocol": "table", "title": "counts"},
            "rounds": {"protocol": "scores", "title": "rounds"},
        },
        "cases": {
            "ratios": {
                "source": "generated",
                "settings": {"n": 300, "effects": "moderate"},
                "grid": grid | {"methods": ["all", "clear", "rounds"]},
            },
            "arms": {
                "source": "generated",
                "settings": {"n": 300, "covariates": False, "hazard_ratio": 1.5},
                "grid": grid | {"methods": ["all", "counts"]},
            },
        },
    }


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return computed("federated_survival", block(), 3, tmp_path_factory.mktemp("survival_figures"))


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_every_figure_draws_and_no_label_matters(cube, name):
    shown = content(STUDY.figures[name](cube))
    assert not any("in this configuration" in str(part) for part in shown)
    assert shown == content(STUDY.figures[name](relabelled(cube)))


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_without_its_cases_a_figure_says_so(cube, name):
    other = "ratios" if name == "interval_coverage" else "arms"
    kept = cube.sel(case=[other]).drop_vars(["records_read", "curve_lower"], errors="ignore")
    kept = kept.isel(example_fit=np.flatnonzero(kept["example_case"].values == other))
    if name == "survival_error":
        kept = kept.drop_vars("km_error")
    figure = STUDY.figures[name](kept)
    if isinstance(figure, TypesetTable):
        assert not figure.rows and figure.notes[0].startswith("No ")
        return
    (ax,) = figure.axes
    assert any(words in ax.texts[0].get_text() for words in ("No ", "in this configuration"))


def test_the_band_holds_the_released_curve_and_the_pooled_one_is_what_the_cube_has(cube):
    figure = STUDY.figures["survival_curves"](cube)
    (ax,) = (one for one in figure.axes if one.axison)
    released = [line for line in ax.lines if "band" in line.get_label()]
    pooled = [line for line in ax.lines if "Kaplan-Meier" in line.get_label()]
    assert len(released) == len(pooled) == 2, "one curve for each arm"
    fits = np.flatnonzero((cube["example_method"] == "counts") & (cube["example_epsilon"] == 2.0))
    drawn = np.sort([line.get_ydata() for line in released], axis=0)
    assert drawn == pytest.approx(np.sort(cube["curve_survival"].values[fits[0]], axis=0))


def test_the_path_of_an_example_fit_goes_from_no_effects_to_its_log_hazard_ratios(cube):
    for place in np.flatnonzero(cube["example_method"] == "rounds"):
        path = cube["ratio_path"].values[place]
        assert path.shape == (4, 6) and (path[0] == 0).all()
        assert path[-1] == pytest.approx(cube["ratio"].values[place], abs=0)
