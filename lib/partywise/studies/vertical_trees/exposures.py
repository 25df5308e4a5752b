"""Seed 003, vertical trees: randomised buckets, order-preserving noise, affine maps, and encryption in name only."""

from __future__ import annotations

from math import nan

import numpy as np

from ...audits.exposure import Exposure, Task, fixed, unproved
from ...audits.pairs import ClearPair, LawPair, NoLaw, ResponseLawPair, ResponsePair
from ...audits.worlds import World
from ...federation.channel import Cipher
from ...privacy.accounted import Accounted, Clear, Public
from ...privacy.audit.exact import audit_exact
from ...privacy.mechanisms.distance import DistanceExponential
from ...privacy.mechanisms.distance_adjusted import AdjustedDistanceExponential
from ...privacy.mechanisms.randomized_response import RandomizedResponse
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.records import entries
from ...privacy.statistics.slices import Quantiles, bucket_index
from ..privacy_audit.settings import TreeSettings

# Fixed-point grid of masked values.
FRACTION_BITS = 32


def public_buckets(task: Task) -> Exposure:
    """One index in buckets with public edges: the loss of randomised response itself."""
    return _buckets(task, public_edges(task.settings), task.epsilon)


def quantile_buckets(task: Task) -> Exposure:
    """As published: buckets of equal size, so that one record moves an index across every edge; repaired: public."""
    settings = task.settings
    edges = Quantiles(settings.n_buckets) if task.published else public_edges(settings)
    return _buckets(task, edges, task.epsilon)


def many_features(task: Task) -> Exposure:
    """epsilon for each feature of a record; repaired: epsilon / d for each (public edges in both)."""
    epsilon = task.epsilon if task.published else task.epsilon / task.settings.n_features
    return _buckets(task, public_edges(task.settings), epsilon)


def public_edges(settings: TreeSettings) -> Public:
    """Cuts of [0, 1] into equal parts."""
    cuts = np.arange(1, settings.n_buckets) / settings.n_buckets
    return Public(cuts, because="equal parts of [0, 1], to which the source maps every feature; n_buckets is a setting")


def _buckets(task: Task, edges: Accounted | Quantiles, epsilon: float) -> Exposure:
    settings = task.settings
    mechanism = RandomizedResponse(epsilon, settings.n_buckets)
    bounded = _indices(task.worst[0], edges)
    release = mechanism(bounded, task.noise(), owner=task.owners[0], epsilon_claimed=task.epsilon)
    # Public edges move one index a feature, which is enumerated; an attack on many is drawn.
    kind = ResponsePair if isinstance(edges, Quantiles) else ResponseLawPair

    def attacked(one: World, other: World) -> ResponsePair:
        first, second = (np.ravel(_indices(world, edges).value).astype(int) for world in (one, other))
        return kind(first, second, epsilon, settings.n_buckets)

    worst = attacked(*task.worst)
    numbers = {"indices_moved": worst.moved, "exact_pure": worst.moved * audit_exact(mechanism.matrix()).epsilon}
    return Exposure(task.sent("bucket indices", release), (worst, attacked(*task.ordinary)), numbers)


def _indices(world: World, edges: Accounted | Quantiles) -> Bounded:
    return bucket_index(world.x if world.x.shape[1] > 1 else world.x[:, 0], edges)


def distance(task: Task) -> Exposure:
    """OpBoost, global: the claim is about distance 1, the value may be any of the domain; repaired: spread over it."""
    settings = task.settings
    per_step = task.epsilon if task.published else 2 * task.epsilon / (settings.high - settings.low)
    mechanism = DistanceExponential(per_step, fixed(settings, "low", "high"))
    return _distances(task, mechanism)


def adjusting(task: Task) -> Exposure:
    """OpBoost, adjusting: as printed both sums run over lb..ub and no law results; repaired: sums over the buckets."""
    settings = task.settings
    domain = fixed(settings, "low", "high")
    mechanism = AdjustedDistanceExponential(task.epsilon, task.epsilon, settings.theta, domain)
    if not task.published:
        # The right sums make a law, and a claim about distances; about the whole domain nothing is claimed any more.
        return _distances(task, mechanism, claim=nan)
    buckets, values = mechanism.printed_matrix()
    totals = {"printed_total": float(buckets.sum(axis=1).min())}
    try:
        audit_exact(buckets)
    except ValueError:
        payload = unproved(values, task.owners[0], "features", "adjusting as printed")
        return Exposure(task.sent("desensitised values", payload), (NoLaw(), NoLaw()), totals)
    return _distances(task, mechanism)


def _distances(
    task: Task, mechanism: DistanceExponential | AdjustedDistanceExponential, claim: float | None = None
) -> Exposure:
    """Release the whole column; the pair's loss is enumerated from the law."""
    settings = task.settings
    law = mechanism.matrix()
    bounded = entries(_integers(settings, task.worst[0]), unit="features")
    release = mechanism(bounded, task.noise(), owner=task.owners[0], epsilon_claimed=task.epsilon)

    def attacked(one: World, other: World) -> LawPair:
        return LawPair(*(law[int(_integers(settings, world)[0]) - settings.low] for world in (one, other)))

    numbers = {"exact_pure": audit_exact(law).epsilon}
    return Exposure(task.sent("desensitised values", release), task.pairs(attacked), numbers, claim=claim)


def _integers(settings: TreeSettings, world: World) -> np.ndarray:
    """Values of [0, 1] mapped to the integers low..high by public bounds."""
    return np.clip(np.round(settings.low + world.x[:, 0] * (settings.high - settings.low)), settings.low, settings.high)


def affine(task: Task) -> Exposure:
    """The map to [lb, ub] by the sample's own minimum and maximum, which the receiver can undo; repaired: public."""
    if not task.published:
        return distance(task)
    payload = Clear(_range(task.worst[0]), units=("features",), owner=task.owners[0])
    return Exposure(task.sent("range", payload), task.pairs(lambda one, other: ClearPair(_range(one), _range(other))))


def _range(world: World) -> np.ndarray:
    return np.array([world.x.min(), world.x.max()])


def abstract_encrypt(values: np.ndarray) -> np.ndarray:
    """``encrypt`` of the shipped ``abstract_paillier``: the plaintext itself."""
    return values


def mask(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One-time masks over Z_2^64: the sum with a uniform number says nothing to whoever lacks it."""
    fixed = np.round(values * 2.0**FRACTION_BITS).astype(np.int64).view(np.uint64)
    return fixed + rng.integers(0, 2**64, fixed.shape, dtype=np.uint64)


def encryption(task: Task) -> Exposure:
    """ "he" with ``abstract_paillier``: gradients cross as they are; repaired: a cipher whose key stays at home."""
    if task.published:
        payload = Clear(abstract_encrypt(task.worst[0].y), units=("label",), owner=task.owners[0])
        pairs = task.pairs(lambda one, other: ClearPair(abstract_encrypt(one.y), abstract_encrypt(other.y)))
        return Exposure(task.sent("gradients", payload), pairs)
    masked = Cipher(mask(task.worst[0].y, task.noise()), key_holder=task.owners[0])
    # A uniform mask gives every value the same law, whatever it hides.
    same = LawPair(np.ones(1), np.ones(1))
    return Exposure(task.sent("gradients", masked), (same, same))
