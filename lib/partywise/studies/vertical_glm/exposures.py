"""Seed 004, vertical generalised linear models: rotations of the data, linear predictors, hashes of identifiers."""

from __future__ import annotations

import numpy as np

from ...attacks.exchange import column_space, dictionary_attack, hash_identifiers, recover_rows, scores_of_block
from ...audits.exposure import Exposure, Task
from ...audits.pairs import ClearPair, GaussianPair
from ...audits.worlds import World
from ...privacy.accounted import Clear, Public
from ...privacy.mechanisms.gaussian import SymmetricGaussian
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.moments import second_moment

# Rounding errors of a reconstruction stay far below this share of the data's size.
EXACT = 1e-9


def scores(task: Task) -> Exposure:
    """U_k D_k in the clear, from which p known rows give all others; repaired: a Gram matrix with noise."""
    if not task.published:
        return _gram(task)
    block = task.worst[0].x
    sent, known = scores_of_block(block), np.arange(1, block.shape[1] + 1)
    found = recover_rows(sent, known, block[known])
    payload = Clear(sent, units=("features",), owner=task.owners[0])
    pairs = task.pairs(lambda one, other: ClearPair(scores_of_block(one.x), scores_of_block(other.x)))
    return Exposure(task.sent("scores", payload), pairs, _recovered(block, found, known))


def predictor(task: Task) -> Exposure:
    """eta_k = X_k beta_k of p iterations in the clear spans the column space of X_k; repaired: a noisy Gram matrix."""
    if not task.published:
        return _gram(task)
    block = task.worst[0].x
    path = task.rng_for("iterations").standard_normal((block.shape[1], block.shape[1]))
    sent, known = block @ path, np.arange(1, block.shape[1] + 1)
    found = recover_rows(column_space(sent), known, block[known], law="linear")
    payload = Clear(sent, units=("features",), owner=task.owners[0])
    pairs = task.pairs(lambda one, other: ClearPair(one.x @ path, other.x @ path))
    return Exposure(task.sent("linear predictors", payload), pairs, _recovered(block, found, known))


def hashes(task: Task) -> Exposure:
    """SHA-256 of identifiers, inverted by hashing the whole identifier scheme."""
    names = identifiers(task.worst[0])
    sent = hash_identifiers(names)
    found = dictionary_attack(sent, (f"PATIENT_{i:05d}" for i in range(task.settings.population)))
    right = sum(found.get(digest) == name for digest, name in zip(sent, names, strict=True))
    payload = Clear(sent, units=("row",), owner=task.owners[0])
    pairs = task.pairs(lambda one, other: ClearPair(_hashed(one), _hashed(other)))
    return Exposure(task.sent("hashes", payload), pairs, {"recovered_share": right / len(sent), "recovered": right})


def identifiers(world: World) -> list[str]:
    """Identifiers in the scheme of the source, such as PATIENT_00042."""
    return [f"PATIENT_{int(number):05d}" for number in world.y]


def _hashed(world: World) -> np.ndarray:
    return np.array(hash_identifiers(identifiers(world)))


def _recovered(block: np.ndarray, found: np.ndarray, known: np.ndarray) -> dict[str, float | int]:
    """Share of the rows unknown to the attacker that come back exactly, and the largest relative error."""
    hidden = np.ones(len(block), dtype=bool)
    hidden[known] = False
    error = np.max(np.abs(found - block)[hidden], axis=1) / np.max(np.abs(block))
    right = int(np.sum(error < EXACT))
    return {"recovered_share": right / int(hidden.sum()), "recovered": right, "recovery_error": float(error.max())}


def _gram(task: Task) -> Exposure:
    """X'X of rows clipped to a public radius, with symmetric noise: enough for correlations, components and models."""
    first = _moment(task.worst[0])
    noise = first.certificate.value / task.mu
    release = SymmetricGaussian(noise)(first, task.noise(), owner=task.owners[0])
    upper = np.triu_indices(task.settings.p)

    def attacked(one: World, other: World) -> GaussianPair:
        first, second = (np.asarray(_moment(world).value)[upper] for world in (one, other))
        return GaussianPair(first, second, noise)

    return Exposure(task.sent("Gram matrix", release), task.pairs(attacked))


def _moment(world: World) -> Bounded:
    radius = float(2 * np.sqrt(world.x.shape[1]))
    return second_moment(world.x, Public(radius, because="twice the root of the number of columns, which is public"))
