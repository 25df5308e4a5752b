"""Facts of the restated systems that need no cube: accuracies, epsilons that hold, records that are read."""

from __future__ import annotations

from functools import lru_cache
from math import inf, log, sqrt
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from ....audits.attacks.event_times import read_difference, read_sums
from ....core.randomness import stream
from ....methods.survival.exact import CoxFit, cox, events_of, kaplan_meier
from ....methods.survival.models import STRONG, Weibull
from ....methods.survival.options import NoisedTimesOptions
from ....methods.survival.published.gradient_cox import default_steps
from ....methods.survival.published.hazard_tree import LAST_EVENT, share_sd
from ....methods.survival.published.histograms import alone, histograms, tables_of
from ....methods.survival.published.noised_times import add_noise, table_at
from ....methods.survival.published.propensity import (
    PropensityTraining,
    draw_table,
    noise_multiplier,
    normal_noise,
    train,
)
from ....methods.survival.records import SurvivalRecords, scale
from ....models.follow_up.partial_likelihood import event_times, risk_sums
from ....models.standardise import with_ones
from ....privacy.accountants.exact import Exact
from ....privacy.accounting.calibration import gaussian_epsilon
from ....privacy.accounting.compose import cost
from ..cases import read_table

ROOT_SEED = 20240601
TABLES, CLIENTS, WEEK = 20, 3, 7.0
# Records of a client that v6-kaplan-meier-py asks for in its code: more than so many.
GUARD = 3


def accuracy(epsilon: float, delta: float) -> float:
    """Share of treatments that the model predicts, mean over tables: 3 clients of 100, one noise at all of them.

    epsilon : 0 stands for no noise
    """
    return float(np.mean([_accuracy(table, epsilon, delta) for table in range(TABLES)]))


def _accuracy(table: int, epsilon: float, delta: float) -> float:
    X, y = draw_table(stream(ROOT_SEED, "fedeca", table, "table"))
    plan, blocks = PropensityTraining(), [(X[k::CLIENTS], y[k::CLIENTS]) for k in range(CLIENTS)]
    sd = plan.clip * _multiplier(100, epsilon, delta)
    rngs = [
        (
            stream(ROOT_SEED, "fedeca", table, "batches", k),
            normal_noise(sd, stream(ROOT_SEED, "fedeca", table, "noise")),
        )
        for k in range(CLIENTS)
    ]
    return float(np.mean((with_ones(X) @ train(blocks, plan, rngs) > 0) == y))


@lru_cache(maxsize=64)
def _multiplier(n: int, epsilon: float, delta: float) -> float:
    return noise_multiplier(PropensityTraining(), n, inf if epsilon == 0 else epsilon, delta)


def kept_epsilon(epsilon: float, delta: float, n: int = 100) -> float:
    """Epsilon of the steps that a client of n records makes with fresh noise, for a record added or removed."""
    plan = PropensityTraining()
    steps = plan.rounds * plan.steps_of_round(n, "published")
    return Exact(steps * cost(mu=1 / _multiplier(n, epsilon, delta), rate=plan.sampled_rate(n))).epsilon(delta)


def tie_error(days: float, quantity: str) -> float:
    """Largest relative difference between ties by Breslow and by Efron of one table of 1,000 records.

    days : to which two years of follow-up are rounded up, 0 for no rounding
    quantity : ``hazard ratio``, ``likelihood`` or ``p-value``
    """
    weibull = Weibull(coefficients=tuple(value / 2 for value in STRONG))
    drawn = weibull.draw(1000, stream(ROOT_SEED, "ties"))
    z = scale(drawn.covariates, weibull.centre, weibull.half_width, sqrt(6))
    times = np.ceil(drawn.times * 365 / days) if days else drawn.times
    fits = [cox(SurvivalRecords(times, drawn.events, z), ties) for ties in ("breslow", "efron")]
    first, second = (_printed(fit, quantity) for fit in fits)
    return float(np.abs(first / second - 1).max())


def _printed(fit: CoxFit, quantity: str) -> np.ndarray:
    if quantity == "hazard ratio":
        return np.asarray(np.exp(fit.coefficients))
    if quantity == "likelihood":
        return np.array([fit.likelihood])
    return np.asarray(2 * ndtr(-np.abs(fit.coefficients / fit.standard_errors)))


def share_epsilon(epsilon: float) -> float:
    """Epsilon that the classic formula holds at delta 0.001 for a share of records at risk, for every n."""
    return float(gaussian_epsilon(1 / share_sd(1, epsilon, 1e-3), 1e-3))


def default_factor() -> float:
    """Default steps over log(C_z^2 n / p^2) at n 2,982 and p 6, in the code."""
    return round(default_steps(2982, 6) / log(2982 / 36))


def last_event(cutoff: float) -> float:
    """Day after which the tree drops events, in the code."""
    return min(cutoff, LAST_EVENT)


@lru_cache(maxsize=1)
def _veteran() -> SurvivalRecords:
    times, events, _, _ = read_table("veteran", Path("resources"))
    return SurvivalRecords(times, events.astype(bool))


def patient(row: int, what: str) -> float:
    """Time in days, or 1 for an event and 0 for censoring, of a row of veteran, from 1."""
    records = _veteran()
    return float(records.times[row - 1] if what == "time" else records.events[row - 1])


def _weekly() -> np.ndarray:
    """Histograms (5, 2, weeks) of five clients, rows dealt in turn."""
    records = _veteran()
    bins = int(np.ceil(records.times.max() / WEEK))
    rows = [np.arange(k, len(records), 5) for k in range(5)]
    return np.array([histograms(records.take(r), WEEK, bins) for r in rows])


def weekly_error(against: str) -> float:
    """Largest difference of the federated weekly curve, at ends of weeks, to the pooled ``weekly`` or ``daily`` one."""
    records, (table,) = _veteran(), tables_of(_weekly().sum(axis=0)[None], WEEK)
    ends = WEEK * np.arange(1, int(np.ceil(records.times.max() / WEEK)) + 1)
    pooled = SurvivalRecords(np.ceil(records.times / WEEK) * WEEK, records.events) if against == "weekly" else records
    curve = kaplan_meier(events_of(pooled))
    return float(np.abs(kaplan_meier(table).at(ends) - curve.at(ends)).max())


def alone_share(who: str) -> float:
    """Share of records alone in a cell of the ``sum``, or of the others' as one of five ``client``s reads them."""
    counts = _weekly()
    total = counts.sum(axis=0)
    if who == "sum":
        return float((total == 1).sum() / total.sum())
    return float((alone(counts) / (total.sum() - counts.sum(axis=(1, 2)))).mean())


def least_records() -> float:
    """Records of a client that must be exceeded, in the code."""
    return float(GUARD)


def default_seed() -> float:
    """Seed of the noise where none is given."""
    return float(NoisedTimesOptions().seed)


def differenced_share() -> float:
    """Share of appended persons whose noised time and status follow from two tables of one secret seed."""
    drawn = Weibull(coefficients=()).draw(240, stream(ROOT_SEED, "differencing"))
    times, events, secret = np.ceil(drawn.times * 500), drawn.events, 987654321
    right = 0
    for count in range(100, 240):
        before, after = (_table(times[:n], events[:n], secret) for n in (count, count + 1))
        read = read_difference(before, after)
        noised = add_noise(times[: count + 1], "poisson", secret)[count]
        right += read is not None and read.time == noised and read.event == events[count]
    return right / 140


def _table(times: np.ndarray, events: np.ndarray, seed: int) -> np.ndarray:
    """Times, events and censored records (m, 3) of one call."""
    drawn = add_noise(times, "poisson", seed)
    union = np.unique(drawn)
    return np.column_stack([union, *table_at(drawn, events, union)[:2]])


def summed_share() -> float:
    """Share of records that are differences of one client's sums: 3 clients, 3,000 records, times without ties."""
    weibull = Weibull(coefficients=STRONG)
    drawn = weibull.draw(3000, stream(ROOT_SEED, "sums"))
    records = SurvivalRecords(drawn.times, drawn.events, drawn.covariates).until(weibull.horizon)
    times, read = event_times(records), 0
    for rows in np.array_split(np.arange(3000), CLIENTS):
        sums = risk_sums(records.take(rows), times, np.zeros(6))
        read += len(read_sums(times, sums.zeroth, sums.first).covariates)
    return read / 3000
