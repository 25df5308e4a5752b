"""The label-private study in this process: plan, cells, cube, metrics, what-if releases, example fits and figures."""

from __future__ import annotations

import json
from math import inf, sqrt

import numpy as np
import pytest
import xarray as xr

from label_driver import make_data, run
from partywise.experiment.cells import run as run_cells
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.plotting.select import plan_behind
from partywise.experiment.plotting.series import methods_of
from partywise.experiment.plotting.style import look
from partywise.experiment.results.provenance import config_json
from partywise.methods.logistic.evaluate import log_loss
from partywise.methods.logistic.planner import fixed_plan
from partywise.methods.logistic.release import redraw_dot_products
from partywise.methods.logistic.trainers import fit_walr
from partywise.methods.logistic.zonotope import boundedness
from partywise.models.links import LOGIT
from partywise.studies.label_private import metrics
from partywise.studies.label_private import redraws as what_if
from partywise.studies.label_private.figures import training as label_training
from partywise.studies.label_private.figures import utility as label_utility
from partywise.studies.label_private.study import STUDY
from relabel import content, relabelled
from small_cube import assemble, computed_parts, ledger_totals

HYBRID = {
    "protocol": "walr",
    "trainer": "hybrid",
    "noise": "iid",
    "sigma": "classic",
    "bound": "sqrt_k",
    "ridge": "none",
}
TRACE = {"steps": 100, "trace_steps": 100, "batch_size": 64}
GRID = {"replicates": 2, "parties": [2], "folds": 1}


def block():
    """Every kind of case and method, small enough for seconds."""
    sizes = {"methods": ["planned", "rr_planned", "published_hybrid"], "epsilon": [1.0, 4.0]}
    paths = ["no_ridge", "free_newton", "free_full_batch", "free_hybrid", "free_minibatch"]
    return {
        "methods": {
            "non_private": {"protocol": "non_private"},
            "published_hybrid": {**HYBRID, "steps": 50, "batch_size": 64, "bounded_draws": 3},
            "analytic": {"protocol": "walr", "noise": "iid", "ridge": "fixed"},
            "planned": {"protocol": "walr", "noise": "shaped", "noise_draws": 3},
            "rr_planned": {"protocol": "walr", "noise": "rr", "noise_draws": 3},
            "auto": {"protocol": "walr", "noise_draws": 3},
            "noisy_gd": {"protocol": "noisy_gradient", "rounds": 10},
            "label_sgd": {"protocol": "label_sgd", "rounds": 20, "rate": 0.1},
            "objective_perturbation": {"protocol": "objective_perturbation"},
            "classic": {"protocol": "walr", "noise": "iid", "sigma": "classic", "ridge": "fixed", "audit_draws": 4000},
            "no_ridge": {**HYBRID, "trainer": "full_batch", "steps": 100, "trace_steps": 100},
            "free_newton": {"protocol": "non_private"},
            "free_full_batch": {"protocol": "non_private", "trainer": "full_batch", "steps": 100, "trace_steps": 100},
            "free_hybrid": {"protocol": "non_private", "trainer": "hybrid", **TRACE},
            "free_minibatch": {"protocol": "non_private", "trainer": "minibatch", **TRACE},
        },
        "cases": {
            "generated": {
                "settings": {"n": 300, "k": 5},
                "grid": {
                    **GRID,
                    "methods": ["non_private", "published_hybrid", "analytic", "planned", "rr_planned", "auto",
                                "noisy_gd", "label_sgd", "objective_perturbation"],
                    "epsilon": [0.1, 1.0],
                },
            },
            "n": {"source": "generated", "settings": {"k": 5}, "sweep": {"n": [100, 400]}, "grid": {**GRID, **sizes}},
            "k": {"source": "generated", "settings": {"n": 300}, "sweep": {"k": [3, 8]}, "grid": {**GRID, **sizes}},
            "dependence": {
                "source": "generated",
                "settings": {"n": 300, "k": 5},
                "sweep": {"tenths": {"0": {"dependence": 0.0}, "8": {"dependence": 0.8}}},
                "grid": {**GRID, **sizes},
            },
            "trainers": {
                "source": "generated",
                "settings": {"n": 300, "k": 5, "delta": 1e-3},
                "grid": {**GRID, "replicates": 1, "methods": paths, "epsilon": [1.0]},
            },
            "classic": {
                "source": "generated",
                "settings": {"n": 300, "k": 5},
                "grid": {**GRID, "replicates": 1, "methods": ["classic"], "epsilon": [1.0, 8.0, 16.0]},
            },
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return plan("label_private", block(), 7)


@pytest.fixture(scope="module")
def parts(made, tmp_path_factory):
    return computed_parts(made, tmp_path_factory.mktemp("blocks"))


@pytest.fixture(scope="module")
def cube(made, parts) -> xr.Dataset:
    return assemble(made, parts).assign_attrs(config_json=config_json(made))


# Cells and cube


def test_every_cell_is_done_and_described(cube):
    assert (cube["status"] > 0).sum() == 2 * (1 + 8 * 2) + 6 * 2 * 3 * 2 + 5 + 3
    shown = set(map(str, cube.data_vars))
    assert {"log_loss", "auc", "excess_risk", "expected_log_loss", "share_unbounded", "chosen_distribution"} <= shown
    assert shown & set(STUDY.variables) == set(STUDY.variables) - {"diverged"}


def test_each_cell_carries_what_it_cost(cube):
    cells = cube.sel(case="generated", parties=2, fold=0).isel(replicate=0)
    for method in ("analytic", "planned", "noisy_gd"):
        certified = cells["epsilon_certified"].sel(method_label=method, epsilon=[0.1, 1.0]).values
        np.testing.assert_allclose(certified, [0.1, 1.0], rtol=1e-9)
    published = cells.sel(method_label="published_hybrid", epsilon=[0.1, 1.0])
    np.testing.assert_array_equal(published["epsilon_claimed"], [0.1, 1.0])
    assert (published["epsilon_certified"] < published["epsilon_claimed"]).all()
    assert float(cells["epsilon_certified"].sel(method_label="non_private", epsilon=inf)) == inf
    trainers = cube["delta"].sel(case="trainers", method_label="no_ridge", epsilon=1.0, parties=2, fold=0)
    assert float(trainers.isel(replicate=0)) == 1e-3
    assert float(cells["delta"].sel(method_label="auto", epsilon=1.0)) == 1e-5


def test_the_totals_use_the_delta_of_the_case(made, parts):
    found = {(row["case"], row["method"]): row["delta"] for row in ledger_totals(made, parts)}
    assert found["trainers", "no_ridge"] == 1e-3 and found["generated", "auto"] == 1e-5


def test_results_do_not_depend_on_blocks(made, tmp_path):
    data = generate(made, "generated", range(2), tmp_path)
    together = run_cells(made, "generated", "auto", 2, [0, 1], [0], data)
    apart = [cell for r in (0, 1) for cell in run_cells(made, "generated", "auto", 2, [r], [0], data)]
    for one, other in zip(together, apart, strict=True):
        assert one.coords == other.coords and one.ledger == other.ledger
        assert repr(one.scalars) == repr(other.scalars)


# Metrics


def test_excess_risk_is_zero_at_the_optimum_and_positive_elsewhere():
    found = run("non_private", inf)
    assert found.scalars["excess_risk"] == pytest.approx(0, abs=1e-12)
    assert found.scalars["objective_gap"] == pytest.approx(0, abs=1e-12)
    slow = run("non_private", inf, trainer="full_batch", steps=3).scalars
    assert slow["excess_risk"] > 0.01 and slow["objective_gap"] > 0.01
    X, y = found.data.testing
    assert found.scalars["log_loss"] == pytest.approx(log_loss(X, y, found.estimate.theta))
    assert found.scalars["n_train"] == 420 and found.scalars["n_coefficients"] == 6


def test_the_gap_is_that_of_the_noisy_objective():
    hybrid = {**HYBRID, "ridge": "fixed"}
    hybrid.pop("protocol")
    gaps = [run("walr", 4.0, **hybrid, steps=steps).scalars["objective_gap"] for steps in (5, 50)]
    assert gaps[0] > gaps[1] > 0
    assert "objective_gap" not in run("walr", 4.0, noise="iid", ridge="fixed").scalars


def test_a_fit_that_left_the_numbers_is_a_record():
    found = run("non_private", inf)
    found.estimate.theta[0] = np.nan
    assert found.scalars["diverged"] is True and "log_loss" not in found.scalars


def test_expected_values_are_means_over_what_if_releases():
    data = make_data()
    found = run("walr", 1.0, data=data, noise="shaped", noise_draws=5)
    given = found.estimate.plan
    dots = redraw_dot_products(*data.training, given, 5, what_if.evaluator(data, "noise", "gaussian"))
    thetas = [fit_walr(data.training[0], dot, given).theta for dot in dots]
    losses = [log_loss(*data.testing, theta) for theta in thetas]
    assert found.scalars["expected_log_loss"] == pytest.approx(np.mean(losses), rel=1e-6)
    assert found.scalars["noise_sd_log_loss"] == pytest.approx(np.std(losses, ddof=1), rel=1e-4)
    excess = [metrics.excess(theta, data, LOGIT) for theta in thetas]
    assert found.scalars["expected_excess"] == pytest.approx(np.mean(excess), rel=1e-4)
    assert found.total().n_releases == 1, "what-if releases are never sent"


def test_the_evaluator_draws_the_same_noise_for_every_method_and_epsilon():
    data = make_data()
    X, y = data.training
    plans = [fixed_plan(X, epsilon, 1e-5, bound=bound) for epsilon in (0.5, 2.0) for bound in ("max_norm", "sqrt_k")]
    clean = y @ X / len(X)
    units = []
    for one in plans:
        noise = what_if.draws(data, one, 4, "noise") - clean
        units.append(noise / sqrt(one.covariance[0, 0]))
    for unit in units[1:]:
        np.testing.assert_allclose(unit, units[0], atol=1e-9)
    first, second = (what_if.evaluator(one, "noise").standard_normal(3) for one in (data, make_data(replicate=1)))
    assert not np.allclose(first, second)


def test_share_unbounded_agrees_with_the_exact_test():
    data = make_data()
    given = fixed_plan(data.training[0], 0.15, 1e-5, sigma="classic", bound="sqrt_k")
    shares = what_if.share_unbounded(data, given, 12)
    exact = [boundedness(data.training[0], v).status for v in what_if.draws(data, given, 12, "bounded")]
    assert shares.as_dict() == {"share_unbounded": sum(s != "bounded" for s in exact) / 12, "share_unknown": 0.0}
    assert shares.share_unbounded > 0
    quiet = what_if.share_unbounded(data, fixed_plan(data.training[0], 200.0, 1e-5), 4)
    assert quiet.as_dict() == {"share_unbounded": 0.0, "share_unknown": 0.0}


def test_the_attack_comes_close_to_the_noise_and_never_above():
    found = run("walr", 2.0, noise="iid", ridge="fixed", audit_draws=20_000)
    mu = found.total().mu_total
    assert 0.9 * mu < found.scalars["audited_mu"] <= mu
    assert 0.85 * 2 < found.scalars["audited_epsilon"] <= 2
    assert run("walr", inf, noise="iid", ridge="fixed", audit_draws=10).scalars["audited_mu"] is None


def test_the_classic_formula_is_caught_above_its_limit():
    options = {"noise": "iid", "sigma": "classic", "ridge": "fixed", "audit_draws": 100_000}
    caught = run("walr", 16.0, **options).scalars
    assert caught["audited_epsilon"] > 16 > caught["classic_limit"]
    assert run("walr", 6.0, **options).scalars["audited_epsilon"] < 6


# Example fits


def test_calibration_curves_hold_the_test_rows():
    p, y = np.linspace(0.05, 0.95, 200), np.tile([0.0, 1.0], 100)
    predicted, observed = metrics.curve(p, y)
    np.testing.assert_allclose(predicted, p.reshape(10, 20).mean(axis=1))
    np.testing.assert_allclose(observed, 0.5)
    few = metrics.curve(p[:4], y[:4])[0]
    assert np.isfinite(few[:4]).all() and np.isnan(few[4:]).all()


def test_a_path_is_the_trainer_stopped_at_each_step():
    data = make_data()
    options = {"noise": "iid", "ridge": "fixed", "trainer": "full_batch", "steps": 56, "trace_steps": 60}
    found = run("walr", 1.0, data=data, **options)
    shown = {
        name: array
        for name, (_, array) in metrics.example_fits(found.estimate, data, None, found.spec).arrays().items()
    }
    place = list(shown["path_steps"]).index(56)
    assert shown["path_norm"][place] == pytest.approx(np.linalg.norm(found.estimate.theta), rel=1e-12)
    assert shown["path_log_loss"][place] == pytest.approx(found.scalars["log_loss"], rel=1e-12)
    assert shown["path_gap"][place] == pytest.approx(found.scalars["objective_gap"], rel=1e-6)
    assert shown["path_passes"][place] == 56 and np.isnan(shown["path_norm"][place + 1 :]).all()
    batches = run("non_private", inf, data=data, trainer="minibatch", steps=10, batch_size=42, trace_steps=10)
    shown = {
        n: array for n, (_, array) in metrics.example_fits(batches.estimate, data, None, batches.spec).arrays().items()
    }
    assert shown["path_passes"][0] == pytest.approx(0.1) and shown["path_gap"][0] > shown["path_gap"][4] > 0


# Figures


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_figures_are_drawn_and_labelled(cube, name):
    figure = STUDY.figures[name](cube)
    drawn = [ax for ax in figure.axes if ax.lines or ax.patches]
    assert drawn and (figure.legends or all(ax.get_legend() for ax in drawn))
    assert all(np.isfinite(line.get_ydata()).any() for ax in drawn for line in ax.lines)
    assert drawn[-1].get_xlabel()


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_figures_say_why_there_is_nothing_to_show(cube, name):
    kept = cube.sel(case=["n_100"], method_label=["planned"], epsilon=[1.0]).drop_dims("example_fit")
    kept = kept.drop_vars([v for v in kept.data_vars if kept[v].dtype.kind == "f" and kept[v].isnull().all()])
    texts = STUDY.figures[name](kept).axes[0].texts
    assert texts, f"{name} draws where there is nothing to compare: set its `least` to 2, or give it a sentence"
    text = texts[0].get_text()
    assert "in this configuration" in text or "in common" in text


def test_utility_shows_the_cube(cube):
    """One quantity under one name: the score of the one fit of each cell, for every method, as tables show it."""
    figure = label_utility.utility_by_epsilon(cube)
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "test log-loss, nats\n(lower is better)",
        "test AUC\n(higher is better)",
    ]
    shown = {m: look(cube, m).label for m in methods_of(cube, "generated") if m not in label_utility._left_out(cube)}
    assert label_utility.MOST >= len(set(shown.values())) == len(shown) > 2
    for ax, name in zip(figure.axes, ("log_loss", "auc"), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in ax.lines}
        for method, label in shown.items():
            cells = cube[name].sel(case="generated", method_label=method).mean(["replicate", "parties", "fold"])
            wanted = cells.values[np.isfinite(cells.values)]
            np.testing.assert_allclose(lines[label][: len(wanted)], wanted, rtol=1e-12)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [title for title in cube["method_title"].values.tolist() if title in shown.values()]


def test_excess_risk_is_of_as_many_draws_for_every_method(cube):
    """The mean over further draws where all have as many of them, else the one fit of each cell."""
    cases = [case for case, _ in label_utility.sized_cases(cube, "n")]
    variable, words = label_utility.excess_of(cube, cases)
    draws = {plan_behind(cube).methods[m].options.noise_draws for c in cases for m in methods_of(cube, c)} - {0}
    assert (variable, words) == ("expected_excess", f"each the mean over {draws.pop()} draws of the noise; ")
    assert not draws
    made = json.loads(cube.attrs["config_json"])
    made["methods"]["planned"]["noise_draws"] = 17
    other = cube.assign_attrs(config_json=json.dumps(made))
    assert label_utility.excess_of(other, cases)[0] == "excess_risk"


def test_no_prediction_is_drawn(cube):
    """What the plan predicts is several times what is measured, and is in the tables."""
    figure = label_utility.excess_by_size(cube)
    labels = {line.get_label() for ax in figure.axes for line in ax.get_lines()}
    assert look(cube, "planned").label in labels and not any("predict" in label for label in labels)


def test_an_undecided_share_is_a_colour_of_its_own(cube):
    """What no test decides counts neither as with nor as without a minimiser."""
    shares = xr.zeros_like(cube["share_unbounded"]).where(cube["share_unbounded"].notnull())
    figure = label_training.unbounded_shares(cube.assign(share_unbounded=shares, share_unknown=shares + 1))
    bars = {box.get_label(): [bar.get_width() for bar in box] for ax in figure.axes for box in ax.containers}
    assert set(bars["undecided"]) == {1.0} and set(bars["no minimiser"]) == set(bars["a minimiser"]) == {0.0}
    assert figure._suptitle.get_text().replace("\n", " ").startswith("Without a ridge 0 of ")


def test_intervals_of_calibration_are_wilsons():
    low, high = label_utility._wilson(np.array([0.0, 0.5]), np.array([17.0, 100.0]))
    assert low == pytest.approx([0.0, 0.4038], abs=1e-4) and high == pytest.approx([0.1843, 0.5962], abs=1e-4)


def test_the_classic_figure_computes_its_limit(cube):
    figure = label_training.classic_noise(cube)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "claim exceeded above 8.42" in labels


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_a_figure_does_not_know_labels(cube, name):
    """Other labels of cases and methods, the same picture."""
    drawn = content(STUDY.figures[name](cube))
    assert content(STUDY.figures[name](relabelled(cube))) == drawn
