"""The one step that reads labels: sensitivity, noise, events, budgets, and the baselines' releases."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_rates import accepts_covariance, accepts_mean
from logit_data import logistic, rounding_of
from partywise.core.errors import BudgetExceeded, CertificationError
from partywise.core.randomness import stream
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.noise import max_norm, rr_covariance
from partywise.methods.logistic.perturbation import RELATIONS, objective_perturbation, row_noise
from partywise.methods.logistic.planner import fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.release import WholeRows, redraw_dot_products, release_dot_product
from partywise.methods.logistic.trainers import gradient_descent
from partywise.models.links import LOGIT
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.ledger.compose import epsilon as total


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 50), k=st.integers(1, 8))
def test_a_flipped_label_moves_v_by_its_row(seed, n, k):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, k)), rng.integers(0, 2, n).astype(float)
    moves = []
    for i in range(n):
        flipped = y.copy()
        flipped[i] = 1 - y[i]
        moves.append(np.linalg.norm(dot_product(X, flipped) - dot_product(X, y)))
    bound = max_norm(X) / n
    assert max(moves) <= bound * (1 + 1e-12) + 1e-15
    assert max(moves) == pytest.approx(bound, rel=1e-9)
    assert int(np.argmax(moves)) in np.flatnonzero(np.isclose(np.linalg.norm(X, axis=1), max_norm(X)))


@pytest.mark.parametrize("kind", ["shaped", "iid", "published"])
def test_the_gaussian_release_has_the_planned_distribution_and_mu(kind):
    X, y = logistic(300, 4)
    plan = {
        "shaped": plan_label_dp(X, 1.0, 1e-5, distribution="gaussian"),
        "iid": fixed_plan(X, 1.0, 1e-5),
        "published": fixed_plan(X, 1.0, 1e-5, sigma="classic", bound="sqrt_k"),
    }[kind]
    noise = redraw_dot_products(X, y, plan, 100_000, stream(7, "distribution", kind)) - dot_product(X, y)
    assert accepts_covariance(noise, plan.covariance)
    assert not accepts_covariance(noise, plan.covariance * 1.03**2)
    release = release_dot_product(X, y, plan, stream(7, "one"), owner="hospital")
    event = release.event
    assert release.value.shape == (4,)
    assert (event.unit, event.relation, event.trust_model) == ("label", "label_flip", "central")
    assert event.mu == pytest.approx(plan.mu, rel=1e-12) and event.depends_on == {"label", "features"}
    assert total([release], 1e-5) == pytest.approx(plan.epsilon, rel=1e-9)
    assert total([release], 1e-5) <= plan.epsilon * (1 + 1e-15)


def test_shaped_noise_differs_from_plain_noise():
    X, y = logistic(300, 4)
    shaped, plain = plan_label_dp(X, 1.0, 1e-5, distribution="gaussian"), fixed_plan(X, 1.0, 1e-5)
    noise = redraw_dot_products(X, y, shaped, 20_000, stream(7, "shape")) - dot_product(X, y)
    assert shaped.power > 0 and not accepts_covariance(noise, plain.covariance)


def test_randomised_response_is_unbiased_with_the_stated_covariance():
    X, y = logistic(150, 3)
    plan = fixed_plan(X, 1.5, 1e-5, distribution="rr", ridge="fixed")
    noise = redraw_dot_products(X, y, plan, 40_000, stream(7, "rr")) - dot_product(X, y)
    covariance = rr_covariance(X.T @ X / 150, 150, 1.5)
    deviation = math.sqrt(covariance[0, 0])
    assert accepts_mean(noise[:, 0], 0.0, deviation)
    # Not debiased, the mean would be pulled to 1/2.
    assert not accepts_mean(noise[:, 0] + 0.1 * (0.5 - y.mean()) + 0.002, 0.0, deviation)
    np.testing.assert_allclose(np.cov(noise.T), covariance, rtol=0.1, atol=0.03 * deviation**2)
    event = release_dot_product(X, y, plan, stream(7, "rr1")).event
    assert (event.epsilon, event.k, event.count, event.mu) == (1.5, 2, 1, None)
    assert (event.unit, event.relation, event.trust_model) == ("label", "label_flip", "local")
    # The dot-product reads the features: nothing is promised about them.
    assert event.depends_on == {"label", "features"}


def test_released_noise_is_that_of_the_plan_in_whole_steps():
    X, y = logistic(200, 4)
    for plan in (plan_label_dp(X, 1.0, 1e-5, distribution="gaussian"), fixed_plan(X, 1.0, 1e-5)):
        rows = WholeRows.of(X, plan)
        values = [release_dot_product(X, y, plan, stream(7, "distribution", k)).value for k in range(2000)]
        assert accepts_covariance(np.array(values) - dot_product(X, y), plan.covariance)
        assert not accepts_covariance(1.3 * (np.array(values) - dot_product(X, y)), plan.covariance)
        steps = np.linalg.solve(rows.root, values[0]) * len(X) / rows.step
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)


def test_a_flipped_label_moves_whole_rows_by_no_more_than_stated():
    X, y = logistic(200, 4)
    X[0, 1:] *= 5
    for plan in (plan_label_dp(X, 1.0, 1e-5, distribution="gaussian"), fixed_plan(X, 1.0, 1e-5)):
        rows, moved = WholeRows.of(X, plan), []
        before = rows.dot_products(y)
        for i in range(len(y)):
            other = y.copy()
            other[i] = 1 - other[i]
            gap = rows.dot_products(other).integers - before.integers
            moved.append(sum(int(k) ** 2 for k in gap))
        assert max(moved) == before.squares == rows.squares
        order = np.random.default_rng(5).permutation(len(y))
        assert np.array_equal(rows.steps[order].T @ y[order], rows.steps.T @ y)


def test_one_generator_at_two_noise_levels_is_one_draw_rescaled():
    X, y = logistic(200, 4)
    noises = [
        release_dot_product(X, y, fixed_plan(X, epsilon, 1e-5), stream(7, "common")).value - dot_product(X, y)
        for epsilon in (0.5, 2.0)
    ]
    ratio = fixed_plan(X, 0.5, 1e-5).deviation / fixed_plan(X, 2.0, 1e-5).deviation
    np.testing.assert_allclose(noises[0], ratio * noises[1], atol=(1 + ratio) * rounding_of(X))


def test_without_noise_the_event_is_infinite_and_zero_features_cost_nothing():
    X, y = logistic(100, 3)
    for distribution in ("gaussian", "rr"):
        release = release_dot_product(
            X, y, plan_label_dp(X, math.inf, 1e-5, distribution=distribution), stream(7, "clear")
        )
        np.testing.assert_allclose(
            release.value, dot_product(X, y), atol=rounding_of(X) if distribution == "gaussian" else 1e-15
        )
        assert total([release], 1e-5) == math.inf
    zero = np.zeros((100, 3))
    for plan in (plan_label_dp(zero, 1.0, 1e-5, distribution="gaussian"), fixed_plan(zero, 1.0, 1e-5)):
        release = release_dot_product(zero, y, plan, stream(7, "zero"))
        assert not np.any(release.value) and release.event.mu == 0


def test_the_claim_of_the_classic_formula_stands_beside_the_truth():
    X, y = logistic(100, 3)
    plan = fixed_plan(X, 10.0, 1e-5, sigma="classic")
    release = release_dot_product(X, y, plan, stream(7, "classic"))
    assert release.event.epsilon_claimed == 10.0 and release.event.certified
    assert total([release], 1e-5) == pytest.approx(10.394, abs=1e-3)


def test_the_budget_is_asked_before_any_noise_is_drawn():
    X, y = logistic(100, 3)
    budget, rng = PrivacyFilter(1.0, 1e-5), stream(7, "budget")
    before = rng.bit_generator.state
    with pytest.raises(BudgetExceeded):
        release_dot_product(X, y, fixed_plan(X, 1.1, 1e-5), rng, budget=budget)
    assert rng.bit_generator.state == before
    release_dot_product(X, y, fixed_plan(X, 1.0, 1e-5), rng, budget=budget)
    with pytest.raises(BudgetExceeded):
        release_dot_product(X, y, fixed_plan(X, 0.1, 1e-5), rng, budget=budget)


def test_private_features_and_foreign_plans_are_refused():
    X, y = logistic(100, 3)
    plan = plan_label_dp(X, 1.0, 1e-5)
    for call in (
        lambda: plan_label_dp(X, 1.0, 1e-5, features_public=False),
        lambda: fixed_plan(X, 1.0, 1e-5, features_public=False),
        lambda: label_noise_plan(X, 1.0, 1e-5, 2, features_public=False),
        lambda: release_dot_product(X, y, plan, stream(7, "x"), features_public=False),
    ):
        with pytest.raises(CertificationError, match="features_public=False"):
            call()
    gaussian = fixed_plan(X, 1.0, 1e-5)
    with pytest.raises(CertificationError, match="make the plan from the features"):
        release_dot_product(X * 1.01, y, gaussian, stream(7, "x"))
    with pytest.raises(ValueError, match="k=2 features, the plan was made for 3"):
        release_dot_product(X[:, :2], y, gaussian, stream(7, "x"))


def test_all_rounds_together_cost_the_target():
    X, y = logistic(300, 4)
    plan = label_noise_plan(X, 1.0, 1e-5, rounds=20)
    release = release_dot_product(X, y, plan, stream(7, "rounds"))
    assert release.value.shape == (20, 4)
    assert total([release], 1e-5) == pytest.approx(1.0, abs=1e-9) and total([release], 1e-5) <= 1.0
    noise = release_dot_product(X, y, label_noise_plan(X, 1.0, 1e-5, rounds=50_000), stream(7, "distribution")).value
    covariance = label_noise_plan(X, 1.0, 1e-5, rounds=50_000).covariance
    assert accepts_covariance(noise - dot_product(X, y), covariance)
    assert not accepts_covariance(noise - dot_product(X, y), covariance * 1.05**2)


def test_sampled_rounds_are_unbiased_and_charged_with_amplification():
    X, y = logistic(300, 4)
    plan = label_noise_plan(X, 1.0, 1e-5, rounds=40, rate=0.1)
    release = release_dot_product(X, y, plan, stream(7, "sampled"))
    event = release.event
    assert (event.rate, event.count, event.unit, event.relation) == (0.1, 40, "label", "label_flip")
    found = total([release], 1e-5)
    assert found <= 1.0 and found == pytest.approx(1.0, rel=1e-5)
    many = label_noise_plan(X, 50.0, 1e-5, rounds=2000, rate=0.1)
    rounds = release_dot_product(X, y, many, stream(7, "mean")).value
    v = dot_product(X, y)
    deviation = math.sqrt(np.sum(y) * 0.9 / 0.1 / 300**2 + many.deviation**2)
    assert accepts_mean(rounds[:, 0], v[0], deviation)
    assert not accepts_mean(rounds[:, 0], 0.9 * v[0], deviation)


def test_gradient_descent_takes_a_new_dot_product_in_every_step():
    X, _ = logistic(60, 3)
    dots = stream(7, "dots").random((2, 3))
    first = -0.5 * (np.full(60, 0.5) @ X / 60 - dots[0])
    second = first - 0.5 * (LOGIT.mean(X @ first) @ X / 60 - dots[1])
    np.testing.assert_allclose(gradient_descent(X, dots, 0.5), second, rtol=1e-12)
    rows = stream(7, "own").choice(60, 10, replace=False, shuffle=False)
    batch = gradient_descent(X, dots[:1], 0.5, stream(7, "own"), batch_size=10)
    np.testing.assert_allclose(batch, -0.5 * (np.full(10, 0.5) @ X[rows] / 10 - dots[0]), rtol=1e-12)


def test_objective_perturbation_protects_rows():
    X, y = logistic(2000, 4)
    release = objective_perturbation(X, y, 2.0, 1e-5, stream(7, "G"), "hospital")
    event = release.event
    assert (event.unit, event.relation, event.epsilon) == ("row", "replace_one", 2.0)
    assert event.delta_numeric == pytest.approx(1e-5, rel=1e-8)
    assert total([release], 1e-5) == pytest.approx(2.0, abs=1e-9) and total([release], 1e-5) <= 2.0
    # Stationary for the tilted objective: the tilt is what the generator drew.
    gradient = LOGIT.mean(X @ release.value) @ X - y @ X + 4 / (2 * 2.0) * release.value
    tilt = row_noise(2.0, 1e-5, 4) * stream(7, "G").standard_normal(4)
    np.testing.assert_allclose(gradient, -tilt, rtol=1e-6, atol=1e-6)


def worst_delta(epsilon: float, deviation: float, replaced: bool) -> float:
    """Least delta at epsilon of objective perturbation with one feature of ones, by integration over theta."""
    ridge = 1 / (2 * epsilon)
    theta = np.linspace(-12 * deviation / ridge, 12 * deviation / ridge, 200_001)
    p = LOGIT.mean(theta)

    def density(count: int, positives: int) -> np.ndarray:
        tilt = positives - count * p - ridge * theta
        jacobian = count * p * (1 - p) + ridge
        return np.exp(-(tilt**2) / (2 * deviation**2)) / (math.sqrt(2 * math.pi) * deviation) * jacobian

    found = 0.0
    for n in (1, 2, 4):
        here, there = density(n, n), density(n, n - 1) if replaced else density(n - 1, n - 1)
        for first, second in ((here, there), (there, here)):
            found = max(found, float(np.trapezoid(np.maximum(0.0, first - math.exp(epsilon) * second), theta)))
    return found


@pytest.mark.parametrize(("relation", "broken"), [("add_remove", 0.65), ("replace_one", 0.33)])
def test_the_tilt_of_objective_perturbation_is_enough_and_much_less_is_not(relation, broken):
    for epsilon in (0.3, 1.0, 4.0):
        deviation = row_noise(epsilon, 1e-5, 1, 0.0, relation)
        assert worst_delta(epsilon, deviation, relation == "replace_one") <= 1e-5
    assert worst_delta(4.0, broken * row_noise(4.0, 1e-5, 1, 0.0, relation), relation == "replace_one") > 1e-5


def test_replacing_a_row_needs_twice_the_tilt_of_adding_one():
    both = [row_noise(1.0, 1e-5, 9, 0.0, relation) for relation in RELATIONS]
    assert both[0] == pytest.approx(2 * both[1], rel=1e-3) and both[0] >= 2 * both[1]
    assert row_noise(1.0, 1e-5, 9) == pytest.approx(3 * row_noise(1.0, 1e-5, 1))
