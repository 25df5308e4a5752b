"""Numbers of directions and of columns from what is released: found where there are any, none without a signal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import partywise as pw
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models
from partywise.methods.inverse_regression.options import (
    SlicingCertifiedOptions,
    SlicingPublishedOptions,
    SlicingReferenceOptions,
)
from partywise.methods.inverse_regression.protocols.dimension import estimate_dimension, estimate_size
from partywise.methods.inverse_regression.protocols.noise import Deviations
from partywise.methods.inverse_regression.screening import contrasts
from partywise.methods.inverse_regression.slices import public_slices

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
P = 10


def records(model: str, n: int, number: int = 0, active: int | None = None):
    """Records (n, P) and responses of a model with its slice edges; ``"none"``: those of III in another order."""
    name, rng = ("III" if model == "none" else model), stream(17, "dimension", model, n, number)
    basis = models.directions(name, P, rng, active=active)
    X, y, _ = models.draw(name, n, P, rng, beta=basis)
    edges = np.quantile(models.draw(name, 100_000, P, rng, beta=basis)[1], np.arange(1, 8) / 8)
    return X, rng.permutation(y) if model == "none" else y, np.array([0.5]) if name == "I" else edges


def fitted(model: str, n: int, protocol: str = "certified", number: int = 0, active: int | None = None, **options):
    X, y, edges = records(model, n, number, active)
    if protocol != "reference":
        options |= {"epsilon": 1.0, "delta": n**-1.1, "noise": "shared"}
    options = {"dimension": "estimated"} | options
    estimator = pw.SlicedInverseRegression(
        protocol, edges=edges, parties=10, random_state=number, clipped="allow", **options
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


# Columns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["certified", "whitened", "reference"])
def test_columns_are_counted_by_every_protocol_that_states_its_noise(protocol):
    """Model V has five of ten columns; of the others 0.32 are expected. The option changes nothing else."""
    model, plain = (fitted("V", 20_000, protocol, active=5, size=size) for size in ("estimated", "true"))
    assert 5 <= model.size_ == model.estimate_.numbers["size"] <= 6 and plain.size_ is None
    assert f"beyond noise and sampling: {model.size_}" in model.summary()
    assert np.array_equal(model.components_, plain.components_)
    assert model.privacy_ == plain.privacy_
    alone = fitted("V", 20_000, protocol, active=5, size="estimated", dimension="true", n_directions=2)
    assert alone.size_ == model.size_ and "dimension" not in alone.estimate_.numbers


def test_columns_are_counted_next_to_no_direction():
    model = fitted("none", 5000, number=1, size="estimated")
    assert model.estimate_.status == "uninformative" and model.size_ == 0


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_null_columns_pass_as_often_as_normal_numbers_do(whitened, shift):
    """Columns of noise and sampling alone, with unequal slices: p P(|Z| > sqrt(2 log p)) per contrast."""
    p, H, n, draws, rng = 60, 8, 2000, 200, stream(5, "null columns", int(whitened), int(shift))
    code = contrasts(public_slices(fixed(np.arange(1.0, H)), H))
    sds = Deviations(0.01, 0.001, 0.0, mean=0.0 if whitened else None)
    root = np.diag(np.linspace(0.5, 2.0, p)) if whitened else np.eye(p)
    counts = list[int]()
    for _ in range(draws):
        y = rng.integers(0, H, n) % (H - 1)
        sums = np.stack([rng.standard_normal((np.count_nonzero(y == h), p)).sum(axis=0) for h in range(H)], axis=1)
        shares = np.bincount(y, minlength=H) / n
        means = sums / n + shift * shares + sds.means * rng.standard_normal((p, H))
        slices = np.vstack([means, shares + sds.shares * rng.standard_normal(H)])
        counts.append(estimate_size(slices, root @ root, sds, n, code, p))
    # At most: the two contrasts of a column pass together now and then.
    expected, error = 2 * p * 2 * norm.sf(math.sqrt(2 * math.log(p))), np.std(counts, ddof=1) / math.sqrt(draws)
    print(f"null columns that pass: {np.mean(counts):.3f} (se {error:.3f}), expected {expected:.3f}")
    assert abs(np.mean(counts) - expected) < 4 * error


def test_a_constant_column_does_not_count():
    slices = np.vstack([np.outer([0.1, 3.0], np.full(8, 1 / 8)), np.full(8, 1 / 8)])
    code = contrasts(public_slices(fixed(np.arange(1.0, 8)), 8))
    covariance = np.diag([1.0, 1e-18])
    assert estimate_size(slices, covariance, Deviations(0.0, 0.0, 0.0), 100, code, 2) == 0
    assert estimate_size(slices, -covariance, Deviations(0.1, 0.1, 0.1, mean=0.1), 100, code, 2) is None


def test_values_of_size_that_are_not_known_are_named():
    for options in (SlicingCertifiedOptions, SlicingReferenceOptions):
        with pytest.raises(ValueError, match="size is 'guessed': it must be one of true, estimated"):
            options(size="guessed")
    with pytest.raises(TypeError, match="size"):
        pw.SlicedInverseRegression("published", epsilon=1.0, edges=(0.0,), size="estimated").fit(np.eye(4), np.ones(4))


@pytest.mark.statistical
def test_the_columns_of_a_model_in_a_hundred_draws():
    """Five of ten columns at epsilon 1: all five, and of the others what normal numbers give, 0.32."""
    counts = [fitted("V", 5000, number=number, active=5, size="estimated").size_ for number in range(100)]
    print(f"V n=5000: {np.bincount(counts).tolist()}")
    assert sum(count >= 5 for count in counts) >= 90
    assert np.mean(counts) - 5 < 0.32 + 4 * np.std(counts, ddof=1) / 10


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
