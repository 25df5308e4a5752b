"""Units of columns decide nothing, and what the records do not tell is reported instead of answered."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.estimate import sir
from partywise.methods.inverse_regression.subspace import projection_loss

EDGES = [-1.0, -0.4, 0.0, 0.4, 1.0]


def records(n=3000, p=3):
    rng = stream(11, "units")
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n)


def fitted(protocol, X, y, **given):
    """The fit, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"edges": EDGES, "parties": 2, "random_state": 1} | given
        fit = pw.SlicedInverseRegression(protocol, **options).fit(X, y)
    return fit, [str(one.message) for one in caught]


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9])
def test_a_unit_of_a_column_moves_no_direction(unit):
    X, y = records()
    units = np.array([unit, 1.0, 1.0])
    found = [sir(X * units, y, 6, 1) * units[:, None]]
    for kernel in ("classical", "federated"):
        fit, told = fitted("reference", X * units, y, kernel=kernel)
        found.append(fit.components_.T * units[:, None])
        assert not told and fit.estimate_.status == "ok"
    plain = sir(X, y, 6, 1)
    assert max(projection_loss(one, plain) for one in found) < 0.02
    assert projection_loss(found[0], plain) < 1e-9, "the same estimator: its solution scales with the columns"


def test_a_constant_column_is_named_and_takes_no_part():
    X, y = records()
    with pytest.warns(UserWarning, match="1 eigenvalues of a singular covariance"):
        found = sir(np.column_stack([X, np.full(len(X), 0.1)]), y, 6, 1)
    assert projection_loss(found[:3], sir(X, y, 6, 1)) < 1e-9
    assert abs(found[3, 0]) < 1e-9


def test_the_reference_clips_nothing():
    """Clinical columns as they are: every record has entries beyond 1, and the direction is (1, 0, 1) / sqrt 2."""
    rng, n = stream(12, "clinic"), 4000
    age, income, bmi = rng.normal(50, 15, n), rng.lognormal(3.5, 0.5, n), rng.normal(26, 4, n)
    y = age + bmi + 3 * rng.standard_normal(n)
    fit, told = fitted("reference", np.column_stack([age, income, bmi]), y, edges=[60.0, 70.0, 80.0, 90.0])
    assert projection_loss(fit.components_.T, np.array([1.0, 0.0, 1.0])) < 0.05
    assert not told and "entry_clip_share" not in fit.estimate_.numbers


@pytest.mark.parametrize("protocol", ["certified", "whitened"])
@pytest.mark.parametrize("ratio", [1.0, 3.0, 10.0])
def test_columns_of_different_spread_have_the_right_direction(protocol, ratio):
    """Without noise there is no floor: at ratio 10 a floor of 5 % of the largest eigenvalue is 27 degrees off."""
    rng, n = stream(13, "spread"), 20_000
    X = rng.uniform(-1, 1, (n, 2)) * [0.9, 0.9 / ratio]
    y = X @ [1.0, ratio] + 0.1 * rng.standard_normal(n)
    fit, _ = fitted(protocol, X, y, epsilon=np.inf, edges=[-0.8, -0.3, 0.0, 0.3, 0.8])
    assert projection_loss(fit.components_.T, np.array([1.0, ratio])) < 0.02


def test_where_noise_decides_there_is_a_reason():
    X, y = records(300)
    fit, _ = fitted("certified", X / 4, y, epsilon=1.0)
    assert fit.estimate_.numbers["floored_eigenvalues"] > 0 and fit.loss_bound_ is None
    assert fit.estimate_.status == "singular" and "a larger epsilon" in fit.estimate_.reason
    assert "no intervals" in fit.summary()


@pytest.mark.parametrize("protocol", ["reference", "certified", "whitened", "published"])
def test_what_records_do_not_tell_is_reported(protocol):
    rng = stream(14, "degenerate")
    epsilon = {} if protocol == "reference" else {"epsilon": 4.0}
    X, y = rng.uniform(-1, 1, (300, 3)), rng.uniform(1.5, 2.0, 300)
    fit, _ = fitted(protocol, X, np.full(300, 0.2), **epsilon)
    assert fit.estimate_.status == "constant_response" and "y is 0.2 in all 300 records" in fit.estimate_.reason
    public = {"slices": "public"} if protocol in ("reference", "published") else {}
    fit, _ = fitted(protocol, X, y, **epsilon, **public)
    assert fit.estimate_.status == "one_slice" and "edges inside the range of y" in fit.estimate_.reason
    fit, _ = fitted(protocol, rng.uniform(-1, 1, (20, 30)), rng.uniform(-2, 2, 20), **epsilon)
    assert fit.estimate_.status == "more_columns_than_records" and "30 columns and 20 records" in fit.estimate_.reason


def test_entries_beyond_the_radius_are_counted():
    X, y = records(400)
    fit, _ = fitted("certified", X / 4, y, epsilon=4.0)
    share = np.mean(np.abs(X / 4) > 1)
    assert fit.estimate_.numbers["entry_clip_share"] == pytest.approx(share, abs=1e-12)
