"""Attacks that end in data, with planted keys only: what an observer of one message makes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...methods.filters.layers.masks import EXAMPLES, LEVELS, MODULUS, RANGE, mask
from ...methods.filters.layers.statistics import LEVELS as NOISE
from ...methods.filters.model import FilterEstimate
from ...methods.filters.options import FedavgOptions, RowGradientsOptions
from ...methods.filters.protocols.statistics import most_bins
from ...methods.filters.training import (
    SVT_GAMMA,
    clip_rows,
    local_updates,
    plain_rows,
    record_gradients,
    residuals,
    sparse_rows,
)
from ...privacy.accounting.calibration import gdp_mu
from .data import FilterData

# Of a layer without noise a candidate fits if it agrees to so many digits.
EQUAL = 1e-12
# Seeds that are looked at together: the recurrence of their states stays in cache.
BLOCK = 1 << 15


@dataclass(frozen=True)
class Identification:
    """Whether the unknown patient was named, and how many give the same update."""

    named: bool
    candidates: int


@dataclass(frozen=True)
class UnknownPatient:
    """One patient of a hospital, whom an attacker who knows all others looks for, and the coefficients of the round.

    rows : (n, D), labels (n,): records of the hospital; place : of the unknown one
    others : (m, D), labels (m,): candidates, among them the truth
    """

    rows: np.ndarray
    y: np.ndarray
    place: int
    others: np.ndarray
    labels: np.ndarray
    at: np.ndarray

    @property
    def truth(self) -> int:
        """Number of the candidate that it is."""
        same = (self.others == self.rows[self.place]).all(axis=1) & (self.labels == self.y[self.place])
        return int(np.flatnonzero(same)[0])

    def updates(self, steps: int, step: float) -> np.ndarray:
        """Update (m, D) of the hospital with each candidate in place of the unknown patient."""
        known = np.delete(np.arange(len(self.y)), self.place)
        A, b = self.rows[known], self.y[known]
        # All begin at one place, where what is known gives them one gradient.
        coefficients = self.at[None]
        for _ in range(steps):
            errors = residuals(
                np.einsum("ij,ij->i", np.broadcast_to(coefficients, self.others.shape), self.others), self.labels
            )
            coefficients = coefficients - step * (
                residuals(coefficients @ A.T, b) @ A + errors[:, None] * self.others
            ) / len(self.y)
        return np.asarray(coefficients - self.at)


def unknown_patient(data: FilterData, hospital: int, place: int, late: bool) -> UnknownPatient:
    """The patient at a place of a hospital, all of whose records take part, in the first round or a late one."""
    if "others" not in data.memo:
        data.memo["others"], data.memo["labels"] = candidates(data)
        data.memo["False"], data.memo["True"] = np.zeros(data.X.shape[1]), late_coefficients(data)
    rows = data.holder == hospital
    memo = data.memo
    return UnknownPatient(
        data.X[rows], data.y[rows].astype(float), place, memo["others"], memo["labels"], memo[str(late)]
    )


def late_coefficients(data: FilterData) -> np.ndarray:
    """Coefficients after some rounds without a privacy layer, which the attacker knows as well."""
    options = FedavgOptions()
    at, sizes = np.zeros(data.X.shape[1]), np.bincount(data.holder)
    site_records = [
        (data.X[data.holder == site][None], data.y[data.holder == site][None]) for site in range(len(sizes))
    ]
    for _ in range(options.rounds):
        updates = [local_updates(at, X, y, options.steps, options.step)[0] for X, y in site_records]
        at = at + sizes / sizes.sum() @ np.stack(updates)
    return np.asarray(at)


def candidates(data: FilterData) -> tuple[np.ndarray, np.ndarray]:
    """All different records (m, D) and their labels (m,)."""
    distinct = np.unique(np.column_stack([data.X, data.y]), axis=0)
    return distinct[:, :-1], distinct[:, -1]


def identify(
    updates: np.ndarray,
    truth: int,
    options: FedavgOptions,
    noise: float,
    rng: np.random.Generator,
) -> Identification:
    """Name the candidate whose update is nearest to what left the hospital; without noise, the only equal one.

    noise : standard deviation
    """
    if options.layer == "svt":
        sent = sparse_rows(updates[truth : truth + 1], rng)[0]
        seen = np.flatnonzero(sent)
        distances = np.linalg.norm(np.clip(updates[:, seen], -SVT_GAMMA, SVT_GAMMA) - sent[seen], axis=1)
        return Identification(int(np.argmin(distances)) == truth, 1)
    return nearest(plain_rows(updates, options), truth, noise, rng)


def nearest(statistics: np.ndarray, truth: int, noise: float, rng: np.random.Generator) -> Identification:
    """The candidate whose statistic is nearest to the true one with noise; without noise, the only equal one."""
    if noise == 0:
        equal = np.abs(statistics - statistics[truth]).max(axis=1) <= EQUAL
        return Identification(bool(equal.sum() == 1), int(equal.sum()))
    observed = statistics[truth] + rng.normal(0, noise, statistics.shape[1])
    return Identification(int(np.argmin(np.linalg.norm(statistics - observed, axis=1))) == truth, 1)


def identify_gradient(
    unknown: UnknownPatient, options: RowGradientsOptions, epsilon: float, delta: float, rng: np.random.Generator
) -> Identification:
    """Name the candidate by its clipped gradient, where all of the budget is spent on one release."""
    gradients = clip_rows(record_gradients(unknown.at, unknown.others, unknown.labels), options.clip)
    noise = 0.0 if math.isinf(epsilon) else 2 * options.clip / float(gdp_mu(epsilon, delta))
    return nearest(gradients, unknown.truth, noise, rng)


def read_histograms(estimate: FilterEstimate, data: FilterData) -> tuple[float, float]:
    """Share of all values that non-empty bins give exactly, and jobs that this took at the largest hospital."""
    read, total, sizes = 0, 0, _site_sizes(data, len(estimate.histograms))
    sites = np.split(data.columns, np.cumsum(sizes))[:-1]
    for table, counts in zip(sites, estimate.histograms, strict=True):
        for (first, width, _), column, tiles in zip(data.spans, table.T, counts.values(), strict=True):
            values = np.repeat(first + width * (np.arange(len(tiles)) + 0.5), tiles)
            read += int(np.count_nonzero(np.abs(values - np.sort(column)) < width * 1e-6)) if len(tiles) else 0
            total += len(column)
    largest = int(np.argmax(sizes))
    bins = most_bins(sizes[largest])
    jobs = sum(len(tiles) // bins for tiles in estimate.histograms[largest].values())
    return read / total, float(jobs)


def _site_sizes(data: FilterData, sites: int) -> list[int]:
    """Records of each of so many sites, which may have several clients."""
    return [clients * rows for clients, rows in data.public().sites(sites)]


def jobs_to_one(sent: np.ndarray) -> float:
    """Noisy maxima (jobs,) of one positive whole number until all others are excluded; infinite if that takes more."""
    low = np.maximum.accumulate(sent / (1 + NOISE[1]))
    high = np.minimum.accumulate(sent / (1 + NOISE[0]))
    alone = np.floor(high + 1e-9) - np.ceil(low - 1e-9) == 0
    return float(np.argmax(alone) + 1) if alone.any() else math.inf


def extremes_jobs(estimate: FilterEstimate, data: FilterData) -> float:
    """Median over the columns of whole numbers of the largest hospital."""
    sent = estimate.extremes[int(np.argmax(_site_sizes(data, len(estimate.extremes))))]
    return float(np.median([jobs_to_one(sent[:, place, 1]) for place, span in enumerate(data.spans) if span[1] == 1]))


@dataclass(frozen=True)
class SeedSearch:
    """Seeds under which every word is possible, how many the first word leaves, and integers under the first seed."""

    hits: tuple[int, ...]
    left: int
    integers: np.ndarray

    @property
    def update(self) -> np.ndarray:
        """The update (D,) that the integers stand for; empty where no seed was found."""
        if not len(self.integers):
            return np.zeros(0)
        return np.asarray((self.integers[1:] / LEVELS * 2 * RANGE - RANGE) / (self.integers[0] / LEVELS))


def first_words(seeds: np.ndarray) -> np.ndarray:
    """First output (k,) of a Mersenne twister of each seed (k,) uint32: of its state words 0, 1 and 397 are needed."""
    state, word_1 = seeds.copy(), seeds
    for number in range(1, 398):
        state = np.uint32(1812433253) * (state ^ (state >> np.uint32(30))) + np.uint32(number)
        word_1 = state if number == 1 else word_1
    upper = (seeds & np.uint32(0x80000000)) | (word_1 & np.uint32(0x7FFFFFFF))
    y = state ^ (upper >> np.uint32(1)) ^ (upper & np.uint32(1)) * np.uint32(0x9908B0DF)
    y ^= y >> np.uint32(11)
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    return np.asarray(y ^ (y >> np.uint32(18)))


def search_seeds(words: np.ndarray, bits: int) -> SeedSearch:
    """Try all seeds below 2^bits on masked words (1 + D,), of whose pair the first client has the larger identifier.

    A seed survives if it makes the weight a possible one; of the few that do all words are looked at.
    """
    hits, left, integers = list[int](), 0, np.zeros(0, dtype=np.int64)
    for start in range(0, 1 << bits, BLOCK):
        seeds = np.arange(start, min(start + BLOCK, 1 << bits), dtype=np.uint32)
        survivors = seeds[np.uint32(words[0]) - first_words(seeds) <= LEVELS].tolist()
        left += len(survivors)
        for seed in survivors:
            opened = (words - pair_mask(seed, len(words))) % MODULUS
            if opened[0] and (opened <= LEVELS).all():
                hits.append(seed)
                integers = integers if len(integers) else opened
    return SeedSearch(tuple(hits), left, integers)


def pair_mask(seed: int, length: int) -> np.ndarray:
    """Words (length,) of the mask of a pair: of the weight, then of the update."""
    return np.concatenate(mask(seed, [(1,), (length - 1,)]))


def recovered_entries(search: SeedSearch, update: np.ndarray, rows: int) -> float:
    """Share of the entries of an update that a search has read, to the step of an integer."""
    if not len(search.update):
        return 0.0
    # An integer stands for a sixteenth of 2^-18, of an update times its weight.
    step = 2 * RANGE / LEVELS / (rows / EXAMPLES)
    return float(np.mean(np.abs(search.update - update) <= 1.01 * step))
