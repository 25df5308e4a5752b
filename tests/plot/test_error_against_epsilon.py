"""``pw.plot.epsilon_against_error``: means and bands of the cube at what is certified, claims hollow."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

import partywise as pw
from invented import invented, with_replicates
from partywise.core.errors import CubeError
from partywise.experiment.plotting.select import title
from partywise.experiment.study import available
from partywise.plot import costs
from partywise.studies.vertical_trees.figures import utility
from pipeline import ROOT
from shipped import shipped_plans

# The smallest cubes, which have every study together.
SMOKE, TINY = (ROOT / "config" / f"{name}.yaml" for name in ("smoke", "tiny"))


@pytest.fixture(scope="module")
def cube():
    """Certificates are three times the target, so that claims stand apart; half of the methods have none."""
    found = invented(with_replicates(shipped_plans()["vertical_trees"], 5))
    return found.assign(epsilon_certified=3 * found["epsilon_certified"])


def test_lines_are_means_at_what_is_certified_and_bands_one_standard_error(cube):
    ax, seen = pw.plot.epsilon_against_error(cube, "log_loss", case="adult"), 0
    lines = {line.get_label(): np.array(line.get_xydata(), float) for line in ax.get_lines()}
    tops = {round(float(y), 9) for band in ax.collections for y in band.get_paths()[0].vertices[:, 1]}
    for method in map(str, cube["method_label"].values):
        cell = cube.sel(case="adult", method_label=method)
        values = cell["log_loss"].dropna("parties", how="all")
        if not values.size:
            continue
        by_replicate = values.isel(parties=0).mean("fold").dropna("epsilon", how="all")
        certified = cell["epsilon_certified"].max(["replicate", "parties", "fold"]).sel(epsilon=by_replicate.epsilon)
        proved = np.isfinite(certified.values)
        name = title(cube, "method", method)
        if not np.isfinite(by_replicate.epsilon.values).any() or not proved.any():
            continue
        mean, se = (
            by_replicate.mean("replicate"),
            by_replicate.std("replicate", ddof=1) / np.sqrt(by_replicate.count("replicate")),
        )
        np.testing.assert_allclose(lines[name], np.stack([certified.values, mean.values], axis=1)[proved])
        assert {round(float(y), 9) for y in (mean + se).values[proved]} <= tops
        claims = lines[f"{name}, at its claim"]
        np.testing.assert_allclose(claims[np.isfinite(claims[:, 0]), 0] * 3, lines[name][:, 0])
        seen += 1
    assert seen > 1 and ax.get_xlabel() == "certified ε of a record's features, δ = 1e-5" and ax.get_xscale() == "log"
    hollow = [line for line in ax.get_lines() if str(line.get_label()).endswith("at its claim")]
    assert hollow and {line.get_markerfacecolor() for line in hollow} == {"none"}
    assert "hollow: at the claim, no guarantee" in ax.figure._suptitle.get_text().replace("\n", " ")


@pytest.mark.parametrize("study", available())
def test_each_study_has_its_first_measure_on_the_axis_or_says_what_is_missing(study):
    cube, drawn = invented((shipped_plans(SMOKE) | shipped_plans(TINY))[study], replicates=2), 0
    for case in map(str, cube["case"].values):
        try:
            ax = pw.plot.epsilon_against_error(cube, case=case)
        except CubeError as error:
            assert f"case={case!r}: no method has" in str(error)
            continue
        assert ax.get_ylabel() and len(ax.get_lines()) > 0
        plt.close(ax.figure)
        drawn += 1
        if drawn == 3:
            break
    assert drawn or study in ("privacy_audit", "vertical_linear"), "no measure of their headlines is over epsilons"


def test_errors_name_what_there_is(cube):
    with pytest.raises(KeyError, match=r"variable='los' is not in the cube, which has .*log_loss"):
        pw.plot.epsilon_against_error(cube, "los")
    with pytest.raises(KeyError, match="case='adlt' is not in the cube, which has adult"):
        pw.plot.epsilon_against_error(cube, case="adlt")
    with pytest.raises(CubeError, match=r"case is missing: methods of adult, .* name one"):
        pw.plot.epsilon_against_error(cube)
    with pytest.raises(CubeError, match="no case has auc at a finite epsilon above 0"):
        free = {name: np.inf * np.abs(cube[name]) for name in ("epsilon_claimed", "epsilon_certified")}
        pw.plot.epsilon_against_error(cube.assign(free), "auc")


def test_the_figure_of_trees_draws_with_it(cube, monkeypatch):
    calls = []

    def drawing(*given, **named):
        calls.append(named["ax"])
        return costs.epsilon_against_error(*given, **named)

    monkeypatch.setattr(utility, "epsilon_against_error", drawing)
    figure = utility.loss_by_epsilon(cube)
    assert calls == [ax for ax in figure.axes if ax.axison] and calls
