"""Division of the data of an audit: every owner holds the four worlds of the experimenter."""

from __future__ import annotations

import numpy as np

from ...audits.worlds import AuditData
from ...federation.parties import Party


def split(data: AuditData, n_parties: int, spec: object, settings: object) -> list[Party]:
    """``n_parties`` owners; predictors are dealt to them in the protocol where their number matters."""
    block = {"x": data.x, "y": data.y}
    return [Party(f"owner {k + 1}", "passive", block, columns=(k,)) for k in range(n_parties)]


def folds(data: AuditData, n_folds: int, settings: object) -> np.ndarray:
    """Nothing is held out."""
    return np.zeros(data.x.shape[1], dtype=int)
