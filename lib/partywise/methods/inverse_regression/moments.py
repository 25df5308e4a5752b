"""Computations of one client: clipped slice means and second moments, in one pass over its records.

Notation of document 001, sections 2.2 and 3.1: T = Pi_R(X), M = (m_1, ..., m_H) with m_h = (1/n) sum_i T_i 1(y_i in h),
and S = T'T/n. Clipped records are whole numbers of steps of the clip, so that their sums are exact in any order and any
number of clients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core.errors import CertificationError
from ...privacy.accounted_values import AccountedValue, parameter, parents_of
from ...privacy.rounding import bounded_entries
from ...privacy.statistics.clips import BallClip, WholeClip
from ...privacy.statistics.isometry import from_triangle, to_triangle
from ...privacy.statistics.whole import step_bits
from .slices import Slices

# Entries of one block of records: two copies of it fit into the second-level cache.
BLOCK_ENTRIES = 1 << 16
# Name, without a row in any ledger, of the mean that moments are centred by.
CENTRE = "mean of the records"
# Up to here a product with indicators is faster than a bincount for every column.
INDICATOR_SLICES = 32
# A variance that is so small a share of the second moment is no more than its rounding.
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class SliceMoments:
    """Moments of the records of one client, or of several."""

    # Records.
    n: int
    # (p, H) of the records of every slice, in steps: whole numbers if records were clipped.
    sums: np.ndarray
    # T'T in squared steps, diagonal and upper triangle (`to_triangle`): whole numbers if records were clipped.
    gram: np.ndarray
    # Records (H,) of every slice.
    counts: np.ndarray
    # Origin of the slices (see `Slices`).
    kind: str
    # What all records went through; None if unclipped.
    clip: WholeClip | None = None
    # The size of the clip is 2^bits steps; public. Without a clip a step is 1.
    bits: int = 0
    # max_i ||T_i||, the c_R of the source. It depends on the data: no certified mechanism reads it.
    largest_norm: float = 0.0
    # Share of entries (records, for a ball) that were clipped; stays with the client.
    clip_share: float = 0.0
    # The releases that the clip, the centre or the whitening came from; those that the slices came from, on which S
    # does not depend.
    parents: tuple[str, ...] = ()
    slice_parents: tuple[str, ...] = ()

    @property
    def step(self) -> float:
        """Length of a step; 1 without a clip."""
        return 1.0 if self.clip is None else self.clip.step(self.bits)

    @cached_property
    def means(self) -> np.ndarray:
        """Slice mean matrix M (p, H): sums over a slice divided by n, not by the size of the slice."""
        return self.sums * self.step / self.n

    @cached_property
    def second(self) -> np.ndarray:
        """S (p, p), symmetric."""
        return from_triangle(self.gram * self.step**2 / self.n, self.p)

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.sums)

    @property
    def n_slices(self) -> int:
        """Number of slices H."""
        return self.sums.shape[1]

    @property
    def empty(self) -> int:
        """Number of slices without a record; their columns of M are exactly 0."""
        return int(np.count_nonzero(self.counts == 0))


def check_records(X, y) -> tuple[np.ndarray, np.ndarray]:
    """X as (n, p) floats (float32 stays), y as (n,); ValueError for another shape, no record or entries not finite."""
    X, y = np.asarray(X), np.asarray(y)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(float)
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError(f"X has shape {X.shape}; give one record a row, shape (n, p) with p >= 1.")
    if y.ndim != 1 or len(y) != len(X):
        raise ValueError(f"y has shape {y.shape} and X has {len(X)} records; give one response a record.")
    if len(X) == 0:
        raise ValueError("X has no records; skip this client.")
    if y.dtype.kind in "fiub" and not np.all(np.isfinite(y)):
        raise ValueError("y has entries that are not finite; drop these records.")
    # A finite sum proves finite entries; only otherwise are they looked at one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(X, dtype=float)
    if not np.isfinite(total) and not np.all(np.isfinite(X)):
        raise ValueError("X has entries that are not finite; drop or impute these records.")
    return X, y


def client_moments(
    X,
    y,
    slices: Slices,
    *,
    clip: WholeClip | None = None,
    bits: int | None = None,
    shift: AccountedValue | None = None,
) -> SliceMoments:
    """Slice sums and second moment of one client in whole steps; floats without a clip, which no mechanism accepts.

    ``bits`` are public, of the largest client whose sums are added to these (`step_bits`); by default of this one.
    ``shift`` (p,) is subtracted from every record before clipping; a bare array does not state its origin and
    raises TypeError. Clipped records are taken as `bounded_entries` has them, others must be finite.
    """
    centre = None if shift is None else parameter("shift", shift)
    X, y = check_records(X, y) if clip is None else check_records(bounded_entries(X), bounded_entries(y))
    return replace(
        _sum_blocks(X, y, slices, clip, bits, centre), parents=parents_of(None if clip is None else clip.radius, shift)
    )


def _sum_blocks(
    X: np.ndarray,
    y: np.ndarray,
    slices: Slices,
    clip: WholeClip | None,
    bits: int | None,
    centre: np.ndarray | None = None,
) -> SliceMoments:
    """Moments of checked records, in one pass over blocks of them."""
    n, p = X.shape
    most = step_bits(n)
    bits = 0 if clip is None else most if bits is None else bits
    if bits > most:
        raise ValueError(f"bits={bits} for {n} records: sums of more than {most} bits an entry are not exact.")
    gram, sums = np.zeros((p, p)), np.zeros((slices.n_slices, p))
    counts, largest, moved, units = np.zeros(slices.n_slices, dtype=np.int64), 0.0, 0, 0
    rows = max(BLOCK_ENTRIES // p, 256)
    for start in range(0, n, rows):
        block = X[start : start + rows]
        block = np.asarray(block, dtype=float) if centre is None else block - centre
        if clip is not None:
            clipped = clip.steps(block, bits)
            block, moved, units = clipped.records, moved + clipped.number, units + clipped.units
        gram += block.T @ block
        largest = max(largest, float(np.max(np.einsum("ij,ij->i", block, block))))
        part, number = slice_sums(block, y[start : start + rows], slices)
        sums += part
        counts += number
    sums[counts == 0] = 0.0
    if clip is not None and largest > clip.squares(p, bits):
        raise CertificationError(
            f"{type(clip).__name__}.steps left a record of squared length {largest:.0f} in steps, and its squares is "
            f"{clip.squares(p, bits)}: certificates rest on that bound; correct one of the two."
        )
    moments = SliceMoments(
        n=n,
        sums=sums.T,
        gram=to_triangle((gram + gram.T) / 2),
        counts=counts,
        kind=slices.kind,
        clip=clip,
        bits=bits,
        clip_share=moved / units if units else 0.0,
        slice_parents=slices.parents,
    )
    return replace(moments, largest_norm=float(np.sqrt(largest)) * moments.step)


def slice_sums(block: np.ndarray, y: np.ndarray, slices: Slices) -> tuple[np.ndarray, np.ndarray]:
    """Sums (H, p) and numbers (H,) of the records of every slice."""
    H = slices.n_slices
    if slices.labels is None and H <= INDICATOR_SLICES:
        # Sums above every edge come from one matrix product; their differences are the sums of the slices.
        tails = slices.tails(y)
        above = np.zeros((H + 1, block.shape[1]))
        above[0] = block.sum(axis=0)
        above[1 : len(tails) + 1] = tails @ block
        number = np.zeros(H + 1, dtype=np.int64)
        number[0] = len(block)
        number[1 : len(tails) + 1] = tails.sum(axis=1)
        return above[:-1] - above[1:], number[:-1] - number[1:]
    codes = slices.codes(y)
    sums = np.stack([np.bincount(codes, weights=column, minlength=H) for column in block.T], axis=1)
    return sums, np.bincount(codes, minlength=H)


def whitened_means(
    X,
    y,
    slices: Slices,
    root: AccountedValue,
    radius: AccountedValue,
    *,
    bits: int | None = None,
    shift: AccountedValue | None = None,
) -> SliceMoments:
    """Slice sums of whitened records, clipped to a `BallClip` and rounded there: round 2 of the certified method.

    z = root (x - shift) is shrunk to ``z min(1, C / ||z||)`` with ``radius`` C; ``root`` is Sigma^(-1/2) of shape (p,
    p), symmetric. The second moment is that of the shrunk z.
    """
    clip, matrix = BallClip(radius), np.asarray(parameter("root", root))
    X, y = check_records(bounded_entries(X), bounded_entries(y))
    if matrix.shape != (X.shape[1], X.shape[1]):
        raise ValueError(f"root has shape {matrix.shape} for records of length {X.shape[1]}.")
    columns = matrix @ (X.T if shift is None else X.T - np.asarray(parameter("shift", shift))[:, None])
    white, y = check_records(columns.T, y)
    return replace(_sum_blocks(white, y, slices, clip, bits), parents=parents_of(root, radius, shift))


def large_enough(sizes, least: float = 1) -> np.ndarray:
    """Positions of the clients that take part: n_k >= max(least, 1); the others are skipped and reported."""
    counts = np.asarray(sizes)
    positions = np.flatnonzero(counts >= max(least, 1))
    if len(positions) == 0:
        raise ValueError(f"sizes={counts.tolist()}: no client has {max(least, 1):.6g} records; all were skipped.")
    return positions


def centre(moments: SliceMoments) -> SliceMoments:
    """Moments about the mean of the records: M - xbar p', S - xbar xbar', where xbar = sum_h m_h and p_h = n_h / n.

    Reads the counts of the slices, which no release of M or S contains: for pooled data and for mode ``paper`` only.
    """
    total = moments.sums.sum(axis=1)
    sums = moments.sums - np.outer(total, moments.counts / moments.n)
    gram = from_triangle(moments.gram, moments.p)
    centred = gram - np.outer(total, total) / moments.n
    # A constant column has exactly no spread: what rounding leaves of it is no column.
    constant = np.diagonal(centred) <= ROUNDING * np.diagonal(gram)
    sums[constant], centred[constant], centred[:, constant] = 0.0, 0.0, 0.0
    return replace(
        moments,
        sums=sums,
        gram=to_triangle(centred),
        parents=tuple(dict.fromkeys((*moments.parents, CENTRE))),
    )
