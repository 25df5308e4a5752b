"""Figures of federated epidemiology from a small cube: what is drawn is what the releases answer, whatever labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partywise.experiment.plotting.series import series
from partywise.experiment.tables.templates import TypesetTable
from partywise.methods.epidemiology.estimates.curves import cumulative_incidence, roc_curve
from partywise.methods.epidemiology.estimates.inference import Inference
from partywise.methods.epidemiology.estimates.report import association_blocks, report
from partywise.methods.epidemiology.options import GeometricBoxOptions
from partywise.plot.interval_rows import is_ratio
from partywise.studies.federated_epidemiology.figures.accuracy import SAME, WITHOUT, ratios_of, widths_of
from partywise.studies.federated_epidemiology.figures.answers import shown_cases
from partywise.studies.federated_epidemiology.measures import KINDS
from partywise.studies.federated_epidemiology.metrics import ABOUT_RECORDS, ORDERS, kind_of
from partywise.studies.federated_epidemiology.study import STUDY
from relabel import content, relabelled
from small_cube import computed

TARGETS = [2.0, 20.0]
COUNTS = "counts with noise"


def block() -> dict:
    """A cohort at two targets, with methods of every kind."""
    return {
        "spec": {"delta": 1e-5, "unit": "row"},
        "methods": {
            "all": {"protocol": "reference", "title": "in one place"},
            "refused": {"protocol": "suppressed", "title": "small cells refused"},
            "boxes": {"protocol": "geometric_box", "title": "boxes"},
            "counts": {"protocol": "tables", "title": COUNTS},
        },
        "cases": {
            "cohort": {
                "source": "generated",
                "settings": {"n": 1500},
                "grid": {
                    "replicates": 5,
                    "parties": [2],
                    "folds": 1,
                    "epsilon": TARGETS,
                    "methods": ["all", "refused", "boxes", "counts"],
                },
            },
        },
    }


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return computed("federated_epidemiology", block(), 3, tmp_path_factory.mktemp("epidemiology_figures"))


@pytest.fixture(scope="module")
def shown(cube):
    (case,) = shown_cases(cube, lambda released: True)
    return case


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_every_figure_draws_and_no_label_matters(cube, name):
    figure = content(STUDY.figures[name](cube))
    assert not any("in this configuration" in str(part) for part in figure)
    assert figure == content(STUDY.figures[name](relabelled(cube)))


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_without_its_arrays_or_measures_a_figure_says_so(cube, name):
    kept = cube.drop_vars([*STUDY.own_measures, "epsilon_certified"], errors="ignore")
    figure = STUDY.figures[name](kept)
    if isinstance(figure, TypesetTable):
        assert not figure.rows and figure.notes[0].startswith("No ")
        return
    (ax,) = figure.axes
    assert ax.texts[0].get_text().startswith("No ")


def test_the_release_of_a_figure_is_that_of_the_fit(cube, shown):
    """Its error is the measure of the cube, which was computed where the fit was."""
    exact = {answer.name: answer for answer in report(shown.pooled(), Inference())}
    for epsilon in TARGETS:
        answers = [a for a in report(shown.release(epsilon), Inference()) if a.determined and exact[a.name].determined]
        ratios = [np.log(a.width / exact[a.name].width) for a in answers if 0 < exact[a.name].width < np.inf]
        finite = [ratio for ratio in ratios if np.isfinite(ratio)]
        cell = cube["width_ratio"].sel(method_label=shown.method, epsilon=epsilon).isel(replicate=0)
        assert float(np.exp(np.mean(finite))) == pytest.approx(float(cell.max()), rel=1e-9)


def test_a_forest_plot_has_the_pooled_and_the_released_measures(cube, shown):
    figure = STUDY.figures["forest"](cube)
    releases = [shown.pooled(), *(shown.release(epsilon) for epsilon in TARGETS)]
    for ax, ratios in zip(figure.axes, (False, True), strict=True):
        for container, released in zip(ax.containers, releases, strict=True):
            (answers,) = association_blocks(released, Inference()).values()
            wanted = [answer.estimate for answer in answers if is_ratio(answer.name) == ratios]
            drawn = np.asarray(container.lines[0].get_xdata(), float)
            np.testing.assert_allclose(drawn, np.array(wanted, dtype=float))


def test_table_one_has_the_counts_of_the_release_in_every_row(cube, shown):
    table = STUDY.figures["table_one"](cube)
    rows = {(row["variable"], row["level"]): row for row in table.rows}
    assert len(rows) == len(table.rows) and all(variable for variable, _ in rows)
    counts = shown.release(shown.target).table("exposure", "stage").values
    for level, column in zip(("I", "II", "III", "IV"), counts.T, strict=True):
        for group, value in zip("01", column, strict=True):
            text = str(rows["stage", level][f"exposure = {group}"])
            assert abs(int(text.split(" ")[0]) - value) < 2 and "[" in text


def test_curves_are_those_of_the_release(cube, shown):
    figure = STUDY.figures["roc"](cube)
    for ax, epsilon in zip(figure.axes, TARGETS, strict=True):
        released = roc_curve(shown.release(epsilon), "score", "outcome", Inference(together=True))
        (line,) = [line for line in ax.get_lines() if line.get_label() == COUNTS]
        np.testing.assert_allclose(line.get_ydata()[1:-1], [answer.estimate for answer in released.sensitivities])
    figure = STUDY.figures["cumulative_incidence"](cube)
    (name,) = shown.release(2.0).layout.incidence
    groups = cumulative_incidence(shown.release(shown.target), name, Inference())
    wanted = [[0.0, *(a.estimate for a in group.incidence[cause])] for group in groups for cause in group.incidence]
    for ax, values in zip(figure.axes, wanted, strict=True):
        (line,) = [line for line in ax.get_lines() if line.get_label() == COUNTS]
        np.testing.assert_allclose(line.get_ydata(), np.array(values, dtype=float))


def test_coverage_by_number_is_that_of_the_cube(cube, shown):
    left, right = STUDY.figures["coverage_by_number"](cube).axes
    kinds = {words: kind for kind, words in KINDS.items()}
    labels = [tick.get_text() for tick in left.get_yticklabels()]
    for container, ending in zip(left.containers, ("", "_without_noise"), strict=True):
        for value, words in zip(container.lines[0].get_xdata(), labels, strict=True):
            line = series(cube, f"coverage_{kinds[words]}{ending}", shown.name, shown.method, "epsilon")
            assert value == pytest.approx(line.mean[line.x == shown.target][0])
    exact, released = widths_of(shown.pooled()), widths_of(shown.release(shown.target))
    line = next(line for line in right.get_lines() if line.get_label() == COUNTS)
    np.testing.assert_allclose(sorted(line.get_xdata()), sorted(ratios_of(released, exact).values()))
    assert any(line.get_label() == WITHOUT for line in left.get_lines() + right.get_lines())


def test_every_number_of_the_paper_has_a_kind(shown):
    counts = dict.fromkeys(KINDS, 0)
    for answer in report(shown.pooled(), Inference()):
        counts[kind_of(answer.name)] += 1
    wanted = {"shares": 32, "quartiles": 6, "means": 8, "deviations": 4}
    assert counts == wanted | {"association": 8, "strata": 7, "curves": 7, "rates": 6} and sum(counts.values()) == 78


def test_widths_are_over_those_of_the_published_regions(cube, shown):
    """From the same noisy counts the intervals of single numbers are narrower than ranges over a box around all."""
    (box,) = shown_cases(cube, lambda released: released.radius, (GeometricBoxOptions,))
    published = widths_of(box.release(2.0), ABOUT_RECORDS)
    (ax,) = STUDY.figures["published_widths"](cube).axes
    lines = {line.get_label(): np.sort(line.get_xdata()) for line in ax.get_lines()}
    same = ratios_of(widths_of(replace(box.estimate(2.0), radius=0.0).tables(box.questions), ABOUT_RECORDS), published)
    np.testing.assert_allclose(lines[SAME], sorted(same.values()))
    np.testing.assert_allclose(
        lines[COUNTS], sorted(ratios_of(widths_of(shown.release(2.0), ABOUT_RECORDS), published).values())
    )
    assert np.median(lines[SAME]) < 1


def test_records_are_named_by_more_orders_of_counts(cube):
    """A threshold hides nothing from an analyst who may ask in the orders of two columns; the first is a measure."""
    (ax,) = STUDY.figures["records_named"](cube).axes
    (line,) = [line for line in ax.get_lines() if line.get_label() == "small cells refused"]
    shares = np.asarray(line.get_ydata())
    assert len(shares) == ORDERS and (np.diff(shares) >= 0).all() and shares[-1] == pytest.approx(1, abs=0.01)
    # Columns of numbers are the first orders: age, body mass, score and years.
    cells = cube["records_read"].sel(method_label="refused").isel(replicate=0)
    assert shares[3] == pytest.approx(float(cells.max()))
