"""Messages of single rows under audit: gradients, encrypted in name or opened by the key holder, and indicators."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....audits.exposure import Exposure, Task
from ....audits.pairs import DistributionPair, ResponseDistributionPair, clear_exposure
from ....audits.worlds import AuditData, World
from ....core.randomness import Rng
from ....experiment.claims import ClaimSettings
from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic.paillier import encrypt
from ....federation.exchanges.homomorphic.paillier_keys import generate_key
from ....federation.exchanges.homomorphic.slots import to_fixed_point
from ....privacy.accounted_values import Public
from ....privacy.audit.exact import audit_exact
from ....privacy.mechanisms.randomized_response import RandomizedResponse
from ....privacy.statistics.bounded import Bounded
from ....privacy.statistics.slices import bin_index
from ..claims import KeySettings
from .ranks import moved_value

# The cut of a split, in the middle of [0, 1].
CUT = Public(np.array([0.5]), because="the middle of [0, 1], to which the source maps every feature")
# Of gradients, so that sums of rows fit into 64 bits.
BOUND = 2.0**10
# Whatever the receiver sees has the same distribution in both worlds.
SAME = DistributionPair(np.ones(1), np.ones(1))


def turned_label(settings: ClaimSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One gradient changes its sign, and no feature."""
    data = moved_value(settings, spec, rng_for, resources)
    data.x[1::2] = data.x[0::2]
    data.y[1::2, 0] = -data.y[0::2, 0]
    return data


def abstract_encrypt(values: np.ndarray) -> np.ndarray:
    """``encrypt`` of the shipped ``abstract_paillier``: the plaintext itself."""
    return values


def mask(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One-time masks over Z_2^64: the sum with a uniform number has no information without it."""
    whole = to_fixed_point(values).view(np.uint64)
    return whole + rng.integers(0, 2**64, whole.shape, dtype=np.uint64)


def encryption_published(task: Task[KeySettings]) -> Exposure:
    """ "he" with ``abstract_paillier``: gradients cross as they are."""
    return clear_exposure(task, lambda world: abstract_encrypt(world.y), "label")


def encryption_corrected(task: Task[KeySettings]) -> Exposure:
    """Paillier's scheme, whose key stays at home: its ciphertexts look alike, by the assumption that it rests on."""
    key = generate_key(task.settings.key_size, task.rng_for("key"), kind="paillier")
    integers = to_fixed_point(np.clip(task.worst[0].y, -BOUND, BOUND))
    return Exposure({0: encrypt(key, integers, task.noise(), key_holder=task.owner)}, (SAME, SAME))


def row_gradients_published(task: Task[ClaimSettings]) -> Exposure:
    """The linear model: the key holder opens a gradient of every row, which is a multiple of its features."""
    return clear_exposure(task, lambda world: np.abs(world.y[:, None]) * world.x, "features")


def row_gradients_corrected(task: Task[ClaimSettings]) -> Exposure:
    """The key holder opens the sum over the batch with a uniform mask, which its owner takes off again."""
    world = task.worst[0]
    # The source maps features to [0, 1]; who keeps to that cannot make the sum leave its field.
    total = np.clip(np.abs(world.y), 0, BOUND) @ np.clip(world.x, 0, 1)
    return Exposure({0: Cipher(mask(total, task.noise()), key_holder=task.owner)}, (SAME, SAME))


def split_indicators_published(task: Task[ClaimSettings]) -> Exposure:
    """Label scattering: the owner of a split sends for every row whether it goes left, encrypted gradients or not."""
    return clear_exposure(task, lambda world: np.packbits(np.asarray(_sides(world).value) == 0), "features")


def split_indicators_corrected(task: Task[ClaimSettings]) -> Exposure:
    """Label scattering with the bits by randomised response, on a public cut."""
    mechanism = RandomizedResponse(task.epsilon, 2)
    release = mechanism(_sides(task.worst[0]), task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)

    def pair_of(data: World, neighbour: World) -> ResponseDistributionPair:
        first, second = (np.asarray(_sides(world).value).astype(int) for world in (data, neighbour))
        return ResponseDistributionPair(first, second, task.epsilon, 2)

    return Exposure({0: release}, task.pairs(pair_of), {"exact_pure": audit_exact(mechanism.matrix()).epsilon})


def _sides(world: World) -> Bounded:
    """0 on the left of the cut, 1 on its right."""
    return bin_index(world.x[:, 0], CUT)
