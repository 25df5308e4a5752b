"""Published systems of survival analysis under audit: what leaves a client, and how well it is attacked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...audits.exposure import EpsilonBounds, Exposure, Task, unproved_release
from ...audits.pairs import ClearPair, GaussianPair, clear_exposure, gaussian_exposure
from ...audits.worlds import World
from ...core.randomness import mersenne_twister
from ...methods.survival.certified.scores import HazardModel, ScoreTerms, contributions
from ...methods.survival.certified.whole import whole_cells, whole_scores
from ...methods.survival.exact import events_of, kaplan_meier
from ...methods.survival.published.gradient_cox import (
    SortedRecords,
    central_sd,
    project,
    proved_sensitivity,
    published_sensitivity,
)
from ...methods.survival.published.histograms import histograms
from ...methods.survival.published.noised_times import add_noise
from ...methods.survival.published.propensity import PUBLIC_SEED, clipped_sum
from ...methods.survival.records import SurvivalRecords, scale
from ...methods.survival.tables import cell_counts, equal_edges
from ...models.follow_up.partial_likelihood import risk_sums
from ...models.standardise import with_ones
from ...privacy.accounting.calibration import gaussian_epsilon
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.statistics.bounded import Bounded, sum_certificate
from ...privacy.statistics.whole import Whole
from .claims import FollowUpSettings, GradientSettings, PropensitySettings

HORIZON = 1.0
ROW = frozenset({"label", "features"})
# Cells of the corrected table, bins of a published histogram, decimals of a printed curve, unit of whole times.
BINS, HISTOGRAM_BINS, DECIMALS, UNIT = 24, 52, 4, 1000
# Confidence that a path below the least of those that were drawn is rare (`GradientPaths`).
CONFIDENCE = 0.95
STEP = 0.5


def records_of(world: World) -> SurvivalRecords:
    """The records of a world, whose covariates are shrunk to length 1."""
    covariates = world.x[:, 1:]
    p = covariates.shape[1]
    return SurvivalRecords(world.x[:, 0], world.y > 0.5, scale(covariates, np.zeros(p), np.ones(p), 1.0))


def terms_of(settings: FollowUpSettings, mu: float) -> ScoreTerms:
    """Return the public terms of the corrected scores: one release of all of mu."""
    return ScoreTerms(HORIZON, settings.n, settings.p, radius=1.0, mu=mu, shares=(0.0, 1.0))


def cells(task: Task[FollowUpSettings]) -> Exposure:
    """The corrected table: counts of public cells with noise of sensitivity sqrt(2)."""
    edges = equal_edges(HORIZON, BINS)

    def counts(world: World) -> np.ndarray:
        return cell_counts(records_of(world), edges)

    release = IntegerGaussian(mu=task.mu)(whole_cells(counts(task.worst[0])), task.noise(), owner=task.owner)
    noise = float(np.sqrt(2) / task.mu)

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        return GaussianPair(counts(data).astype(float), counts(neighbour).astype(float), noise)

    return Exposure({0: release}, task.pairs(pair_of))


def scores(task: Task[FollowUpSettings]) -> Exposure:
    """The corrected scores, at a model that drives follow-up to its stop: noise of their sensitivity."""
    terms = terms_of(task.settings, task.mu)
    bins = len(terms.edges) - 1
    model = HazardModel(np.full(bins, 2.0), np.zeros(task.settings.p))

    def statistic(world: World) -> Whole:
        return whole_scores(contributions(records_of(world), model, terms), terms.bound, terms.sensitivity)

    release = IntegerGaussian(mu=task.mu)(statistic(task.worst[0]), task.noise(), owner=task.owner)
    noise = terms.sensitivity / task.mu

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        return GaussianPair(statistic(data).value, statistic(neighbour).value, noise)

    return Exposure({0: release}, task.pairs(pair_of))


@dataclass(frozen=True, eq=False)
class GradientPaths:
    """All steps of a run in two worlds, attacked along the paths that the first world takes.

    Given its path, step k separates the worlds like a Gaussian pair of mu_k = |grad - grad'| / s.  Adaptive releases
    whose squares add up to at least mu^2 on every path are no more private than one of mu.  Of so many drawn paths the
    least is taken: with 95 % confidence a path below it has probability q at most, q = 1 - 0.05^(1 / paths), and
    topping such paths up changes the law by q at most, by which delta is raised.
    """

    first: SortedRecords
    second: SortedRecords
    settings: GradientSettings
    noise: float

    def squared_loss(self, rng: np.random.Generator) -> float:
        """Sum of mu_k^2 along one path."""
        at, total = np.zeros(self.settings.p), 0.0
        for _ in range(self.settings.steps):
            gradient = self.first.gradient(at)
            total += float(np.sum((gradient - self.second.gradient(at)) ** 2)) / self.noise**2
            at = project(at + STEP * (gradient + rng.normal(0, self.noise, len(at))), self.settings.c_beta)
        return total

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Epsilon of the least mu over the paths, at delta + q."""
        paths = self.settings.paths
        mu = float(np.sqrt(min(self.squared_loss(rng) for _ in range(paths))))
        rare = 1 - (1 - CONFIDENCE) ** (1 / paths)
        return EpsilonBounds(float(gaussian_epsilon(mu, delta + rare)), "gaussian", draws=paths)


def published_gradients(task: Task[GradientSettings]) -> Exposure:
    """The first of T noisy gradients, each with noise for the bound at coefficients of 0."""
    settings = task.settings
    noise = central_sd(published_sensitivity(settings.n, 0.0), settings.steps, task.epsilon, task.delta)

    def pair_of(data: World, neighbour: World) -> GradientPaths:
        first, second = (SortedRecords.of(records_of(world), np.inf) for world in (data, neighbour))
        return GradientPaths(first, second, settings, noise)

    gradient = SortedRecords.of(records_of(task.worst[0]), np.inf).gradient(np.zeros(settings.p))
    bound = proved_sensitivity(settings.n, settings.c_beta) * np.sqrt(settings.steps)
    certificate = sum_certificate(float(bound), "all steps at the largest coefficients", "row", ROW)
    one_step = gaussian_exposure(task, lambda _: Bounded(gradient, certificate), noise)
    return replace(one_step, pairs=task.pairs(pair_of))


def _gradient(world: World) -> np.ndarray:
    """Sum of clipped gradients of a logistic model at 0, whose labels are the events."""
    X = with_ones(world.x[:, 1:])
    return clipped_sum(X, world.y, np.zeros(X.shape[1]), 1.0)


def seeded_gradient(task: Task[PropensitySettings]) -> Exposure:
    """The gradient with noise from the seed that every party has: any of them can subtract the noise."""

    def message(world: World) -> np.ndarray:
        exact = _gradient(world)
        return exact + mersenne_twister(PUBLIC_SEED).normal(0, task.settings.multiplier, len(exact))

    payload = unproved_release(message(task.worst[0]), task.owner, "row", "noise of a public seed", task.noise())
    return Exposure({0: payload}, task.pairs(lambda data, neighbour: ClearPair(message(data), message(neighbour))))


def secret_gradient(task: Task[PropensitySettings]) -> Exposure:
    """The gradient with secret noise for the whole batch: two records of length C, 2 C apart at most."""
    certificate = sum_certificate(2.0, "2 C of clipped gradients", "row", ROW)
    return gaussian_exposure(task, lambda world: Bounded(_gradient(world), certificate), 2.0 / task.mu)


def risk_set_sums(task: Task[FollowUpSettings]) -> Exposure:
    """Sums over the risk sets at every event time, at coefficients of 0."""

    def sums(world: World) -> np.ndarray:
        records = records_of(world)
        moments = risk_sums(records, np.linspace(0, HORIZON, UNIT + 1), np.zeros(records.covariates.shape[1]))
        return np.column_stack([moments.zeroth, moments.first])

    return clear_exposure(task, sums, "row")


def event_times(task: Task[FollowUpSettings]) -> Exposure:
    """Distinct event times and their counts: events at every whole time."""

    def counts(world: World) -> np.ndarray:
        records = records_of(world)
        return np.bincount(np.rint(records.times[records.events] * 2 * UNIT).astype(int), minlength=2 * UNIT + 1)

    return clear_exposure(task, counts, "row")


def printed_curve(task: Task[FollowUpSettings]) -> Exposure:
    """The Kaplan-Meier curve at every whole time, with 4 decimals."""

    def curve(world: World) -> np.ndarray:
        estimate = kaplan_meier(events_of(records_of(world)))
        return np.round(estimate.at(np.linspace(0, HORIZON, 2 * UNIT + 1)), DECIMALS)

    return clear_exposure(task, curve, "row")


def noisy_survival(task: Task[FollowUpSettings]) -> Exposure:
    """Survival at the horizon with noise for a sensitivity of 1 / n; nothing of that order is proved."""
    noise = task.analytic / task.settings.n

    def survival(world: World) -> np.ndarray:
        return kaplan_meier(events_of(records_of(world))).at(np.array([HORIZON]))

    certificate = sum_certificate(1.0, "the last at risk decides: 1, for every n", "row", ROW)
    return gaussian_exposure(task, lambda world: Bounded(survival(world), certificate), noise)


def histogram_sum(task: Task[FollowUpSettings]) -> Exposure:
    """Events and censored records by bin, as a client reads them of the others."""

    def counts(world: World) -> np.ndarray:
        return histograms(records_of(world), HORIZON / HISTOGRAM_BINS, HISTOGRAM_BINS)

    return clear_exposure(task, counts, "row")


def seeded_times(task: Task[FollowUpSettings]) -> Exposure:
    """Times with Poisson noise from seed 0, in the order of the rows."""

    def times(world: World) -> np.ndarray:
        return add_noise(np.rint(world.x[:, 0] * UNIT), "poisson", 0)

    return clear_exposure(task, times, "row")
