"""Bounds of a row that are known without the features: what they certify, and that nothing of a record moves them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from label_driver import make_data, run
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.experiment.configuration.build import build
from partywise.methods.logistic.options import LabelSgdOptions, RoundsOptions, WalrOptions
from partywise.methods.logistic.planner import declared_bound, fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.release import STEP_BITS, WholeRows, redraw_dot_products
from partywise.privacy.accounting.calibration import gaussian_epsilon


def rows(n: int = 60, k: int = 4, seed: str = "rows") -> np.ndarray:
    return np.column_stack([np.ones(n), stream(7, seed).random((n, k - 1))])


PLANS = {
    "sqrt_k": lambda X: fixed_plan(X, 1.0, 1e-5, bound="sqrt_k"),
    "classic": lambda X: fixed_plan(X, 1.0, 1e-5, bound="sqrt_k", sigma="classic"),
    "declared": lambda X: fixed_plan(X, 1.0, 1e-5, bound=declared_bound("declared", 1.5)),
    "shape": lambda X: plan_label_dp(X, 1.0, 1e-5, distribution="gaussian", clip_shape=True),
    "rounds": lambda X: label_noise_plan(X, 1.0, 1e-5, 7, bound=declared_bound("declared", 1.5)),
    "samples": lambda X: label_noise_plan(X, 1.0, 1e-5, 7, 0.3, bound=declared_bound("declared", 1.5)),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_is_stated_of_a_release_follows_from_the_sizes_alone(name):
    first, other = rows(), rows(seed="other")
    stated = []
    for X in (first, other):
        plan = PLANS[name](X)
        whole = WholeRows.of(X, plan).whole(np.zeros(4), rate=plan.rate)
        stated.append((plan.mu, whole.step, whole.squares, whole.certificate.value, whole.certificate.source))
    assert stated[0] == stated[1]
    if name != "shape":
        np.testing.assert_array_equal(PLANS[name](first).covariance, PLANS[name](other).covariance)


@pytest.mark.parametrize("name", PLANS)
def test_no_flip_of_any_row_of_any_table_moves_a_sum_further(name):
    """Tables of long rows too, for the plan of other features: the clip holds the bound, not the plan."""
    X = rows()
    plan = PLANS[name](X)
    tables = [X, np.ones((60, 4))]
    if name not in ("sqrt_k", "classic"):
        tables += [1e3 * rows(seed="long"), -X]
    for table in tables:
        whole_rows = WholeRows.of(table, plan)
        moves = [Fraction(int((row**2).sum())) for row in whole_rows.steps]
        assert max(moves) <= whole_rows.squares and np.all(whole_rows.steps == np.rint(whole_rows.steps))
    if name in ("sqrt_k", "classic"):
        assert whole_rows.squares == 4 << (2 * STEP_BITS) and max(
            int((row**2).sum()) for row in WholeRows.of(np.ones((60, 4)), plan).steps
        ) == 4 << (2 * STEP_BITS), "the bound is reached"


def test_features_outside_the_box_are_refused_by_the_measurer_too():
    plan, X = PLANS["sqrt_k"](rows()), rows()
    X[3, 2] = 1.25
    with pytest.raises(ValueError, match=r"X\[3, 2\]=1.25 lies outside \[0, 1\]"):
        WholeRows.of(X, plan)


def test_certified_is_what_is_claimed_where_the_bound_is_public():
    k, n = 6, 420
    for sigma, expected in (("analytic", 1.0), ("classic", 0.751)):
        found = run("walr", 1.0, noise="iid", bound="sqrt_k", ridge="fixed", sigma=sigma)
        assert found.total().epsilon_certified == pytest.approx(expected, abs=5e-4)
        mu = found.estimate.plan.mu
        assert mu == pytest.approx(math.sqrt(k) / n / found.estimate.plan.deviation, rel=1e-12)
        assert found.total().epsilon_certified == pytest.approx(float(gaussian_epsilon(mu, 1e-5)), rel=1e-9)
    for protocol, options in (("walr", {"noise": "iid", "ridge": "fixed"}), ("noisy_gradient", {"rounds": 4})):
        found = run(protocol, 1.0, bound="declared", row_radius=math.sqrt(6), **options)
        assert 1 - 1e-9 < found.total().epsilon_certified <= 1
    assert run("walr", 1.0, noise="shaped", publish_shape=True).total().epsilon_certified == pytest.approx(
        1.0, rel=1e-9
    )


def test_a_declared_length_shrinks_longer_rows_and_counts_them():
    found = run("walr", 1.0, noise="iid", ridge="fixed", bound="declared", row_radius=1.2)
    X = found.data.training[0]
    long = np.linalg.norm(X, axis=1) > 1.2
    free = run("walr", math.inf, noise="iid", ridge="fixed", bound="declared", row_radius=1.2).estimate.noisy_dot
    shrunk = X / np.maximum(1, np.linalg.norm(X, axis=1) / 1.2)[:, None]
    assert 0 < long.mean() < 1
    np.testing.assert_allclose(free, found.data.training[1] @ shrunk / len(X), atol=2e-6)
    wide = run("walr", math.inf, noise="iid", ridge="fixed", bound="declared", row_radius=3.0).estimate.noisy_dot
    np.testing.assert_allclose(wide, found.data.training[1] @ X / len(X), atol=2e-6)


def test_a_shown_shape_is_the_planned_noise_and_its_fit():
    data = make_data()
    hidden, shown = (run("walr", 1.0, data=data, noise="shaped", publish_shape=show) for show in (False, True))
    np.testing.assert_array_equal(hidden.estimate.plan.covariance, shown.estimate.plan.covariance)
    np.testing.assert_array_equal(hidden.estimate.plan.ridge, shown.estimate.plan.ridge)
    np.testing.assert_allclose(hidden.estimate.theta, shown.estimate.theta, atol=1e-3)
    message = next(m for m in shown.channel.messages if m.name == "noise shape")
    assert (message.kind, message.shape) == ("clear", (3 + 6 * 7 // 2,))
    assert shown.total().epsilon_certified <= 1 and shown.total("features").epsilon_certified == math.inf
    with_law = run("walr", 1.0, data=data, noise="auto", publish_shape=True).estimate
    assert with_law.plan.distribution == run("walr", 1.0, data=data, noise="auto").estimate.plan.distribution


def test_further_draws_have_the_covariance_of_the_plan():
    data = make_data()
    X, y = data.training
    for name in ("sqrt_k", "declared", "shape"):
        plan = PLANS[name](X)
        draws = redraw_dot_products(X, y, plan, 4000, stream(7, "draws", name))
        spread, expected = np.cov(draws.T), np.diagonal(plan.covariance)
        np.testing.assert_allclose(np.diagonal(spread), expected, rtol=5 * math.sqrt(2 / 4000))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            WalrOptions,
            {"noise": "iid", "ridge": "fixed", "bound": "declared"},
            "row_radius is None with bound 'declared'",
        ),
        (WalrOptions, {"noise": "iid", "ridge": "fixed", "row_radius": 2.0}, "row_radius is 2.0 with bound 'max_norm'"),
        (
            WalrOptions,
            {"bound": "declared", "row_radius": 2.0},
            "bound is 'declared': it is read with noise 'iid' only",
        ),
        (WalrOptions, {"noise": "rr", "publish_shape": True}, "publish_shape is True: it is read with noise 'shaped'"),
        (RoundsOptions, {"bound": "declared"}, "row_radius is None with bound 'declared'"),
        (LabelSgdOptions, {"row_radius": 1.0}, "row_radius is 1.0 with bound 'max_norm'"),
        (LabelSgdOptions, {"bound": "sqrt_k"}, "bound is 'sqrt_k': it must be one of max_norm, declared"),
    ],
)
def test_options_of_a_bound_name_what_is_wrong(kind, options, message):
    with pytest.raises(ConfigError, match=rf"^at\.{message}"):
        build(kind, options, "at")
