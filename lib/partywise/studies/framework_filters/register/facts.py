"""What follows from the restated layers without a cube: noise, accounts, epsilons, values that are read."""

from __future__ import annotations

import math

import numpy as np

from ....filters.guarantees import (
    Relation,
    adaptive_epsilon,
    epsilon_of,
    fixed_mu,
    fixed_optimiser_mu,
    local_mu,
    unreachable,
)
from ....filters.layers.flower import FIRST_CLIP, adaptive_clipping, local_sd
from ....filters.layers.nvflare import percentile, svt, svt_counts
from ....filters.layers.pfl import pfl_sigma
from ....filters.layers.statistics import min_count, noisy_maximum
from ....filters.protocols.statistics import most_bins
from ....privacy.accountants.renyi import RDP
from ....privacy.accounting.calibration import gdp_mu
from ....privacy.accounting.compose import cost
from ....randomness import stream
from ..attacks import jobs_to_one

ROOT_SEED = 20240601
# Examples of four hospitals.
WEIGHTS = (304.0, 260.0, 46.0, 130.0)
DELTA, CLIENTS, ENTRIES = 1e-5, 100, 14
# Jobs in which a largest value is asked for again, draws that show what floats give away, entries of a filtered update.
JOBS, DRAWS, WEIGHT_COUNT = 1000, 100_000, 20_000


def local_epsilon(
    sensitivity: float,
    epsilon: float,
    delta: float = DELTA,
    bound: float = 1.0,
    rounds: int = 1,
    relation: Relation = "replace_one",
) -> float:
    """Epsilon that local noise of S and epsilon holds for updates of norm ``bound``, over rounds with fresh noise."""
    return epsilon_of(local_mu(bound, sensitivity, epsilon, delta, relation), delta, rounds)


def reported_epsilon(rounds: int) -> float:
    """Epsilon of a Renyi account of rounds at multiplier 1, a client added or removed."""
    return RDP(cost(mu=1.0, count=rounds)).epsilon(DELTA)


def fixed_epsilon(rounds: int, relation: Relation) -> float:
    """Epsilon of a fixed clip at multiplier 1 and equal weights."""
    return epsilon_of(fixed_mu(1.0, relation), DELTA, rounds)


def held_multiplier(use: str) -> float:
    """1 / mu by zero-out of one round at multiplier 1.

    use : fixed clip with weights by ``examples`` or around ``FedAdam``, or ``adaptive`` clip
    """
    if use == "examples":
        return 1 / fixed_mu(1.0, "zero_out", WEIGHTS)
    if use == "FedAdam":
        return 1 / fixed_optimiser_mu(use, 10, 0.01, 1.0, ENTRIES)
    return 1 / float(gdp_mu(adaptive_epsilon(1.0, CLIENTS, DELTA, moved=1.0), DELTA))


def clipped_share(rounds: int) -> float:
    """Share of updates that the adaptive clip cuts after so many rounds, all updates having norm 1."""
    rng, bound = stream(ROOT_SEED, "adaptive clip"), FIRST_CLIP
    sent, replies = [np.zeros(1)], [[np.ones(1)]] * CLIENTS
    for _ in range(rounds):
        _, bound = adaptive_clipping(sent, replies, [1.0] * CLIENTS, bound=bound, multiplier=1.0, rng=rng)
    return float(bound < 1)


def float_share() -> float:
    """Share of noisy floats of an entry 0 that no noise makes of 2 C, at S = 2 C and epsilon 1."""
    noise = stream(ROOT_SEED, "floats").normal(0, local_sd(2.0, 1.0, DELTA), DRAWS)
    return float(unreachable(noise, 2.0).mean())


def svt_account(entries: int) -> float:
    """Epsilon of one round as the account of the sparse vector adds it: threshold, queries and release."""
    return math.fsum(svt_counts(entries)[1:])


def sent_share(layer: str) -> float:
    """Share of the entries of a normal update that ``percentile`` or ``svt`` leaves other than 0."""
    update = {"weights": stream(ROOT_SEED, "update").normal(0, 1e-3, WEIGHT_COUNT)}
    filtered = percentile(update) if layer == "percentile" else svt(update, rng=stream(ROOT_SEED, "sparse vector"))
    return float(np.count_nonzero(filtered["weights"]) / WEIGHT_COUNT)


def least_records() -> float:
    """Fewest records of which statistics are sent."""
    return float(next(records for records in range(JOBS) if min_count(records)))


def histogram_share(records: int) -> float:
    """Share of whole numbers that histograms of one wide bins give exactly, as many bins a job as pass."""
    values = np.sort(stream(ROOT_SEED, "ages").integers(20, 90, records))
    bins = most_bins(records)
    read = [
        np.repeat(np.arange(first, first + bins), np.histogram(values, np.arange(first, first + bins + 1) - 0.5)[0])
        for first in range(0, 100, bins)
    ]
    return float(np.mean(np.concatenate(read) == values))


def maximum_share() -> float:
    """Share of the largest values 40 to 89 that noisy extremes leave alone when they are asked for again."""
    rng = stream(ROOT_SEED, "extremes")
    jobs = [jobs_to_one(np.array([noisy_maximum(value, rng) for _ in range(JOBS)])) for value in range(40, 90)]
    return float(np.isfinite(jobs).mean())


def cohort_epsilon(epsilon: float) -> float:
    """Epsilon of the noise that is calibrated for a user added or removed."""
    return epsilon_of(1 / pfl_sigma(epsilon, DELTA), DELTA)
