"""Fed-EINI under audit: what the next party reads of leaf vectors whose entries were multiplied by 0 and by 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....audits.exposure import Exposure, Task
from ....audits.pairs import ClearPair
from ....audits.worlds import World
from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic.paillier import encrypt, rerandomise
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, generate_key
from ....methods.trees.leaves import skeleton
from ....methods.trees.protocols.encrypted_inference import ruled_out, zero_dropped
from ....privacy.accounted_values import Clear
from ..claims import KeySettings


def zeros_published(task: Task[KeySettings]) -> Exposure:
    """Fed-EINI as published: leaves that a party rules out are 0 times their ciphertext, the constant 1."""
    _, sent = _leaf_vectors(task)
    return _read(task, sent, Clear(sent(task.worst[0]), units=("features",), owner=task.owner))


def zeros_corrected(task: Task[KeySettings]) -> Exposure:
    """Fed-EINI with every ciphertext re-randomised, so that the next party reads nothing."""
    private, sent = _leaf_vectors(task)

    def fresh_ciphertexts(world: World) -> Cipher:
        return rerandomise(private.public, sent(world), task.noise())

    return _read(task, fresh_ciphertexts, fresh_ciphertexts(task.worst[0]))


def _leaf_vectors(task: Task[KeySettings]) -> tuple[PrivateKey, Callable[[World], Cipher]]:
    """Return the key of the party that encrypts the weights of leaves, and what an owner makes of them in any world."""
    private = generate_key(task.settings.key_size, task.rng_for("key"), kind="paillier")
    weights = np.tile(np.arange(1, 5), task.settings.n)
    received = encrypt(private, weights, task.rng_for("weights"), key_holder="active")
    return private, lambda world: zero_dropped(private.public, received, _kept_leaves(world))


def _kept_leaves(world: World) -> np.ndarray:
    """The leaves of a tree of four that the owner of its root keeps, row by row."""
    form = skeleton(np.array([3, 0, 0], dtype=np.uint8), np.array([], dtype=int))
    return form.open_leaves(np.array([0]), world.x[None, :, 0] <= 0.5).T.ravel()


def _read(task: Task[KeySettings], sent: Callable[[World], Cipher], payload: Clear | Cipher) -> Exposure:
    """The next party looks for the constant 1."""
    zero = ~_kept_leaves(task.worst[0])
    n_read = int(np.sum(ruled_out(sent(task.worst[0])) & zero))
    pairs = task.pairs(lambda data, neighbour: ClearPair(ruled_out(sent(data)), ruled_out(sent(neighbour))))
    return Exposure({0: payload}, pairs, {"recovered_share": n_read / int(zero.sum()), "recovered_entries": n_read})
