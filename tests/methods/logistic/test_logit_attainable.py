"""A noisy share of positive labels is moved to where labels can have put it: no fit runs off with its intercept."""

import math

import numpy as np
import pytest

from label_driver import run
from logit_data import logistic
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.logistic import perturbation
from partywise.methods.logistic.evaluate import log_loss
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.noise import attainable, first_column, truncated_shift
from partywise.methods.logistic.planner import fixed_plan, plan_label_dp
from partywise.methods.logistic.release import redraw_dot_products
from partywise.methods.logistic.trainers import fit_walr
from partywise.models.newton import NewtonFit, newton
from partywise.models.objective import Objective

X, Y = logistic(300, 5)
PLANS = {
    "rr": lambda e, ridge: fixed_plan(X, e, 1e-3, distribution="rr", ridge=ridge),
    "iid": lambda e, ridge: fixed_plan(X, e, 1e-3, ridge=ridge),
    "published": lambda e, ridge: fixed_plan(X, e, 1e-3, sigma="classic", bound="sqrt_k", ridge=ridge),
}


@pytest.mark.parametrize("value", [-4.0, -0.3, 0.0, 0.2, 0.5, 0.63, 1.0, 1.4, 9.0])
@pytest.mark.parametrize("deviation", [0.02, 0.2, 1.0, 30.0, 1e5, 1e9])
def test_the_shift_is_that_of_the_truncated_mean(value, deviation):
    share = np.linspace(0, 1, 2_000_001)
    weight = -((share - value) ** 2) / (2 * deviation**2)
    weight = np.exp(weight - weight.max())
    wanted = float(np.trapezoid(share * weight, share) / np.trapezoid(weight, share))
    assert value + truncated_shift(value, deviation, 0.0, 1.0) == pytest.approx(wanted, abs=2e-8)


def test_far_from_its_ends_a_share_stays_to_the_last_bit():
    plan = plan_label_dp(*[np.tile(X, (100, 1)), 1.0, 1e-5])
    rows = np.tile(X, (100, 1))
    dots = redraw_dot_products(rows, np.tile(Y, 100), plan, 20, stream(7, "far"))
    np.testing.assert_array_equal(attainable(rows, dots, plan), dots)


@pytest.mark.parametrize("label", PLANS)
def test_without_a_ridge_the_release_stays_as_it_came(label):
    dots = redraw_dot_products(X, Y, PLANS[label](0.03, 0.0), 20, stream(7, "none", label))
    assert np.any(np.abs(dots[:, 0] - 0.5) > 0.5)
    np.testing.assert_array_equal(attainable(X, dots, PLANS[label](0.03, 0.0)), dots)


@pytest.mark.parametrize("label", PLANS)
def test_shares_come_back_into_their_interval_and_the_rest_follows_its_noise(label):
    plan = PLANS[label](0.01, 0.1)
    dots = redraw_dot_products(X, Y, plan, 200, stream(7, "rest", label))
    moved = attainable(X, dots, plan)
    assert np.any(np.abs(dots[:, 0] - 0.5) > 0.5) and np.all(np.abs(moved[:, 0] - 0.5) < 0.5)
    column = first_column(X, plan)
    wide = redraw_dot_products(X, Y, plan, 20_000, stream(7, "column", label))
    np.testing.assert_allclose(column, np.cov(wide.T)[0], atol=0.05 * column[0])
    np.testing.assert_allclose(moved - dots, np.outer((moved - dots)[:, 0], column / column[0]), atol=1e-12)
    # Truth is nearer, on average and entry by entry, than the release is.
    truth = Y @ X / len(X)
    assert np.all(np.mean((moved - truth) ** 2, axis=0) <= np.mean((dots - truth) ** 2, axis=0))


@pytest.mark.parametrize("label", PLANS)
@pytest.mark.parametrize("epsilon", [0.03, 0.3])
def test_no_draw_of_the_noise_runs_off_with_the_intercept(label, epsilon):
    """A ridge of sigma sqrt(k) / 10 allows the intercept a thousand: log-losses of hundreds were marked ok."""
    plan = PLANS[label](epsilon, "fixed")
    dots = redraw_dot_products(X, Y, plan, 100, stream(7, "runs off", label))
    raw = [log_loss(X, Y, newton(Objective(X, dot, plan.ridge)).theta) for dot in dots]
    kept = [log_loss(X, Y, theta) for theta in fit_many(X, dots, plan)]
    assert kept[7] == pytest.approx(log_loss(X, Y, fit_walr(X, dots[7], plan).theta), abs=1e-6)
    assert max(kept) < 4 and np.mean(kept) <= np.mean(raw) + 1e-6
    if epsilon == 0.03:
        assert max(raw) > 20


def test_a_fit_worse_than_no_model_is_named():
    bad = run("noisy_gradient", 1e-3, rounds=20).scalars
    assert bad["log_loss"] > math.log(2) and bad["uninformative"] and bad["bounded"] is False
    good = run("noisy_gradient", 8.0, rounds=20).scalars
    assert good["log_loss"] < math.log(2) and not good["uninformative"] and good["bounded"] is True


def test_objective_perturbation_certifies_no_point_that_is_not_the_minimiser(monkeypatch):
    def stops(objective):
        return NewtonFit(np.zeros(X.shape[1]), 50, False, 0.7, 0.1)

    monkeypatch.setattr(perturbation, "newton", stops)
    with pytest.raises(CertificationError, match=r"^ridge=.* did not reach the minimiser"):
        run("objective_perturbation", 1.0)
