"""Statistics of records that are cut into slices or bins: what one record moves depends on who made the cut.

Edges fixed before seeing the data move no other record. Edges at quantiles are shared by all records: replacing one
record moves one neighbour across every edge between its old and its new place. Ties are ordered by the position of
the record, which no value can change; without that, one record could move all that are tied at an edge.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..accounted_values import AccountedValue, parameter, parents_of
from ..rounding import NORMAL, round_up
from .bounded import Bounded, clip_curves, record_matrix, sum_certificate


@dataclass(frozen=True)
class Quantiles:
    """Edges at the empirical quantiles of the data themselves: the certificate counts what they move.

    ``n_slices``, from 1, is a plain number: it is the shape of what is released.
    """

    n_slices: int

    def __post_init__(self) -> None:
        if self.n_slices != int(self.n_slices) or self.n_slices < 1:
            raise ValueError(f"n_slices={self.n_slices!r} of quantiles must be a whole number of slices from 1.")


def slice_means(
    x: ArrayLike,
    y: ArrayLike,
    edges: AccountedValue | Quantiles,
    *,
    radius: AccountedValue | None = None,
    box: AccountedValue | None = None,
    unit: str = "row",
    depends_on: Iterable[str] = ("label", "features"),
    stratum: str = "*",
) -> Bounded:
    """Stacked means (1/n) sum of x_i over the records whose response lies in slice h, shape (H, p).

    ``edges`` are increasing cuts (H - 1,), slice h being ``(edges[h-1], edges[h]]``, or the quantiles of ``y``; records
    are clipped to ``radius``, or entries to [-box, box]. l2 sensitivity ``2 radius / n``, or ``2 box sqrt(p) / n``;
    times ``sqrt(H)`` for quantiles. Formal guarantee: public cuts leave all other records where they are, so a record
    leaves one slice and enters another (sqrt(2) S / n) or changes within one (2 S / n). With quantiles every slice may
    lose one record and gain another, 2 S / n each. Both bounds are reached.
    """
    x = record_matrix("x", x)
    n, p = x.shape
    slices, n_slices = _cut("y", y, edges)
    if slices.shape != (n,) or n < 1:
        raise ValueError(f"x has {n} records and y has shape {slices.shape}; give one response a record.")
    clipped, length, share = _clip(x, radius, box)
    means = np.zeros((n_slices, p))
    np.add.at(means, slices, clipped / n)
    if isinstance(edges, Quantiles):
        bound, source = slice_means_bound(length, n) * np.sqrt(n_slices), "quantile edges: 2 S / n sqrt(H)"
    else:
        bound, source = slice_means_bound(length, n), "public edges: 2 S / n"
    parents = parents_of(_cuts(edges), radius, box)
    return Bounded(means, sum_certificate(bound, source, unit, depends_on), stratum, share, parents)


def slice_means_bound(length: float, n: int) -> float:
    """l2 sensitivity 2 S / n of the slice means of n records of at most this length, in slices fixed in advance."""
    return round_up(2 * length / n, length)


def bin_index(
    values: ArrayLike,
    edges: AccountedValue | Quantiles,
    *,
    unit: str = "features",
    depends_on: Iterable[str] | None = None,
    stratum: str = "*",
) -> Bounded:
    """Indices 0..b-1 of the bins into which every feature (n,) or (n, d) is cut, by shared cuts or own quantiles.

    Norm ``"hamming"``: one record moves d indices if the edges are public, and d min(b, n) if they are quantiles.
    Formal guarantee: a record that goes from the first to the last bin of b quantiles moves its own index and one
    neighbour's across each of the b - 1 edges.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(f"values of shape {array.shape} must be (n,) or (n, d) with at least one entry.")
    columns = array.reshape(len(array), -1).T
    cut = [_cut("values", column, edges) for column in columns]
    indices = np.array([column for column, _ in cut]).T.reshape(array.shape)
    quantiles = isinstance(edges, Quantiles)
    each = min(cut[0][1], len(array)) if quantiles else 1
    fields = depends_on or (("label", "features") if unit == "row" else ("features",))
    source = "quantile edges: min(b, n) indices a feature" if quantiles else "public edges: one index a feature"
    certificate = sum_certificate(each * len(columns), source, unit, fields, norm="hamming")
    return Bounded(indices, certificate, stratum, parents=parents_of(_cuts(edges)))


def _cuts(edges: AccountedValue | Quantiles) -> AccountedValue | None:
    """Origin of the edges; quantiles come from nothing that was released, and their certificate pays for them."""
    return None if isinstance(edges, Quantiles) else edges


def _clip(x: np.ndarray, radius: AccountedValue | None, box: AccountedValue | None) -> tuple[np.ndarray, float, float]:
    """Clipped records, the length none of them exceeds, and the share that was clipped."""
    if radius is not None and box is None:
        length = parameter("radius", radius)
        clipped, share = clip_curves(x, None, length)
        return clipped, float(length), share
    if box is None or radius is not None:
        raise ValueError(f"radius={radius!r} and box={box!r}: give exactly one way to clip.")
    return _clip_to_box(x, parameter("box", box))


def _clip_to_box(x: np.ndarray, box: float) -> tuple[np.ndarray, float, float]:
    if not NORMAL <= box < np.inf or not np.all(np.isfinite(x)):
        raise ValueError(
            f"box={box!r} must be finite, at least {NORMAL:g}, and all records finite; drop or impute the others."
        )
    outside = np.any(np.abs(x) > box, axis=1)
    return np.clip(x, -box, box), float(box * np.sqrt(x.shape[1])), float(np.mean(outside)) if len(x) else 0.0


def _cut(name: str, values: ArrayLike, edges: AccountedValue | Quantiles) -> tuple[np.ndarray, int]:
    """Slice of each value and number of slices."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} of shape {array.shape} must be one finite number a record.")
    if isinstance(edges, Quantiles):
        return _rank(array, int(edges.n_slices)), int(edges.n_slices)
    cuts = np.asarray(parameter("edges", edges), dtype=float)
    if cuts.ndim != 1 or not np.all(np.isfinite(cuts)) or not np.all(np.diff(cuts) > 0):
        raise ValueError(f"edges={cuts!r} must be finite, increasing cuts.")
    return np.searchsorted(cuts, array, side="left"), len(cuts) + 1


def _rank(values: np.ndarray, n_slices: int) -> np.ndarray:
    """Slice of each value between empirical quantiles (linear interpolation), ties in order of position."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    below = (len(values) - 1) * np.arange(1, n_slices) // n_slices + 1
    return np.searchsorted(below, ranks, side="right")
