"""Statistics in whole numbers: every record is clipped and rounded by itself, and only integers are added.

Sums of integers are the same in any order, so that nothing but the clip bounds how far one record moves them. The bound
is a `fractions.Fraction` in steps: no float is part of a certificate but where a sensitivity is printed.

A matrix product of whole numbers in floats is exact as long as no partial sum exceeds 2^53 (`step_bits`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from ...core.errors import CertificationError
from ..strata import check_stratum
from .bounded import SensitivityCertificate

# Whole numbers up to here are exact in a float.
LARGEST = 2**53
# Bits of a record: the most, beyond which rounding is far below any noise, and the least that are of use.
MOST_BITS, LEAST_BITS = 20, 10


@lru_cache(maxsize=1)
def products_are_exact() -> bool:
    """Whether matrix products of this machine add whole numbers exactly up to 2^53, tried at the limit.

    Products in plain doubles do, in any order; those by Strassen's way, or in emulated doubles, need not.
    """
    n, columns = 2**13, 8
    signs = np.unpackbits(np.frombuffer(hashlib.shake_256(b"products").digest(n * columns // 8), dtype=np.uint8))
    largest = np.full((n, columns), 2**MOST_BITS, dtype=np.int64)
    mixed = largest * (2 * signs.reshape(n, columns).astype(np.int64) - 1)
    pairs = ((a, b) for a in (largest, mixed) for b in (largest, mixed))
    return all(np.array_equal(a.astype(float).T @ b.astype(float), (a.T @ b).astype(float)) for a, b in pairs)


def step_bits(n: int) -> int:
    """Bits b of an entry, so that second moments of n records of at most 2^b steps are exact in floats.

    b = min(20, floor((53 - ceil(log2 n)) / 2)): every partial sum of n 4^b is at most 2^53. Fewer than ten, beyond 2^33
    records, are refused.
    """
    if n < 1 or n != int(n):
        raise ValueError(f"n={n!r} records must be a whole number from 1.")
    bits = min(MOST_BITS, (53 - (int(n) - 1).bit_length()) // 2)
    if bits < LEAST_BITS:
        raise ValueError(f"n={n} records leave {bits} bits for an entry, fewer than {LEAST_BITS}: split the records.")
    return bits


@dataclass(frozen=True, eq=False)
class Whole:
    """A statistic of whole numbers, with how far one unit can move it.

    integers : of magnitude at most 2^53 (int64, or floats that hold them), or Python integers of any size
    step : what one step of an entry of weight 1 is worth, positive
    squares : D2, between neighbours the sum of ``weight (k - k')^2`` over all entries is at most this
    certificate : the same in the norm l2 of ``value``, sqrt(D2) steps, rounded up
    weights : positive whole numbers of every entry, by default 1, and 2 for one above the diagonal of a symmetric
        matrix
    stratum, clip_share, parents : as of `Bounded`
    """

    integers: np.ndarray
    step: float
    squares: Fraction
    certificate: SensitivityCertificate
    weights: np.ndarray | None = None
    stratum: str = "*"
    clip_share: float = 0.0
    parents: tuple[str, ...] = ()
    # Steps are made finer by so many bits where the noise would be too narrow; public.
    bits: int = field(default=0)

    def __post_init__(self) -> None:
        integers = np.asarray(self.integers)
        if not 0 < self.step < math.inf:
            raise ValueError(f"step={self.step!r} of whole numbers must be positive and finite.")
        if integers.dtype.kind == "f":
            # Nothing that is not finite is equal to its own rounding within the bound.
            if integers.size and not (np.abs(integers).max() <= LARGEST and (np.rint(integers) == integers).all()):
                raise CertificationError(
                    "integers of a statistic are not all whole numbers up to 2^53: round every record, not their sum."
                )
        elif integers.dtype.kind not in "iO":
            raise CertificationError(f"integers of a statistic have the type {integers.dtype}; give whole numbers.")
        if self.weights is not None:
            weights = np.asarray(self.weights)
            if weights.shape != integers.shape or weights.dtype.kind != "i" or weights.min(initial=1) < 1:
                raise ValueError("weights of a statistic must be whole numbers from 1, one for each entry.")
        check_stratum(self.stratum)
        integers = integers.view()
        integers.flags.writeable = False
        object.__setattr__(self, "integers", integers)
        if not isinstance(self.squares, Fraction):
            object.__setattr__(self, "squares", Fraction(self.squares))

    @cached_property
    def units(self) -> np.ndarray:
        """Size of one step of every entry, in the units of ``value``: ``step sqrt(weight)``."""
        weights = np.ones(self.integers.shape) if self.weights is None else self.weights
        return self.step * np.sqrt(weights)

    @property
    def value(self) -> np.ndarray:
        """The statistic in its own units, without noise."""
        return np.asarray(self.integers, dtype=float) * self.units

    def finer(self, bits: int) -> Whole:
        """Return the statistic in steps of 2^-bits of these: nothing else changes."""
        if bits == 0:
            return self
        factor = 1 << bits
        largest = int(np.max(np.abs(self.integers), initial=0))
        # The factor alone may exceed what int64 holds, where all integers are 0.
        small = max(largest, 1) * factor < 1 << 62
        integers = self.integers.astype(np.int64 if small else object) * factor
        return replace(
            self, integers=integers, step=self.step / factor, squares=self.squares * factor**2, bits=self.bits + bits
        )


def whole(
    integers: np.ndarray,
    squares: int | Fraction,
    step: float,
    source: str,
    *,
    weights: np.ndarray | None = None,
    unit: str = "row",
    depends_on: Iterable[str] = ("label", "features"),
    relation: str = "replace_one",
    stratum: str = "*",
    clip_share: float = 0.0,
    parents: tuple[str, ...] = (),
    records: int | None = None,
) -> Whole:
    """Whole numbers with the certificate that follows from their largest squared move, proved in ``source``."""
    squares, step = Fraction(squares), float(step)
    certificate = SensitivityCertificate(
        value=root_up(squares, step) if squares and 0 < step < math.inf else 0.0,
        norm="l2",
        unit=unit,
        relation=relation,
        depends_on=frozenset(depends_on),
        assumptions=("number of records public", "step and clip public or charged"),
        source=source,
        records=records,
    )
    return Whole(integers, step, squares, certificate, weights, stratum, clip_share, parents)


def gram_squares(length: int) -> int:
    """D2 of the upper triangle of X'X, entries above the diagonal of weight 2, of records of squared length L^2.

    ||xx' - yy'||_F^2 = |x|^4 + |y|^4 - 2 (x'y)^2 <= 2 L^4.
    """
    return 2 * length * length


@lru_cache(maxsize=1024)
def root_up(squares: Fraction, step: float = 1.0) -> float:
    """The least float that is not below ``sqrt(squares) step``, or its neighbour above."""
    target = squares * Fraction(step) ** 2
    root = math.sqrt(float(squares)) * step
    if math.isfinite(root):
        while Fraction(root) ** 2 < target:
            root = math.nextafter(root, math.inf)
    return root


@lru_cache(maxsize=1024)
def least_deviation(squares: Fraction, mu: float, honest: Fraction = Fraction(1)) -> float:
    """The least double s with ``s^2 mu^2 honest >= squares``: the deviation of the noise, in steps.

    ``squares`` is the largest squared move in steps, for an entry of weight w D2 / w; ``mu`` the Gaussian-DP parameter;
    ``honest`` the number of shares of the noise that are unknown to whom the parameter is stated against.
    """
    target = squares / (Fraction(mu) ** 2 * honest)
    try:
        deviation = math.sqrt(float(target))
    except OverflowError:
        deviation = math.inf
    if math.isinf(deviation):
        raise CertificationError(f"mu={mu!r} needs noise of a deviation that no float holds; ask for a larger mu.")
    while deviation > 0 and Fraction(math.nextafter(deviation, 0.0)) ** 2 >= target:
        deviation = math.nextafter(deviation, 0.0)
    while Fraction(deviation) ** 2 < target:
        deviation = math.nextafter(deviation, math.inf)
    return deviation
