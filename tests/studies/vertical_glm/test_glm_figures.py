"""Figures of vertical GLM from a small cube: what is drawn is what the cube holds, whatever its labels."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from partywise.experiment.cells import STATUS
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.plotting.lines import _horizontal
from partywise.experiment.plotting.style import Look
from partywise.studies.vertical_glm.study import STUDY
from pipeline import ROOT
from relabel import content, relabelled
from small_cube import computed

SMALL = {"source": "generated", "settings": {"n": 120, "p": 4}}


def block() -> dict:
    """A sweep over correlations with several solvers, private methods at two targets, records to be aligned."""
    return {
        "spec": {"delta": 1e-5, "unit": "row"},
        "methods": {
            "all": {"protocol": "reference", "title": "in one place"},
            "rotated": {"protocol": "block_svd", "title": "rotations"},
            "products": {"protocol": "correlation", "title": "products"},
            "blocks": {"protocol": "bcd", "title": "blocks"},
            "jointly": {"protocol": "joint", "title": "jointly"},
            "noised": {"protocol": "moments", "cipher": "sized", "title": "noise"},
            "stepwise": {"protocol": "noisy_newton", "title": "noisy steps"},
        },
        "cases": {
            "swept": SMALL
            | {
                "sweep": {"rho": [0.0, 0.5]},
                "title": "ρ = {rho}",
                "grid": {"methods": ["rotated", "products", "blocks", "jointly"], "replicates": 1, "parties": [2, 3]}
                | {"folds": 1, "epsilon": [1.0]},
            },
            "targets": SMALL
            | {
                "grid": {"methods": ["all", "noised", "stepwise"], "replicates": 2, "parties": [2], "folds": 1}
                | {"epsilon": [5.0, 50.0]}
            },
            "intervals": {
                "source": "generated",
                "settings": {"n": 1000, "p": 2},
                "grid": {"methods": ["noised"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [8.0, 20.0]},
            },
            "orders": {
                "source": "generated",
                "settings": {"n": 60, "p": 4, "records": "unaligned"},
                "grid": {"methods": ["blocks", "jointly"], "replicates": 1, "parties": [3], "folds": 1}
                | {"epsilon": [1.0]},
            },
        },
    }


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return computed("vertical_glm", block(), 3, tmp_path_factory.mktemp("glm_figures"))


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_every_figure_draws_and_no_label_matters(cube, name):
    shown = content(STUDY.figures[name](cube))
    assert not any("in this configuration" in str(part) for part in shown)
    assert shown == content(STUDY.figures[name](relabelled(cube)))


TABLES = [name for name, figure in STUDY.figures.items() if figure.output == "table"]
# A case in which the figure has nothing to show.
WITHOUT = {
    "iterations_by_correlation": "targets",
    "objective_by_iteration": None,
    "correlations": "orders",
    "space_by_message": None,
    "deviance_by_epsilon": "orders",
    "coefficient_intervals": None,
    "costs_by_parties": None,
    "identifiers_by_mode": "targets",
    "columns_by_unit": None,
    "interval_coverage": "targets",
    "interval_half_width": "orders",
}


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_without_its_cases_a_figure_says_so(cube, name):
    other = cube.drop_vars("bytes_measured") if name == "costs_by_parties" else cube
    other = other.isel(example_fit=[]) if WITHOUT[name] is None else _only(other, WITHOUT[name])
    if name in TABLES:
        table = STUDY.figures[name](other)
        assert not table.rows and "in this configuration" in table.notes[0]
        return
    (ax,) = STUDY.figures[name](other).axes
    assert any(words in ax.texts[0].get_text() for words in ("No ", "in this configuration"))
    assert not ax.lines


def _only(cube, case):
    kept = cube.sel(case=[case])
    return kept.isel(example_fit=np.flatnonzero(kept["example_case"].values == case))


@pytest.mark.parametrize("name", sorted(set(STUDY.figures) - set(TABLES)))
def test_every_text_lies_inside_the_canvas(cube, name):
    figure = STUDY.figures[name](cube)
    figure.canvas.draw()
    frame, renderer = figure.bbox, figure.canvas.get_renderer()
    shown = [artist for artist in (*figure.axes, *figure.legends, figure._suptitle) if artist is not None]
    for artist in shown:
        box = artist.get_tightbbox(renderer)
        if box is not None:
            assert -1 <= box.x0 <= box.x1 <= frame.x1 + 1, artist
            assert -1 <= box.y0 <= box.y1 <= frame.y1 + 1, artist


def test_costs_of_one_number_of_parties_are_drawn(cube):
    """Own tables have one number of parties: the figure of the shipped example was blank."""
    (top, bottom) = STUDY.figures["costs_by_parties"](_only(cube, "orders")).axes
    assert {line.get_label() for line in top.get_lines()} == {"blocks", "jointly"}
    assert bottom.get_lines() and all(line.get_xdata().tolist() == [3] for line in top.get_lines())


def test_a_deviance_says_on_which_records_it_is(cube):
    """The deviance of one fold is in-sample, which no word said."""
    (ax,) = STUDY.figures["deviance_by_epsilon"](_only(cube, "targets")).axes
    assert ax.get_title().endswith("\non the records of the fit")


def test_a_fit_that_did_not_converge_is_hollow(cube):
    status = cube["status"].copy()
    failed = (status > 0) & (cube["method_label"] == "jointly")
    codes = status.where(~failed, STATUS.index("not_converged")).astype(status.dtype)
    marks = {}
    for which in (cube, cube.assign(status=codes)):
        figure = STUDY.figures["coefficient_intervals"](which)
        drawn = [line for ax in figure.axes for bars in ax.containers for line in bars[:1]]
        marks |= {bars.get_label(): bars[0].get_markerfacecolor() for ax in figure.axes for bars in ax.containers}
        assert drawn
    assert marks["jointly (not converged)"] == "white" and marks["jointly"] != "white"


def test_shares_of_a_space_hide_no_method(cube):
    """Each method has a row of its own; lines lay on each other."""
    rows = STUDY.figures["space_by_message"](cube).rows
    cases = {row["data"] for row in rows}
    blocks = [row for row in rows if row["method"] == "blocks"]
    assert len(blocks) == 3 and all(row["column space seen, %"] == 100 for row in blocks)
    assert len({(row["data"], row["method"]) for row in rows}) == len(rows) > 2 * len(cases)


def test_iterations_are_those_of_the_cube(cube):
    (ax,) = STUDY.figures["iterations_by_correlation"](cube).axes
    drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines() if line.get_linewidth() < 1}
    for method, label in (("blocks", "blocks"), ("jointly", "jointly")):
        cells = cube["iterations"].sel(method_label=method, parties=2, replicate=0, fold=0)
        wanted = [float(cells.sel(case=case).max()) for case in ("swept_0", "swept_0_5")]
        assert list(drawn[label]) == wanted
    assert [float(tick) for tick in ax.get_xticks()] == [0.0, 0.5]


def test_matrices_are_those_of_the_example_fits(cube):
    figure = STUDY.figures["correlations"](cube)
    images = {ax.get_title().partition("\n")[0]: ax.images[0].get_array() for ax in figure.axes[:3]}
    at = np.flatnonzero((cube["example_case"] == "swept_0") & (cube["example_method"] == "rotated"))[0]
    assert np.array_equal(images["rotations"], cube["matrix"].values[at])
    assert np.array_equal(images["pooled records"], cube["pooled_matrix"].values[at])
    # The published matrix has zeros between the columns of one party; the certified one is that of the records.
    assert abs(images["rotations"][0, 1]) < 1e-12 < abs(images["pooled records"][0, 1])
    assert np.allclose(images["products"], images["pooled records"], atol=1e-10)


def test_the_published_criterion_keeps_all_columns_or_none_as_the_unit_says(cube):
    ax = STUDY.figures["columns_by_unit"](cube).axes[0]
    published, certified = ax.get_lines()[0].get_ydata(), ax.get_lines()[1].get_ydata()
    assert published[0] == 0
    assert published[-1] == 4
    assert len(set(certified)) == 1


def test_leaks_of_blocks_reach_everything_and_of_products_nothing(cube):
    rows = {row["method"]: row for row in reversed(STUDY.figures["space_by_message"](cube).rows)}
    assert rows["blocks"]["column space seen, %"] == 100 and rows["blocks"]["after so many vectors"] > 0
    assert rows["products"]["column space seen, %"] == 0 and rows["products"]["after so many vectors"] == ""


def test_dictionaries_find_all_or_nobody(cube):
    (ax,) = STUDY.figures["identifiers_by_mode"](cube).axes
    assert [patch.get_width() for patch in ax.patches] == [1.0, 0.0]
    assert [text.get_text() for text in ax.texts] == ["blocks: 100% (sha256)", "jointly: 0% (psi)"]


def test_private_methods_say_whom_they_trust(cube):
    figure = STUDY.figures["deviance_by_epsilon"](cube)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[1:3] == ["noise; if the encryption holds", "noisy steps; if the aggregator does not collude"]


def test_a_method_without_a_target_stands_beside_private_ones(cube):
    """It was left out; its 0 is below what a logarithmic axis can show, and its legend says so."""
    figure = STUDY.figures["deviance_by_epsilon"](cube)
    assert figure.legends[0].get_texts()[0].get_text() == "in one place: 0, below the axis"


@pytest.mark.parametrize("value", [1e-14, -1.5e-16, 0.0])
def test_what_rounding_leaves_of_a_loss_does_not_stretch_the_axis(value):
    figure = Figure()
    ax = figure.subplots()
    ax.set_yscale("log")
    ax.plot([1, 2], [0.2, 1.0])
    _horizontal(ax, value, Look("exact", "black", "o"), "exact", True)
    assert ax.lines[-1].get_label() == "exact: 0, below the axis" and ax.get_ylim()[0] > 0.01


def test_columns_of_own_tables_have_their_names():
    """They were called x0, x1, ...; of a category every level but the first is a column."""
    block = read_configuration(ROOT / "config" / "my_tables.example.yaml")
    made = plan("vertical_glm", block["studies"]["vertical_glm"], 1)
    (settings,) = {id(case.settings): case.settings for case in made.cases.values()}.values()
    wanted = [column for one in settings.tables for column in one.columns]
    names = settings.column_names
    assert len(names) == sum(1 if column.levels is None else len(column.levels) - 1 for column in wanted)
    assert {column.name for column in wanted if column.levels is None} <= set(names)
    assert {"region = south", "region = west"} <= set(names) and "region = north" not in names
