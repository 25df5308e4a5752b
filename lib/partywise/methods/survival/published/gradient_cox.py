"""Cox regression by noisy gradient steps, as the R package FDPCox of arXiv 2508.19640 has it (state c74cb18).

The gradient of the mean log partial likelihood moves by a bounded amount when one record is replaced, but the bound
grows with the norm of the coefficients.  The package means to evaluate its bound at every step and evaluates it in the
first alone, at coefficients of 0: its default argument is filled in once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, exp, log

import numpy as np

from ..records import SurvivalRecords


@dataclass(frozen=True, eq=False)
class SortedRecords:
    """Records in increasing order of their times, of which each has a risk set of its own: itself and all later ones.

    covariates : (n, p); event_mask : (n,) bool, events up to and including the cutoff
    """

    covariates: np.ndarray
    event_mask: np.ndarray

    @classmethod
    def of(cls, records: SurvivalRecords, cutoff: float) -> SortedRecords:
        """Sorted, ties in the order of the records."""
        order = np.argsort(records.times, kind="stable")
        return cls(records.covariates[order], (records.events & (records.times <= cutoff))[order])

    @cached_property
    def event_sum(self) -> np.ndarray:
        """Sum (p,) of the covariates of all events."""
        return self.covariates[self.event_mask].sum(axis=0)

    def gradient(self, coefficients: np.ndarray) -> np.ndarray:
        """Gradient (p,) of the mean log partial likelihood."""
        weights = np.exp(self.covariates @ coefficients)
        after = np.cumsum(weights[::-1])[::-1]
        # Sum over events i of the mean over its risk set = sum over records j of w_j z_j times sum_{i <= j} 1 / S_i.
        inverse = np.cumsum(np.where(self.event_mask, 1 / after, 0.0))
        total = self.event_sum - (weights * inverse) @ self.covariates
        return np.asarray(total / len(weights))


def published_sensitivity(n: int, norm: float, length: float = 1.0) -> float:
    """G(n, b) = 4 C_z / n + e^(2 C_z b) (2 C_z + C_z^2) log(n + 1) / n, as the package prints it."""
    return 4 * length / n + exp(2 * length * norm) * (2 * length + length**2) * log(n + 1) / n


@lru_cache(maxsize=4096)
def proved_sensitivity(n: int, norm: float, length: float = 1.0) -> float:
    """Bound how far replacing one record of length at most C_z moves the gradient at coefficients of norm b.

    Notes
    -----
    n^-1 [4 C_z + sum_{m=1}^n min(2 C_z, 4 C_z e^(2 C_z b) / m)]: the terms of the two records themselves move by 2 C_z
    each; at an event with m at risk the weighted mean moves by at most 2 C_z (w + w') / S_0 with weights up to
    e^(C_z b) and S_0 at least m e^(-C_z b), and never by more than 2 C_z; every m occurs at most once, as each event
    has a risk set of its own.
    """
    at_risk = np.arange(1, n + 1)
    moved = np.minimum(2 * length, 4 * length * exp(2 * length * norm) / at_risk)
    return float((4 * length + moved.sum()) / n)


def default_steps(n: int, p: int, length: float = 1.0) -> int:
    """Steps T: 20 log(C_z^2 n / p^2) as in the code, 6 log in the documentation; at least 1."""
    return max(ceil(20 * log(max(length**2 * n / p**2, 1.0 + 1e-9))), 1)


def central_sd(sensitivity: float, steps: int, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise of a step, where one place sees all records or clients send all steps."""
    return float(sensitivity * np.sqrt(steps / epsilon * (2 * log(1 / delta) / epsilon + 1)))


def federated_sd(sensitivity: float, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise of a step with a batch of its own: the classic formula."""
    return float(sensitivity * np.sqrt(2 * log(1.25 / delta)) / epsilon)


def client_weights(sizes: Sequence[int], epsilon: float, p: int = 1) -> np.ndarray:
    """Weights (K,) of the clients' gradients, or with p = 1 of their trees: as min(n_k, n_k^2 epsilon^2 / p)."""
    raw = np.minimum(sizes, np.asarray(sizes, dtype=float) ** 2 * epsilon**2 / p)
    return raw / raw.sum()


def project(coefficients: np.ndarray, radius: float) -> np.ndarray:
    """The nearest coefficients of norm at most C_beta."""
    norm = float(np.linalg.norm(coefficients))
    return coefficients if norm <= radius else coefficients * (radius / norm)
