"""Seed 004 under audit: rotations of the data, linear predictors, hashes of identifiers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...alignment.identifiers import hash_identifiers
from ...attacks.identifiers import dictionary_attack
from ...attacks.predictors import column_space
from ...attacks.rotations import recover_rows
from ...audits.exposure import Exposure, Task
from ...audits.pairs import ClearPair, GaussianPair
from ...audits.worlds import AuditData, World
from ...pca.rotations import scores_of_block
from ...privacy.accounted import Clear, Public
from ...privacy.mechanisms.gaussian import SymmetricGaussian
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.moments import second_moment
from .claims import ExchangeSettings

Rng = Callable[..., np.random.Generator]
# Rounding errors of a reconstruction stay far below this share of the data's size.
EXACT = 1e-9


def replaced_row(settings: ExchangeSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """One row of the feature block is another; identifiers are distinct numbers (kept as labels)."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    x = np.repeat(rng.standard_normal((1, n, p)) @ np.diag(np.linspace(1, 2, p))[None], 4, axis=0)
    # Two long rows at right angles: their outer products differ most.
    x[:2, 0] = 0.0
    x[0, 0, 0], x[1, 0, 1] = 10.0, 10.0
    x[3, 0] = rng.standard_normal(p)
    y = np.repeat(rng.permutation(settings.population)[None, : n + 1].astype(float), 4, axis=0)
    y[1::2, 0] = y[0, n]
    return AuditData(x, y[:, :n])


def replaced_identifier(settings: ExchangeSettings, spec: Any, rng_for: Rng, resources: Path) -> AuditData:
    """One identifier is another; there are no features."""
    data = replaced_row(settings, spec, rng_for, resources)
    return AuditData(np.zeros_like(data.x), data.y)


def scores(task: Task) -> Exposure:
    """U_k D_k in the clear, from which p known rows give all others."""
    block = task.worst[0].x
    sent, known = scores_of_block(block), np.arange(1, block.shape[1] + 1)
    recovered = recover_rows(sent, known, block[known])
    payload = Clear(sent, units=("features",), owner=task.owner)
    pairs = task.pairs(lambda one, other: ClearPair(scores_of_block(one.x), scores_of_block(other.x)))
    return Exposure({0: payload}, pairs, _recovered(block, recovered, known))


def predictor(task: Task) -> Exposure:
    """eta_k = X_k beta_k of p iterations in the clear spans the column space of X_k."""
    block = task.worst[0].x
    path = task.rng_for("iterations").standard_normal((block.shape[1], block.shape[1]))
    sent, known = block @ path, np.arange(1, block.shape[1] + 1)
    recovered = recover_rows(column_space(sent), known, block[known], law="linear")
    payload = Clear(sent, units=("features",), owner=task.owner)
    pairs = task.pairs(lambda one, other: ClearPair(one.x @ path, other.x @ path))
    return Exposure({0: payload}, pairs, _recovered(block, recovered, known))


def hashes(task: Task) -> Exposure:
    """SHA-256 of identifiers, inverted by hashing the whole identifier scheme."""
    names = identifiers(task.worst[0])
    sent = hash_identifiers(names)
    recovered = dictionary_attack(sent, (f"PATIENT_{i:05d}" for i in range(task.settings.population)))
    right = sum(recovered.get(digest) == name for digest, name in zip(sent, names, strict=True))
    payload = Clear(sent, units=("row",), owner=task.owner)
    pairs = task.pairs(lambda one, other: ClearPair(_hashed(one), _hashed(other)))
    return Exposure({0: payload}, pairs, {"recovered_share": right / len(sent), "recovered": right})


def identifiers(world: World) -> list[str]:
    """Identifiers in the scheme of the source, such as PATIENT_00042."""
    return [f"PATIENT_{int(number):05d}" for number in world.y]


def _hashed(world: World) -> np.ndarray:
    return np.array(hash_identifiers(identifiers(world)))


def _recovered(block: np.ndarray, recovered: np.ndarray, known: np.ndarray) -> dict[str, float | int]:
    """Share of the rows unknown to the attacker that come back exactly, and the largest relative error."""
    hidden = np.ones(len(block), dtype=bool)
    hidden[known] = False
    error = np.max(np.abs(recovered - block)[hidden], axis=1) / np.max(np.abs(block))
    right = int(np.sum(error < EXACT))
    return {"recovered_share": right / int(hidden.sum()), "recovered": right, "recovery_error": float(error.max())}


def gram_matrix(task: Task) -> Exposure:
    """X'X of rows clipped to a public radius, with symmetric noise: enough for correlations, components and models."""
    first = _moment(task.worst[0])
    noise = first.certificate.value / task.mu
    release = SymmetricGaussian(noise)(first, task.noise(), owner=task.owner)
    upper = np.triu_indices(task.settings.p)

    def attacked(one: World, other: World) -> GaussianPair:
        first, second = (np.asarray(_moment(world).value)[upper] for world in (one, other))
        return GaussianPair(first, second, noise)

    return Exposure({0: release}, task.pairs(attacked))


def _moment(world: World) -> Bounded:
    radius = float(2 * np.sqrt(world.x.shape[1]))
    return second_moment(world.x, Public(radius, because="twice the root of the number of columns, which is public"))
