"""The source's conditions, limits and bounds (its section 4), worked out for its own models and settings."""

from __future__ import annotations

from math import exp, log, log10, sqrt
from typing import Literal

import numpy as np
from scipy.special import bdtrc, logsumexp, ndtr

from ....core.randomness import SimulationRandom, stream
from ....methods.inverse_regression import models
from ....methods.inverse_regression.estimate import aggregate
from ....methods.inverse_regression.moments import client_moments
from ....methods.inverse_regression.published import lemma1_sigma, minimal_n
from ....methods.inverse_regression.screening import ccmd_select
from ....methods.inverse_regression.slices import case_clip, equal_frequency
from ....methods.inverse_regression.subspace import projection_loss, slice_means
from ....models.links import LOGIT

# Columns and slices of the source's Tables 1 and 2, its truncation as fitted to them, and records of a population.
P, H, RADIUS, POPULATION = 10, 8, 1.0, 1_000_000
# Slices of the central curve m(y).
FINE = 100
# Standard errors from which on a coefficient is not 0, and the margin of an edge of noise.
CLEAR, MARGIN = 6.0, 2.0


def rng_of(*names: str | int) -> SimulationRandom:
    """Return the generator of a fact, the same at each call."""
    return stream(1, "printed", *names)


def linear_models(indices_of: Literal["any", "true"], n: int = 200_000) -> float:
    """Models in which the mean of the last column is linear in b'X, b all true directions or ``any``: the first alone.

    Linear: no coefficient of a square or product of b'X exceeds six of its standard errors.
    """
    count = 0
    for model in models.MODELS:
        X, _, beta = models.draw(model, n, P, rng_of("condition 1", model))
        indices = X @ (beta if indices_of == "true" else beta[:, :1])
        left, right = np.triu_indices(indices.shape[1])
        squares = indices[:, left] * indices[:, right]
        design = np.column_stack([np.ones(n), indices, squares])
        inverse = np.linalg.inv(design.T @ design)
        coefficients = inverse @ (design.T @ X[:, -1])
        spread = (X[:, -1] - design @ coefficients).std() * np.sqrt(np.diagonal(inverse))
        count += bool(np.all(np.abs(coefficients / spread)[-squares.shape[1] :] <= CLEAR))
    return float(count)


def central_spectrum(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Eigenvalues, decreasing, of `central_variance`."""
    return np.linalg.eigvalsh(central_variance(X, y))[::-1]


def central_variance(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Variance of m(y), of the means of 100 slices of many records."""
    means, shares = slice_means(X - X.mean(axis=0), equal_frequency(y, FINE).codes(y))
    return np.asarray((means.T * shares) @ means)


def central_rank(model: str) -> float:
    """Eigenvalues of var m(y) above twice the largest one that means of 100 slices of noise have."""
    X, y, _ = models.draw(model, POPULATION, P, rng_of("population", model))
    largest = np.linalg.eigvalsh(np.cov(X.T))[-1]
    edge = MARGIN * largest * (sqrt(P) + sqrt(FINE)) ** 2 / POPULATION
    return float(np.count_nonzero(central_spectrum(X, y) > edge))


def moment_growth(model: str) -> float:
    """(E|x|^q)^(1/q) / sqrt(q) of the last column x at q = 400 over that at q = 100; below 1 if x is normal."""
    grid = np.linspace(-40, 40, 801)
    noise, latent = grid[:, None], grid[None]
    loadings = models.directions(model, P, rng_of("directions"))[-1]
    column = noise + (loadings[0] * latent + loadings[1] * latent**2 if model == "V" else 0.0 * latent)
    magnitude = np.log(np.maximum(np.abs(column), np.finfo(float).tiny))
    density = -(noise**2 + latent**2) / 2
    density = density - logsumexp(density)
    low, high = (float(logsumexp(q * magnitude + density)) / q - log(q) / 2 for q in (100, 400))
    return exp(high - low)


def row_growth(model: str, p: int) -> float:
    """Largest number of non-zero elements of a row of Sigma at p columns, over that at 10 columns."""
    most = [np.count_nonzero(models.covariance(model, columns), axis=1).max() for columns in (p, P)]
    return float(most[0] / most[1])


def slopes(model: str, p: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Sigma b (b' Sigma b)^-1, (p, d), and the rows of b with loadings, the first ``size`` of p.

    By condition 1 the mean of X given y is E(b'X | y) times it, for centred X.
    """
    beta = models.directions(model, p, rng_of("directions"), active=size)[:size]
    sigma = models.covariance(model, p)[:, :size]
    return np.asarray(sigma @ beta @ np.linalg.inv(beta.T @ sigma[:size] @ beta)), beta


def active_ratio(model: str, p: int, size: int) -> float:
    """Columns whose mean given y varies, over the s = ``size`` columns with loadings; var m(y) has rank d."""
    return float(np.count_nonzero(np.any(slopes(model, p, size)[0], axis=1)) / size)


def signals(model: str, p: int, size: int, n: int = 200_000) -> np.ndarray:
    """Variance of E(x_j | y) of each column (p,), the first ``size`` of which have loadings."""
    factors, beta = slopes(model, p, size)
    X, y, _ = models.draw(model, n, size, rng_of("signals", model), beta=beta)
    return np.asarray(np.einsum("jk,kl,jl->j", factors, central_variance(X @ beta, y), factors))


def signal_decades(model: str, size: int = 5) -> float:
    """log10 of the least variance of E(x_j | y) among columns where it is not 0: at p = 500 less that at p = 50."""
    few, many = (signals(model, p, size) for p in (50, 500))
    return round(log10(many[many > 0].min()) - log10(few[few > 0].min()), 6)


def theorem_4_growth(first: int = 500, last: int = 5000) -> float:
    """The quantity that theorem 4 lets tend to infinity, at n = ``last`` over that at ``first``; delta = n^(-1.1).

    n_(epsilon,delta,p,R)^2 epsilon^2 / (R^4 H^(2 nu - 1) p^3 log(2/delta)), at the same sigma_0, H, p, R.
    """
    terms = [minimal_n(P, RADIUS, 1.0, n**-1.1, 1.0) ** 2 / log(2 / n**-1.1) for n in (last, first)]
    return terms[0] / terms[1]


def kernel_error(radius: float) -> float:
    """||Lambda_R - Lambda|| / ||Lambda|| of model I, whose columns are truncated to [-R, R]: by quadrature over b'X."""
    beta = models.directions("I", P, rng_of("directions"))[:, 0]
    u, weights = np.polynomial.hermite_e.hermegauss(100)
    label_weights = weights / weights.sum() * LOGIT.mean(-u)

    def slice_mean(bound: float) -> np.ndarray:
        """E{x_j 1(y = 1)} of truncated columns; that of the other class is its negative."""
        return np.asarray(clipped_mean(np.outer(beta, u), np.sqrt(1 - beta**2)[:, None], bound) @ label_weights)

    exact, clipped = (2 * np.outer(mean, mean) for mean in (slice_mean(40.0), slice_mean(radius)))
    return float(np.linalg.norm(clipped - exact, 2) / np.linalg.norm(exact, 2))


def clipped_mean(mean: np.ndarray, sd: np.ndarray, bound: float) -> np.ndarray:
    """Mean of a normal number that is clipped to [-bound, bound]."""
    low, high = (-bound - mean) / sd, (bound - mean) / sd
    density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / sqrt(2 * np.pi)
    inside = mean * (ndtr(high) - ndtr(low)) + sd * density
    return np.asarray(bound * (ndtr(-high) - ndtr(low)) + inside)


def merged_noise(clients: int, n: int = 500) -> float:
    """Noise sd of an entry of the merged second moment, over the printed sigma_x at N = K n; one c_R for all."""
    delta = n**-1.1
    merged = sqrt(clients) * lemma1_sigma(n, P, 1.0, delta) / clients
    return merged / lemma1_sigma(clients * n, P, 1.0, delta)


def second_moment_error(n: int) -> float:
    """2 sqrt(p) c_R^2 sigma_x, the norm of the noise on the second moment of one client with p = sqrt(n) columns.

    c_R^2 = p + 2 sqrt(p log n) + 2 log n bounds the squared length of n normal records; epsilon 1, delta n^(-1.1).
    """
    p = round(sqrt(n))
    return 2 * sqrt(p) * (p + 2 * sqrt(p * log(n)) + 2 * log(n)) * lemma1_sigma(n, p, 1.0, n**-1.1)


def lemma_5_growth(first: int = 100, last: int = 25_600) -> float:
    """Error of lemma 5 at n = ``last`` over that at ``first``, while p/N = n^(-1/2) tends to 0."""
    return second_moment_error(last) / second_moment_error(first)


def truncation_loss(model: str) -> float:
    """Projection loss with slice means truncated at R = 1 less that without, on the same million records, no noise."""
    X, y, beta = models.draw(model, POPULATION, P, rng_of("population", model))
    slices = equal_frequency(y, models.settings(model).n_slices)
    whole = client_moments(X, y, slices)
    losses = [
        projection_loss(aggregate(moments.means[None], [1], whole.second, beta.shape[1]).basis, beta)
        for moments in (client_moments(X, y, slices, clip=case_clip(RADIUS)), whole)
    ]
    return losses[0] - losses[1]


def screening_bound(clients: int, miss: float) -> float:
    """Logarithm of s C K^1.5 (K^2 p_1 / e^2)^(K/2), theorem 8 i, at C = s = 1 and p_1 = ``miss``."""
    return 1.5 * log(clients) + clients / 2 * (2 * log(clients) + log(miss) - 2)


def deciding_clients(clients: int = 100, n_slices: int = H) -> float:
    """Least number of clients whose slices alone bring a column over the K/2 votes of algorithm 3."""
    tables = (np.repeat([[n_slices], [0]], [count, clients - count], axis=0) for count in range(clients + 1))
    return float(next(count for count, table in enumerate(tables) if len(ccmd_select(table))))


def null_column_probability(clients: int, chance: float = 0.1) -> float:
    """Probability that algorithm 3 keeps a column which each slice of a client selects by chance, independently."""
    return float(bdtrc(clients // 2, H * clients, chance))
