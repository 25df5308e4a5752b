"""Objective and solvers against finite differences, scikit-learn, and each other; divergence and odd inputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from logit_data import logistic, objective_by_hand
from partywise.core.errors import UnboundedObjectiveError
from partywise.core.randomness import stream
from partywise.methods.logistic.model import dot_product, ridge_vector
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.planner import fixed_plan, plan_label_dp
from partywise.methods.logistic.release import redraw_dot_products
from partywise.methods.logistic.trainers import fit_walr, ordinary_mini_batch, penalised_optimum
from partywise.methods.logistic.zonotope import boundedness, recession_slope
from partywise.models.newton import newton
from partywise.models.objective import BLOCK, Objective, weighted_gram


def problem(n: int = 500, k: int = 6, strength: float = 1e-3) -> Objective:
    X, y = logistic(n, k)
    return Objective(X, dot_product(X, y), ridge_vector(strength, k))


def test_the_value_is_the_formula():
    objective = problem()
    for theta in stream(7, "thetas").normal(0, 30, (5, 6)):
        expected = objective_by_hand(objective.X, objective.v, objective.ridge, theta)
        assert objective.at(theta).value == pytest.approx(expected, rel=1e-12)


def test_gradient_and_hessian_are_derivatives():
    objective, theta, step = problem(), stream(7, "theta").standard_normal(6), 1e-5
    point = objective.at(theta)
    moved = [(objective.at(theta + step * e), objective.at(theta - step * e)) for e in np.eye(6)]
    slopes = [(up.value - down.value) / (2 * step) for up, down in moved]
    bends = [(objective.gradient(up) - objective.gradient(down)) / (2 * step) for up, down in moved]
    np.testing.assert_allclose(objective.gradient(point), slopes, atol=1e-9)
    np.testing.assert_allclose(objective.hessian(point), bends, atol=1e-9)


def test_the_gram_matrix_of_blocks_is_that_of_all_rows():
    rng = stream(7, "gram")
    X, w = rng.random((2 * BLOCK + 17, 4)), rng.random(2 * BLOCK + 17)
    np.testing.assert_allclose(weighted_gram(X, w), X.T @ (w[:, None] * X), rtol=1e-12)


def test_the_intercept_is_penalised_a_hundred_times_less():
    np.testing.assert_allclose(ridge_vector(2.0, 3), [0.02, 2.0, 2.0])


@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0])
def test_the_optimum_is_that_of_scikit_learn(strength):
    X, y = logistic(700, 5)
    peer = LogisticRegression(C=1 / (len(X) * strength), fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    theta = peer.fit(X, y).coef_[0]
    ridge = np.full(5, strength)
    np.testing.assert_allclose(penalised_optimum(X, y, ridge), theta, rtol=1e-7, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    k=st.integers(1, 60),
    strength=st.sampled_from([1e-8, 1e-4, 1e-1, 10.0]),
    noise=st.sampled_from([0.0, 0.1, 10.0, 1e4]),
)
def test_with_a_ridge_every_problem_is_solved(seed, n, k, strength, noise):
    rng = np.random.default_rng(seed)
    X = rng.random((n, k)) * rng.integers(0, 2, k)
    v = rng.integers(0, 2, n) @ X / n + noise * rng.standard_normal(k)
    objective = Objective(X, v, np.full(k, strength))
    fit = newton(objective)
    assert fit.converged
    gradient = objective.gradient(objective.at(fit.theta))
    # Strong convexity bounds the gap by |gradient|^2 / (2 strength).
    assert gradient @ gradient / (2 * strength) <= 1e-10 * max(1.0, abs(fit.objective))


def test_degenerate_data_are_fitted():
    X, y = logistic(60, 4)
    cases = {
        "one class": (X, np.ones(60)),
        "constant column": (np.column_stack([X, np.full(60, 0.3)]), y),
        "duplicate rows": (np.repeat(X[:3], 20, axis=0), y),
        "more columns than rows": (X[:3], y[:3]),
    }
    for name, (features, labels) in cases.items():
        k = features.shape[1]
        objective = Objective(features, dot_product(features, labels), ridge_vector(1e-4, k))
        fit = newton(objective)
        assert fit.converged and np.linalg.norm(objective.gradient(objective.at(fit.theta))) < 1e-8, name


def test_features_that_are_all_zero_give_theta_zero():
    X, y = np.zeros((30, 3)), np.ones(30)
    plan = plan_label_dp(X, 1.0, 1e-5)
    dots = redraw_dot_products(X, y, plan, 2, stream(7, "zero"))
    assert not np.any(dots)
    np.testing.assert_array_equal(fit_walr(X, dots[0], plan).theta, np.zeros(3))


def test_dependent_columns_without_ridge_have_an_optimum_and_are_solved():
    X, y = logistic(200, 3)
    doubled = np.column_stack([X, X[:, 1]])
    fit = newton(Objective(doubled, dot_product(doubled, y), np.zeros(4)))
    assert fit.converged
    np.testing.assert_allclose(doubled @ fit.theta, X @ penalised_optimum(X, y), atol=1e-5)


@pytest.mark.parametrize("n", [300, 3000])
def test_newton_without_ridge_refuses_an_unbounded_problem_and_proves_it(n):
    X, y = logistic(n, 4)
    v = dot_product(X, y)
    v[2] = 1.5 * X[:, 2].mean()
    with pytest.raises(UnboundedObjectiveError, match=r"ridge=0.*no minimiser.*direction.*give a ridge") as caught:
        fit_walr(X, v, fixed_plan(X, 1.0, 1e-5))
    assert recession_slope(X, v, caught.value.direction) < 0


def test_what_no_axis_shows_is_refused_by_the_iterates():
    """More rows than the LP takes, and a dot-product outside along a diagonal direction only."""
    X, _ = logistic(2500, 4)
    across = np.array([0.0, 1.0, -1.0, 0.0])
    v = dot_product(X, (X @ across > 0).astype(float)) + 0.01 * across
    assert boundedness(X, v).status == "unknown"
    plan = fixed_plan(X, 1.0, 1e-5)
    with pytest.raises(UnboundedObjectiveError, match="falls by") as caught:
        fit_walr(X, v, plan)
    assert recession_slope(X, v, caught.value.direction) < 0
    assert fit_walr(X, v, fixed_plan(X, 1.0, 1e-5, ridge=1e-3)).converged


@pytest.mark.parametrize("n", [300, 3000])
def test_separated_labels_reach_no_optimum(n):
    X, _ = logistic(n, 3)
    y = (X[:, 1] > 0.5).astype(float)
    with pytest.raises(UnboundedObjectiveError, match="infimum"):
        fit_walr(X, dot_product(X, y), fixed_plan(X, 1.0, 1e-5))
    with pytest.raises(UnboundedObjectiveError):
        penalised_optimum(X, y)


def test_without_noise_and_with_all_rows_in_the_batch_all_trainers_agree():
    X, y = logistic(400, 4)
    v, plan = dot_product(X, y), fixed_plan(X, np.inf, 1e-5, ridge=1e-2)
    exact = fit_walr(X, v, plan)
    options = {"steps": 4000, "learning_rate": 1.5, "tolerance": 1e-9}
    batch = fit_walr(X, v, plan, "full_batch", **options)
    hybrid = fit_walr(X, v, plan, "hybrid", rng=stream(7, "rows"), batch_size=400, **options)
    assert batch.converged and hybrid.converged and batch.steps == 4000
    np.testing.assert_allclose(batch.theta, exact.theta, atol=1e-7)
    np.testing.assert_allclose(hybrid.theta, exact.theta, atol=1e-7)


def test_one_step_of_each_trainer_is_the_published_formula():
    X, y = logistic(50, 3)
    plan, rows = fixed_plan(X, np.inf, 1e-5), stream(7, "b").choice(50, 8, replace=False, shuffle=False)
    v, half = dot_product(X, y), np.full(50, 0.5)
    one = {"steps": 1, "learning_rate": 0.3}
    full = fit_walr(X, v, plan, "full_batch", **one).theta
    np.testing.assert_allclose(full, -0.3 * (half @ X / 50 - v), rtol=1e-12)
    mixed = fit_walr(X, v, plan, "hybrid", rng=stream(7, "b"), batch_size=8, **one).theta
    np.testing.assert_allclose(mixed, -0.3 * (half[:8] @ X[rows] / 8 - v), rtol=1e-12)
    ordinary = ordinary_mini_batch(X, y, 0.0, stream(7, "b"), batch_size=8, **one)
    np.testing.assert_allclose(ordinary, -0.3 * (half[:8] - y[rows]) @ X[rows] / 8, rtol=1e-12)


@pytest.mark.parametrize(("signal", "hybrid_wins"), [(0.3, True), (4.0, False)])
def test_the_hybrid_beats_ordinary_mini_batches_for_weak_signals_only(signal, hybrid_wins):
    """A hybrid step varies like p x, an ordinary one like (p - y) x: which is less depends on how far p spreads."""
    X, y = logistic(4000, 6, signal=signal)
    plan, v = fixed_plan(X, np.inf, 1e-5, ridge=1e-4), dot_product(X, y)
    objective = Objective(X, v, plan.ridge)
    least = fit_walr(X, v, plan).objective
    gaps = []
    for replicate in range(5):
        options = {"steps": 1500, "batch_size": 32, "learning_rate": 1.0}
        hybrid = fit_walr(X, v, plan, "hybrid", rng=stream(7, "gap", replicate), **options).theta
        ordinary = ordinary_mini_batch(X, y, plan.ridge, stream(7, "gap", replicate), **options)
        gaps.append([objective.at(theta).value - least for theta in (hybrid, ordinary)])
    ratio = np.divide(*np.mean(gaps, axis=0))
    assert ratio < 0.7 if hybrid_wins else ratio > 2


def test_first_order_trainers_record_whether_a_minimiser_exists():
    X, y = logistic(300, 4)
    v, bare = dot_product(X, y), fixed_plan(X, 1.0, 1e-5)
    outside = v.copy()
    outside[1] = -0.1
    assert fit_walr(X, v, bare, "full_batch", steps=3).bounded is True
    assert fit_walr(X, outside, bare, "full_batch", steps=3).bounded is False
    assert fit_walr(X, outside, fixed_plan(X, 1.0, 1e-5, ridge=1e-3), "full_batch", steps=3).bounded is True
    many, labels = logistic(2500, 4)
    assert fit_walr(many, dot_product(many, labels), bare, "full_batch", steps=3).bounded is None


def test_descent_without_a_minimiser_runs_away_as_section_3_of_the_specification_says():
    X, y = logistic(300, 4)
    v, plan = dot_product(X, y), fixed_plan(X, 1.0, 1e-5)
    v[1] = -0.1
    lengths = [np.linalg.norm(fit_walr(X, v, plan, "full_batch", steps=t).theta) for t in (1000, 4000)]
    assert 3.5 < lengths[1] / lengths[0] < 4.5


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_shared_factor_gives_the_single_fits(epsilon):
    X, y = logistic(3000, 8)
    plan = plan_label_dp(X, epsilon, 1e-5)
    dots = redraw_dot_products(X, y, plan, 20, stream(7, "many"))
    single = np.array([fit_walr(X, dot, plan).theta for dot in dots])
    assert np.abs(fit_many(X, dots, plan) - single).max() <= 2e-6
    assert np.abs(fit_many(X, dots, plan, start=np.zeros(8)) - single).max() <= 2e-6


def test_replicates_far_from_each_other_fall_back_and_agree():
    X, y = logistic(80, 5)
    plan = fixed_plan(X, 0.1, 1e-3, ridge=0.01)
    dots = redraw_dot_products(X, y, plan, 12, stream(7, "far"))
    single = np.array([fit_walr(X, dot, plan).theta for dot in dots])
    assert np.linalg.norm(single, axis=1).max() > 20
    np.testing.assert_allclose(fit_many(X, dots, plan), single, rtol=1e-6, atol=2e-6)
