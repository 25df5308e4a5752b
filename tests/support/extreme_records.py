"""Records at the edges of what private GLM releases allow, and how far replacing one of them moves a statistic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partywise.core.randomness import stream
from partywise.privacy.accounted_values import Public

SAID = "declared by the test"
DOMAIN = {
    "gaussian": (-50.0, 0.0, 50.0),
    "binomial": (0.0, 1.0),
    "poisson": (0.0, 3.0, 5000.0),
    "gamma": (1e-6, 1.0, 1e6),
    "inverse_gaussian": (1e-6, 1.0, 1e6),
}


def directions(p: int, radii: Sequence[tuple[Sequence[int], float]], count: int, seed: int = 1) -> np.ndarray:
    """Records (2 count, p) whose part at each party has the length of its radius, each with its opposite."""
    z = stream(seed, "extreme records").standard_normal((count, p))
    for columns, radius in radii:
        own = z[:, list(columns)]
        z[:, list(columns)] = radius * own / np.linalg.norm(own, axis=1, keepdims=True)
    return np.concatenate([z, -z])


def farthest(values: np.ndarray) -> float:
    """Largest distance between two rows."""
    return float(np.sqrt(max(np.sum((values - one) ** 2, axis=1).max() for one in values)))


def moved(statistic: Callable[..., np.ndarray], records: Sequence[tuple[np.ndarray, float]]) -> float:
    """Farthest that a statistic of a single record goes when that is replaced by another of a list."""
    return farthest(np.stack([np.ravel(statistic(z[None, :], np.array([y]))) for z, y in records]))


def public(value: object) -> Public:
    """A public constant."""
    return Public(value, because=SAID)
