"""The five models: directions, distributions of the records, public slice edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from error_rates import accepts_covariance, accepts_mean
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models, projection_loss, sir

NAMES = tuple(models.MODELS)


def rng(*names):
    return stream(7, "slicing models", *names)


@pytest.mark.parametrize("model", NAMES)
def test_shapes_and_reproducibility(model):
    X, y, beta = models.draw(model, 30, 12, rng(model))
    again = models.draw(model, 30, 12, rng(model))
    assert X.shape == (30, 12) and y.shape == (30,) and beta.shape == (12, models.MODELS[model].n_directions)
    assert all(np.array_equal(a, b) for a, b in zip((X, y, beta), again, strict=True))
    np.testing.assert_allclose(np.linalg.norm(beta, axis=0), 1, atol=1e-15)


def test_clients_of_a_replicate_share_their_directions():
    beta = models.directions("I", 10, rng("beta"))
    first, second = (models.draw("I", 20, 10, rng("client", k), beta=beta) for k in range(2))
    assert np.array_equal(first[2], second[2]) and not np.array_equal(first[0], second[0])
    entries = beta[:, 0] / beta[:, 0].max()
    assert np.all((entries >= 0.5) & (entries <= 1))


def test_two_dimensional_directions():
    beta = models.directions("III", 10, rng("unused"))
    expected = np.zeros((10, 2))
    expected[:5, 0] = expected[5:, 1] = 1 / np.sqrt(5)
    np.testing.assert_allclose(beta, expected)
    disjoint = models.directions("V", 500, rng("unused"), active=5)
    assert [np.flatnonzero(column).tolist() for column in disjoint.T] == [[0, 1, 2], [3, 4]]
    assert disjoint[:, 0] @ disjoint[:, 1] == 0
    # As printed, s - s0 <= j <= s with s = 5, s0 = 3: columns 2 to 5, so the two are not orthogonal.
    printed = models.directions("V", 500, rng("unused"), active=5, support="printed")
    assert [np.flatnonzero(column).tolist() for column in printed.T] == [[0, 1, 2], [1, 2, 3, 4]]
    assert printed[:, 0] @ printed[:, 1] > 0.5


@pytest.mark.parametrize("model", ["III", "IV"])
def test_covariance_of_the_columns(model):
    X, _, _ = models.draw(model, 40_000, 6, rng("covariance", model))
    lags = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    white, ar = np.eye(6), 0.5**lags
    right, wrong = (ar, white) if models.MODELS[model].autoregressive else (white, ar)
    assert accepts_covariance(X, right)
    assert not accepts_covariance(X, wrong)


def test_model_1_labels_have_the_printed_probability():
    """P(Y = 1) = 1 / (1 + exp(u)); the opposite sign is rejected."""
    X, y, beta = models.draw("I", 40_000, 5, rng("labels"))
    assert set(np.unique(y)) == {0.0, 1.0}
    probability = 1 / (1 + np.exp((X @ beta)[:, 0]))
    score = (
        (y - probability) * (X @ beta)[:, 0] / np.sqrt(np.mean(probability * (1 - probability) * (X @ beta)[:, 0] ** 2))
    )
    assert accepts_mean(score, 0.0, 1.0)
    assert not accepts_mean((y - (1 - probability)) * (X @ beta)[:, 0], 0.0, 0.5)


def test_model_5_is_an_inverse_regression():
    X, y, beta = models.draw("V", 40_000, 4, rng("inverse"))
    residual = X - np.outer(y, beta[:, 0]) - np.outer(y**2, beta[:, 1])
    assert accepts_covariance(residual, np.eye(4))
    assert not accepts_covariance(X, np.eye(4))


@pytest.mark.parametrize("model", ["II", "III", "IV"])
def test_responses_follow_their_formula(model):
    """With the index alone in the response and the noise averaged out, the formula remains."""
    u = np.array([[0.3] * 200_000, [0.7] * 200_000])[: models.MODELS[model].n_directions]
    y = models.response(model, u, rng("response", model))
    if model == "IV":
        assert accepts_mean(np.log(y / np.sin(0.3)) - 0.7, 0.0, 1.0)
        assert not accepts_mean(np.log(y / np.sin(0.3)) - 0.3, 0.0, 1.0)
        return
    value = 1 / (0.5 + 1.3**2) if model == "II" else 0.3 / (0.7**3 + 1)
    assert accepts_mean(y, value, 1.0)
    assert not accepts_mean(y, value + 0.05, 1.0)


def test_public_edges_are_population_quantiles():
    edges = models.public_edges("V", 8, 10, rng("edges"))
    np.testing.assert_allclose(edges, ndtri(np.arange(1, 8) / 8), atol=0.01)
    assert models.public_edges("I", 2, 10, rng("edges")) == pytest.approx([0.5])
    for model in ("II", "III", "IV"):
        edges = models.public_edges(model, 8, 10, rng("edges", model))
        assert edges.shape == (7,) and np.all(np.diff(edges) > 0)
        _, y, _ = models.draw(model, 100_000, 10, rng("fresh", model))
        shares = np.bincount(np.searchsorted(edges, y), minlength=8) / len(y)
        np.testing.assert_allclose(shares, 1 / 8, atol=0.008)


@pytest.mark.parametrize("model", NAMES)
def test_the_pooled_estimator_finds_the_directions(model):
    X, y, beta = models.draw(model, 40_000, 10, rng("found", model))
    entry = models.MODELS[model]
    loss = projection_loss(sir(X, y, entry.n_slices, entry.n_directions), beta)
    assert loss < 0.15
    assert projection_loss(sir(X, y, entry.n_slices, entry.n_directions), np.eye(10)[:, : entry.n_directions]) > 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: models.draw("VI", 5, 10, rng("x")), "model='VI'"),
        (lambda: models.draw("I", 0, 10, rng("x")), "n=0"),
        (lambda: models.draw("III", 5, 10, rng("x"), beta=np.ones((10, 1))), "beta has shape"),
        (lambda: models.directions("III", 1, rng("x")), "active=1"),
        (lambda: models.directions("III", 10, rng("x"), active=11), "active=11"),
        (lambda: models.directions("III", 10, rng("x"), support="other"), "support='other'"),
        (lambda: models.public_edges("II", 1, 10, rng("x")), "n_slices=1"),
        (lambda: models.response("V", np.ones((2, 3)), rng("x")), "no response given X"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
