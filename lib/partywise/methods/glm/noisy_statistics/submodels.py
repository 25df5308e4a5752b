"""Coefficients of any submodel from released second moments: post-processing, at no further cost.

Slopes b of the response statistic on the scaled columns come first. A Gaussian model is them. Gamma and inverse
Gaussian models of a log link take them for t = log y, and correct the intercept by the residual variance. Binomial
models hold them against a linear predictor that is normal: then cov(x, mean) = var(x) beta E[mu'(eta)]. So do Poisson
models on columns whose moments do not show that they are skewed; others shrink them (`counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import digamma, polygamma

from ....models.family_facts import ByFamily, FamilyName
from ....models.links import LOGIT
from ....privacy.accounting.roots import bisect
from .counts import cumulants
from .moments import NoisyMoments

# Nodes of the integral over a normal linear predictor.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
# A released mean outside the range of means is moved inside it, by this share of the range; a released variance that is
# not positive to this share of the square of the half-width.
MARGIN = 0.01
# Largest deviation of a linear predictor: beyond it noise alone decides.
LARGEST = 6.0
STEPS = 60
# lambda in units of the largest eigenvalue, and rounds in which slopes and their noise settle.
SHRINKAGE = np.concatenate([[0.0], np.geomspace(1e-3, 1e2, 60)])
ROUNDS = 6
# Share of the ridge besides: less of it lets noise of G through, more takes too much from strong signals.
SHARE = 0.7


def coefficients(moments: NoisyMoments, family: FamilyName, columns: Sequence[int] | None = None) -> np.ndarray:
    """Coefficients (1 + p,) of a family's model on some of the columns: the intercept first, 0 for columns left out.

    The family is that of the response statistic: another needs a release of its own.
    """
    p = moments.public.columns
    chosen = list(range(p)) if columns is None else [int(column) for column in columns]
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(p)):
        raise ValueError(f"columns={chosen} of a submodel must be different numbers from 0 to {p - 1}.")
    return from_slopes(moments, family, chosen, _slopes(moments, chosen))


def from_slopes(moments: NoisyMoments, family: FamilyName, chosen: list[int], linear: np.ndarray) -> np.ndarray:
    """Coefficients (1 + p,) from slopes of the response statistic on the chosen scaled columns."""
    intercept, slopes = LINKS[family](moments, chosen, linear)
    beta = np.zeros(1 + moments.public.columns)
    beta[1 + np.array(chosen, dtype=int)] = slopes / moments.scale[chosen]
    beta[0] = intercept - slopes @ moments.mean[chosen] - beta[1:] @ moments.location
    return beta


def _slopes(moments: NoisyMoments, columns: list[int]) -> np.ndarray:
    """Slopes of the response statistic on scaled columns, less what noise explains of them.

    Along an eigenvector of G, of eigenvalue g with a share of the ridge, c has noise of a known variance nu^2. Of the
    slopes w c, w = g / (g^2 + lambda^2), those are taken whose excess, sum g (slope - truth)^2, has the least estimate
    without bias, sum g w^2 c^2 - 2 w (c^2 - nu^2).
    """
    if not columns or moments.sd == 0:
        return np.linalg.lstsq(moments.block(columns), moments.covariance[columns, -1], rcond=None)[0]
    return shrunken(moments, columns)[2]


def shrunken(moments: NoisyMoments, columns: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvectors of G in columns, the weights w along them, and the slopes."""
    cross = moments.covariance[columns, -1]
    values, vectors = np.linalg.eigh(moments.block(columns))
    values, along = np.maximum(values, 0.0) + SHARE * moments.ridge(columns), vectors.T @ cross
    weights = values / (values**2 + (values.max() * SHRINKAGE[:, None]) ** 2)
    chosen = 1 / values
    for _ in range(ROUNDS):
        noise = noise_along(moments, vectors, vectors @ (chosen * along), columns)
        excess = values * weights**2 * along**2 - 2 * weights * (along**2 - noise)
        chosen = weights[np.argmin(excess.sum(axis=1))]
    return vectors, chosen, vectors @ (chosen * along)


def noise_along(moments: NoisyMoments, vectors: np.ndarray, slopes: np.ndarray, columns: list[int]) -> np.ndarray:
    """Variance of the noise of c - G b along eigenvectors: of products, and of the means that centre them."""
    products, centring = noise_parts(moments, slopes, columns)
    along = vectors.T @ centring
    return np.asarray(np.sum((vectors.T @ products) * vectors.T, axis=1) + np.sum(along**2, axis=1))


def noise_parts(moments: NoisyMoments, slopes: np.ndarray, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Noise of c - G b: covariance (k, k) of that of the products, and what the means that centre them add.

    Entry i is dc_i less the sum of dG_ij b_j: entry ij of G is in i and in j. Of means dm of columns and du of the
    response it is u dm_i + m_i (du - b'dm) less, u the mean of the response without the columns. Columns of the second
    matrix (k, k + 1) are for means of one deviation each.
    """
    constant, weight, mean = moments.public.constant, moments.public.weight, moments.mean[columns]
    copies, half = moments.copies[np.ix_(columns, [*columns, -1])], moments.sd**2 / 2
    shared = copies[:, :-1] * np.outer(slopes, slopes)
    products = half * (shared + np.diag(copies @ np.append(slopes**2, 1 / weight**2)))
    level = float(moments.mean[-1]) / weight - float(mean @ slopes)
    by_columns = np.outer(mean, slopes) - level * np.eye(len(slopes))
    return products, np.sqrt(half) / constant * np.column_stack([by_columns, -mean / weight])


def predictor_variance(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> float:
    """Variance of the linear predictor with these slopes."""
    return float(slopes @ moments.block(columns) @ slopes)


def residual_variance(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> float:
    """Variance of the response statistic around its linear predictor."""
    total = float(moments.covariance[-1, -1])
    return max(total - float(slopes @ moments.covariance[columns, -1]), least_residual(moments))


def least_residual(moments: NoisyMoments) -> float:
    """Residual variance that is put for a smaller or negative one."""
    return (MARGIN * moments.public.half_width) ** 2


def _gaussian(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> tuple[float, np.ndarray]:
    return moments.response, slopes


def _gamma(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> tuple[float, np.ndarray]:
    """The logarithm of a Gamma variable of shape a has variance psi'(a) and mean log mu + psi(a) - log a."""
    shape = _shape(residual_variance(moments, columns, slopes))
    return moments.response + float(np.log(shape) - digamma(shape)), slopes


def _shape(variance: float) -> float:
    """The shape of a Gamma variable whose logarithm has a variance."""
    ends = bisect(lambda a: not float(polygamma(1, np.exp(a))) < variance, np.log(1e-3), np.log(1e6), rounds=STEPS)
    return float(np.exp(sum(ends) / 2))


def correction_slope(moments: NoisyMoments, columns: list[int], family: FamilyName, slopes: np.ndarray) -> float:
    """Return the derivative of a log link's intercept by the residual variance."""
    if family == "inverse_gaussian":
        return 0.5
    shape = _shape(residual_variance(moments, columns, slopes))
    return float((1 / shape - polygamma(1, shape)) / polygamma(2, shape))


def _inverse_gaussian(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> tuple[float, np.ndarray]:
    """Return intercept and slopes as if lognormal: log mean = mean of the logarithm + half its variance."""
    return moments.response + residual_variance(moments, columns, slopes) / 2, slopes


def _binomial(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> tuple[float, np.ndarray]:
    """kappa b with kappa E[mu'(eta)] = 1, eta normal with mean m, E[mu(eta)] the mean of y."""
    mean = float(np.clip(moments.response, MARGIN, 1 - MARGIN))
    spread = np.sqrt(predictor_variance(moments, columns, slopes))

    def center(kappa: float) -> float:
        deviations = kappa * spread * NODES
        size = abs(deviations).max() + 10
        return sum(bisect(lambda m: WEIGHTS @ LOGIT.mean(m + deviations) < mean, -size, size, rounds=STEPS)) / 2

    def is_attenuated(kappa: float) -> bool:
        mu = LOGIT.mean(center(kappa) + kappa * spread * NODES)
        return kappa * float(WEIGHTS @ (mu * (1 - mu))) < 1

    kappa = 1 / (mean * (1 - mean))
    if spread > 0:
        kappa = sum(bisect(is_attenuated, kappa, max(LARGEST / spread, kappa), rounds=STEPS)) / 2
    return center(kappa), kappa * slopes


def _poisson(moments: NoisyMoments, columns: list[int], slopes: np.ndarray) -> tuple[float, np.ndarray]:
    """Least deviance under assumed shapes of columns: of normal ones slopes b / mean y, log E[y] = m + var(eta) / 2."""
    mean = max(moments.response, MARGIN * moments.public.half_width)
    shape = cumulants(moments, columns)
    slopes = shape.maximise(shape.matrix @ slopes / mean)
    variance = predictor_variance(moments, columns, slopes)
    if variance > LARGEST:
        slopes = slopes * np.sqrt(LARGEST / variance)
    return float(np.log(mean)) - shape.parts(slopes)[0], slopes


LINKS: Mapping[str, Callable[[NoisyMoments, list[int], np.ndarray], tuple[float, np.ndarray]]] = ByFamily(
    "link on second moments for protocol 'moments'",
    {
        "gaussian": _gaussian,
        "gamma": _gamma,
        "inverse_gaussian": _inverse_gaussian,
        "binomial": _binomial,
        "poisson": _poisson,
    },
    remedy="protocol='noisy_newton'",
)
