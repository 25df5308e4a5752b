"""Steps against a loop over rows as the source describes it, their end and the exact fit against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from partywise.core.randomness import stream
from partywise.methods.linear.options import LinearCertifiedOptions, LinearPooledOptions, LinearPublishedOptions
from partywise.methods.linear.steps import batches, descend, exact_fit, loss, minimiser, residuals, responses

RNG = stream(1, "linear steps")
X = RNG.uniform(-2, 2, size=(80, 4))
LABELS = (RNG.random(80) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.5, 0.0]))).astype(float)
NUMBERS = X @ [1.0, -1.0, 0.5, 0.0] + 3 + 0.1 * RNG.standard_normal(80)


def test_the_published_residual_is_the_slope_of_the_logistic_loss_at_no_coefficients():
    """-y / (1 + exp(y eta)) has the value -y/2 and the derivative 1/4 at eta = 0."""
    y, step = np.array([-1.0, 1.0]), 1e-5

    def slope(eta):
        return -y / (1 + np.exp(y * eta))

    np.testing.assert_allclose(residuals(np.zeros(2), y, "logistic"), slope(0.0), rtol=1e-15)
    found = (residuals(np.full(2, step), y, "logistic") - residuals(np.zeros(2), y, "logistic")) / step
    np.testing.assert_allclose(found, (slope(step) - slope(-step)) / (2 * step), rtol=1e-6)


def test_steps_are_those_of_a_loop_over_rows():
    drawn = batches(80, 30, 7, stream(2, "batches"))
    b, path = descend(X, responses(LABELS, "logistic"), drawn, LinearPooledOptions(intercept=False, eval_freq=3))
    slow, kept = np.zeros(4), [np.zeros(4)]
    for number, rows in enumerate(drawn, start=1):
        rows_of = [(0.25 * (slow @ X[i]) - 0.5 * (2 * LABELS[i] - 1)) * X[i] for i in rows]
        slow = slow - 0.05 * sum(rows_of) / len(rows)
        kept += [slow] if number in (3, 6, 7) else []
    np.testing.assert_allclose(b, [0, *slow], rtol=0, atol=1e-14)
    assert path.rounds.tolist() == [0, 3, 6, 7]
    np.testing.assert_allclose(path.coefficients[:, 1:], kept, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rounds", [1, 3, 4, 8])
def test_a_pass_takes_every_row_once(rounds):
    drawn = batches(80, 30, rounds, stream(2, "batches"))
    assert [len(rows) for rows in drawn] == [30, 30, 20, 30, 30, 20, 30, 30][:rounds]
    for start in range(0, rounds - 2, 3):
        assert sorted(np.concatenate(drawn[start : start + 3])) == list(range(80))
    if rounds > 3:
        assert not np.array_equal(drawn[0], drawn[3])


@pytest.mark.parametrize("size", [None, 80, 1000])
def test_full_batches_are_all_rows_and_nothing_is_drawn(size):
    rng = stream(2, "unused")
    drawn = batches(80, size, 3, rng)
    assert all(np.array_equal(rows, np.arange(80)) for rows in drawn) and len(drawn) == 3
    assert rng.random() == stream(2, "unused").random()


@pytest.mark.parametrize("intercept", [True, False])
def test_steps_on_all_rows_end_at_ridge_regression(intercept):
    options = LinearPooledOptions(model="linear", batch_size=None, ridge=0.3, intercept=intercept, learning_rate=0.3)
    b, _ = descend(X, NUMBERS, batches(80, None, 600, stream(2, "unused")), options)
    oracle = Ridge(alpha=80 * 0.3, fit_intercept=intercept).fit(X, NUMBERS)
    np.testing.assert_allclose(b, [oracle.intercept_, *oracle.coef_], rtol=0, atol=1e-8)
    np.testing.assert_allclose(minimiser(X, NUMBERS, "linear", 0.3, intercept), b, rtol=0, atol=1e-8)


def test_the_taylor_fit_is_ridge_regression_on_twice_the_labels():
    y = responses(LABELS, "logistic")
    oracle = Ridge(alpha=80 * 4 * 0.1).fit(X, 2 * y)
    found = minimiser(X, y, "logistic", 0.1, True)
    np.testing.assert_allclose(found, [oracle.intercept_, *oracle.coef_], rtol=0, atol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_exact_fit_is_that_of_scikit_learn(intercept):
    y = responses(LABELS, "logistic")
    oracle = LogisticRegression(C=1 / (80 * 0.05), fit_intercept=intercept, tol=1e-12, max_iter=1000).fit(X, LABELS)
    found, reached = exact_fit(X, y, "logistic", 0.05, intercept)
    assert reached
    np.testing.assert_allclose(found, [*(oracle.intercept_ if intercept else [0]), *oracle.coef_[0]], atol=1e-6)
    linear, reached = exact_fit(X, NUMBERS, "linear", 0.0, True)
    oracle = LinearRegression().fit(X, NUMBERS)
    assert reached
    np.testing.assert_allclose(linear, [oracle.intercept_, *oracle.coef_], atol=1e-10)


def test_an_exact_fit_without_minimum_says_so():
    """Labels that a plane separates, wholly or but for rows on it."""
    separated = np.sign(X[:, 0])
    assert not exact_fit(X, separated, "logistic", 0.0, True)[1]
    assert exact_fit(X, separated, "logistic", 1e-3, True)[1]
    half = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    assert not exact_fit(half, np.array([1.0, -1.0, 1.0, 1.0]), "logistic", 0.0, False)[1]


def test_losses():
    eta, y = np.array([0.0, 800.0, -800.0]), np.array([1.0, 1.0, 1.0])
    assert loss(eta, y, "logistic") == pytest.approx((np.log(2) + 800) / 3)
    assert loss(eta, y, "linear") == pytest.approx((1 + 799**2 + 801**2) / 6)


def test_labels_other_than_0_and_1_are_named():
    with pytest.raises(ValueError, match=r"y of model 'logistic' has the values \[1.0, 2.0\]: give both labels"):
        responses(np.array([1.0, 2.0]), "logistic")
    with pytest.raises(ValueError, match=r"\[1.0\]: give both"):
        responses(np.ones(3), "logistic")


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        (LinearPooledOptions, {"model": "probit"}, "model is 'probit': it must be one of logistic, linear"),
        (LinearPooledOptions, {"batch_size": 0}, "batch_size is 0: it must be at least 1"),
        (LinearPublishedOptions, {"learning_rate": 0.0}, "learning_rate is 0.0: it must be a positive"),
        (LinearCertifiedOptions, {"key_size": 1024}, "key_size is 1024: it must be at least 2048"),
        (LinearCertifiedOptions, {"key_size": 2056}, "key_size is 2056: it must be a multiple of 16"),
        (LinearCertifiedOptions, {"cipher": "identity"}, "cipher is 'identity': it must be one of paillier, sized"),
    ],
)
def test_options_out_of_range_are_named(options, given, message):
    with pytest.raises(ValueError, match=message):
        options(**given)
