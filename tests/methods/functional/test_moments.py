"""Sums and corrected moments: additivity, unbiasedness, the bias of the uncorrected ones, stabilisers, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.methods.functional.moments import CurveSums, block_noise, corrected_moments, project, stabilize_published

DRAWS = 2000
FIELDS = ("n", "x", "y", "xx", "xy", "yy")


def records(seed: int, n: int = 60, size: int = 6, qy: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, size)) @ rng.standard_normal((size, size)) + rng.standard_normal(size)
    return X, X[:, :qy] + rng.standard_normal((n, qy)) + 2.0


def assert_same_sums(left: CurveSums, right: CurveSums) -> None:
    for name in FIELDS:
        a, b = np.asarray(getattr(left, name)), np.asarray(getattr(right, name))
        assert np.abs(a - b).max() <= 1e-12 * np.abs(b).max(), name


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), labels=st.lists(st.integers(0, 4), min_size=10, max_size=80))
def test_chunked_sums_equal_the_whole(seed, labels):
    labels = np.array(labels)
    X, Y = records(seed, n=len(labels))
    whole = CurveSums.of(X, Y)
    chunks = [CurveSums.of(X[labels == c], Y[labels == c]) for c in range(5)]
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    assert_same_sums(total, whole)


def test_moments_match_numpy_and_carry_their_correction():
    X, Y = records(2)
    noise = block_noise(np.array([0.1, 0.4, 0.0]), 2, 3)
    moments = corrected_moments(CurveSums.of(X, Y), noise, response_noise=0.25 * np.eye(3))
    joint = np.cov(np.hstack([X, Y]).T)
    np.testing.assert_allclose(moments.raw, joint[:6, :6], rtol=1e-11)
    np.testing.assert_allclose(moments.G, joint[:6, :6] - np.diag([0.1, 0.1, 0.4, 0.4, 0.0, 0.0]), rtol=1e-11)
    np.testing.assert_allclose(moments.H, joint[:6, 6:], rtol=1e-11)
    np.testing.assert_allclose(moments.K, joint[6:, 6:] - 0.25 * np.eye(3), rtol=1e-11)
    np.testing.assert_allclose(moments.mean_x, X.mean(0), rtol=1e-13)
    np.testing.assert_allclose(moments.mean_y, Y.mean(0), rtol=1e-13)
    assert moments.n == 60
    assert np.array_equal(moments.noise, noise)
    assert np.array_equal(moments.G, moments.G.T)
    assert np.array_equal(moments.K, moments.K.T)


def test_a_shift_of_the_curves_changes_means_only():
    X, Y = records(3)
    noise = block_noise(np.zeros(3), 2, 3)
    here, there = (corrected_moments(CurveSums.of(X + d, Y - d), noise) for d in (0.0, 5.0))
    for name in ("G", "H", "K"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), atol=1e-11)
    np.testing.assert_allclose(there.mean_x - here.mean_x, 5.0, rtol=1e-12)


def z_scores(sample: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Standardised error of the mean of independent draws (first axis)."""
    return (sample.mean(0) - truth) / (sample.std(0, ddof=1) / np.sqrt(len(sample)))


@pytest.mark.parametrize("shape", ["isotropic", "gram"])
def test_corrected_moments_are_unbiased_and_uncorrected_ones_are_not(shape):
    """2000 releases of the same clean records: |z| < 4 with the correction, the bias is s^2 without."""
    s, sy, q, p = np.array([0.5, 1.0, 1.5]), 0.8, 2, 3
    X, Y = records(4, n=40)
    clean = corrected_moments(CurveSums.of(X, Y), np.zeros((6, 6)))
    unit = np.eye(q) if shape == "isotropic" else np.array([[1.0, 0.3], [0.3, 0.5]])
    factor = np.linalg.cholesky(unit)
    variances = s**2 if shape == "isotropic" else s[:, None, None] ** 2 * unit
    noise = block_noise(variances, q, p)
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(DRAWS):
        E = (s[:, None] * (rng.standard_normal((40, p, q)) @ factor.T)).reshape(40, -1)
        released = CurveSums.of(X + E, Y + sy * rng.standard_normal(Y.shape))
        draws.append(corrected_moments(released, noise, response_noise=sy**2 * np.eye(Y.shape[1])))
    G, raw, H, K = (np.stack([getattr(d, name) for d in draws]) for name in ("G", "raw", "H", "K"))
    for sample, truth in ((G, clean.G), (H, clean.H), (K, clean.K)):
        assert np.abs(z_scores(sample, truth)).max() < 4
    bias = np.diagonal(noise)
    diagonal = np.diagonal(raw, axis1=1, axis2=2)
    assert np.abs(z_scores(diagonal, np.diagonal(clean.G) + bias)).max() < 4
    assert z_scores(diagonal, np.diagonal(clean.G)).min() > 10
    response = np.diagonal(K, axis1=1, axis2=2) + sy**2
    assert z_scores(response, np.diagonal(clean.K)).min() > 10


def test_dividing_by_n_would_be_seen():
    """The correction belongs to the divisor n - 1: with n the mean of the draws is off by more than four errors."""
    X, Y = records(6, n=6)
    noise = block_noise(np.full(3, 4.0), 2, 3)
    clean = corrected_moments(CurveSums.of(X, Y), np.zeros((6, 6)))
    rng = np.random.default_rng(7)
    sample = np.stack(
        [
            np.diagonal(corrected_moments(CurveSums.of(X + 2 * rng.standard_normal(X.shape), Y), noise).raw)
            for _ in range(DRAWS)
        ]
    )
    truth = np.diagonal(clean.raw)
    assert np.abs(z_scores(sample - 4.0, truth)).max() < 4
    assert np.abs(z_scores(sample * 5 / 6 - 4.0, truth * 5 / 6)).max() > 4


def test_block_noise_of_variances_and_of_covariances():
    scalar = block_noise(np.array([1.0, 2.0]), 2, 2)
    assert np.array_equal(scalar, np.diag([1.0, 1.0, 2.0, 2.0]))
    blocks = np.array([[[1.0, 0.5], [0.5, 2.0]], [[3.0, 0.0], [0.0, 4.0]]])
    full = block_noise(blocks, 2, 2)
    assert np.array_equal(full[:2, :2], blocks[0])
    assert np.array_equal(full[2:, 2:], blocks[1])
    assert not full[:2, 2:].any()


def test_projection_is_the_nearest_matrix_with_the_floor():
    rng = np.random.default_rng(8)
    rotation = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    values = np.array([-2.0, -0.1, 0.2, 0.6, 3.0])
    projected, least, moved = project((rotation * values) @ rotation.T, 0.5)
    np.testing.assert_allclose(projected, (rotation * np.maximum(values, 0.5)) @ rotation.T, atol=1e-13)
    assert least == pytest.approx(-2.0)
    assert moved
    assert np.array_equal(projected, projected.T)
    same, least, moved = project(projected, 0.4)
    assert same is projected
    assert least == pytest.approx(0.5)
    assert not moved


def test_published_stabiliser_shrinks_then_floors():
    block = np.diag([4.0, 0.0])
    np.testing.assert_allclose(stabilize_published(block, 0.05, 1e-6), np.diag([3.9, 0.1]), atol=1e-15)
    floored = stabilize_published(np.diag([1.0, -3.0]), 0.05, 1e-6)
    np.testing.assert_allclose(np.diagonal(floored), [0.9, 1e-6], atol=1e-15)
    assert np.array_equal(stabilize_published(block, 0.0, 0.0), block)


X6, Y3 = records(9, n=5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CurveSums.of(X6, Y3[:4]), r"X has shape \(5, 6\) and Y \(4, 3\): give \(n, P\) and \(n, Qy\)"),
        (lambda: CurveSums.of(X6[0], Y3), r"X has shape \(6,\) and Y \(5, 3\)"),
        (lambda: CurveSums.of(X6, Y3[:, 0]), r"X has shape \(5, 6\) and Y \(5,\)"),
        (lambda: block_noise(np.ones(3), 2, 4), r"noise_var has shape \(3,\): give one variance .* 4 predictors"),
        (lambda: block_noise(np.ones((3, 2)), 2, 3), r"noise_var has shape \(3, 2\): give one variance"),
        (lambda: block_noise(np.array([1.0, -1.0]), 2, 2), r"noise_var holds a negative or non-finite variance"),
        (lambda: block_noise(np.array([1.0, np.nan]), 2, 2), r"noise_var holds a negative or non-finite variance"),
        (lambda: block_noise(np.ones((2, 3, 3)), 2, 2), r"noise_var has blocks of shape \(3, 3\): they must be 2"),
        (
            lambda: corrected_moments(CurveSums.of(X6[:1], Y3[:1]), np.zeros((6, 6))),
            r"n is 1: second moments need at least 2 records",
        ),
        (
            lambda: corrected_moments(CurveSums.of(X6, Y3), np.zeros((3, 3))),
            r"the noise has shape \(3, 3\): the moments are \(6, 6\)",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["X", "Y"])
def test_non_finite_curves_are_named(which, value):
    X, Y = X6.copy(), Y3.copy()
    (X if which == "X" else Y)[2, 1] = value
    with pytest.raises(ValueError, match=rf"{which} .*non-finite"):
        CurveSums.of(X, Y)
