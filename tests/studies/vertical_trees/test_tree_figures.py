"""Figures of vertical trees from a small cube: what is drawn is what the cube holds, whatever its labels."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from partywise.data.columns.settings import ColumnDatasetSettings
from partywise.studies.vertical_trees.figures import privacy, tables, utility, wire
from partywise.studies.vertical_trees.study import STUDY
from relabel import content, relabelled
from small_cube import computed

TREES = {"num_of_trees": 3, "eval_freq": 1}
PUBLISHED = {"protocol": "feature_gathering", "protect": "dp", "edges": "quantile", "ties": "position"}


def block() -> dict:
    """Three cases: several private methods at two targets, several numbers of parties, ciphers of the true size."""
    return {
        "spec": {"delta": 1e-5, "unit": "features"},
        "methods": {
            "all": {"protocol": "pooled", "title": "in one place"} | TREES,
            "alone": {"protocol": "active_only", "title": "alone"} | TREES,
            "open": {"protocol": "feature_gathering", "title": "orders"} | TREES,
            "bins": PUBLISHED | {"n_bins": 5, "budget": "feature", "title": "bins"} | TREES,
            "sums": {"protocol": "tables", "cipher": "sized", "title": "tables"} | TREES,
        },
        "cases": {
            "targets": {
                "source": "generated",
                "settings": {"n": 150, "d": 4},
                "grid": {"methods": ["all", "alone", "bins", "sums"], "replicates": 2, "parties": [2], "folds": 1}
                | {"epsilon": [2.0, 20.0]},
            },
            "split": {
                "source": "generated",
                "settings": {"n": 150, "d": 4},
                "grid": {"methods": ["all", "open"], "replicates": 1, "parties": [2, 3], "folds": 1, "epsilon": [1.0]},
            },
        },
    }


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return computed("vertical_trees", block(), 3, tmp_path_factory.mktemp("tree_figures"))


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_every_figure_draws_and_no_label_matters(cube, name):
    shown = content(STUDY.figures[name](cube))
    assert not any("in this configuration" in str(part) for part in shown)
    assert shown == content(STUDY.figures[name](relabelled(cube)))


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_without_its_cases_a_figure_says_so(cube, name):
    other = cube.isel(case=[1]) if name not in ("lossless_by_parties", "loss_along_trees") else cube.isel(case=[0])
    if name in ("loss_along_trees", "tables_by_epsilon"):
        other = other.isel(example_fit=[])
    figure = STUDY.figures[name](other)
    assert "in this configuration" in figure.axes[0].texts[0].get_text()


def test_bins_of_a_category_have_the_names_of_its_levels():
    """Numbers of levels stood there, which nobody can look up."""
    adult = ColumnDatasetSettings(dataset="adult")
    assert adult.levels_of(adult.column_names.index("sex")) == ("Female", "Male")
    assert adult.levels_of(adult.column_names.index("age")) == ()
    _, ax = plt.subplots()
    tables.name_levels(ax, ("Female", "Male"), 2)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Female", "Male"]
    _, ax = plt.subplots()
    tables.name_levels(ax, ("Female", "Male"), 5)
    assert "Male" not in [tick.get_text() for tick in ax.get_xticklabels()]


def lines(figure, panel: int = 0) -> dict[str, np.ndarray]:
    """Points of the labelled lines of a panel."""
    return {line.get_label(): np.array(line.get_xydata()) for line in figure.axes[panel].get_lines()}


def test_losses_stand_at_what_is_certified_and_claims_are_hollow(cube):
    figure = utility.loss_by_epsilon(cube)
    drawn, cell = lines(figure), cube.sel(case="targets", method_label="bins").isel(parties=0, fold=0)
    finite = np.isfinite(cell["epsilon"].values)
    certified, claimed = (cell[f"epsilon_{kind}"].max("replicate").values[finite] for kind in ("certified", "claimed"))
    assert (certified > 2 * claimed).all()
    loss = cell["log_loss"].mean("replicate").values[finite]
    np.testing.assert_allclose(drawn["bins"], np.stack([certified, loss], axis=1))
    np.testing.assert_allclose(drawn["bins, at its claim for one feature"], np.stack([claimed, loss], axis=1))
    hollow = next(line for line in figure.axes[0].get_lines() if line.get_label().endswith("claim for one feature"))
    assert hollow.get_markerfacecolor() == "none"
    alone = cube["log_loss"].sel(case="targets", method_label="alone").mean()
    assert np.allclose(drawn["alone"][:, 1], alone) and not any(name.startswith("alone,") for name in drawn)


def test_claims_and_certificates_of_all_targets_stand_in_one_row(cube):
    (ax,) = privacy.epsilon_by_method(cube).axes
    words = [text.get_text() for text in ax.get_yticklabels()]
    assert words == ["targets: bins (claims for one feature)", "targets: tables"]
    marks = {
        (line.get_marker(), *map(float, line.get_xydata()[0])) for line in ax.get_lines() if len(line.get_xdata()) == 1
    }
    assert {("o", 2.0, 0.0), ("o", 20.0, 0.0), ("o", 2.0, 1.0), ("o", 20.0, 1.0)} <= marks
    tables_certified = sorted(x for mark, x, place in marks if mark == "D" and place == 1)
    np.testing.assert_allclose(tables_certified, [2, 20], rtol=1e-6)


def test_bytes_and_operations_are_means_over_replicates(cube):
    left, right = wire.bytes_and_operations(cube).axes
    words = [text.get_text() for text in left.get_yticklabels()]
    assert words == ["in one place", "bins", "tables", "targets"]
    cell = cube.sel(case="targets", method_label="sums")
    measured = next(line for line in left.get_lines() if line.get_label() == "bytes, measured")
    np.testing.assert_allclose(measured.get_xdata()[2], float(cell["bytes_measured"].mean()))
    for name in wire.OPERATIONS:
        drawn = next(line for line in right.get_lines() if line.get_label() == name)
        np.testing.assert_allclose(drawn.get_xdata()[2], float(cell[name].mean()))


def test_a_lossless_fit_has_no_difference_at_any_number_of_parties(cube):
    figure = utility.lossless_by_parties(cube)
    assert "at 2 to 3 parties: 0 (orders)" in figure.get_suptitle().replace("\n", " ")
    np.testing.assert_allclose(lines(figure, 0)["orders"], lines(figure, 0)["in one place"])


def test_shares_of_rerouted_rows_are_those_of_the_cube(cube):
    (ax,) = utility.rows_rerouted(cube).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["targets: bins, 5 bins (ε = 2, 20)"]
    drawn = {line.get_label(): line.get_xdata() for line in ax.get_lines()}
    cell = cube["rows_rerouted"].sel(case="targets", method_label="bins").isel(parties=0, fold=0).mean("replicate")
    finite = np.isfinite(cell["epsilon"].values)
    np.testing.assert_allclose([*drawn["smallest ε"], *drawn["largest ε"]], cell.values[finite])
    assert cell.values[finite].max() > 0


def test_steps_of_a_table_are_its_values(cube):
    figure = tables.tables_by_epsilon(cube)
    fits = (cube["example_method"].values == "sums") & (cube["example_epsilon"].values == 20)
    values = cube["table_values"].values[np.flatnonzero(fits)[0]]
    drawn = [patch.get_data().values for patch in figure.axes[0].patches if patch.get_label() == "ε = 20"]
    assert any(
        np.allclose(drawn[0], row[np.isfinite(row)]) for row in values if len(drawn[0]) == np.isfinite(row).sum()
    )
