"""Cox regression by noisy scores of the piecewise-exponential model, which are sums over records.

The score of the partial likelihood is not a sum over records: each is in the risk set of every earlier event.  With a
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
from ..records import SurvivalRecords, shrink
from ..tables import CellTable, equal_edges, merge
from .selection import RoundValues, Selection, length_variance, select
from .whole import largest_distance

# Linear predictors beyond this are taken for it.
LARGEST_PREDICTOR = 30.0
# Shares of all records: the fewest at risk at the start of a merged bin, the fewest events, the least exposure.
FEWEST_AT_RISK = 0.02
LEAST_EXPOSURE = 0.01
# Predictors are modelled where the longest is at least this.
LEAST_REACH = 0.05
# From this number of records in units of the noise on, the cells of the table are the bins of the scores.
FINE_FROM = 4000.0
# By how much the last round may lengthen or shorten the coefficients, and how much of the start at 0 may be left in
# them in any direction: beyond, there are no intervals.
LAST_FACTOR = 1.3
LARGEST_MEMORY = 0.5
# The least mu sqrt(n / K') of intervals: below it, few fits pass the two rules above, and noise chose these.
LEAST_SIGNAL = 10.0
# By how much of its noise the released information is taken to be too large.
INFLATION = 0.3
# The least step of a cumulative hazard.
LEAST_STEP = 1e-12
# How far a round may move the coefficients, in units of 1 / radius.
STEP_LIMITS = (3.0, 2.0, 1.0)
# Follow-up is ended at C = 1 below the first of these values of mu sqrt(n / K'), at 1.5 below the second, else at 2:
# events that are no longer stopped tell more of the coefficients, and ask for more noise.
LOOSER_FROM = (70.0, 150.0)
STOPS = (1.0, 1.5, 2.0)


@dataclass(frozen=True)
class ScoreTerms:
    """Public facts of a run before its fit.

    horizon : tau; records : n; covariates : p; radius : R, longest scaled covariates
    mu : Gaussian-DP parameter of table and scores together; inf without noise
    noise_factor : K', variance of the noise in units of that of one release for all
    shares : of mu^2, for the table and each of the T rounds; they sum to 1
    bins, merge_count : J cells of the table, and how many make a bin of the scores; None: 1 where n mu / sqrt(K') is
        4,000 or more, else 3
    level : kappa, the weight of the residual; curvature : eta, that of the curvature, 0 where none is released
    stop : C; None: 1, 1.5 where mu sqrt(n / K') is 70 or more, 2 from 150 on
    """

    horizon: float
    records: int
    covariates: int
    radius: float
    mu: float
    noise_factor: float = 1.0
    shares: tuple[float, ...] = (0.2, 0.13, 0.22, 0.45)
    bins: int = 24
    merge_count: int | None = None
    level: float = 1.0
    curvature: float = 0.25
    stop: float | None = None

    @property
    def rounds(self) -> int:
        """Number of rounds T."""
        return len(self.shares) - 1

    @property
    def cells_per_bin(self) -> int:
        """Number of cells per bin of the scores."""
        if self.merge_count is not None:
            return self.merge_count
        return 1 if self.records * self.mu >= FINE_FROM * np.sqrt(self.noise_factor) else MERGED

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges (B + 1,) of the bins of the scores."""
        return equal_edges(self.horizon, self.bins // self.cells_per_bin)

    @property
    def width(self) -> float:
        """Width w of a bin."""
        return self.horizon / (self.bins // self.cells_per_bin)

    @property
    def signal(self) -> float:
        """mu sqrt(n / K'): standard deviation of a sum over records in units of its noise, up to a constant."""
        return float(self.mu * np.sqrt(self.records / self.noise_factor))

    @property
    def stopped_at(self) -> float:
        """Cumulative hazard C at which follow-up ends."""
        return STOPS[int(np.searchsorted(LOOSER_FROM, self.signal, "right"))] if self.stop is None else self.stop

    @property
    def length(self) -> int:
        """P, entries of a record's contribution: residual, residual covariates, curvature."""
        size = self.covariates + 1
        return size + size * (size + 1) // 2 if self.curvature else size

    @property
    def bound(self) -> float:
        """Gamma: no contribution is longer, for any record and coefficients."""
        residual = max(1.0, self.stopped_at) ** 2 * (self.level**2 + self.radius**2)
        return float(np.sqrt(residual + (self.curvature * self.stopped_at * (1 + self.radius**2)) ** 2))

    @cached_property
    def sensitivity(self) -> float:
        """Largest distance of two contributions: at most 2 Gamma."""
        return largest_distance(self.radius, self.stopped_at, self.curvature, self.level)

    def mu_of(self, release: int) -> float:
        """Gaussian-DP parameter of the table (0) or of a round (1 to T)."""
        return self.mu * float(np.sqrt(self.shares[release]))

    def sd_of(self, release: int) -> float:
        """Standard deviation of the noise of all clients together in an entry of the table (0) or of a round."""
        sensitivity = np.sqrt(2) if release == 0 else self.sensitivity
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
class HazardModel:
    """Model that clients receive before a round: log hazards (B,) and coefficients (p,)."""

    log_hazards: np.ndarray
    coefficients: np.ndarray


def stopped_residuals(records: SurvivalRecords, model: HazardModel, terms: ScoreTerms) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (n,) in [-C, 1] and cumulative hazards (n,) of the records, each followed until its hazard reaches C.

    ValueError if the model holds a number that is not finite: nothing is computed from records then.
    """
    if not (np.isfinite(model.log_hazards).all() and np.isfinite(model.coefficients).all()):
        raise ValueError(
            "the model that was sent holds a number that is not finite: nothing was computed from records."
        )
    z = shrink(records.covariates, terms.radius)
    predictors = np.clip(z @ model.coefficients, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
    exposure = exposure_times(np.minimum(records.times, terms.horizon), terms.edges)
    with np.errstate(over="ignore", invalid="ignore"):
        hazards = exposure @ np.exp(model.log_hazards) * np.exp(predictors)
    # Of records that hold anything at all the hazard is between 0 and C: the sensitivity rests on it.
    stopped = np.where(hazards <= terms.stopped_at, np.maximum(hazards, 0), terms.stopped_at)
    seen = records.events & (records.times <= terms.horizon) & (hazards <= terms.stopped_at)
    return seen - stopped, stopped


def contributions(records: SurvivalRecords, model: HazardModel, terms: ScoreTerms) -> np.ndarray:
    """Return each record's contribution to a release (n, P): of length at most `ScoreTerms.bound`, no two further apart
    than the `ScoreTerms.sensitivity`."""
    residuals, stopped = stopped_residuals(records, model, terms)
    z = shrink(records.covariates, terms.radius)
    scores = np.column_stack([terms.level * residuals, residuals[:, None] * z])
    if not terms.curvature:
        return scores
    ones = np.column_stack([np.ones(len(z)), z])
    return np.hstack([scores, pack(ones[:, :, None] * ones[:, None, :]) * (terms.curvature * stopped)[:, None]])


@dataclass(frozen=True, eq=False)
class Baseline:
    """Baseline as estimated from the released table.

    events : d (B,), at least a small share of the records; hazards : m (B,); cumulative : M (B + 1,)
    follow_up : (B + 1,) share of records that are not censored before each edge
    """

    events: np.ndarray
    hazards: np.ndarray
    cumulative: np.ndarray
    follow_up: np.ndarray

    @property
    def total(self) -> float:
        """Number of events D."""
        return float(self.events.sum())


def baseline(table: CellTable, terms: ScoreTerms) -> Baseline:
    """Hazards of merged bins, floored by public shares of n so that each is positive."""
    n, width = terms.records, terms.width
    events, censored = merge(table, terms.cells_per_bin)
    at_start = np.maximum(table.at_start[0, :: terms.cells_per_bin], FEWEST_AT_RISK * n)
    floored = np.maximum(events, FEWEST_AT_RISK * n / len(events))
    exposure = np.maximum(width * (at_start - (events + censored) / 2), LEAST_EXPOSURE * n * width)
    hazards = floored / exposure
    leaving = np.cumsum(np.clip(width * censored / exposure, 0, 5))
    cumulative = np.concatenate([[0.0], np.cumsum(width * hazards)])
    return Baseline(floored, hazards, cumulative, np.exp(-np.append(0.0, leaving)))


def estimable(table: CellTable) -> bool:
    """Whether the released events stand out of their noise."""
    return float(table.events.sum()) >= 3 * table.sd * np.sqrt(table.bins)


@dataclass(frozen=True, eq=False)
class ScoreFit:
    """Fit after some rounds: the model, and what the next round and the intervals need.

    level : log factor of the baseline; curvature, weight : sum of the released curvatures (p + 1, p + 1) and of their
    weights; inverse : (p, p) of the ridged information; memory : (p, p) what damped and ridged rounds leave of an error
    in the start; spread : (p, p) covariance by noise; along : variance of a factor of the coefficients beyond that of
    a known baseline; factor : by which the last round lengthened them
    """

    model: HazardModel
    level: float
    curvature: np.ndarray
    weight: float
    inverse: np.ndarray
    memory: np.ndarray
    spread: np.ndarray
    along: float
    factor: float
    rounds: int

    def reason(self, terms: ScoreTerms) -> str:
        """Why intervals are missing, by public facts and released numbers alone; empty where they exist."""
        if terms.signal < LEAST_SIGNAL:
            return (
                f"intervals are not estimable at this noise: mu sqrt(n / K') is {terms.signal:.2g}, below "
                f"{LEAST_SIGNAL:g}; give a larger epsilon, more records or another trust than that of local noise."
            )
        left = float(np.linalg.norm(self.memory, 2))
        if not 1 / LAST_FACTOR <= self.factor <= LAST_FACTOR:
            return (
                "intervals are not estimable at this size of effect: the last round changed the coefficients by a "
                f"factor of {self.factor:.2g}; give more rounds, a larger epsilon or a smaller scale."
            )
        if left > LARGEST_MEMORY:
            return (
                f"intervals are not estimable at this noise: {left:.2g} of the start at 0 is left in the coefficients, "
                f"more than {LARGEST_MEMORY:g}; give a larger epsilon, more records or fewer covariates."
            )
        return ""

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (p, p) of the coefficients, over records and noise, and by what is left of the start at 0.

        The remainder is estimated as well, by coefficients without it, whose noise is larger.
        """
        undone = self.memory @ np.linalg.pinv(np.eye(len(self.memory)) - self.memory)
        b = self.model.coefficients
        left = np.outer(undone @ b, undone @ b) + undone @ self.spread @ undone.T
        return self.inverse + self.spread + left + self.along * np.outer(b, b)


def start(baseline: Baseline, terms: ScoreTerms) -> ScoreFit:
    """Return the fit before the first round, without effects."""
    p = terms.covariates
    nothing = np.zeros((p, p))
    model = HazardModel(np.log(baseline.hazards), np.zeros(p))
    return ScoreFit(model, 0.0, np.zeros((p + 1, p + 1)), 0.0, nothing, np.eye(p), nothing, 0.0, 1.0, 0)


def update(fit: ScoreFit, sums: np.ndarray, baseline: Baseline, terms: ScoreTerms) -> ScoreFit:
    """The fit after one more round, whose released sums (P,) are given."""
    p, number = terms.covariates, fit.rounds + 1
    share = terms.shares[number]
    residual, score = sums[0] / terms.level, sums[1 : p + 1]
    curvature = fit.curvature + number * share * unpack(sums[p + 1 :] / terms.curvature, p + 1)
    weight = fit.weight + number * share
    mean = curvature / weight
    total = max(mean[0, 0], 0.3 * baseline.total)
    centre = np.clip(mean[0, 1:] / total, -1, 1)
    values, vectors = np.linalg.eigh(mean[1:, 1:] - total * np.outer(centre, centre))
    values = np.maximum(values, 0)
    released = sum(terms.shares[1 : number + 1])
    noise = terms.sensitivity / (terms.curvature * terms.mu * np.sqrt(released)) * np.sqrt(terms.noise_factor)
    ridge = np.sqrt(p / 2) * noise + 1e-9 * max(float(values.max(initial=0.0)), 1.0)
    inverse = (vectors / (values + ridge)) @ vectors.T
    step = inverse @ (score - residual * centre)
    size = terms.radius * float(np.linalg.norm(step))
    limit = STEP_LIMITS[min(number, len(STEP_LIMITS)) - 1]
    damping = min(1.0, limit / size) if size > 0 else 1.0
    level = fit.level + float(np.clip(damping * (residual / total - centre @ step), -1, 1))
    information = Information((vectors * values) @ vectors.T, centre, total, ridge)
    coefficients, selection = lengthen(fit.model, damping * step, limit, information, baseline, terms)
    along = excess(selection, coefficients, information, baseline, terms) if selection is not None else 0.0
    # The noise of the information makes its largest directions larger: of these less is undone than it looks.
    undone = np.maximum(values - INFLATION * noise, 0) / (values + ridge)
    left = np.eye(p) - damping * (vectors * undone) @ vectors.T
    noisy = terms.sd_of(number) ** 2 * (np.eye(p) + np.outer(centre, centre) / terms.level**2)
    # The noise of the information makes a step too long or too short by as much as it is long.
    noisy = noisy + noise**2 / 2 * (float(step @ step) * np.eye(p) + np.diag(step**2))
    spread_by_noise = left @ fit.spread @ left.T + damping**2 * inverse @ noisy @ inverse
    cumulative, factor = (baseline.cumulative, 1.0) if selection is None else (selection.cumulative, selection.factor)
    model = HazardModel(log_hazards(baseline, cumulative, level, terms), coefficients)
    memory = left @ fit.memory
    return ScoreFit(model, level, curvature, weight, inverse, memory, spread_by_noise, along, factor, number)


@dataclass(frozen=True, eq=False)
class Information:
    """Released information V (p, p) of the coefficients, mean covariates (p,) weighted by hazard, total, and ridge."""

    matrix: np.ndarray
    centre: np.ndarray
    total: float
    ridge: float


def lengthen(
    model: HazardModel, step: np.ndarray, limit: float, information: Information, baseline: Baseline, terms: ScoreTerms
) -> tuple[np.ndarray, Selection | None]:
    """Coefficients after a step, as long as the working model gives; None where predictors are too small to model it.

    Where the ridge outweighs the information along them the length stays: it would follow the noise.
    """
    b, matrix = model.coefficients + step, information.matrix
    reach = min(float(np.abs(b).sum()), terms.radius * float(np.linalg.norm(b)))
    known = float(b @ matrix @ b)
    if reach < LEAST_REACH or known <= information.ridge * float(b @ b):
        return b, None
    overlap = float(model.coefficients @ matrix @ b) / known
    mean, score = float(information.centre @ b), float(step @ matrix @ b) / terms.records
    released = RoundValues(reach, mean, known / information.total, score, model.log_hazards, overlap)
    selection = select(baseline.cumulative, baseline.follow_up, released, terms.width, terms.stopped_at)
    move = selection.factor * b - model.coefficients
    size = terms.radius * float(np.linalg.norm(move))
    return model.coefficients + move * min(1.0, limit / max(size, limit)), selection


def excess(
    selection: Selection, b: np.ndarray, information: Information, baseline: Baseline, terms: ScoreTerms
) -> float:
    """Variance of a factor of the coefficients beyond that of a known baseline."""
    exposure = baseline.events / (baseline.hazards * terms.width)
    noise = terms.cells_per_bin * terms.sd_of(0) ** 2
    mean = float(information.centre @ b)
    variance = length_variance(
        selection, baseline.events, exposure, baseline.follow_up, mean, terms.stopped_at, terms.records, noise
    )
    return max(variance - 1 / max(float(b @ information.matrix @ b), 1e-9), 0.0)


def log_hazards(baseline: Baseline, cumulative: np.ndarray, level: float, terms: ScoreTerms) -> np.ndarray:
    """Baseline (B,) of a record with covariates 0: its shape by cumulative hazards (B + 1,), at a level."""
    shape = np.log(np.maximum(np.diff(cumulative), LEAST_STEP) / terms.width)
    weights = baseline.events / baseline.total
    return shape + level + float(weights @ (np.log(baseline.hazards) - shape))


def survival(model: HazardModel, covariates: np.ndarray, times: np.ndarray, terms: ScoreTerms) -> np.ndarray:
    """Survival (n, m) of records with scaled covariates (n, p) at times (m,)."""
    cumulative = exposure_times(times, terms.edges) @ np.exp(model.log_hazards)
    return np.exp(-np.exp(covariates @ model.coefficients)[:, None] * cumulative[None, :])
