"""Every number of a cell against a computation by hand, with its edge cases."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.experiment.cells import COMMON
from partywise.methods.functional.bases import FourierBasis
from partywise.methods.functional.model import CurveEstimate
from partywise.methods.functional.options import (
    BaselineOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
)
from partywise.methods.functional.protocols.estimate import formula_bytes, moments_bytes, published_mib, release_bytes
from partywise.studies.functional_boosting.metrics import GRID, example_fits, grid_errors, metrics, selection
from partywise.studies.functional_boosting.study import STUDY
from protocol_driver import INF, SMALL, make_data, run

TRAIN = np.arange(120) >= 40


def estimate_of(operators, mean_y=None, selected=None, **more):
    p, q, qy = operators.shape
    return CurveEstimate(
        operators=operators,
        mean_x=np.zeros((p, q)),
        mean_y=np.zeros(qy) if mean_y is None else mean_y,
        selected_predictors=np.ones(p, dtype=bool) if selected is None else selected,
        epsilon_claimed=1.0,
        **more,
    )


def test_risks_and_excess_by_hand():
    data = make_data()
    B = 0.7 * data.operators
    scalars = metrics(estimate_of(B), data, TRAIN, None).as_dict()
    fitted = np.einsum("npq,pqr->nr", data.X, B)
    truth = np.einsum("npq,pqr->nr", data.X, data.operators)
    test = ~TRAIN
    risk, floor = (np.mean(np.sum((data.Y - f)[test] ** 2, axis=1)) for f in (fitted, truth))
    mean = np.mean(np.sum((data.Y[test] - data.Y[TRAIN].mean(0)) ** 2, axis=1))
    assert scalars["il2"] == pytest.approx(risk, rel=1e-12)
    assert scalars["ril2"] == pytest.approx(risk * 40 / np.sum(data.Y[test] ** 2), rel=1e-12)
    assert scalars["relative_error"] == pytest.approx(risk / mean, rel=1e-12)
    assert scalars["excess"] == pytest.approx((risk - floor) / (mean - floor), rel=1e-12)
    assert 0.05 < scalars["excess"] < 0.15 and scalars["worse_than_mean"] is False  # .3 squared is .09


def test_excess_is_zero_at_the_truth_and_one_at_the_mean_curve():
    data = make_data()
    assert metrics(estimate_of(data.operators), data, TRAIN, None).as_dict()["excess"] == 0.0
    mean = metrics(estimate_of(0 * data.operators, data.Y[TRAIN].mean(0)), data, TRAIN, None).as_dict()
    assert mean["excess"] == 1.0 and mean["relative_error"] == 1.0 and mean["worse_than_mean"] is False
    worse = metrics(estimate_of(-data.operators), data, TRAIN, None).as_dict()
    assert worse["worse_than_mean"] is True and worse["excess"] > 3


def test_a_fit_of_all_records_is_judged_on_all_records():
    data = make_data()
    everything = np.ones(120, dtype=bool)
    fitted = np.einsum("npq,pqr->nr", data.X, 0.5 * data.operators)
    found = metrics(estimate_of(0.5 * data.operators), data, everything, None).as_dict()["il2"]
    assert found == pytest.approx(np.mean(np.sum((data.Y - fitted) ** 2, axis=1)), rel=1e-12)


def test_released_predictors_are_judged_beside_clean_ones():
    data = make_data()
    estimate = estimate_of(data.operators, received_curves=np.zeros_like(data.X))
    scalars = metrics(estimate, data, TRAIN, None).as_dict()
    assert scalars["ril2_released"] == pytest.approx(1.0, rel=1e-12) and scalars["ril2"] < 0.5
    assert "ril2_released" not in metrics(estimate_of(data.operators), data, TRAIN, None).as_dict()


def fourier_data(Y, domain=(0.0, 2.0)):
    """Curves in an orthonormal basis whose first function is the constant 1 / sqrt(T)."""
    settings = replace(SMALL, n=len(Y), basis="fourier", n_basis_x=3, n_basis_y=3, domain=domain)
    return replace(make_data(replace(settings, n=max(len(Y), 4))), Y=Y, X=np.zeros((len(Y), 4, 3)))


def constants(*values, domain=(0.0, 2.0)):
    """Curves with constant values, as coordinates."""
    return np.array([[v * np.sqrt(domain[1] - domain[0]), 0.0, 0.0] for v in values])


def test_pointwise_errors_of_constant_curves_by_hand():
    data = fourier_data(constants(1.0, -2.0, 0.0, 4.0))
    found = grid_errors(data.Y, constants(2.0, -1.0, 0.0, 4.0), data).as_dict()
    assert found["rmse"] == pytest.approx(np.sqrt(2 / 4))
    assert found["nrmse"] == pytest.approx(np.sqrt(2 / 4) / 6)
    assert found["wmape"] == pytest.approx(2 / 7)
    assert found["smape"] == pytest.approx((2 / 3 + 2 / 3 + 0 + 0) / 4)  # 0/0 counts as 0
    assert found["mape"] == pytest.approx((1 + 0.5 + 0) / 3) and found["mape_left_out"] == 0.25
    wrong = grid_errors(data.Y, constants(1.0, -2.0, 3.0, 4.0), data).as_dict()
    assert wrong["smape"] == pytest.approx(2 / 4) and wrong["mape"] == 0


def test_pointwise_errors_of_curves_that_vary():
    rng = stream(1, "curves")
    Y, fitted = rng.standard_normal((2, 5, 3))
    data = fourier_data(Y)
    basis = FourierBasis((0.0, 2.0), 3)
    values = basis.evaluate(np.linspace(0.0, 2.0, GRID))
    y, error = Y @ values.T, (Y - fitted) @ values.T
    found = grid_errors(Y, fitted, data).as_dict()
    assert GRID == 101
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)
    assert found["nrmse"] == pytest.approx(found["rmse"] / (y.max() - y.min()), rel=1e-12)
    assert found["mape"] == pytest.approx(np.mean(np.abs(error / y)), rel=1e-9)


def test_a_response_that_is_zero_leaves_ratios_undefined():
    data = make_data()
    silent = replace(data, Y=np.zeros_like(data.Y), operators=np.zeros_like(data.operators))
    scalars = metrics(estimate_of(0 * data.operators), silent, TRAIN, None).as_dict()
    undefined = ("ril2", "relative_error", "excess", "nrmse", "wmape", "mape")
    assert [scalars[name] for name in undefined] == [None] * len(undefined)
    assert scalars["smape"] == scalars["rmse"] == scalars["il2"] == 0 and scalars["mape_left_out"] == 1


def test_losses_beyond_floating_point_are_infinite_and_do_not_stop_the_run():
    data = make_data()
    scalars = metrics(estimate_of(1e200 * np.ones_like(data.operators)), data, TRAIN, None).as_dict()
    assert scalars["il2"] == scalars["excess"] == scalars["rmse"] == INF and scalars["worse_than_mean"] is True


def test_selection_by_hand():
    data = make_data(replace(SMALL, p=5, active=(0, 1, 2)))
    operators = np.zeros((5, 6, 6))
    # Importance 100, 4.9, 0 for active and 5, 0 for inactive predictors; the limit is 5 % of 100.
    operators[:, 0, 0] = [10.0, np.sqrt(4.9), 0.0, np.sqrt(5.0) + 1e-9, 0.0]
    found = selection(estimate_of(operators, selected=np.array([True, True, False, True, False])), data).as_dict()
    assert found["sensitivity"] == pytest.approx(2 / 3) and found["specificity"] == 0.5
    assert found["sensitivity_importance"] == pytest.approx(1 / 3) and found["specificity_importance"] == 0.5
    assert found["auc_importance"] == pytest.approx((2 + 1 + 0.5) / 6)  # one pair of the six is tied
    none = selection(estimate_of(0 * operators, selected=np.zeros(5, dtype=bool)), data).as_dict()
    assert none["sensitivity"] == none["sensitivity_importance"] == 0
    assert none["specificity"] == none["specificity_importance"] == 1 and none["auc_importance"] == 0.5


@pytest.mark.parametrize(
    ("active", "missing", "defined"),
    [
        ((), "sensitivity", "specificity"),
        ((0, 1, 2, 3), "specificity", "sensitivity"),
    ],
)
def test_what_is_undefined_is_none(active, missing, defined):
    data = make_data(replace(SMALL, active=active))
    found = selection(estimate_of(np.ones((4, 6, 6))), data).as_dict()
    assert found[missing] is None and found[f"{missing}_importance"] is None and found["auc_importance"] is None
    assert isinstance(found[defined], float)


@pytest.mark.parametrize(("parties", "mib"), [(2, 2.174), (4, 2.003), (6, 1.948), (8, 1.920), (10, 1.900)])
def test_bytes_by_the_published_formula(parties, mib):
    sizes = [len(range(g, 20, parties)) for g in range(parties)]
    assert round(published_mib(800, sizes, 15), 3) == mib
    by_hand = sum(8 * (800 * m * 15 + (m * 15) ** 2) for m in sizes) / 2**20
    assert published_mib(800, sizes, 15) == by_hand


def test_bytes_of_the_releases_by_formula():
    assert release_bytes(1000, [2, 3], 15) == 8 * 1000 * 5 * 15
    assert moments_bytes(75, 10, 4) == 8 * 4 * (75 * 76 // 2 + 75 * 10 + 75)
    assert formula_bytes([2, 3], 800, 1000, 15, 10, 4) == {
        "published_mib": published_mib(800, [2, 3], 15),
        "release_bytes": 600_000,
        "moments_bytes": moments_bytes(75, 10, 4),
    }


@pytest.mark.parametrize("options", [LocalOptions(max_steps=3), BaselineOptions(kind="least_squares")])
def test_measured_bytes_are_what_was_sent(options):
    done = run(options, parties=2)
    messages = done.channel.messages
    assert done.channel.bytes_total == sum(8 * int(np.prod(message.shape)) for message in messages) > 0
    if isinstance(options, LocalOptions):
        assert done.scalars["release_bytes"] == sum(m.bytes for m in messages if m.receiver == "active")
        assert done.scalars["published_mib"] == published_mib(80, [2, 2], 6)


@pytest.mark.parametrize(
    "options",
    [
        LocalOptions(max_steps=3),
        LocalOptions(stop="aic", max_steps=3),
        CurveMomentsOptions(cipher="sized", max_steps=3),
        CurvePublishedOptions(max_steps=3, min_steps=1),
        BaselineOptions(),
    ],
)
def test_every_scalar_is_described_and_undefined_ones_are_none(options):
    done = run(options, epsilon=100.0)
    scalars = done.scalars
    assert set(scalars) <= {*STUDY.variables, *COMMON}
    assert not any(isinstance(value, float) and np.isnan(value) for value in scalars.values())
    assert (scalars.get("df") is not None) == (getattr(options, "stop", "") == "aic")


def test_example_fits_show_kernels_and_curves_in_their_own_units():
    done = run(LocalOptions(noise="none", max_steps=10))
    data = replace(done.data, y_scale=2.0, y_offset=5.0)
    shown = example_fits(done.estimate, data, done.fold.train, None).arrays()
    assert set(shown) <= set(STUDY.variables)
    assert {name: array.shape for name, (_, array) in shown.items()} == {
        "operator": (4, 25, 25),
        "predictor_shown_index": (4,),
        "curve_observed": (4, 73),
        "curve_predicted": (4, 73),
        "record_label": (4,),
    }
    assert all(len(dims) == array.ndim for dims, array in shown.values())
    assert list(shown["predictor_shown_index"][1]) == [0, 1, 3, 2]  # active ones first, inactive from the end
    basis = data.basis_y.build()
    records = shown["record_label"][1].astype(int)
    assert not done.fold.train[records].any()
    # Coordinates back to coefficients back to values, by the basis itself.
    coefficients = np.linalg.solve(basis.root, done.estimate.predict(data.X[records]).T)
    wanted = 5.0 + 2.0 * (basis.evaluate(np.linspace(0.0, 1.0, 73)) @ coefficients).T
    assert np.allclose(shown["curve_predicted"][1], wanted, atol=1e-9)
    kernel = basis.evaluate([0.5]) @ np.linalg.solve(basis.root, done.estimate.operators[0].T)
    kernel = kernel @ np.linalg.solve(basis.root, basis.evaluate([0.25]).T)
    assert shown["operator"][1][0][6, 12] == pytest.approx(kernel.item(), abs=1e-9)


def test_example_fits_of_few_predictors_and_of_dated_records():
    data = make_data(replace(SMALL, p=2, active=(0,)))
    dated = replace(data, record_names=np.array(["2013-07-04"] * 120), operators=np.zeros((0, 6, 6)))
    shown = example_fits(estimate_of(np.zeros((2, 6, 6))), dated, np.ones(120, dtype=bool), SimpleNamespace()).arrays()
    assert set(shown["predictor_shown_index"][1]) == {0, 1}
    assert set(shown["record_label"][1]) == {20130704.0}
