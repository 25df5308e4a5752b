"""``pw.plot.forest``, ``roc`` and ``incidence``: what is drawn is what a release answers, and bands hold the curves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import partywise as pw
from legible import problems
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.plot.bands import curve_of
from partywise.plot.interval_rows import CUT, is_ratio

FRAME = draw_cohort(3000, pw.stream(1, "cohort of plots"))


@pytest.fixture(scope="module")
def models():
    fits = {}
    for epsilon in (2.0, 4.0):
        model = pw.FederatedEpidemiology(cohort_questions(), epsilon=epsilon, together=True, random_state=7)
        fits[f"ε = {epsilon:g}"] = model.fit(FRAME, parties=3)
    return fits


def measures(model):
    strata = ("exposure", "outcome", "confounder")
    return model.two_by_two(*strata[:2]) | model.mantel_haenszel(*strata) | model.standardise(*strata)


def drawn_bars(ax):
    """Estimates (p,) and ends (p, 2) of each source, by its label."""
    bars = {}
    for container in ax.containers:
        line, _, (segments,) = container.lines
        ends = [segment[:, 0] if segment.ndim == 2 else [np.nan] * 2 for segment in segments.get_segments()]
        bars[container.get_label()] = np.asarray(line.get_xdata(), float), np.array(ends)
    return bars


@pytest.mark.parametrize("ratios", [True, False])
def test_a_forest_plot_has_the_intervals_of_its_numbers(models, ratios):
    ax = pw.plot.forest({name: measures(model) for name, model in models.items()}, ratios=ratios)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names and all(is_ratio(name) == ratios for name in names)
    assert ax.get_xscale() == ("log" if ratios else "linear")
    for name, (values, ends) in drawn_bars(ax).items():
        answers = [measures(models[name])[row] for row in names]
        np.testing.assert_allclose(values, [answer.estimate for answer in answers])
        np.testing.assert_allclose(ends, [[answer.lower, answer.upper] for answer in answers], rtol=1e-9)
    assert not problems(ax.figure)


def test_an_interval_without_an_end_is_an_arrow_and_a_number_that_is_not_determined_has_no_mark(models):
    numbers = [answer for name, answer in measures(models["ε = 2"]).items() if is_ratio(name)]
    endless = replace(numbers[0], upper=np.inf)
    hidden = replace(numbers[1], estimate=None, lower=None, upper=None)
    far = replace(numbers[2], upper=1e6)
    ax = pw.plot.forest([endless, hidden, far])
    arrows = [line for line in ax.get_lines() if line.get_marker() == ">"]
    (places,) = [line.get_ydata() for line in arrows]
    assert np.round(places).tolist() == [0, 2]
    ((values, ends),) = drawn_bars(ax).values()
    assert np.isnan(values).tolist() == [False, True, False] and np.isfinite(ends[[0, 2]]).all()
    assert np.nanmax(ends) <= CUT * max(endless.estimate, far.estimate) * (1 + 1e-12)


def test_numbers_of_the_other_kind_alone_are_refused(models):
    with pytest.raises(ValueError, match="ratios=False: no number is not a ratio; there are Mantel-Haenszel odds"):
        pw.plot.forest(models["ε = 2"].mantel_haenszel("exposure", "outcome", "confounder"), ratios=False)


def test_a_roc_curve_is_that_of_the_release_and_its_band_holds_all_its_points(models):
    curve = models["ε = 2"].roc("score", "outcome")
    ax = pw.plot.roc(curve)
    _, line = ax.get_lines()
    x, y = np.array(line.get_xydata()).T
    np.testing.assert_allclose(x[1:-1], [answer.estimate for answer in curve.false_positives])
    np.testing.assert_allclose(y[1:-1], [answer.estimate for answer in curve.sensitivities])
    (band,) = ax.patches
    outline = band.get_path()
    assert all(
        outline.contains_point(point, radius=1e-9) or outline.contains_point(point, radius=-1e-9)
        for point in zip(x, y, strict=True)
    )
    exact = pw.FederatedEpidemiology(cohort_questions(), "reference").fit(FRAME, parties=3).roc("score", "outcome")
    points = [
        (across.estimate, up.estimate) for across, up in zip(exact.false_positives, exact.sensitivities, strict=True)
    ]
    assert all(outline.contains_point(point) for point in points)


def test_a_roc_curve_of_scores_has_the_area_of_scikit_learn():
    rng = pw.stream(2, "scores")
    labels = rng.integers(2, size=300)
    scores = np.round(labels + rng.normal(size=300), 1)
    x, y = np.array(pw.plot.roc({"trees": (labels, scores)}).get_lines()[1].get_xydata()).T
    assert np.trapezoid(y, x) == pytest.approx(roc_auc_score(labels, scores))


def test_incidence_is_that_of_the_release_and_ends_where_it_does(models):
    curves = models["ε = 2"].cumulative_incidence("cause")
    ax = pw.plot.incidence(curves, "first")
    for line, group in zip(ax.get_lines(), curves, strict=True):
        wanted = [0.0, *(answer.estimate for answer in group.incidence["first"])]
        np.testing.assert_allclose(line.get_ydata(), wanted)
        np.testing.assert_allclose(line.get_xdata(), [0.0, *group.edges])
    ended = replace(
        curves[0], survival=tuple(replace(a, estimate=None, lower=None, upper=None) for a in curves[0].survival)
    )
    ax = pw.plot.incidence([ended])
    assert np.isnan(ax.get_lines()[0].get_ydata()[1:]).all() and not ax.collections
    with pytest.raises(KeyError, match="cause='third' is not among the causes first, second"):
        pw.plot.incidence(curves, "third")


@pytest.mark.parametrize(("cause", "rises"), [("first", True), (None, False)])
def test_a_band_between_two_edges_reaches_from_one_interval_to_the_other(models, cause, rises):
    """Whatever a curve does between the edges, it stays between its values there."""
    curves = models["ε = 2"].cumulative_incidence("cause")
    (band, *_) = pw.plot.incidence(curves, cause).collections
    vertices = band.get_paths()[0].vertices
    x, _, lower, upper = curve_of(curves[0], cause)
    for place in range(1, len(x)):
        middle = (x[place - 1] + x[place]) / 2
        heights = [y for (a, y), (b, _) in pairwise(vertices) if min(a, b) < middle < max(a, b)]
        ends = (lower[place - 1], upper[place]) if rises else (lower[place], upper[place - 1])
        assert sorted(heights) == pytest.approx(ends)
