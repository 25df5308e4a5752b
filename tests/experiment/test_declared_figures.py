"""Declared figures: labels, units, directions and methods without an epsilon are there, though nobody wrote them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.ticker import FixedLocator

from captions import caption, caption_of
from invented import invented, with_replicates
from partywise.experiment.plotting.layout import Axis
from partywise.experiment.plotting.lines import Lines
from partywise.experiment.plotting.select import title
from partywise.experiment.plotting.series import FEWEST, cases_of, methods_of, series
from partywise.experiment.plotting.style import NOTES, PAGE, compact, label_ends
from partywise.experiment.plotting.style import panels as new_panels
from partywise.experiment.study import Figure
from partywise.studies.federated_survival.figures.ratios import hazard_ratio_error
from pipeline import ROOT
from shipped import shipped_plans

AUC_BY_EPSILON = Lines("How well scores rank the test rows", x="epsilon", y="auc")
ANGLE_BY_EPSILON = Lines("How far components are turned", x="epsilon", y=Axis("loading_angle", bottom=0))


@pytest.fixture(scope="module")
def cube():
    return invented(with_replicates(shipped_plans()["vertical_trees"], FEWEST))


def notes(figure):
    """What is said of a figure in its description, and not in its title."""
    (text,) = (text for text in figure.texts if text.get_label() == NOTES)
    assert not text.get_visible()
    return text.get_text()


def panels(figure):
    """Axes that are drawn, by their titles."""
    return {ax.get_title(): ax for ax in figure.axes if ax.axison}


def test_a_figure_over_epsilon_is_one_declaration_and_draws_every_method(cube):
    """Of nine methods five, those without an epsilon, were lost where a figure forgot them."""
    shown = panels(AUC_BY_EPSILON(cube))
    kinds = set()
    for case in cases_of(cube, "auc"):
        if title(cube, "case", case) not in shown:
            continue
        lines = {line.get_label(): line for line in shown[title(cube, "case", case)].get_lines()}
        for method in methods_of(cube, case):
            found = series(cube, "auc", case, method, "epsilon")
            line, finite = lines[title(cube, "method", method)], np.isfinite(found.x)
            horizontal = not finite.any()
            wanted = found.mean[-1:].repeat(2) if horizontal else found.mean[finite]
            np.testing.assert_array_equal(np.asarray(line.get_ydata(), float), wanted)
            if horizontal:
                assert list(line.get_xdata()) == [0, 1], "from one side of the panel to the other"
            else:
                np.testing.assert_array_equal(line.get_xdata(), found.x[finite])
            kinds.add(horizontal)
    assert kinds == {True, False}


def test_its_labels_are_those_of_the_measure_and_of_the_plan(cube):
    ax = AUC_BY_EPSILON(cube).axes[0]
    assert ax.get_ylabel() == "test AUC\n(higher is better)"
    assert ax.get_xlabel() == "target ε of a record's features, δ = 1e-5" and ax.get_xscale() == "log"


def test_a_unit_and_a_direction_stand_in_the_label():
    ax = ANGLE_BY_EPSILON(invented(shipped_plans()["vertical_glm"], replicates=2)).axes[0]
    assert ax.get_ylabel().replace("\n", " ") == "largest angle between a component and that of the records (radian)"


def test_bands_are_one_standard_error_of_the_replicates(cube):
    ax = next(iter(panels(AUC_BY_EPSILON(cube)).values()))
    case = next(case for case in cases_of(cube, "auc") if title(cube, "case", case) == ax.get_title())
    lines = [series(cube, "auc", case, method, "epsilon") for method in methods_of(cube, case)]
    wanted = {round(float(x), 9) for one in lines for x in (one.mean - one.se)[np.isfinite(one.x)]}
    drawn = {round(float(y), 9) for band in ax.collections for y in band.get_paths()[0].vertices[:, 1]}
    assert wanted and wanted <= drawn


def test_few_replicates_are_dots_without_a_band():
    few = invented(with_replicates(shipped_plans()["vertical_trees"], FEWEST - 1))
    figure = AUC_BY_EPSILON(few)
    ax = next(iter(panels(figure).values()))
    dots = [line for line in ax.get_lines() if line.get_marker() == "."]
    assert not ax.collections and dots and all(len(line.get_xdata()) % (FEWEST - 1) == 0 for line in dots)
    assert figure.get_suptitle() == AUC_BY_EPSILON.title and "dots: replicates" in notes(figure)


def test_a_target_that_is_not_certified_is_hollow(cube):
    """No figure plots a published claim as if it held."""
    for which, face in ((cube, False), (cube.assign(epsilon_certified=100 * cube["epsilon_certified"]), True)):
        (ax, *_) = AUC_BY_EPSILON(which).axes
        private = [line for line in ax.get_lines() if len(line.get_xdata()) > 2 and line.get_marker() != "."]
        assert any(line.get_markerfacecolor() != "white" for line in private) is not face
    assert "hollow: not certified at the target" in notes(AUC_BY_EPSILON(which))


@pytest.mark.parametrize("at", [0.0001, 1.0, np.inf])
def test_a_title_states_the_least_and_the_largest_mean_at_one_place(cube, at):
    """At the place nearest to the one that is asked for, of the first panel, and the least of methods without one."""
    figure = replace(AUC_BY_EPSILON, ends="Test AUC at ε = {place}", at=at)(cube)
    case = next(case for case in cases_of(cube, "auc") if title(cube, "case", case) == figure.axes[0].get_title())
    lines = {method: series(cube, "auc", case, method, "epsilon") for method in methods_of(cube, case)}
    places = sorted({float(x) for line in lines.values() for x in line.x if np.isfinite(x)})
    place = {0.0001: places[0], 1.0: min(places, key=lambda x: abs(np.log(x))), np.inf: places[-1]}[at]
    means = {m: float(line.mean[line.x == place][0]) for m, line in lines.items() if (line.x == place).any()}
    flat = {m: float(line.mean[-1]) for m, line in lines.items() if not np.isfinite(line.x).any()}
    least, most, free = min(means, key=means.get), max(means, key=means.get), min(flat, key=flat.get)
    words = " ".join(figure.get_suptitle().split())
    assert words == (
        f"Test AUC at ε = {place:g}, {title(cube, 'case', case)}: "
        f"least {compact(means[least], 3)} ({title(cube, 'method', least)}), "
        f"most {compact(means[most], 3)} ({title(cube, 'method', most)}), "
        f"without ε {compact(flat[free], 3)} ({title(cube, 'method', free)})"
    )


def test_labels_stand_at_the_ends_of_the_lines_of_a_single_panel_where_these_are_apart():
    """A legend holds them where two ends are nearer than a line of text, and of several panels."""
    for heights, count, at_ends in (((0.2, 0.5, 0.8), 1, True), ((0.2, 0.5, 0.51), 1, False), ((0.2, 0.8), 2, False)):
        figure, axes = new_panels(1, count, 3.5, 2.5)
        for ax in axes:
            for height in heights:
                ax.plot([0, 1], [0, height], label=f"up to {height}")
            ax.set_ylim(0, 1)
        assert label_ends(figure, axes) is at_ends
        texts = [text for ax in axes for text in ax.texts]
        assert [text.get_text() for text in texts] == [f"up to {height}" for height in heights] * at_ends
        assert [text.xy[1] for text in texts] == pytest.approx(heights if at_ends else [])


def test_what_a_configuration_does_not_have_is_said(cube):
    (ax,) = AUC_BY_EPSILON(cube.drop_vars("auc")).axes
    assert "no case of this kind in this configuration" in ax.texts[0].get_text() and not ax.lines


def test_a_study_names_a_declaration_as_it_names_a_function(cube):
    named = Figure(f"{__name__}:AUC_BY_EPSILON")
    assert len(panels(named(cube))) == len(panels(AUC_BY_EPSILON(cube)))


def test_its_caption_is_read_without_importing_it():
    """The end is that of every figure over epsilon; the start is the title where nothing else is said."""
    text = caption(f"{__name__}:AUC_BY_EPSILON", "3 replicates")
    assert text == caption_of("Lines", AUC_BY_EPSILON.title, x="epsilon").replace("{replicates}", "3 replicates")
    assert text.startswith("How well scores rank the test rows. Lines: means over 3 replicates")


@pytest.mark.parametrize("measures", ["auc", ["auc"], {"auc": ""}])
def test_a_measure_is_given_by_its_name_or_with_words(cube, measures):
    assert Axis(measures).words == {"auc": ""} and Axis(measures).measure_of(cube, cases_of(cube, "auc")[0]) == "auc"


@pytest.mark.parametrize("spread", ("bars", "middle"))
def test_lines_that_may_lie_on_each_other_have_the_same_marks_with_bars_as_with_bands(cube, spread):
    """Of two sizes that were given to a bar, the call could not choose one."""

    def marks(drawn):
        figure = Lines("How well scores rank", x="epsilon", y="auc", overlap=True, spread=drawn)(cube)
        lines = [line for ax in figure.axes for line in ax.get_lines() if len(line.get_xdata()) > 1]
        return [line.get_markersize() for line in lines if line.get_marker() not in ("None", "", ".")]

    assert marks(spread) == marks("bands") and len(set(marks(spread))) > 1


@pytest.fixture(scope="module")
def many_cases():
    """The twelve cases with hazard ratios of the paper's configuration."""
    plan = shipped_plans(ROOT / "config" / "paper.yaml")["federated_survival"]
    cube = invented(plan, replicates=3)
    return cube.isel(case=[plan.cases[name].settings.n_covariates > 0 for name in cube["case"].values.tolist()])


def test_rows_of_measures_of_many_cases_go_on_below(many_cases):
    """Twelve were side by side, 44 inches wide."""
    figure = Lines("Two measures", x="epsilon", y=["coefficient_rms", "squared_error"])(many_cases)
    drawn = [ax for ax in figure.axes if ax.axison]
    cases = cases_of(many_cases, "coefficient_rms")
    assert len(cases) == 12 and len(drawn) == 24 and figure.get_figwidth() == PAGE
    titles = [" ".join(ax.get_title().split()) for ax in drawn if ax.get_title()]
    assert titles == [title(many_cases, "case", case) for case in cases]
    for first, second in ((0, 3), (6, 9), (12, 15), (18, 21)):
        for upper, lower in zip(drawn[first : first + 3], drawn[second : second + 3], strict=True):
            assert upper.get_shared_x_axes().joined(upper, lower) and not upper.get_xlabel() and lower.get_xlabel()
            assert not any(tick.label1.get_visible() for tick in upper.xaxis.get_major_ticks())
            assert any(tick.label1.get_visible() for tick in lower.xaxis.get_major_ticks())
    assert not drawn[3].get_shared_x_axes().joined(drawn[3], drawn[6])


def test_percentages_of_a_short_axis_are_those_of_their_ticks():
    """92.5 % was written as 92 % and 97.5 % as 98 %."""
    _, ax = plt.subplots()
    ax.plot([1, 4], [0.89, 0.98])
    ax.yaxis.set_major_locator(FixedLocator([0.9, 0.925, 0.95, 0.975]))
    Axis("auc", percent=True, top=1).finish(ax, invented(shipped_plans()["vertical_trees"], replicates=1), "auc")
    told = [ax.yaxis.get_major_formatter()(place) for place in ax.get_yticks()]
    assert [float(text.rstrip("%")) / 100 for text in told] == pytest.approx(ax.get_yticks().tolist(), abs=1e-9)


@pytest.mark.parametrize(("lost", "drawn"), [(0, True), (1, True), (2, False)])
def test_a_mean_over_few_of_the_fits_is_not_drawn(many_cases, lost, drawn):
    """Where most fits give no number, those that do are the fortunate ones."""
    cube = many_cases.isel(case=[0]).copy(deep=True)
    place = {"case": str(cube["case"].values[0]), "method_label": "scores", "epsilon": 0.5}
    cube["coefficient_rms"].loc[{**place, "replicate": range(lost)}] = np.nan
    figure = hazard_ratio_error(cube)
    named = title(cube, "method", "scores")
    (line,) = (one for one in figure.axes[0].get_lines() if one.get_label() == named)
    assert (0.5 in line.get_xdata()) is drawn and 1.0 in line.get_xdata()
    assert ("fits without a number" in notes(figure)) is (lost > 0)
