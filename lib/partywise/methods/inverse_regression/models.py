"""The five regression models of the source: directions, records and population slice edges.

Source: document 001, section 5.1. With u_j = beta_j'X and e ~ N(0, 1) independent of X:

    I    Y ~ Bernoulli(1 / (1 + exp(u_1)))            X ~ N(0, I)      d = 1   H = 2
    II   Y = 1 / (0.5 + (u_1 + 1)^2) + e              X ~ N(0, AR)     d = 1   H = 8
    III  Y = u_1 / (u_2^3 + 1) + e                    X ~ N(0, I)      d = 2   H = 8
    IV   Y = sin(u_1) exp(u_2 + e)                    X ~ N(0, AR)     d = 2   H = 8
    V    X = (beta_1, beta_2)(Y, Y^2)' + E            Y, E ~ N(0, I)   d = 2   H = 8

AR is the matrix 0.5^|i-j|. The source prints the label of model I as the indicator of a probability; it is read as a
draw with that probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Coefficient and innovation sd of the stationary AR(1/2) columns: unit variance, correlation 0.5^|i-j|.
AR_STEP, AR_INNOVATION = 0.5, float(np.sqrt(0.75))
# Records drawn for the population quantiles; their error in the share of a slice is below 0.0004.
EDGE_DRAWS = 1_000_000


@dataclass(frozen=True)
class SlicingModel:
    """Constants of a model: structure dimension, usual number of slices, AR columns or independent ones."""

    name: str
    n_directions: int
    n_slices: int
    autoregressive: bool


MODELS = {
    model.name: model
    for model in (
        SlicingModel("I", 1, 2, False),
        SlicingModel("II", 1, 8, True),
        SlicingModel("III", 2, 8, False),
        SlicingModel("IV", 2, 8, True),
        SlicingModel("V", 2, 8, False),
    )
}


def settings(model: str) -> SlicingModel:
    """The entry of a model; ValueError for an unknown name."""
    if model not in MODELS:
        raise ValueError(f"model={model!r} is unknown; use one of {tuple(MODELS)}.")
    return MODELS[model]


def directions(model: str, p: int, rng: np.random.Generator, *, active: int | None = None, support="disjoint"):
    """Draw the true basis (p, d) of a model, for all clients of a replicate, supported on the first ``active`` columns.

    I and II: entries Unif(0.4, 0.8). III to V: constant on two sets of columns, with s0 = ceil(s/2) those of beta_2,
    1-based, s0 < j <= s, or s - s0 <= j <= s as ``printed`` (which overlaps beta_1, so that the columns are not
    orthogonal as the source states). All are normalised.
    """
    d = settings(model).n_directions
    s = p if active is None else active
    if not max(d, 1) <= s <= p:
        raise ValueError(f"active={s!r} columns of p={p!r} must lie between d={d} and p.")
    if support not in ("disjoint", "printed"):
        raise ValueError(f"support={support!r} is unknown; use 'disjoint' or 'printed'.")
    beta = np.zeros((p, d))
    if d == 1:
        beta[:s, 0] = rng.uniform(0.4, 0.8, s)
    else:
        half = -(-s // 2)
        beta[:half, 0] = 1.0
        beta[(half if support == "disjoint" else max(s - half - 1, 0)) : s, 1] = 1.0
    return beta / np.linalg.norm(beta, axis=0)


def draw(model: str, n: int, p: int, rng: np.random.Generator, *, beta=None):
    """Draw the records of one client, X (n, p) and y (n,), from the directions ``beta`` (p, d), and return all three.

    Without ``beta`` the directions are drawn first. Model I has labels 0.0 and 1.0, the others have numbers.
    """
    model_of = settings(model)
    if n < 1:
        raise ValueError(f"n={n!r} records: draw at least one.")
    basis = directions(model, p, rng) if beta is None else np.asarray(beta, dtype=float)
    if basis.shape != (p, model_of.n_directions):
        raise ValueError(f"beta has shape {basis.shape}; model {model} with p={p} needs {(p, model_of.n_directions)}.")
    if model == "V":
        y = rng.standard_normal(n)
        columns = rng.standard_normal((p, n))
        columns += np.outer(basis[:, 0], y) + np.outer(basis[:, 1], y * y)
        return columns.T, y, basis
    columns = rng.standard_normal((p, n))
    if model_of.autoregressive:
        correlate(columns)
    return columns.T, response(model, basis.T @ columns, rng), basis


def covariance(model: str, p: int) -> np.ndarray:
    """Covariance (p, p) of the columns: 0.5^|i-j| or the identity, which in model V is that of X given Y."""
    lags = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    return AR_STEP**lags if settings(model).autoregressive else np.eye(p)


def correlate(columns: np.ndarray) -> None:
    """Turn independent rows of a (p, n) array into AR(1/2) ones in place: x_j = x_{j-1} / 2 + sqrt(3/4) e_j."""
    for j in range(1, len(columns)):
        columns[j] *= AR_INNOVATION
        columns[j] += AR_STEP * columns[j - 1]


def response(model: str, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Response of models I to IV given the indices u = beta'X of shape (d, n)."""
    n = u.shape[1]
    if model == "I":
        return (rng.random(n) < 1 / (1 + np.exp(u[0]))).astype(float)
    e = rng.standard_normal(n)
    if model == "II":
        return 1 / (0.5 + (u[0] + 1) ** 2) + e
    if model == "III":
        return u[0] / (u[1] ** 3 + 1) + e
    if model == "IV":
        return np.sin(u[0]) * np.exp(u[1] + e)
    raise ValueError(f"model={model!r} has no response given X; use one of I, II, III, IV.")


def public_edges(model: str, n_slices: int, p: int, rng: np.random.Generator, *, beta=None) -> np.ndarray:
    """Population quantiles of Y under a model, from 10^6 draws: slice edges (H - 1,) that touch no data.

    Model I has the classes 0 and 1 and the edge 0.5 for any ``n_slices``. In II and IV the variance of the indices
    depends on p. Without ``beta`` the directions are drawn from ``rng``.
    """
    model_of = settings(model)
    if n_slices < 2:
        raise ValueError(f"n_slices={n_slices!r} must be at least 2.")
    if model == "I":
        return np.array([0.5])
    if model == "V":
        y = rng.standard_normal(EDGE_DRAWS)
    else:
        basis = directions(model, p, rng) if beta is None else np.asarray(beta, dtype=float)
        # Only the d indices are drawn: their covariance is beta' Sigma beta.
        root = np.linalg.cholesky(basis.T @ covariance(model, p) @ basis)
        u = root @ rng.standard_normal((model_of.n_directions, EDGE_DRAWS))
        y = response(model, u, rng)
    return np.quantile(y, np.arange(1, n_slices) / n_slices)
