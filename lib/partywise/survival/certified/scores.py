"""Cox regression by noisy scores of the piecewise-exponential model, which are sums over records.

The score of the partial likelihood is no sum over records: each is in the risk set of every earlier event.  With a
hazard that is constant within bins it is one, no event time crosses, and one record moves it by a constant, once its
follow-up is stopped where its cumulative hazard reaches a level C: a predictable censoring, which leaves the score
unbiased and its residual in [-C, 1].

The table of cells gives the baseline; T rounds then release residuals, residual covariates and a bounded curvature
together.  All that the server does with them is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..exact import exposure_times
from ..options import MERGED
from ..records import Records
from ..tables import Table, equal_edges, merge

# Linear predictors beyond this are taken for it; the exponent of a frailty, and the frailty, likewise.
LARGEST_PREDICTOR = 30.0
LARGEST_SPREAD = 5.0
LARGEST_FRAILTY = 2.0
# Shares of all records: the fewest at risk at the start of a merged bin, the fewest events, the least exposure.
FEWEST_AT_RISK = 0.02
LEAST_EXPOSURE = 0.01
# The frailty follows the spread of the predictors for so many rounds, and is kept then.
FRAILTY_ROUNDS = 2
# How far a round may move the coefficients, in units of 1 / radius.
STEP_LIMITS = (3.0, 2.0, 1.0)
# Below this many records in units of the noise, C is 1, and above it 1.5.
LOOSE_FROM = 4000.0


@dataclass(frozen=True)
class Terms:
    """What everyone knows before a fit.

    horizon : tau; records : n; covariates : p; radius : R, longest scaled covariates
    mu : Gaussian-DP parameter of table and scores together; inf without noise
    noise_factor : K', variance of the noise in units of that of one release for all
    shares : of mu^2, what the table and each of the T rounds take; they sum to 1
    bins, merge_count : J cells of the table, and how many of them make a bin of the scores
    level : kappa, the weight of the residual; curvature : eta, that of the curvature, 0 where none is released
    stop : C; None: 1, or 1.5 where n mu / sqrt(K') is 4,000 or more
    """

    horizon: float
    records: int
    covariates: int
    radius: float
    mu: float
    noise_factor: float = 1.0
    shares: tuple[float, ...] = (0.2, 0.13, 0.22, 0.45)
    bins: int = 24
    merge_count: int = MERGED
    level: float = 1.0
    curvature: float = 0.25
    stop: float | None = None

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.shares) - 1

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges (B + 1,) of the bins of the scores."""
        return equal_edges(self.horizon, self.bins // self.merge_count)

    @property
    def width(self) -> float:
        """Width w of a bin."""
        return self.horizon / (self.bins // self.merge_count)

    @property
    def stopped_at(self) -> float:
        """C; 1 without noise."""
        if self.stop is not None:
            return self.stop
        loose = np.isfinite(self.mu) and self.records * self.mu / np.sqrt(self.noise_factor) >= LOOSE_FROM
        return 1.5 if loose else 1.0

    @property
    def length(self) -> int:
        """P, entries of a record's contribution: residual, residual covariates, curvature."""
        own = self.covariates + 1
        return own + own * (own + 1) // 2 if self.curvature else own

    @property
    def bound(self) -> float:
        """Gamma: no contribution is longer, whatever the record and the coefficients."""
        residual = max(1.0, self.stopped_at) ** 2 * (self.level**2 + self.radius**2)
        return float(np.sqrt(residual + (self.curvature * self.stopped_at * (1 + self.radius**2)) ** 2))

    def mu_of(self, release: int) -> float:
        """Gaussian-DP parameter of the table (0) or of a round (1 to T)."""
        return self.mu * float(np.sqrt(self.shares[release]))

    def sd_of(self, release: int) -> float:
        """Standard deviation of the noise of all clients together in an entry of the table (0) or of a round."""
        sensitivity = np.sqrt(2) if release == 0 else 2 * self.bound
        return float(sensitivity / self.mu_of(release) * np.sqrt(self.noise_factor))


def pack(matrices: np.ndarray) -> np.ndarray:
    """Upper triangles (..., q (q + 1) / 2) of symmetric matrices (..., q, q); lengths are kept."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return matrices[..., rows, columns] * np.where(rows == columns, 1, np.sqrt(2))


def unpack(triangle: np.ndarray, size: int) -> np.ndarray:
    """The symmetric matrix (q, q) of a packed triangle."""
    rows, columns = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = triangle / np.where(rows == columns, 1, np.sqrt(2))
    return matrix


@dataclass(frozen=True, eq=False)
class Model:
    """What clients are told before a round: log hazards (B,) and coefficients (p,)."""

    log_hazards: np.ndarray
    coefficients: np.ndarray


def stopped_residuals(records: Records, model: Model, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (n,) in [-C, 1] and cumulative hazards (n,) of the records, each followed until its hazard reaches C.

    Raises
    ------
    ValueError
        If the model holds a number that is not finite: nothing is computed from records then.
    """
    if not (np.isfinite(model.log_hazards).all() and np.isfinite(model.coefficients).all()):
        raise ValueError(
            "the model that was sent holds a number that is not finite: nothing was computed from records."
        )
    predictors = np.clip(records.covariates @ model.coefficients, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
    exposure = exposure_times(np.minimum(records.times, terms.horizon), terms.edges)
    with np.errstate(over="ignore"):
        hazards = exposure @ np.exp(model.log_hazards) * np.exp(predictors)
    stopped = np.minimum(hazards, terms.stopped_at)
    seen = records.events & (records.times <= terms.horizon) & (hazards <= terms.stopped_at)
    return seen - stopped, stopped


def contributions(records: Records, model: Model, terms: Terms) -> np.ndarray:
    """What each record adds to a release (n, P): of length at most `Terms.bound`."""
    residuals, stopped = stopped_residuals(records, model, terms)
    z = records.covariates
    scores = np.column_stack([terms.level * residuals, residuals[:, None] * z])
    if not terms.curvature:
        return scores
    ones = np.column_stack([np.ones(len(z)), z])
    return np.hstack([scores, pack(ones[:, :, None] * ones[:, None, :]) * (terms.curvature * stopped)[:, None]])


@dataclass(frozen=True, eq=False)
class Baseline:
    """What the released table says of the baseline.

    events : d (B,), at least a small share of the records; hazards : m (B,); cumulative : M (B + 1,)
    """

    events: np.ndarray
    hazards: np.ndarray
    cumulative: np.ndarray

    @property
    def total(self) -> float:
        """D."""
        return float(self.events.sum())


def baseline(table: Table, terms: Terms) -> Baseline:
    """Hazards of merged bins, floored by public shares of n so that each is positive."""
    n, width = terms.records, terms.width
    events, censored = merge(table, terms.merge_count)
    at_start = np.maximum(table.at_start[0, :: terms.merge_count], FEWEST_AT_RISK * n)
    floored = np.maximum(events, FEWEST_AT_RISK * n / len(events))
    exposure = np.maximum(width * (at_start - (events + censored) / 2), LEAST_EXPOSURE * n * width)
    hazards = floored / exposure
    return Baseline(floored, hazards, np.concatenate([[0.0], np.cumsum(width * hazards)]))


def estimable(table: Table) -> bool:
    """Whether the released events stand out of their noise."""
    return float(table.events.sum()) >= 3 * table.sd * np.sqrt(table.bins)


@dataclass(frozen=True, eq=False)
class Fit:
    """After some rounds: the model, and what the next round and the intervals need.

    level : log factor of the baseline; curvature, weight : sum of the released curvatures (p + 1, p + 1) and of their
    weights; inverse : (p, p) of the ridged information; memory : (p, p) what damped and ridged rounds leave of an error
    in the start; spread : (p, p) covariance by noise; frailty : c
    """

    model: Model
    level: float
    curvature: np.ndarray
    weight: float
    inverse: np.ndarray
    memory: np.ndarray
    spread: np.ndarray
    frailty: float
    rounds: int

    @property
    def covariance(self) -> np.ndarray:
        """Of the coefficients (p, p), over records and noise, and by what is left of the start at 0."""
        left = self.memory @ self.model.coefficients
        return self.inverse + self.spread + np.outer(left, left)


def start(found: Baseline, terms: Terms) -> Fit:
    """No effects."""
    p = terms.covariates
    nothing = np.zeros((p, p))
    model = Model(np.log(found.hazards), np.zeros(p))
    return Fit(model, 0.0, np.zeros((p + 1, p + 1)), 0.0, nothing, np.eye(p), nothing, 0.0, 0)


def update(fit: Fit, sums: np.ndarray, found: Baseline, terms: Terms) -> Fit:
    """The fit after one more round, whose released sums (P,) are given."""
    p, number = terms.covariates, fit.rounds + 1
    share = terms.shares[number]
    residual, score = sums[0] / terms.level, sums[1 : p + 1]
    curvature = fit.curvature + number * share * unpack(sums[p + 1 :] / terms.curvature, p + 1)
    weight = fit.weight + number * share
    mean = curvature / weight
    total = max(mean[0, 0], 0.3 * found.total)
    centre = np.clip(mean[0, 1:] / total, -1, 1)
    values, vectors = np.linalg.eigh(mean[1:, 1:] - total * np.outer(centre, centre))
    values = np.maximum(values, 0)
    released = sum(terms.shares[1 : number + 1])
    noise = 2 * terms.bound / (terms.curvature * terms.mu * np.sqrt(released)) * np.sqrt(terms.noise_factor)
    ridge = np.sqrt(p / 2) * noise + 1e-9 * max(float(values.max(initial=0.0)), 1.0)
    inverse = (vectors / (values + ridge)) @ vectors.T
    step = inverse @ (score - residual * centre)
    size = terms.radius * float(np.linalg.norm(step))
    limit = STEP_LIMITS[min(number, len(STEP_LIMITS)) - 1]
    damping = min(1.0, limit / size) if size > 0 else 1.0
    coefficients = fit.model.coefficients + damping * step
    level = fit.level + float(np.clip(damping * (residual / total - centre @ step), -1, 1))
    frailty = fit.frailty
    if number <= FRAILTY_ROUNDS:
        spread = float(np.sum(values * (vectors.T @ coefficients) ** 2)) / total
        largest = min(LARGEST_FRAILTY, LARGEST_PREDICTOR / found.cumulative[-1])
        frailty = min(float(np.expm1(min(spread, LARGEST_SPREAD))), largest)
    left = np.eye(p) - damping * (vectors * (values / (values + ridge))) @ vectors.T
    noisy = inverse @ (np.eye(p) + np.outer(centre, centre) / terms.level**2) @ inverse
    spread_by_noise = left @ fit.spread @ left.T + (damping * terms.sd_of(number)) ** 2 * noisy
    model = Model(log_hazards(found, frailty, level, terms), coefficients)
    return Fit(model, level, curvature, weight, inverse, left @ fit.memory, spread_by_noise, frailty, number)


def log_hazards(found: Baseline, frailty: float, level: float, terms: Terms) -> np.ndarray:
    """Baseline (B,) of a record with covariates 0, from the marginal hazards of the table.

    The marginal hazard falls as those at high risk leave; a gamma frailty of variance c undoes that.
    """
    cumulative = found.cumulative
    if frailty >= 1e-9:
        cumulative = np.expm1(frailty * cumulative) / frailty
    shape = np.log(np.diff(cumulative) / terms.width)
    weights = found.events / found.total
    return shape + level + float(weights @ (np.log(found.hazards) - shape))


def survival(model: Model, covariates: np.ndarray, times: np.ndarray, terms: Terms) -> np.ndarray:
    """Survival (n, m) of records with scaled covariates (n, p) at times (m,)."""
    cumulative = exposure_times(times, terms.edges) @ np.exp(model.log_hazards)
    return np.exp(-np.exp(covariates @ model.coefficients)[:, None] * cumulative[None, :])
