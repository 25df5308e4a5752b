"""The boundedness tests against constructed points of the zonotope, a second linear program, and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from logit_data import logistic
from partywise.methods.logistic import zonotope
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.zonotope import boundedness, coordinate_test, lp_test, minimiser_status, recession_slope
from partywise.models.links import LOGIT


def in_zonotope(X: np.ndarray, v: np.ndarray) -> bool:
    """Plain feasibility: is there an a in [0, 1]^N with X'a / N = v?"""
    return linprog(np.zeros(len(X)), A_eq=X.T / len(X), b_eq=v, bounds=(0, 1), method="highs").status == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 60), k=st.integers(1, 6), noise=st.sampled_from([0.01, 0.1, 1]))
def test_the_status_is_membership_in_the_zonotope(seed, n, k, noise):
    rng = np.random.default_rng(seed)
    X = rng.random((n, k))
    v = rng.integers(0, 2, n) @ X / n + noise * rng.standard_normal(k)
    found = lp_test(X, v)
    if abs(found.margin) > 1e-6:
        assert (found.status == "bounded") == (found.margin > 0) == in_zonotope(X, v)
    if found.status == "unbounded":
        assert recession_slope(X, v, found.direction) < 0
        assert np.linalg.norm(found.direction) == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), k=st.integers(1, 6), noise=st.sampled_from([0.02, 0.3]))
def test_whenever_the_coordinate_test_fires_the_lp_agrees(seed, n, k, noise):
    rng = np.random.default_rng(seed)
    X = rng.random((n, k)) - rng.integers(0, 2) * rng.random(k)
    v = rng.integers(0, 2, n) @ X / n + noise * rng.standard_normal(k)
    axis, exact = coordinate_test(X, v), lp_test(X, v)
    assert exact.margin <= axis.margin + 1e-7
    if axis.status == "unbounded":
        assert recession_slope(X, v, axis.direction) < 0
        assert exact.status == "unbounded" or axis.margin > -1e-7


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), k=st.integers(1, 6), noise=st.sampled_from([0.0, 0.05, 1]))
def test_a_newton_fit_settles_what_the_lp_would_say(seed, n, k, noise):
    rng = np.random.default_rng(seed)
    X = rng.random((n, k))
    X = np.column_stack([X, X[:, 0]]) if seed % 5 == 0 else X  # of less than full rank
    v = rng.integers(0, 2, n) @ X / n + noise * rng.standard_normal(X.shape[1])
    exact = lp_test(X, v)
    if abs(exact.margin) > 1e-6:
        assert minimiser_status(X, v, LOGIT) == exact.status


def test_most_releases_need_no_linear_program(monkeypatch):
    (X, y), asked = logistic(500, 4), list[str]()
    monkeypatch.setattr(zonotope, "lp_test", lambda *given: asked.append("lp") or lp_test(*given))
    assert minimiser_status(X, dot_product(X, y), LOGIT) == "bounded"
    assert minimiser_status(X, dot_product(X, y) + np.array([1, 1, -1, -1]) / 20, LOGIT) == "unbounded" and asked == []
    assert minimiser_status(X, dot_product(X, (X[:, 1] > 0.5).astype(float)), LOGIT) == "boundary" and asked == ["lp"]


def test_the_coordinate_test_fires_outside_the_column_means_only():
    X, y = logistic(3000, 4)
    v = dot_product(X, y)
    assert boundedness(X, v).status == "unknown"
    for j, value, sign in ((1, -1e-3, -1.0), (2, X[:, 2].mean() + 1e-3, 1.0)):
        moved = v.copy()
        moved[j] = value
        found = boundedness(X, moved)
        assert (found.status, found.test) == ("unbounded", "coordinate")
        np.testing.assert_array_equal(found.direction, sign * np.eye(4)[j])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), k=st.integers(1, 8))
def test_a_dot_product_without_noise_is_never_outside(seed, n, k):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, k)), rng.integers(0, 2, n).astype(float)
    assert lp_test(X, dot_product(X, y)).status != "unbounded"
    assert coordinate_test(X, dot_product(X, y)).status in ("unknown", "boundary")


def test_overlapping_classes_are_bounded_and_separated_ones_on_the_boundary():
    X, y = logistic(500, 4)
    found = boundedness(X, dot_product(X, y))
    assert found.status == "bounded" and found.test == "lp" and 0 < found.margin <= 0.5 and found.direction is None
    separated = (X[:, 1] > 0.5).astype(float)
    edge = boundedness(X, dot_product(X, separated))
    assert edge.status == "boundary" and abs(edge.margin) < 1e-8
    # Along the separating direction the objective does not grow.
    assert abs(recession_slope(X, dot_product(X, separated), edge.direction)) < 1e-8


def test_the_margin_is_known_at_the_centre_and_on_one_column():
    X, _ = logistic(200, 3)
    assert lp_test(X, X.mean(axis=0) / 2).margin == pytest.approx(0.5, abs=1e-8)
    ones = np.ones((40, 1))
    for share in (-0.2, 0.0, 0.1, 0.7, 1.3):
        assert lp_test(ones, np.array([share])).margin == pytest.approx(min(share, 1 - share), abs=1e-8)


def test_a_dot_product_off_the_span_of_the_rows_is_unbounded():
    X, y = logistic(100, 3)
    doubled = np.column_stack([X, X[:, 1]])
    v = dot_product(doubled, y)
    assert boundedness(doubled, v).status == "bounded"
    v[3] += 1e-3
    found = boundedness(doubled, v)
    assert found.status == "unbounded" and found.margin == -np.inf
    assert np.abs(doubled @ found.direction).max() < 1e-10 and v @ found.direction > 0


def test_zero_features_say_nothing():
    assert boundedness(np.zeros((5, 2)), np.zeros(2)).status == "bounded"
    assert boundedness(np.zeros((5, 2)), np.array([0.0, 0.1])).status == "unbounded"
