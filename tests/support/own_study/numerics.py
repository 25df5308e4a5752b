"""Data and metrics of the study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partywise.federation.parties import Party


@dataclass(frozen=True)
class Data:
    """One replicate: the column (n,) of all clients."""

    x: np.ndarray
    mean: float

    def public(self) -> int:
        return len(self.x)


def generate(settings: Any, spec: Any, rng_for: Any, resources: Any) -> Data:
    return Data(settings.mean + 0.1 * rng_for("x").standard_normal(settings.n), settings.mean)


def split(data: Data, n_parties: int, spec: Any, settings: Any) -> list[Party]:
    return [Party(f"client {k}", "client", {"x": part}) for k, part in enumerate(np.array_split(data.x, n_parties))]


def folds(data: Data, n_folds: int, settings: Any) -> np.ndarray:
    return np.full(len(data.x), -1)


def metrics(estimate: Any, data: Data, train: np.ndarray, spec: Any) -> dict[str, Any]:
    return {"error": abs(estimate.mean - data.mean), "n_protected": len(data.x)}
