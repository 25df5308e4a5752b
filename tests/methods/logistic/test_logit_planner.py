"""Plans: what the noise certifies, the shape, the ridge, the choice of noise; and that no label can reach them."""

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logit_data import logistic
from partywise.core.randomness import stream
from partywise.methods.logistic.evaluate import log_loss
from partywise.methods.logistic.model import ridge_vector
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.noise import POWERS, certified_mu, gaussian_shapes, max_norm, reach, rr_covariance
from partywise.methods.logistic.planner import fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.prediction import expectation, predicted_excess
from partywise.methods.logistic.release import redraw_dot_products, release_dot_product
from partywise.methods.logistic.trainers import fit_walr, penalised_optimum
from partywise.models.links import LOGIT
from partywise.privacy.accounting.calibration import gaussian_delta, gaussian_epsilon
from partywise.privacy.ledger import compose as accounting
from partywise.privacy.mechanisms.randomized_response import RandomizedResponse
from partywise.studies.label_private.cases import draw_logistic
from partywise.studies.label_private.settings import LabelGeneratedSettings

EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0, 8.0)


def squared_lengths(X: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", X, np.linalg.solve(covariance, X.T).T)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    k=st.integers(1, 8),
    epsilon=st.sampled_from(EPSILONS),
)
def test_every_shape_reaches_exactly_the_wanted_mu(seed, n, k, epsilon):
    rng = np.random.default_rng(seed)
    X = rng.random((n, k)) * 10.0 ** rng.integers(-3, 3, k)
    mu = certified_mu(epsilon, 1e-5)
    shapes = gaussian_shapes(X, X.T @ X / n, mu)
    assert {power for power, _ in shapes} == set(POWERS)
    for _, covariance in shapes:
        longest = squared_lengths(X, covariance).max() / (n * mu) ** 2
        # Equality for some row; beyond it only the rounding of the test's own solve.
        rounding = 1e-15 * np.linalg.cond(covariance)
        assert abs(longest - 1) <= 1e-12 + rounding


def test_a_planned_covariance_keeps_every_row_below_mu_to_1e_12():
    X, _ = logistic(2000, 8)
    for epsilon in EPSILONS:
        plan = plan_label_dp(X, epsilon, 1e-5, distribution="gaussian")
        share = squared_lengths(X, plan.covariance) / (len(X) * plan.mu) ** 2
        assert share.max() <= 1 + 1e-12 and share.max() == pytest.approx(1, abs=1e-12)
        assert reach(X, plan.covariance) == pytest.approx(plan.mu, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_the_certified_epsilon_is_the_target_and_never_above(epsilon, delta):
    X, _ = logistic(500, 4)
    for plan in (plan_label_dp(X, epsilon, delta), fixed_plan(X, epsilon, delta)):
        assert plan.epsilon <= epsilon and plan.epsilon == pytest.approx(epsilon, abs=1e-9)
        assert plan.certified and plan.epsilon_claimed == epsilon


def test_shaping_and_planning_reduce_the_predicted_excess():
    X, _ = logistic(2000, 8)
    expected = expectation(X.T @ X / len(X), len(X), 2.0)
    plan = plan_label_dp(X, 0.3, 1e-5)
    plain = fixed_plan(X, 0.3, 1e-5, ridge="fixed")
    assert plan.power > 0
    assert plan.predicted_excess == predicted_excess(expected, [plan.covariance], plan.ridge[1:2])[0, 0]
    assert plan.predicted_excess < 0.8 * predicted_excess(expected, [plain.covariance], plain.ridge[1:2])[0, 0]


def test_the_prediction_is_the_trace_formula_where_the_features_are_centred():
    """C tr[G M (Sigma + c G / N + l^2 T) M] / 2, G = X'X / N, M = (c G + Lambda)^-1, at the fixed point of c."""
    X, _ = logistic(300, 4)
    X[:, 1:] -= X[:, 1:].mean(axis=0)
    gram, tau, strength = X.T @ X / 300, 1.5, 0.1
    spread, directions = np.linalg.eigh(gram[1:, 1:])
    prior = np.zeros((4, 4))
    prior[1:, 1:] = (directions * spread**-0.4) @ directions.T
    prior *= tau**2 / np.trace(gram @ prior)
    # Noise of a share within 1e-4 of its value: that it lies in [0, 1] tells nothing.
    sigma, ridge, inner = 1e-8 * rr_covariance(gram, 300, 1.0), np.diag(ridge_vector(strength, 4)), 0.2
    for _ in range(50):
        middle = np.linalg.inv(inner * gram + ridge)
        fit = middle @ (inner**2 * gram @ prior @ gram + sigma + inner * gram / 300) @ middle
        variance = np.trace(gram[1:, 1:] @ fit[1:, 1:])
        inner = 0.25 / (1 + math.pi / 8 * variance)
    off = middle @ (sigma + inner * gram / 300 + strength**2 * prior) @ middle
    wanted = 0.25 / math.sqrt(1 + math.pi / 8 * variance) * np.trace(gram @ off) / 2
    found = predicted_excess(expectation(gram, 300, tau), [sigma], [strength])[0, 0]
    assert found == pytest.approx(wanted, rel=1e-4)


def test_more_noise_is_never_predicted_to_cost_less():
    X, _ = logistic(300, 8)
    plans = [
        plan_label_dp(X, epsilon, 1e-5, distribution=distribution)
        for distribution in ("rr", "gaussian")
        for epsilon in (8.0, 1.0, 0.3, 0.1)
    ]
    excess = np.array([plan.predicted_excess for plan in plans]).reshape(2, 4)
    assert np.all(np.diff(excess, axis=1) > 0)


def test_the_prediction_does_not_depend_on_the_units_of_the_features():
    """Features divided by s have coefficients s times as large; logits, and the risk, stay what they are."""
    X, _ = logistic(300, 5)
    rough = X.copy()
    rough[:, 1:] /= 16
    for distribution in ("gaussian", "rr"):
        fine, coarse = (
            predicted_excess(expectation(Z.T @ Z / 300, 300, 2.0), [rr_covariance(Z.T @ Z / 300, 300, 1.0)], [ridge])
            for Z, ridge in ((X, 0.1), (rough, 0.1 / 256))
        )
        plans = [plan_label_dp(Z, 1.0, 1e-5, distribution=distribution) for Z in (X, rough)]
        if distribution == "rr":
            assert plans[0].ridge[1] == pytest.approx(256 * plans[1].ridge[1])
    np.testing.assert_allclose(fine, coarse, rtol=1e-2)


def test_the_variance_of_randomised_labels_has_no_largest_epsilon():
    gram = np.eye(2)
    for epsilon in (1.0, 30.0, 700.0):
        assert rr_covariance(gram, 10, epsilon)[0, 0] * 10 == pytest.approx(RandomizedResponse(epsilon, 2).variance)
    assert all(0 <= rr_covariance(gram, 10, epsilon)[0, 0] < 1e-300 for epsilon in (711.0, 1500.0, 1e308))


def test_without_noise_the_ridge_is_near_that_of_the_prior():
    """1 / (N t) for independent features of one size, t their share of the logits' variance tau^2 over their own."""
    X, _ = logistic(500, 4)
    X = np.column_stack([np.ones(500), X[:, 1:3]])
    variance = X[:, 1:].var(axis=0).mean()
    for tau in (1.0, 3.0):
        wanted = 2 * variance / (500 * tau**2)
        assert 0.5 < plan_label_dp(X, math.inf, 1e-5, tau=tau).ridge[1] / wanted < 2
        noisy = [plan_label_dp(X, epsilon, 1e-5, tau=tau).ridge[1] for epsilon in (8.0, 1.0, 0.1)]
        assert sorted(noisy) == noisy and noisy[-1] > wanted


def test_randomised_response_is_chosen_for_few_rows_and_the_gaussian_for_many():
    """The predicted crossover for well-conditioned features: N* = k sigma_1^2 (e^eps - 1)^2 / e^eps."""
    k, epsilon, delta = 6, 2.0, 1e-5
    star = k / certified_mu(epsilon, delta) ** 2 * 4 * math.sinh(epsilon / 2) ** 2
    assert plan_label_dp(logistic(int(star / 8), k)[0], epsilon, delta).distribution == "rr"
    assert plan_label_dp(logistic(int(star * 8), k)[0], epsilon, delta).distribution == "gaussian"


@pytest.mark.parametrize(("n", "epsilon"), [(100, 1.0), (100, 4.0), (4000, 0.3), (4000, 4.0), (600, 1.0)])
def test_auto_takes_the_distribution_that_turns_out_better(n, epsilon):
    X, y = logistic(n, 8, "train")
    realised = {}
    for distribution in ("gaussian", "rr"):
        plan = plan_label_dp(X, epsilon, 1e-5, distribution=distribution)
        thetas = fit_many(X, redraw_dot_products(X, y, plan, 60, stream(7, "auto", distribution)), plan)
        realised[distribution] = np.mean([log_loss(X, y, theta) for theta in thetas])
    assert plan_label_dp(X, epsilon, 1e-5).distribution == min(realised, key=realised.get)


def test_the_prediction_is_close_to_what_happens():
    """Excess over the truth on fresh rows, mean over data sets and noise."""
    settings, found = LabelGeneratedSettings(n=24_000, k=6), []
    for number in range(20):
        X, y, truth = draw_logistic(settings, stream(7, "excess", number))
        (X, Z), p = np.split(X, [4000]), LOGIT.mean(X[4000:] @ truth)
        plan = plan_label_dp(X, 0.5, 1e-5)
        dots = redraw_dot_products(X, y[:4000], plan, 10, stream(7, "excess noise", number))
        found += [expected_loss(Z, p, theta) - expected_loss(Z, p, truth) for theta in fit_many(X, dots, plan)]
    assert 0.5 < np.mean(found) / plan.predicted_excess < 2


def expected_loss(X: np.ndarray, p: np.ndarray, theta: np.ndarray) -> float:
    """Log-loss in expectation over labels of probabilities p."""
    z = X @ theta
    return float(np.mean(np.logaddexp(0.0, z) - p * z))


def test_a_plan_sees_no_label_and_is_deterministic():
    for function in (plan_label_dp, fixed_plan, label_noise_plan):
        assert not {"y", "label", "labels", "rng"} & set(inspect.signature(function).parameters)
    X, _ = logistic(300, 5)
    first, second = plan_label_dp(X, 1.0, 1e-5), plan_label_dp(X.copy(), 1.0, 1e-5)
    np.testing.assert_array_equal(first.covariance, second.covariance)
    np.testing.assert_array_equal(first.ridge, second.ridge)


def test_column_0_is_constant_or_said_to_be_no_intercept():
    """A hundredth of the ridge, and a share of positives within [0, 1], are for a constant alone."""
    X, y = logistic(2000, 4)
    bare = X[:, 1:] - 0.5
    for made in (plan_label_dp, fixed_plan, lambda *given, **words: label_noise_plan(*given, 5, **words)):
        with pytest.raises(ValueError, match=r"X\[:, 0\] runs from -0\.\d+ to 0\.\d+: .*ones first.*intercept=False"):
            made(bare, 1.0, 1e-5)
        assert not made(bare, 1.0, 1e-5, intercept=False).intercept
    with pytest.raises(ValueError, match="column 0 is the intercept"):
        fit_walr(bare, np.zeros(3), plan_label_dp(X[:, :3], 1.0, 1e-5))
    plan = plan_label_dp(bare, 2.0, 1e-5, intercept=False)
    assert len(set(plan.ridge)) == 1 and plan.ridge[0] > 0
    # The order of columns then means nothing.
    turned = plan_label_dp(bare[:, ::-1], 2.0, 1e-5, intercept=False)
    assert (
        turned.predicted_excess == pytest.approx(plan.predicted_excess, rel=1e-9)
        and turned.distribution == plan.distribution
    )
    silent = plan_label_dp(bare, math.inf, 1e-5, intercept=False)
    found = fit_walr(bare, release_dot_product(bare, y, silent, stream(7, "order")).value, silent).theta
    np.testing.assert_allclose(found, penalised_optimum(bare, y, silent.ridge), atol=1e-8)


def test_the_published_noise_is_the_formula():
    X, _ = logistic(400, 5)
    plan = fixed_plan(X, 0.5, 1e-5, sigma="classic", bound="sqrt_k", ridge="fixed")
    sigma = math.sqrt(5) / 400 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.5
    np.testing.assert_allclose(plan.covariance, sigma**2 * np.eye(5), rtol=1e-12)
    np.testing.assert_allclose(plan.ridge, ridge_vector(sigma * math.sqrt(5) / 10, 5), rtol=1e-12)
    assert plan.mu == pytest.approx(math.sqrt(5) / 400 / sigma, rel=1e-12)
    assert plan.certified and plan.epsilon < 0.5 == plan.epsilon_claimed


@pytest.mark.parametrize(("epsilon", "true"), [(10, 10.39), (16, 18.90), (32, 49.2)])
def test_the_classic_formula_beyond_its_validity_carries_the_true_epsilon(epsilon, true):
    X, _ = logistic(400, 5)
    plan = fixed_plan(X, epsilon, 1e-5, sigma="classic")
    assert not plan.certified and plan.epsilon_claimed == epsilon
    assert plan.epsilon == pytest.approx(true, abs=0.05)
    assert gaussian_delta(plan.mu, epsilon) > 1e-5
    assert fixed_plan(X, 8.41, 1e-5, sigma="classic").certified
    assert not fixed_plan(X, 8.43, 1e-5, sigma="classic").certified


def test_the_classic_formula_wastes_noise_below():
    X, _ = logistic(400, 5)
    for epsilon, factor in ((0.1, 1.58), (1, 1.30), (4, 1.12)):
        classic, analytic = fixed_plan(X, epsilon, 1e-5, sigma="classic"), fixed_plan(X, epsilon, 1e-5)
        assert classic.deviation / analytic.deviation == pytest.approx(factor, abs=0.01)


def test_plans_without_noise():
    X, _ = logistic(100, 4)
    for distribution in ("auto", "gaussian", "rr"):
        plan = plan_label_dp(X, math.inf, 1e-5, distribution=distribution)
        assert plan.covariance is None and plan.epsilon == math.inf and plan.deviation == 0
    assert fixed_plan(X, math.inf, 1e-5, ridge="fixed").ridge[1] == 0


def test_rounds_share_the_budget():
    X, _ = logistic(300, 4)
    plan = label_noise_plan(X, 1.0, 1e-5, rounds=50)
    assert float(gaussian_epsilon(plan.mu * math.sqrt(50), 1e-5)) == pytest.approx(1.0, abs=1e-9)
    assert reach(X, plan.covariance) == pytest.approx(plan.mu, rel=1e-9)
    sampled = label_noise_plan(X, 1.0, 1e-5, rounds=100, rate=0.05)
    # Noise is that of a sum over 5 % of the rows, on the scale of the mean.
    assert sampled.deviation == pytest.approx(max_norm(X) / (0.05 * 300) / sampled.mu, rel=1e-9)
    assert sampled.rate == 0.05 and sampled.rounds == 100


PLANS = {
    "planned": lambda X, epsilon, delta: plan_label_dp(X, epsilon, delta, distribution="gaussian"),
    "auto": lambda X, epsilon, delta: plan_label_dp(X, epsilon, delta),
    "fixed": fixed_plan,
    "rounds": lambda X, epsilon, delta: label_noise_plan(X, epsilon, delta, 3),
    "sampled": lambda X, epsilon, delta: label_noise_plan(X, epsilon, delta, 3, 0.1),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1e101, 1e160, 1e300])
def test_features_whose_squares_have_no_float_are_refused(plan, scale):
    X, _ = logistic(40, 3)
    with pytest.raises(ValueError, match=r"X has a largest entry of .*; scale the features by public ranges\."):
        PLANS[plan](scale * X, 1.0, 1e-5)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("scale", [1e-99, 1e-60, 1e60, 1e99])
def test_a_plan_at_the_edge_of_the_scales_releases_what_it_certifies(plan, scale):
    X, y = logistic(40, 3)
    X = scale * X / np.abs(X).max()
    made = PLANS[plan](X, 1.0, 1e-5)
    event = release_dot_product(X, y, made, stream(1, "a")).event
    assert made.certified and made.epsilon <= 1
    assert 0.999 < accounting.epsilon([event], 1e-5) <= 1 + 1e-9
    assert made.distribution == "rr" or np.all(np.diagonal(made.covariance) > 0)


def test_a_plan_without_a_finite_positive_covariance_is_none():
    X, _ = logistic(40, 2)
    for covariance in (np.full((2, 2), np.nan), np.zeros((2, 2))):
        with pytest.raises(ValueError, match=r"covariance of a plan for epsilon=1\.0"):
            replace(fixed_plan(X, 1.0, 1e-5), covariance=covariance)
    for name in ("epsilon", "mu"):
        with pytest.raises(ValueError, match=f"{name}=nan of a plan"):
            replace(fixed_plan(X, 1.0, 1e-5), **{name: math.nan})
