"""Figures of federated survival from a small cube: what is drawn is what the cube holds, whatever its labels."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.experiment.tables.templates import TypesetTable
from partywise.methods.survival.records import SurvivalRecords
from partywise.studies.federated_survival.metrics import numbers_at_risk
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
    other = "arms"
    kept = cube.sel(case=[other]).drop_vars(["records_read", "curve_lower"], errors="ignore")
    kept = kept.isel(example_fit=np.flatnonzero(kept["example_case"].values == other))
    gone = {"survival_error": "km_error", "interval_coverage": name, "interval_half_width": "half_width"}.get(name)
    kept = kept.drop_vars(gone) if gone else kept
    figure = STUDY.figures[name](kept)
    if isinstance(figure, TypesetTable):
        assert not figure.rows and figure.notes[0].startswith("No ")
        return
    (ax,) = figure.axes
    assert any(words in ax.texts[0].get_text() for words in ("No ", "in this configuration"))


def test_curves_numbers_at_risk_and_differences_are_what_the_cube_holds(cube):
    figure = STUDY.figures["survival_curves"](cube)
    above, middle, below = figure.axes
    place = np.flatnonzero((cube["example_method"] == "counts") & (cube["example_epsilon"] == 2.0))[0]
    pooled, released, low, high, at_risk, exact, censored, times = (
        cube[name].values[place]
        for name in (
            *("curve_pooled", "curve_survival", "curve_lower", "curve_upper", "curve_at_risk"),
            *("pooled_at_risk", "pooled_censored", "curve_time"),
        )
    )
    steps = [line.get_ydata() for line in above.lines if line.get_marker() == "None"]
    assert np.stack(steps) == pytest.approx(np.concatenate([pooled, released])), "one curve of each for each arm"
    marks = [line.get_xdata() for line in above.lines if line.get_marker() == "|"]
    assert [x.tolist() for x in marks[:2]] == [times[counts > 0].tolist() for counts in censored]
    differences = [line.get_ydata() for line in below.lines if line.get_drawstyle() == "steps-post"]
    assert np.stack(differences) == pytest.approx(released - pooled)
    assert (
        (low <= released + 1e-9).all()
        and (released <= high + 1e-9).all()
        and len([band for band in above.collections if len(band.get_paths())]) == 2
    )
    ticks = [x for x in below.get_xticks() if 0 <= x <= times[-1]]
    wanted = [f"{row[np.argmin(np.abs(times - x))]:.0f}" for row in (*exact, *at_risk) for x in ticks]
    assert [text.get_text() for text in middle.texts] == ["number at risk", *wanted]


def test_numbers_at_risk_count_followed_records_and_those_censored_between_times():
    times, events = np.array([1.0, 1.0, 2.0, 3.5, 4.0]), np.array([True, False, False, True, False])
    records = SurvivalRecords(times, events, groups=np.array([0, 0, 0, 1, 1]))
    at_risk, censored = numbers_at_risk(records, np.array([0.0, 1.0, 2.5, 4.0]), 2)
    assert at_risk.tolist() == [[3, 3, 0, 0], [2, 2, 2, 1]]
    assert censored.tolist() == [[0, 1, 1, 0], [0, 0, 0, 0]], "a record that is followed to the end is not censored"


def test_the_path_of_an_example_fit_goes_from_no_effects_to_its_log_hazard_ratios(cube):
    for place in np.flatnonzero(cube["example_method"] == "rounds"):
        path = cube["ratio_path"].values[place]
        assert path.shape == (4, 6) and (path[0] == 0).all()
        assert path[-1] == pytest.approx(cube["ratio"].values[place], abs=0)
