"""Public facts before correlations are taken, and the estimate of a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class PcaEstimate:
    """Correlations and principal components of columns that several parties hold.

    matrix : (p, p) correlation or covariance matrix, by the global numbers of the columns, as the protocol reports it
    eigenvalues : (p,) from the largest; loadings : (p, p), one component a column, its largest absolute entry positive
    n : records
    epsilon_claimed : nan, the source claims no number
    scores : (n, p) of the records, where they were asked for
    views : what one participant holds of another party's records, by a name of who saw what
    rows : positions of the used records in the block of every party, by its name; None where records came aligned
    numbers : further scalars (openings, record_openings, secure_products, ...)
    """

    matrix: np.ndarray
    eigenvalues: np.ndarray
    loadings: np.ndarray
    n: int
    epsilon_claimed: float = float("nan")
    scores: np.ndarray | None = None
    views: Mapping[str, np.ndarray] = field(default_factory=dict)
    rows: Mapping[str, np.ndarray] | None = None
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class PcaFacts:
    """Public facts before any data are seen, where only columns are read.

    names : of the columns of all parties, by their global numbers
    aligned : whether the rows of all parties are the same records in the same order; otherwise blocks hold ``ids``
    """

    names: tuple[str, ...]
    aligned: bool = True
