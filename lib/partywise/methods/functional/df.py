"""Degrees of freedom of a boosting path: the trace of the linear map from Y to its fitted values.

Along a frozen sequence of blocks B is linear in H and decouples over the eigen-directions r of the response
penalty: B v_r = T_r H v_r, so df = sum_r tr(T_r S_zz) with the uncorrected, unprojected S_zz.
"""

from __future__ import annotations

import numpy as np


class ExactDf:
    """Carries T_r on the blocks visited so far; one step costs O(Qy q a^2) for a active coordinates."""

    def __init__(self, gram: np.ndarray, raw: np.ndarray, shrink: np.ndarray, slices: list[slice]) -> None:
        self.gram, self.raw, self.shrink, self.slices = gram, raw, shrink, slices
        self.active = np.zeros(0, dtype=int)
        self.place: dict[int, slice] = {}
        self.T = np.zeros((shrink.shape[1], 0, 0))

    def _admit(self, block: int) -> slice:
        if block not in self.place:
            rows = np.arange(self.slices[block].start, self.slices[block].stop)
            old, self.active = len(self.active), np.concatenate([self.active, rows])
            grown = np.zeros((len(self.T), len(self.active), len(self.active)))
            grown[:, :old, :old] = self.T
            self.T, self.place[block] = grown, slice(old, len(self.active))
        return self.place[block]

    def advance(self, block: int, nu: float, update: str) -> float:
        """Follow one step of the path and return the degrees of freedom after it."""
        place = self._admit(block)
        rows = self.slices[block]
        block_columns = self.T[:, place].copy()
        right = -(self.gram[rows][:, self.active] @ self.T)
        right[:, np.arange(right.shape[1]), np.arange(place.start, place.stop)] += 1
        if update != "boost":
            right += self.gram[rows, rows] @ block_columns
        change = self.shrink[rows].T[:, :, None] * right
        if update == "backfit":
            change -= block_columns
        self.T[:, place] += nu * change
        return float(np.einsum("rab,ba->", self.T, self.raw[np.ix_(self.active, self.active)]))


class HutchinsonDf:
    """Stochastic trace along the same path, in statistics: probes are chol(S_zz) E / sqrt(n - 1), never N-sized.

    Source: seed 000, "Hutchinson trace estimation along the frozen boosting path" (5 probes).
    """

    def __init__(
        self,
        gram: np.ndarray,
        raw: np.ndarray,
        shrink: np.ndarray,
        slices: list[slice],
        n: float,
        rng: np.random.Generator,
        probes: int = 5,
    ) -> None:
        self.gram, self.shrink, self.slices, self.n = gram, shrink, slices, n
        factor = np.linalg.cholesky(raw + 1e-12 * np.trace(raw) / len(raw) * np.eye(len(raw)))
        self.start = factor @ rng.standard_normal((probes, *shrink.shape)) / np.sqrt(n - 1)
        self.grad, self.coef = self.start.copy(), np.zeros_like(self.start)

    def advance(self, block: int, nu: float, update: str) -> float:
        """Follow one step of the path and return the estimated degrees of freedom after it."""
        rows = self.slices[block]
        right = self.grad[:, rows]
        if update != "boost":
            right = right + self.gram[rows, rows] @ self.coef[:, rows]
        change = self.shrink[rows] * right
        if update == "backfit":
            change = change - self.coef[:, rows]
        self.coef[:, rows] += nu * change
        self.grad -= nu * (self.gram[:, rows] @ change)
        return float((self.n - 1) * np.sum(self.start * self.coef) / len(self.start))
