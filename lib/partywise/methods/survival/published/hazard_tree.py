"""The cumulative hazard by a noisy tree of increments, as the R package FDPCox (arXiv 2508.19640, c74cb18) has it.

Breslow's increments are added up over the leaves of a binary tree of the follow-up; every node is sent with noise, and
the hazard until the end of a leaf is a sum of few nodes.  The package's loop loses the first event and the last one,
adds the last two to every leaf without events, and has an end of its own, day 3,000, for any cutoff.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log, log2, sqrt
from typing import Literal

import numpy as np

from ..records import SurvivalRecords

# After this time the package drops events, whatever its cutoff is.
LAST_EVENT = 3000.0
# Share of the released share at risk to which increments are cut off, as in the package's own script.
CAUTION = 0.9

Events = Literal["published", "all"]


def share_sd(n: int, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise on a client's share of records at risk after the cutoff: the classic formula."""
    return sqrt(2 * log(1.25 / delta)) / (n * epsilon)


def tree_levels(sizes: Sequence[int], epsilon: float) -> int:
    """L = floor(log2(sum of min(n_k, n_k^2 epsilon^2)) / 2), at least 1."""
    return max(floor(log2(sum(min(n, n**2 * epsilon**2) for n in sizes)) / 2), 1)


def node_sd(n: int, levels: int, floor_share: float, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise of a node; ``floor_share`` is c."""
    spread = (1 / floor_share**4 + 3 / floor_share**2) * levels / (epsilon * n**2)
    return sqrt((2 * log(1 / delta) / epsilon + 1) * spread)


def leaf_sums(
    records: SurvivalRecords, coefficients: np.ndarray, cutoff: float, levels: int, floor_share: float, events: Events
) -> np.ndarray:
    """Increments min(1 / S_0, 1 / (c n)) of a client's events over the 2^L leaves of (0, cutoff].

    events : ``all`` until the cutoff, or those that the ``published`` loop adds
    """
    order = np.argsort(records.times, kind="stable")
    times, happened = records.times[order], records.events[order]
    weights = np.exp(records.covariates[order] @ coefficients) if coefficients.size else np.ones(len(times))
    at_risk = np.cumsum(weights[::-1])[::-1]
    increments = np.minimum(1 / at_risk, 1 / (floor_share * len(times)))
    ends = cutoff * np.arange(1, 2**levels + 1) / 2**levels
    if events == "all":
        counted = happened & (times <= cutoff)
        return np.bincount(np.searchsorted(ends, times[counted]), weights=increments[counted], minlength=len(ends))
    counted = happened & (times <= min(cutoff, LAST_EVENT))
    # The first event has time 0 and no increment there.
    at, added = np.append(0.0, times[counted][1:]), np.append(0.0, increments[counted][1:])
    reached = np.minimum(np.searchsorted(at, ends, side="left"), len(at) - 1)
    sums, before = np.zeros(len(ends)), 0
    for leaf, place in enumerate(np.maximum.accumulate(reached)):
        # A range of R runs backwards where it is empty: from this event to the one before.
        sums[leaf] = added[before:place].sum() if place > before else added[max(place - 1, 0) : place + 1].sum()
        before = place
    return sums


def noisy_nodes(leaves: np.ndarray, sd: float, rng: np.random.Generator) -> np.ndarray:
    """All nodes of levels 1..L one after the other (2^(L+1) - 2,), with noise, negative ones 0."""
    levels, level = [leaves], leaves
    while len(level) > 2:
        level = level.reshape(-1, 2).sum(axis=1)
        levels.insert(0, level)
    nodes = np.concatenate(levels)
    return np.maximum(nodes + rng.normal(0, sd, len(nodes)), 0.0)


def hazards_of(nodes: np.ndarray) -> np.ndarray:
    """Cumulative hazard (2^L,) at the ends of leaves: nodes that cover (0, end] without a gap, as few as possible."""
    count = (len(nodes) + 2) // 2
    levels = count.bit_length() - 1
    hazards = np.zeros(count)
    for end in range(1, count + 1):
        if end == count:
            hazards[end - 1] = nodes[:2].sum()
            continue
        covered = 0
        for level in range(1, levels + 1):
            width = 2 ** (levels - level)
            if end & width:
                # Level l begins at node 2^l - 2.
                hazards[end - 1] += nodes[2**level - 2 + covered // width]
                covered += width
    return hazards
