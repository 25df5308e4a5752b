"""Data of the study: one replicate, its split among clients and its folds."""

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


def split(data: Data, n_parties: int, spec: Any, settings: Any) -> list[Party]:
    return [Party(f"client {k}", "client", {"x": part}) for k, part in enumerate(np.array_split(data.x, n_parties))]


def folds(data: Data, n_folds: int, settings: Any) -> np.ndarray:
    return np.full(len(data.x), -1)
