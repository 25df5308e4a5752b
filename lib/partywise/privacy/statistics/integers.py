"""Raw values mapped onto integers lo..hi: who made the ends of the map decides what one record moves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from ..accounted_values import AccountedValue, parameter, parents_of
from .bounded import Bounded, sum_certificate


def integer_cuts(ends: tuple[float, float], domain: tuple[int, int]) -> np.ndarray:
    """The raw values (hi - lo,) between neighbouring integers of the affine map from [low, high] onto lo..hi.

    A value up to cut j, and above cut j - 1, is mapped to ``lo + j``: the nearest integer, half down, and the ends of
    the domain for what lies outside. Not decreasing; all equal where the two ends are.
    """
    (low, high), (lo, hi) = ends, domain
    share = (np.arange(hi - lo) + 0.5) / (hi - lo)
    return low * (1 - share) + high * share


def mapped_integers(
    values: ArrayLike,
    ends: AccountedValue,
    domain: AccountedValue,
    *,
    unit: str = "features",
    depends_on: Iterable[str] | None = None,
    stratum: str = "*",
) -> Bounded:
    """Integers lo..hi that a column (n,) is mapped to, raw values outside the ends clipped; norm ``"hamming"``.

    With ends that were declared one record moves its own integer. Ends of the sample are `Clear`: one record moves the
    integers of all others with them, and nothing is proved.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not array.size or not np.all(np.isfinite(array)):
        raise ValueError(f"values of shape {array.shape} must be one finite number a record.")
    (low, high), (lo, hi) = parameter("ends", ends), parameter("domain", domain)
    if not -np.inf < low <= high < np.inf:
        raise ValueError(f"ends={(low, high)} of a map to integers must be finite and in order.")
    if lo != int(lo) or hi != int(hi) or not lo < hi:
        raise ValueError(f"domain={(lo, hi)} of a map to integers must be whole numbers in order.")
    integers = lo + np.searchsorted(integer_cuts((low, high), (int(lo), int(hi))), array, side="left")
    fields = depends_on or (("label", "features") if unit == "row" else ("features",))
    certificate = sum_certificate(1, "declared ends: one integer a record", unit, fields, norm="hamming")
    return Bounded(integers, certificate, stratum, parents=parents_of(ends, domain))
