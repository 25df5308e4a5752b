"""How the records of a functional study are divided: predictors among parties, records among folds.

Apart from the data of the cases, so that an edit of a loader reruns no fit of another case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...federation.parties import Party, split_columns
from .data import FunctionalData


def split(data: FunctionalData, n_parties: int, spec: Any, settings: Any) -> list[Party]:
    """The active party (the response) and ``n_parties`` owners of disjoint predictors.

    The active party of simulated data also keeps the truth, for the oracle and for nothing else.
    """
    p = data.X.shape[1]
    if settings.split == "natural":
        names = list(dict.fromkeys(str(name) for name in data.natural_party))
        columns = [tuple(int(j) for j in np.flatnonzero(data.natural_party == name)) for name in names]
    else:
        columns = list(split_columns(p, n_parties, settings.split, settings.groups or None))
        names = [f"party {g + 1}" for g in range(n_parties)]
    private = {"Y": data.Y}
    if data.has_truth:
        private |= {"operators": data.operators, "active": data.active}
    owners = [
        Party(name, "passive", {"X": data.X[:, list(held)]}, columns=held)
        for name, held in zip(names, columns, strict=True)
    ]
    return [Party("active", "active", private), *owners]


def folds(data: FunctionalData, n_folds: int, settings: Any) -> np.ndarray:
    """Fold of every record: floor(b K / n_blocks) for its block b, or the source's floor(n_blocks / K) each.

    With fresh test records these are fold 0 and all others train.  With the published rule the blocks that are left
    over belong to no fold (-1) and are never tested.
    """
    if getattr(settings, "n_test", 0):
        return np.where(data.block < settings.n, -1, 0)
    n_blocks = int(data.block.max()) + 1
    if settings.fold_rule == "balanced":
        return data.block * n_folds // n_blocks
    fold = data.block // (n_blocks // n_folds)
    return np.where(fold < n_folds, fold, -1)
