"""Integers of numbers, and bounds of what a fit can reach, against fits on data made to reach them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.core.randomness import stream
from partywise.methods.linear.fixed_point import FRACTION_BITS, mean_of, sizes, to_fixed_point
from partywise.methods.linear.model import LinearFacts
from partywise.methods.linear.options import LinearCertifiedOptions
from partywise.methods.linear.steps import SLOPES, WEIGHTS
from partywise.privacy.accounted_values import Public


def test_integers_are_the_nearest_multiples():
    values = np.array([[0.0, 1.0, -1.5], [2.0**-41, 3 * 2.0**-41, -1e6]])
    found = to_fixed_point(values)
    assert found.shape == (2, 3) and all(type(value) is int for value in found.ravel())
    assert found.tolist() == [[0, 2**40, -3 * 2**39], [0, 2, -(10**6) * 2**40]]
    assert to_fixed_point(np.empty((3, 0))).shape == (3, 0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_means_of_products_are_right_to_the_last_bit_of_the_integers(values):
    total = sum(
        a * b for a, b in zip(to_fixed_point(np.array(values)), to_fixed_point(np.array(values[::-1])), strict=True)
    )
    exact = sum(a * b for a, b in zip(values, values[::-1], strict=True)) / len(values)
    assert mean_of(total, len(values)) == pytest.approx(exact, rel=1e-9, abs=1e-5)


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    model=st.sampled_from(["logistic", "linear"]),
    rate=st.floats(1e-3, 3.0),
    ridge=st.sampled_from([0.0, 0.3, 5.0]),
    intercept=st.booleans(),
)
def test_no_residual_and_no_sum_is_beyond_its_size(seed, d, model, rate, ridge, intercept):
    """Rows at the corners of what is declared, labels that push on: the worst that a batch can do."""
    rng, m, rounds = stream(seed, "corners"), 4, 12
    bounds, label = rng.uniform(0.1, 3.0, d), 2.0 if model == "linear" else 1.0
    options = LinearCertifiedOptions(
        model=model, learning_rate=rate, ridge=ridge, intercept=intercept, total_round_num=rounds, batch_size=m
    )
    facts = LinearFacts(tuple(map(str, range(d))), Public(bounds, because="x"), Public(label, because="x"))
    limit = sizes(facts, options, m)
    X = np.column_stack([np.ones(m), bounds * rng.choice([-1, 1], size=(m, d))])[:, 1 - intercept :]
    if rng.random() < 0.5:
        X[:] = X[0]
    shrunk = np.r_[0, np.full(d, ridge)][1 - intercept :]
    b = np.zeros(X.shape[1])
    for _ in range(rounds):
        # The label that adds to the length of the coefficients, or an oscillating one.
        y = label * np.where(X @ b * (rng.random(m) < 0.9) >= 0, -1.0, 1.0)
        u = SLOPES[model] * X @ b - WEIGHTS[model] * y
        total = X.T @ u
        assert np.abs(u).max() < 2.0 ** (limit.residual - FRACTION_BITS)
        assert np.abs(total).max() < 2.0 ** (limit.gradient - 2 * FRACTION_BITS)
        b = b - rate * (total / m + shrunk * b)


def test_the_size_of_a_sum_is_near_what_one_row_repeated_reaches():
    """A constant feature at its bound, a rate that overshoots: the bound is reached but for the spare bits."""
    facts = LinearFacts(("x",), Public(np.array([3.0]), because="x"))
    options = LinearCertifiedOptions(learning_rate=2.0, intercept=False, total_round_num=20, batch_size=4)
    limit, b = sizes(facts, options, 4), 0.0
    for _ in range(20):
        y = -1.0 if b >= 0 else 1.0
        total = 4 * 3 * (0.25 * 3 * b - 0.5 * y)
        b -= 2.0 * total / 4
    assert 2.0 ** (limit.gradient - 80 - 4) < abs(total) < 2.0 ** (limit.gradient - 80)
