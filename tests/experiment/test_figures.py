"""Figures from a small cube made in this process: what is drawn is what the cube holds, and all is labelled."""

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt

from partywise.core.randomness import stream
from partywise.data.curves.descriptions import UnitChange
from partywise.data.curves.tables import CurveTable
from partywise.experiment.plotting.save import save_figure
from partywise.experiment.plotting.select import plan_behind
from partywise.experiment.plotting.series import cases_of, example_fits_of, methods_of, replicate_means, series
from partywise.experiment.plotting.style import NEUTRALS, heading, look, panels
from partywise.studies.functional_boosting import cases
from partywise.studies.functional_boosting.figures import curves, parties, privacy, selection
from partywise.studies.functional_boosting.study import STUDY
from relabel import content, relabelled
from small_cube import computed

SMALL = {"n": 120, "p": 4, "n_basis_x": 6, "n_basis_y": 6, "active": [0, 1]}
IMAGE = ("svg", "pdf", "png", "csv")
LEARNERS = [f"{learner}_{noise}" for learner in ("predictor", "party") for noise in ("none", "fixed", "sqrt_j", "rho")]


def block():
    """A configuration with every kind of case, small enough for seconds."""
    methods = {
        "mean_curve": {"protocol": "baseline", "kind": "mean"},
        "least_squares": {"protocol": "baseline", "kind": "least_squares"},
        "oracle": {"protocol": "baseline", "kind": "oracle"},
        "published": {"protocol": "published"},
        "local": {"protocol": "boosting", "s_mode": "calibrated", "max_steps": 10},
        "moments": {"protocol": "moments", "cipher": "sized", "max_steps": 10},
        "published_noise": {
            "protocol": "published",
            "s_mode": "calibrated",
            "radius": "public",
            "max_steps": 1,
            "min_steps": 1,
        },
        "corrected_noise": {"protocol": "boosting", "s_mode": "calibrated", "max_steps": 1},
    }
    noises = {
        "none": {"noise": "none"},
        "fixed": {"s": 0.5},
        "sqrt_j": {"s": 0.2, "s_mode": "sqrt_j", "claim": "source"},
        "rho": {"s_mode": "calibrated", "rho_total": 500.0},
    }
    for label in LEARNERS:
        learner, noise = label.split("_", 1)
        methods[label] = {"protocol": "boosting", "learner": learner, "max_steps": 10, **noises[noise]}
    # What a user adds to a configuration, at its end.
    methods["qq_7"] = {"protocol": "boosting", "s": 0.3, "max_steps": 10, "title": "a new one, s = {s}"}
    many = ["mean_curve", "least_squares", "oracle", "published", *LEARNERS, "qq_7"]
    grid = {"replicates": 3, "folds": 2, "epsilon": [10.0, 100.0]}
    price = ["mean_curve", "predictor_none", "local", "moments"]
    claims = {"methods": ["published_noise", "corrected_noise"], "replicates": 1, "parties": [1], "folds": 1}
    one = {"n": 60, "p": 1, "active": [0]}
    return {
        "methods": methods,
        "cases": {
            "simulated": {"settings": SMALL, "grid": {**grid, "methods": many, "parties": [2, 4]}},
            "sweep": {"source": "simulated", "settings": SMALL, "grid": {**grid, "methods": price, "parties": [4]}},
            "beijing": {
                "source": "dataset",
                "settings": {"dataset": "beijing", "n_basis_x": 6, "n_basis_y": 6},
                "grid": {**grid, "methods": price, "parties": [3]},
            },
            **{
                f"geometry_q{q}": {
                    "source": "simulated",
                    "settings": {**one, "n_basis_x": q, "n_basis_y": q},
                    "grid": {**claims, "epsilon": [10.0]},
                }
                for q in (6, 10)
            },
        },
        "figures": ["error_by_parties"],
    }


def day_curves(folder):
    """Seven predictors of three parties on 60 days, in place of the downloaded table."""
    rng, days = stream(5, "days"), 60
    unit = UnitChange(name="v", unit="1", offset=2.0, scale=3.0, because="a test")
    return CurveTable(
        hours=np.arange(24) + 0.5,
        hours_x=np.arange(24) + 0.5,
        domain=(0.0, 24.0),
        domain_x=(0.0, 24.0),
        y=rng.standard_normal((days, 1)) + np.sin(np.arange(24) / 4)[None],
        x=rng.standard_normal((days, 7, 24)),
        y_scale=unit,
        x_scales=(unit,) * 7,
        y_party="embassy",
        predictor_names=np.array([f"v{j}" for j in range(7)]),
        party_names=np.array(["office"] * 3 + ["wind"] * 3 + ["rain"]),
        block=np.arange(days) // 5,
        dates=np.array([f"2012-01-{i % 28 + 1:02d}" for i in range(days)]),
        sha256={},
        notes=(),
    )


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "read_curves", lambda name, response, resources: day_curves(resources))
        return computed("functional_boosting", block(), 3, folder)


@pytest.mark.parametrize("name", [name for name in STUDY.figures if name != "selection_quality"])
def test_every_figure_draws_and_every_panel_is_labelled(cube, name):
    figure = STUDY.figures[name](cube)
    drawn = [ax for ax in figure.axes if ax.axison]
    assert drawn
    figure.draw_without_rendering()
    assert any(ax.get_xlabel() for ax in drawn)
    assert any(ax.get_ylabel() for ax in drawn)
    assert all(ax.has_data() for ax in drawn)


def test_the_table_of_selected_predictors_is_the_cube(cube):
    """Sensitivity and specificity of every method, learner and number of parties."""
    rows = STUDY.figures["selection_quality"](cube).rows
    name = look(cube, "party_rho").label
    own = [row for row in rows if (row["method"], row["learner"]) == (name, "one base learner per party")]
    assert [row["parties J"] for row in own] == [2, 4]
    for measure, words in selection.SHARES.items():
        line = series(cube, measure, "simulated", "party_rho", "parties")
        assert [row[words] for row in own] == pytest.approx(100 * line.mean, abs=0.05)
        assert [row[f"SE of {words}"] for row in own] == pytest.approx(100 * line.se, abs=0.05)
    assert {row["learner"] for row in rows} == {"one base learner per predictor", "one base learner per party"}
    assert "a new one, s = 0.3" in {row["method"] for row in rows}


def test_lines_and_bands_are_the_means_and_standard_errors_of_the_cube(cube):
    figure = parties.error_by_parties(cube)
    ax = figure.axes[0]
    line = next(entry for entry in ax.get_lines() if entry.get_label() == look(cube, "predictor_fixed").label)
    cells = cube["excess"].sel(case="simulated", method_label="predictor_fixed", epsilon=np.inf)
    each = cells.mean("fold").sel(parties=[2, 4])
    np.testing.assert_allclose(line.get_ydata(), each.mean("replicate"), rtol=1e-12)
    se = each.std("replicate", ddof=1) / np.sqrt(3)
    found = series(cube, "excess", "simulated", "predictor_fixed", "parties")
    np.testing.assert_allclose(found.se, se, rtol=1e-12)


def test_errors_are_drawn_at_their_own_certified_epsilon(cube):
    means = replicate_means(cube, "epsilon_certified", "sweep", "moments", "epsilon").mean("replicate")
    ax = privacy.error_by_epsilon(cube).axes[0]
    line = next(entry for entry in ax.get_lines() if entry.get_label() == look(cube, "moments").label)
    np.testing.assert_allclose(line.get_xdata(), means.dropna("epsilon").values, rtol=1e-6)


def test_claimed_and_certified_shows_the_certificate_of_the_published_noise(cube):
    ax = privacy.claimed_and_certified(cube).axes[0]
    heights = {entry.get_label(): entry.get_ydata() for entry in ax.get_lines()}
    published = next(value for label, value in heights.items() if label.startswith("published noise"))
    assert list(published) == sorted(published)
    assert published[0] > 100 * 10.0
    corrected = heights[look(cube, "corrected_noise").label]
    np.testing.assert_allclose(corrected, 10.0, rtol=1e-6)


def test_real_curves_are_shown_in_the_unit_of_the_response(cube):
    figure = curves.real_curves(cube)
    ax = figure.axes[0]
    observed = next(entry for entry in ax.get_lines() if entry.get_label() == "observed (smoothed)")
    # The scale of the table is undone: value = 2 + 3 * table, and the table is centred at zero.
    assert 2 - 9 < observed.get_ydata().mean() < 2 + 9
    assert ax.get_title().startswith("2012-01-")


def test_each_curve_of_a_day_is_of_the_epsilon_that_its_legend_names(cube):
    figure = curves.real_curves(cube)
    case = next(
        c for c in cases_of(cube, "curve_predicted") if hasattr(plan_behind(cube).cases[c].settings, "response_axis")
    )
    drawn, shown = example_fits_of(cube, case), dict[tuple[str, str], bytes]()
    labels = {look(cube, m).label: m for m in methods_of(cube, case)}
    for line in (line for ax in figure.axes for line in ax.get_lines() if ", ε = " in line.get_label()):
        name, epsilon = line.get_label().rsplit(", ε = ", 1)
        at = (drawn["example_method"] == labels[name]) & np.isclose(drawn["example_epsilon"], float(epsilon))
        (fit,) = np.flatnonzero(at.values)
        predicted = drawn["curve_predicted"].values[fit]
        assert any(np.array_equal(line.get_ydata(), day[np.isfinite(day)]) for day in predicted), line.get_label()
        shown[name, epsilon] = predicted.tobytes()
    pairs = [(a, b) for (n, a), (m, b) in combinations([(key[0], value) for key, value in shown.items()], 2) if n == m]
    assert any(a != b for a, b in pairs), "some method predicts otherwise at another epsilon, so that a swap is seen"


def test_figures_say_what_is_missing(cube):
    only = cube.sel(case=["sweep"], parties=[4])
    for draw in (parties.error_by_parties, parties.claims_about_parties, parties.bytes_by_parties):
        assert "No simulated case" in draw(only).axes[0].texts[0].get_text()


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_a_figure_does_not_know_labels(cube, name):
    """Other labels of cases and methods, the same picture."""
    drawn = content(STUDY.figures[name](cube))
    assert content(STUDY.figures[name](relabelled(cube))) == drawn


def test_methods_of_a_panel_are_told_apart(cube):
    """By more than colour, and by colour where there are not more methods than colours."""
    looks = [look(cube, method) for method in map(str, cube["method_label"].values)]
    assert len({(one.color, one.marker, one.line) for one in looks}) == len(looks) > 10
    claims = dict(zip(looks, cube["method_claims"].values, strict=True))
    private = [one for one in looks if claims[one]]
    assert len({one.color for one in private[:7]}) == len({one.marker for one in private[:7]}) == 7
    assert [one.color for one in looks if not claims[one]][:2] == list(NEUTRALS)


def test_a_method_that_is_added_is_drawn_and_changes_no_other(cube):
    new = look(cube, "qq_7")
    assert new.label == "a new one, s = 0.3"
    legend = STUDY.figures["error_by_parties"](cube).legends[0]
    assert "a new one, s = 0.3" in [text.get_text() for text in legend.get_texts()]
    before = cube.isel(method_label=[i for i, label in enumerate(cube["method_label"].values) if label != "qq_7"])
    for method in map(str, before["method_label"].values):
        assert look(before, method) == look(cube, method)
    line = next(one for one in parties.error_by_parties(cube).axes[0].get_lines() if one.get_label() == new.label)
    found = series(cube, "excess", "simulated", "qq_7", "parties")
    np.testing.assert_array_equal(line.get_ydata(), found.mean)


def test_a_saved_figure_is_closed_and_drawn_again_byte_for_byte(tmp_path):
    contents = []
    for name in ("one", "two"):
        figure, axes = plt.subplots()
        axes.plot([0, 1])
        files = {kind: tmp_path / f"{name}.{kind}" for kind in IMAGE}
        save_figure(figure, **files)
        assert figure.number not in plt.get_fignums()
        contents.append([file.read_bytes() for file in files.values()])
    assert contents[0] == contents[1]


def test_an_svg_has_a_title_and_a_description_and_its_text_is_text(tmp_path):
    figure, (ax,) = panels(1, 1, 3, 2)
    ax.plot([1, 2], [3, 4], label="a < b")
    ax.set(xlabel="target", ylabel="error", title="one panel")
    heading(figure, "Errors fall & rise")
    save_figure(figure, *(tmp_path / f"one.{kind}" for kind in IMAGE))
    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    first, second = list(root)[:2]
    assert first.tag.endswith("}title") and first.text == "Errors fall & rise"
    assert second.tag.endswith("}desc")
    assert second.text == "Errors fall & rise. one panel; error; over target; a < b."
    assert "one panel" in {"".join(text.itertext()) for text in root.iter() if text.tag.endswith("}text")}
