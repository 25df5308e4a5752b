"""Protocol: the cumulative hazard by a noisy tree of increments, at log hazard ratios of 0.

Source: R package FDPCox of arXiv 2508.19640 (state c74cb18); as published, or with all events until the cutoff.

Nothing is certified of the trees: increments are cut off at a floor that is released, and no bound on their change is
proved.  No pair of data sets is known that refutes them either.  Shares at risk hold what the classic formula holds.

Message         from, to          payload, bytes
share at risk   clients, server   `Release`, 8
floor           server, clients   made of the shares, 8
tree            clients, server   `Clear` of rows, 8 (2^(L+1) - 2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.gaussian import Gaussian
from ....privacy.mechanisms.release import Release, derive
from ....privacy.statistics.bounded import Bounded, sum_certificate
from ....privacy.strata import cell_of
from ..exact import StepCurve
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import TreeBreslowOptions
from ..published.gradient_cox import client_weights
from ..published.hazard_tree import (
    CAUTION,
    hazards_of,
    leaf_sums,
    node_sd,
    noisy_nodes,
    share_sd,
    tree_levels,
)
from .common import SERVER, local_rows, sizes_of

# A released share at risk may be 0 or below: the published formula divides by it.
LEAST_FLOOR = 0.05


@dataclass(frozen=True)
class HazardTreePlan:
    """Public facts of a run before its fit; an epsilon above 1e6 counts as 1e6 in levels and weights."""

    options: TreeBreslowOptions
    sizes: tuple[int, ...]
    horizon: float
    cutoff: float
    epsilon: float
    delta: float

    @property
    def levels(self) -> int:
        """Number of levels L."""
        return self.options.levels or tree_levels(self.sizes, min(self.epsilon, 1e6))

    def sd(self, size: int, floor_share: float) -> float:
        """Standard deviation of the noise of a node."""
        if math.isinf(self.epsilon):
            return 0.0
        return node_sd(size, self.levels, floor_share, self.epsilon, self.delta)


def local_share(client: Party, plan: HazardTreePlan, rng_for: Rng) -> Release:
    """The client's share of records at risk after the cutoff."""
    times = local_rows(client, plan.horizon).times
    certificate = sum_certificate(1 / len(times), "share of n records", "row", {"label"})
    # At the horizon, where follow-up ends, those who reach it are at risk after it.
    at_risk = (times > plan.cutoff) | (times == plan.horizon)
    bounded = Bounded(np.array([np.mean(at_risk)]), certificate, cell_of("clients", client.name))
    sigma = 0.0 if math.isinf(plan.epsilon) else share_sd(len(times), plan.epsilon, plan.delta)
    rng = rng_for("share at risk", client.name)
    return Gaussian(sigma=sigma)(bounded, rng, owner=client.name, release_id=f"share at risk of {client.name}")


def local_tree(client: Party, floor_share: np.ndarray, plan: HazardTreePlan, rng_for: Rng) -> Clear:
    """All nodes of the client's tree, with noise that proves nothing."""
    records, share = local_rows(client, plan.horizon), float(floor_share[0])
    leaves = leaf_sums(records, np.zeros(0), plan.cutoff, plan.levels, share, plan.options.range)
    nodes = noisy_nodes(leaves, plan.sd(len(records), share), rng_for("tree", client.name))
    return Clear(nodes, units=("row",), owner=client.name)


def server_floor(shares: Sequence[np.ndarray], parts: Sequence[AccountedValue]) -> Payload:
    """The floor c of shares at risk."""
    floor = np.maximum(CAUTION * np.mean(shares, axis=0), LEAST_FLOOR)
    return derive(floor, parts, name="floor", owner=SERVER)


def server_curve(trees: Sequence[np.ndarray], plan: HazardTreePlan) -> SurvivalEstimate:
    """Survival exp(-H) that jumps at the ends of leaves."""
    weights = client_weights(plan.sizes, min(plan.epsilon, 1e6))
    hazards = np.sum([weight * hazards_of(nodes) for weight, nodes in zip(weights, trees, strict=True)], axis=0)
    ends = plan.cutoff * np.arange(1, len(hazards) + 1) / len(hazards)
    curve = StepCurve(ends, np.exp(-hazards), 1.0)
    return SurvivalEstimate(
        plan.epsilon, len(plan.sizes), curves=(curve,), numbers={"bins": len(ends), "times_sent": 0}
    )


def fit(run: Run) -> SurvivalEstimate:
    """Shares at risk, then trees."""
    facts: SurvivalFacts = run.spec.public
    if facts.groups > 1:
        raise ValueError(f"groups is {facts.groups}: a tree is of all records together; take another protocol.")
    options: TreeBreslowOptions = run.spec.options
    cutoff = facts.cutoff(options.cutoff)
    plan = HazardTreePlan(options, tuple(sizes_of(run)), facts.horizon, cutoff, run.epsilon, run.spec.study.delta)
    shares = run.gather(run.parties, SERVER, "share at risk", local_share, plan, run.rng_for)
    heard = run.received(SERVER, "share at risk")
    floor_share = run.broadcast(SERVER, run.parties, "floor", server_floor, shares, heard)
    trees = run.gather(run.parties, SERVER, "tree", local_tree, floor_share, plan, run.rng_for)
    return run.at(SERVER, server_curve, trees, plan)
