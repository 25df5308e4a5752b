"""Seed 003 under audit: randomised bins, order-preserving noise, affine maps, and encryption in name only.

First the neighbours: one feature value moves from the least to the greatest, past every bin boundary.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....audits.exposure import Exposure, Task, public_settings, unproved_release
from ....audits.pairs import DistributionPair, NoDistribution, ResponseDistributionPair, ResponsePair, clear_exposure
from ....audits.worlds import AuditData, World
from ....core.randomness import Rng
from ....experiment.claims import ClaimSettings
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.audit.exact import audit_exact
from ....privacy.mechanisms.distances.adjustment import AdjustedDistanceExponential
from ....privacy.mechanisms.distances.exponential import DistanceExponential
from ....privacy.mechanisms.randomized_response import RandomizedResponse
from ....privacy.statistics.bounded import Bounded
from ....privacy.statistics.records import entries
from ....privacy.statistics.slices import Quantiles, bin_index
from ..claims import BinSettings, DomainSettings, FeatureSettings


def moved_value(settings: ClaimSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One feature, whose values fill [0, 1] evenly."""
    return _draw_moved(settings.n, 1, rng_for)


def moved_values(settings: FeatureSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """All features of one record move."""
    return _draw_moved(settings.n, settings.n_features, rng_for)


def _draw_moved(n: int, columns: int, rng_for: Rng) -> AuditData:
    rng = rng_for("records")
    base = np.stack([rng.permutation(n) for _ in range(columns)], axis=1) + 0.5
    x = np.repeat(base[None] / n, 4, axis=0)
    x[0, 0], x[1, 0] = 0.0, 1.0
    x[3, 0] = rng.random(columns)
    return AuditData(x, np.repeat(rng.standard_normal((1, n)), 4, axis=0))


def public_bins(task: Task[BinSettings | FeatureSettings]) -> Exposure:
    """An index of each feature in bins with public edges: of one feature, the loss of randomised response itself."""
    return _bins(task, public_edges(task.settings), task.epsilon)


def quantile_bins(task: Task[BinSettings]) -> Exposure:
    """Bins of equal size, so that one record moves an index across every edge."""
    return _bins(task, Quantiles(task.settings.n_bins), task.epsilon)


def shared_bins(task: Task[FeatureSettings]) -> Exposure:
    """Epsilon / d for each of d features of a record."""
    return _bins(task, public_edges(task.settings), task.epsilon / task.settings.n_features)


def public_edges(settings: BinSettings) -> Public:
    """Cuts of [0, 1] into equal parts."""
    cuts = np.arange(1, settings.n_bins) / settings.n_bins
    return Public(cuts, because="equal parts of [0, 1], to which the source maps every feature; n_bins is a setting")


def _bins(task: Task[BinSettings | FeatureSettings], edges: AccountedValue | Quantiles, epsilon: float) -> Exposure:
    settings = task.settings
    mechanism = RandomizedResponse(epsilon, settings.n_bins)
    bounded = _indices(task.worst[0], edges)
    release = mechanism(bounded, task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)
    # Public edges move one index a feature, which is enumerated; an attack on many is drawn.
    kind = ResponsePair if isinstance(edges, Quantiles) else ResponseDistributionPair

    def pair_of(data: World, neighbour: World) -> ResponsePair:
        first, second = (np.ravel(_indices(world, edges).value).astype(int) for world in (data, neighbour))
        return kind(first, second, epsilon, settings.n_bins)

    worst = pair_of(*task.worst)
    numbers = {
        "indices_moved": worst.n_changed,
        "exact_pure": worst.n_changed * audit_exact(mechanism.matrix()).epsilon,
    }
    return Exposure({0: release}, (worst, pair_of(*task.ordinary)), numbers)


def _indices(world: World, edges: AccountedValue | Quantiles) -> Bounded:
    return bin_index(world.x if world.x.shape[1] > 1 else world.x[:, 0], edges)


def distance_published(task: Task[DomainSettings]) -> Exposure:
    """OpBoost, global: the claim is about distance 1, the value may be any of the domain."""
    return _distances(task, DistanceExponential(task.epsilon, public_settings(task.settings, "low", "high")))


def distance_corrected(task: Task[DomainSettings]) -> Exposure:
    """OpBoost, global, with epsilon spread over the domain."""
    settings = task.settings
    per_step = 2 * task.epsilon / (settings.high - settings.low)
    return _distances(task, DistanceExponential(per_step, public_settings(settings, "low", "high")))


def adjusting_published(task: Task[DomainSettings]) -> Exposure:
    """OpBoost, adjusting, as printed: both sums run over lb..ub and no distribution results."""
    mechanism = _adjusted_mechanism(task)
    bins, values = mechanism.printed_matrix()
    totals = {"printed_total": float(bins.sum(axis=1).min())}
    try:
        audit_exact(bins)
    except ValueError:
        payload = unproved_release(values, task.owner, "features", "adjusting as printed", task.noise())
        return Exposure({0: payload}, (NoDistribution(), NoDistribution()), totals)
    return _distances(task, mechanism)


def adjusting_corrected(task: Task[DomainSettings]) -> Exposure:
    """OpBoost, adjusting, with sums over the bins."""
    return _distances(task, _adjusted_mechanism(task))


def _adjusted_mechanism(task: Task[DomainSettings]) -> AdjustedDistanceExponential:
    settings = task.settings
    return AdjustedDistanceExponential(
        task.epsilon, task.epsilon, settings.theta, public_settings(settings, "low", "high")
    )


def _distances(task: Task[DomainSettings], mechanism: DistanceExponential | AdjustedDistanceExponential) -> Exposure:
    """Release the whole column; the pair's loss is enumerated from the distribution."""
    settings = task.settings
    distribution = mechanism.matrix()
    bounded = entries(_integers(settings, task.worst[0]), unit="features")
    release = mechanism(bounded, task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)

    def pair_of(data: World, neighbour: World) -> DistributionPair:
        return DistributionPair(
            *(distribution[int(_integers(settings, world)[0]) - settings.low] for world in (data, neighbour))
        )

    numbers = {"exact_pure": audit_exact(distribution).epsilon}
    return Exposure({0: release}, task.pairs(pair_of), numbers)


def _integers(settings: DomainSettings, world: World) -> np.ndarray:
    """Values of [0, 1] mapped to the integers low..high by public bounds."""
    return np.clip(np.round(settings.low + world.x[:, 0] * (settings.high - settings.low)), settings.low, settings.high)


def affine(task: Task[DomainSettings]) -> Exposure:
    """The map to [lb, ub] by the sample's own minimum and maximum, which the receiver can undo."""
    return clear_exposure(task, lambda world: np.array([world.x.min(), world.x.max()]), "features")
