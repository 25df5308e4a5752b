"""Null columns of a simulated client, drawn by address so that screening by signs needs little of them.

Every entry is a function of the address alone: it does not matter which columns are asked for, or how often.

Independent columns: the sign of a standard normal is a fair bit, independent of its magnitude and of everything else,
so that screening draws one bit an entry; magnitudes are drawn for the selected columns only.

AR(1/2) columns depend on each other through signs and magnitudes together: no shorter exact distribution is known, and
screening draws them in full, a block of columns at a time.  The last columns of all blocks are a chain with
x_{j+b} = 0.5^b x_j + sqrt(1 - 0.25^b) e; given both of its ends, the inside of a block is independent of everything
else, so that a selected column is drawn again with its block only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ....core.randomness import stream
from ....methods.inverse_regression.models import AR_STEP
from ....methods.inverse_regression.screening import sign_sums

# Columns of a block: long enough for a cheap first pass, short enough for a cheap second one.
BLOCK = 32


@dataclass(frozen=True, eq=False)
class IndependentColumns:
    """q independent standard normal columns of n records at the address (key, number)."""

    key: int
    number: int
    n: int
    q: int

    def bits(self) -> np.ndarray:
        """Signs of all columns, one bit a record: (q, ceil(n / 64)) words."""
        words = -(-self.n // 64)
        return stream(self.key, "signs", self.number).integers(1 << 64, size=(self.q, words), dtype=np.uint64)

    def sums(self, codes: np.ndarray, n_slices: int) -> np.ndarray:
        """Sums (H, q) of the signs over every slice."""
        bits, sums = self.bits(), np.empty((n_slices, self.q))
        member = np.zeros((n_slices, 64 * bits.shape[1]), dtype=bool)
        member[codes, np.arange(self.n)] = True
        masks = np.packbits(member, axis=1, bitorder="little").view(np.uint64)
        for row, mask, size in zip(sums, masks, member.sum(axis=1), strict=True):
            row[:] = 2 * np.bitwise_count(bits & mask).sum(axis=1, dtype=np.int64) - size
        return sums

    def records(self, chosen: np.ndarray) -> np.ndarray:
        """Records (n, len(chosen)) of some columns."""
        bits = self.bits()[chosen].view(np.uint8)
        signs = np.unpackbits(bits, axis=1, bitorder="little")[:, : self.n] * 2.0 - 1.0
        for row, j in zip(signs, chosen, strict=True):
            row *= np.abs(stream(self.key, "magnitude", self.number, int(j)).standard_normal(self.n))
        return signs.T


@dataclass(frozen=True, eq=False)
class AutoregressiveColumns:
    """q AR(1/2) columns after ``before`` (n,), the last true column, at the address (key, number); float32."""

    key: int
    number: int
    before: np.ndarray
    q: int

    def blocks(self, wanted: np.ndarray) -> Iterator[np.ndarray]:
        """The blocks (BLOCK, n) of some increasing numbers, one column a row; the last may reach beyond q."""
        inside, factor = bridge(BLOCK)
        numbers, n = stream(self.key, "ends", self.number), len(self.before)
        left, step = self.before.astype(np.float32), np.float32(AR_STEP**BLOCK)
        block, spread = np.empty((BLOCK, n), dtype=np.float32), np.float32(np.sqrt(1 - AR_STEP ** (2 * BLOCK)))
        normal = np.empty((BLOCK - 1, n), dtype=np.float32)
        last = int(wanted[-1]) if len(wanted) else -1
        for b in range(last + 1):
            right = step * left + spread * numbers.standard_normal(n, dtype=np.float32)
            if b in wanted:
                stream(self.key, "block", self.number, b).standard_normal(out=normal, dtype=np.float32)
                np.matmul(factor, normal, out=block[:-1])
                block[:-1] += inside @ np.stack([left, right])
                block[-1] = right
                yield block
            left = right

    def sums(self, codes: np.ndarray, n_slices: int) -> np.ndarray:
        """Sums (H, q) of the signs over every slice."""
        count = -(-self.q // BLOCK)
        sums = np.empty((n_slices, count * BLOCK))
        for b, block in enumerate(self.blocks(np.arange(count))):
            sums[:, b * BLOCK : (b + 1) * BLOCK] = sign_sums(block.T, codes, n_slices)
        return sums[:, : self.q]

    def records(self, chosen: np.ndarray) -> np.ndarray:
        """Records (n, len(chosen)) of some columns."""
        of = chosen // BLOCK
        wanted = np.unique(of)
        parts = [block[chosen[of == b] % BLOCK] for b, block in zip(wanted, self.blocks(wanted), strict=True)]
        return np.concatenate(parts).T if parts else np.empty((len(self.before), 0))


SignedColumns = IndependentColumns | AutoregressiveColumns


def signed_columns(key: int, number: int, n: int, q: int, before: np.ndarray | None) -> SignedColumns:
    """Null columns at an address: AR(1/2) ones after ``before``, independent ones without it."""
    if before is None:
        return IndependentColumns(key, number, n, q)
    return AutoregressiveColumns(key, number, before, q)


@cache
def bridge(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Distribution of the inside x_1..x_{b-1} of a block of b columns given its ends x_0 and x_b, float32."""
    places = np.arange(size + 1)
    covariance = AR_STEP ** np.abs(np.subtract.outer(places, places)).astype(float)
    ends, inside = np.array([0, size]), places[1:-1]
    across = covariance[np.ix_(inside, ends)]
    mean = np.linalg.solve(covariance[np.ix_(ends, ends)], across.T).T
    factor = np.linalg.cholesky(covariance[np.ix_(inside, inside)] - mean @ across.T)
    return mean.astype(np.float32), factor.astype(np.float32)
