"""The number of directions from what is released: found where there are any, none where there is no signal."""

from __future__ import annotations

import math

import numpy as np
import pytest

import partywise as pw
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models
from partywise.methods.inverse_regression.options import SlicingCertifiedOptions, SlicingPublishedOptions
from partywise.methods.inverse_regression.protocols.dimension import estimate_dimension
from partywise.methods.inverse_regression.protocols.noise import Deviations

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
P = 10


def records(model: str, n: int, number: int = 0):
    """Records (n, P) and responses of a model with its slice edges; ``"none"``: those of III in another order."""
    name, rng = ("III" if model == "none" else model), stream(17, "dimension", model, n, number)
    basis = models.directions(name, P, rng)
    X, y, _ = models.draw(name, n, P, rng, beta=basis)
    edges = np.quantile(models.draw(name, 100_000, P, rng, beta=basis)[1], np.arange(1, 8) / 8)
    return X, rng.permutation(y) if model == "none" else y, np.array([0.5]) if name == "I" else edges


def fitted(model: str, n: int, protocol: str = "certified", number: int = 0, **options):
    X, y, edges = records(model, n, number)
    if protocol != "reference":
        options |= {"epsilon": 1.0, "delta": n**-1.1, "noise": "shared"}
    estimator = pw.SlicedInverseRegression(
        protocol, edges=edges, parties=10, random_state=number, clipped="allow", dimension="estimated", **options
    )
    return estimator.fit(X, y)


@pytest.mark.parametrize("protocol", ["certified", "whitened", "reference"])
@pytest.mark.parametrize(("model", "d"), [("II", 1), ("V", 2)])
def test_directions_are_counted_by_every_protocol_that_states_its_noise(protocol, model, d):
    model = fitted(model, 20_000, protocol)
    assert model.components_.shape == (d, P) and model.estimate_.numbers["dimension"] == d
    p_values = model.estimate_.dimension_p_values
    assert len(p_values) == d + 1 and max(p_values[:d]) < 0.05 < p_values[d]
    assert f"direction {d}" in model.summary() and f"direction {d + 1}" not in model.summary()


@pytest.mark.parametrize("protocol", ["certified", "reference"])
def test_no_signal_is_no_direction(protocol):
    model = fitted("none", 5000, protocol, number=1)
    assert model.estimate_.numbers["dimension"] == 0 and np.all(np.isnan(model.components_))
    assert model.estimate_.status == "uninformative" and "more records" in model.estimate_.reason


def test_the_level_holds_without_a_direction():
    """Slices of noise and sampling alone: a first direction is found in about one draw of twenty."""
    sds, n, shares = Deviations(0.01, 0.01, 0.02), 5000, np.full(8, 1 / 8)
    rng, rejected = stream(3, "level"), 0
    for _ in range(200):
        means = math.hypot(sds.means, math.sqrt(1 / 8 / n)) * rng.standard_normal((P, 8))
        slices = np.vstack([means, shares + sds.shares * rng.standard_normal(8)])
        rejected += estimate_dimension(slices, np.eye(P), sds, n).dimension > 0
    # 10 are expected: five standard deviations of a binomial number.
    assert 0 < rejected <= 25


def test_a_small_further_direction_is_what_clipping_makes():
    left, right = np.linalg.qr(stream(4, "small").standard_normal((P, 2)))[0], np.zeros((2, 8))
    right[0], right[1] = np.repeat([1, -1], 4) / 8, np.tile([1, -1], 4) / 8
    for ratio, d in ((0.02, 1), (0.2, 2)):
        means = left * [1, ratio] @ right
        slices = np.vstack([means, np.full(8, 1 / 8)])
        found = estimate_dimension(slices, np.eye(P), Deviations(1e-6, 0.0, 1e-6), 10**9)
        assert found.dimension == d


def test_without_a_positive_eigenvalue_nothing_is_estimated():
    slices = np.vstack([np.ones((P, 8)), np.full(8, 1 / 8)])
    assert estimate_dimension(slices, -np.eye(P), Deviations(0.1, 0.1, 0.1), 100) is None


def test_protocols_without_stated_noise_refuse():
    with pytest.raises(ValueError, match="dimension is 'estimated': it must be one of true, eigengap"):
        SlicingPublishedOptions(dimension="estimated")
    with pytest.raises(CertificationError, match="take 'estimated'"):
        SlicingCertifiedOptions(dimension="eigengap")


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("model", "d", "n", "least"),
    [
        *[("none", 0, 5000, 90), ("II", 1, 5000, 90), ("III", 2, 5000, 70), ("IV", 2, 5000, 85), ("V", 2, 5000, 90)],
        ("IV", 2, 500_000, 90),
    ],
)
def test_the_right_number_in_a_hundred_draws(model, d, n, least):
    found = [fitted(model, n, number=number).estimate_.numbers["dimension"] for number in range(100)]
    print(f"{model} n={n}: {np.bincount(found).tolist()}")
    assert found.count(d) >= least
