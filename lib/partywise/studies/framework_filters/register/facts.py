"""Facts of the restated layers that need no cube: noise, accounts, epsilons, values that are read."""

from __future__ import annotations

import math

import numpy as np

from ....core.checks import Scalar
from ....core.randomness import stream
from ....methods.filters.guarantees import epsilon_of, unreachable
from ....methods.filters.layers.flower import FIRST_CLIP, adaptive_clipping, local_sd
from ....methods.filters.layers.nvflare import percentile, svt, svt_counts
from ....methods.filters.layers.statistics import min_count, noisy_maximum
from ....methods.filters.protocols.statistics import most_bins
from ....privacy.accountants.renyi import RDP
from ....privacy.accounting.calibration import gdp_mu
from ....privacy.accounting.compose import cost
from ..attacks import jobs_to_one
from ..claims import CLAIMS, ClaimLine
from ..judgements import judge

ROOT_SEED = 20240601
DELTA, CLIENTS = 1e-5, 100
# Jobs in which a largest value is asked for again, draws that show what floats give away, entries of a filtered update.
JOBS, DRAWS, WEIGHT_COUNT = 1000, 100_000, 20_000


def epsilon_held(
    claim: str, epsilon: float, delta: float = DELTA, relation: str = "replace_one", **settings: Scalar
) -> float:
    """Epsilon that holds for a claim of the audit where this one is claimed, by replacement or by ``zero_out``."""
    (layer_claim,) = (entry for entry in CLAIMS if entry.name == claim)
    judgement = judge(layer_claim, ClaimLine(settings, epsilon), delta)
    return judgement.zero_out if relation == "zero_out" else judgement.epsilon


def reported_epsilon(rounds: int) -> float:
    """Epsilon of a Renyi account of rounds at multiplier 1, a client added or removed."""
    return RDP(cost(mu=1.0, count=rounds)).epsilon(DELTA)


def fixed_epsilon(rounds: int, relation: str) -> float:
    """Epsilon of a fixed clip at multiplier 1 and equal weights."""
    return epsilon_held("fixed_clip", epsilon_of(1.0, DELTA, rounds), relation=relation, rounds=rounds)


def held_multiplier(claim: str) -> float:
    """1 / mu by zero-out of one round at multiplier 1."""
    return 1 / float(gdp_mu(epsilon_held(claim, epsilon_of(1.0, DELTA), relation="zero_out", rounds=1), DELTA))


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
