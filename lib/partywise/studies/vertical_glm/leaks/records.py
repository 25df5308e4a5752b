"""Seed 004 under audit: rotations of the data, linear predictors, the response."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....audits.attacks.linear_images import column_space, recover_rows
from ....audits.exposure import Exposure, Task
from ....audits.pairs import clear_exposure, gaussian_exposure
from ....audits.worlds import AuditData, World
from ....core.randomness import Rng
from ....methods.pca.protocols.block_svd import scores_of_block
from ....privacy.accounted_values import Public
from ....privacy.statistics.bounded import Bounded
from ....privacy.statistics.moments import second_moment
from ....privacy.statistics.records import label_dot_product
from ..claims import ExchangeSettings

# Rounding errors of a reconstruction stay far below this share of the data's size.
EXACT = 1e-9


def replaced_row(settings: ExchangeSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One row of the feature block is another; labels are absent."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    x = np.repeat(rng.standard_normal((1, n, p)) @ np.diag(np.linspace(1, 2, p))[None], 4, axis=0)
    # Two long rows at right angles: their outer products differ most.
    x[:2, 0] = 0.0
    x[0, 0, 0], x[1, 0, 1] = 10.0, 10.0
    x[3, 0] = rng.standard_normal(p)
    return AuditData(x, np.zeros((4, n)))


def turned_response(settings: ExchangeSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One response of 0 and 1 is the other; of the longest record in the worst pair."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    x = np.repeat(rng.standard_normal((1, n, p)), 4, axis=0)
    x[:, 0] = 2 * x[:, 0] * np.max(np.linalg.norm(x[0], axis=1)) / np.linalg.norm(x[0, 0])
    y = np.repeat(rng.integers(0, 2, (1, n)).astype(float), 4, axis=0)
    for world, record in ((1, 0), (3, 1)):
        y[world, record] = 1 - y[world, record]
    return AuditData(x, y)


def scores(task: Task[ExchangeSettings]) -> Exposure:
    """U_k D_k in the clear, from which p known rows give all others."""
    block = task.worst[0].x
    sent, known = scores_of_block(block), np.arange(1, block.shape[1] + 1)
    recovered = recover_rows(sent, known, block[known])
    numbers = _recovery_numbers(block, recovered, known)
    return clear_exposure(task, lambda world: scores_of_block(world.x), "features", **numbers)


def predictor(task: Task[ExchangeSettings]) -> Exposure:
    """eta_k = X_k beta_k of p iterations in the clear spans the column space of X_k."""
    block = task.worst[0].x
    path = task.rng_for("iterations").standard_normal((block.shape[1], block.shape[1]))
    sent, known = block @ path, np.arange(1, block.shape[1] + 1)
    recovered = recover_rows(column_space(sent), known, block[known], transformation="linear")
    numbers = _recovery_numbers(block, recovered, known)
    return clear_exposure(task, lambda world: world.x @ path, "features", **numbers)


def response(task: Task[ExchangeSettings]) -> Exposure:
    """y in the clear, as every institution needs it for its own steps."""
    numbers = {"recovered_share": 1.0, "recovered_entries": len(task.worst[0].y)}
    return clear_exposure(task, lambda world: world.y, "label", **numbers)


def cross_products(task: Task[ExchangeSettings]) -> Exposure:
    """X'y with noise: all that a linear or a logistic model needs of y."""
    noise = _products(task.worst[0]).certificate.value / task.mu
    return gaussian_exposure(task, _products, noise)


def _products(world: World) -> Bounded:
    return label_dot_product(world.x, world.y)


def _recovery_numbers(block: np.ndarray, recovered: np.ndarray, known: np.ndarray) -> dict[str, float | int]:
    """Share of the rows unknown to the attacker that come back exactly, and the largest relative error."""
    hidden = np.ones(len(block), dtype=bool)
    hidden[known] = False
    error = np.max(np.abs(recovered - block)[hidden], axis=1) / np.max(np.abs(block))
    right = int(np.sum(error < EXACT))
    return {
        "recovered_share": right / int(hidden.sum()),
        "recovered_entries": right,
        "recovery_error": float(error.max()),
    }


def gram_matrix(task: Task[ExchangeSettings]) -> Exposure:
    """X'X of rows clipped to a public radius, with symmetric noise: enough for correlations, components and models."""
    return gaussian_exposure(task, _moment, _moment(task.worst[0]).certificate.value / task.mu, symmetric=True)


def _moment(world: World) -> Bounded:
    radius = float(2 * np.sqrt(world.x.shape[1]))
    return second_moment(world.x, Public(radius, because="twice the root of the number of columns, which is public"))
