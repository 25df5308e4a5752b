"""Statistics of records that are cut into slices or buckets: what one record moves depends on who made the cut.

Edges fixed before seeing the data move nobody else. Edges at quantiles are shared by all records: replacing one
record moves one neighbour across every edge between its old and its new place. Ties are ordered by the position of
the record, which no value can change; without that, one record could move all that are tied at an edge.
"""

import numpy as np

from partywise.privacy.certificates import Bounded, clip_curves, record_matrix, summed
from partywise.privacy.rounding import NORMAL

__all__ = ["bucket_index", "slice_means"]


def slice_means(
    x,
    y,
    edges,
    *,
    radius: float | None = None,
    box: float | None = None,
    edges_are: str = "public",
    unit: str = "row",
    depends_on=("label", "features"),
    stratum: str = "*",
) -> Bounded:
    """Stacked means (1/n) sum of x_i over the records whose response lies in slice h.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Records.
    y : ndarray of shape (n,)
        Responses.
    edges : ndarray of shape (H-1,) or int
        Increasing cuts, slice h being ``(edges[h-1], edges[h]]``. With ``edges_are="quantile"`` the number of
        slices H, or cuts that are checked to give those slices.
    radius : float, optional
        Clips every record to this length; public.
    box : float, optional
        Clips every entry to [-box, box]; public. Exactly one of ``radius`` and ``box``.
    edges_are : {"public", "quantile"}
        Whether the cuts were fixed before seeing ``y`` or are its empirical quantiles.
    unit, depends_on, stratum
        Of the certificate.

    Returns
    -------
    Bounded
        Shape (H, p); l2 sensitivity ``2 radius / n``, or ``2 box sqrt(p) / n``; times ``sqrt(H)`` for quantiles.

    Raises
    ------
    ValueError
        If shapes, edges or clipping do not fit, or given cuts are not the quantiles.

    Notes
    -----
    Formal guarantee: public cuts leave all other records where they are, so a record leaves one slice and enters
    another (sqrt(2) S / n) or changes within one (2 S / n). With quantiles every slice may lose one record and gain
    another, 2 S / n each. Both bounds are reached.
    """
    x = record_matrix("x", x)
    n, p = x.shape
    slices, n_slices = _cut("y", y, edges, edges_are)
    if slices.shape != (n,) or n < 1:
        raise ValueError(f"x has {n} records and y has shape {slices.shape}; give one response a record.")
    clipped, length, share = _clipped(x, radius, box)
    means = np.zeros((n_slices, p))
    np.add.at(means, slices, clipped / n)
    bound = 2 * length / n * (np.sqrt(n_slices) if edges_are == "quantile" else 1.0)
    source = f"{edges_are} edges: 2 S / n" + (" sqrt(H)" if edges_are == "quantile" else "")
    return Bounded(means, summed(bound, source, unit, depends_on), stratum, share)


def bucket_index(
    values, edges, *, edges_are: str = "public", unit: str = "features", depends_on=None, stratum: str = "*"
) -> Bounded:
    """Indices of the buckets into which every feature is cut.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, d)
        One record a row.
    edges : ndarray of shape (b-1,) or int
        As in `slice_means`; public cuts are shared by all d features, the quantiles are each feature's own.
    edges_are : {"public", "quantile"}
        Whether the cuts were fixed before seeing the data or are its quantiles.
    unit : str
        Of the certificate.
    depends_on : iterable of str, optional
        Both fields for unit ``row``, else ``{"features"}``.
    stratum : str
        Of the certificate.

    Returns
    -------
    Bounded
        Indices 0..b-1 of the shape of ``values``; norm ``"hamming"``: one record moves d indices if the edges are
        public, and d min(b, n) if they are quantiles.

    Raises
    ------
    ValueError
        If shapes or edges do not fit, or given cuts are not the quantiles.

    Notes
    -----
    Formal guarantee: a record that goes from the first to the last bucket of b quantiles moves its own index and one
    neighbour's across each of the b - 1 edges.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(f"values of shape {array.shape} must be (n,) or (n, d) with at least one entry.")
    columns = array.reshape(len(array), -1).T
    cut = [_cut("values", column, edges, edges_are) for column in columns]
    indices = np.array([column for column, _ in cut]).T.reshape(array.shape)
    each = min(cut[0][1], len(array)) if edges_are == "quantile" else 1
    fields = depends_on or (("label", "features") if unit == "row" else ("features",))
    source = f"{edges_are} edges: {'min(b, n) indices' if edges_are == 'quantile' else 'one index'} a feature"
    return Bounded(indices, summed(each * len(columns), source, unit, fields, norm="hamming"), stratum)


def _clipped(x: np.ndarray, radius: float | None, box: float | None) -> tuple[np.ndarray, float, float]:
    """Clipped records, the length none of them exceeds, and the share that was clipped."""
    if radius is not None and box is None:
        clipped, share = clip_curves(x, None, radius)
        return clipped, float(radius), share
    if box is None or radius is not None:
        raise ValueError(f"radius={radius!r} and box={box!r}: give exactly one way to clip.")
    if not NORMAL <= box < np.inf or not np.all(np.isfinite(x)):
        raise ValueError(
            f"box={box!r} must be finite, at least {NORMAL:g}, and all records finite; drop or impute the others."
        )
    outside = np.any(np.abs(x) > box, axis=1)
    return np.clip(x, -box, box), float(box * np.sqrt(x.shape[1])), float(np.mean(outside)) if len(x) else 0.0


def _cut(name: str, values, edges, edges_are: str) -> tuple[np.ndarray, int]:
    """Slice of each value and number of slices."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} of shape {array.shape} must be one finite number a record.")
    if edges_are not in ("public", "quantile"):
        raise ValueError(f"edges_are={edges_are!r} must be 'public' or 'quantile'.")
    by_number = np.ndim(edges) == 0
    if by_number and edges_are == "public":
        raise ValueError(f"edges={edges!r}: public edges are cuts fixed before seeing the data; give them.")
    if by_number:
        if edges != int(edges) or edges < 1:
            raise ValueError(f"edges={edges!r} must be a whole number of slices from 1.")
        return _ranked(array, int(edges)), int(edges)
    cuts = np.asarray(edges, dtype=float)
    if cuts.ndim != 1 or not np.all(np.isfinite(cuts)) or not np.all(np.diff(cuts) > 0):
        raise ValueError(f"edges={edges!r} must be finite, increasing cuts.")
    slices, n_slices = np.searchsorted(cuts, array, side="left"), len(cuts) + 1
    if edges_are == "quantile" and not np.array_equal(slices, _ranked(array, n_slices)):
        raise ValueError(
            f"edges of {name} are not its {n_slices - 1} quantiles (or {name} has ties at them), so nothing bounds "
            f"what they move; give the number of slices, edges={n_slices}."
        )
    return slices, n_slices


def _ranked(values: np.ndarray, n_slices: int) -> np.ndarray:
    """Slice of each value between empirical quantiles (linear interpolation), ties in order of position."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    below = (len(values) - 1) * np.arange(1, n_slices) // n_slices + 1
    return np.searchsorted(below, ranks, side="right")
