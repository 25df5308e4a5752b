"""Slices of a response: edges or a list of labels, and the slice of every record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...privacy.accounted_values import AccountedValue, Public, parameter
from ...privacy.statistics.clips import BoxClip

KINDS = ("public", "quantile", "labels")


@dataclass(frozen=True, eq=False)
class Slices:
    """A partition of the response into H slices."""

    # H, at least 2.
    n_slices: int
    # Increasing and finite, at most H - 1: slice h holds ``edges[h-1] < y <= edges[h]``. Quantile edges that coincide
    # are merged; the last slices then stay empty.
    edges: np.ndarray
    # "public", "labels", or "quantile", whose edges depend on the data: one response can move every boundary.
    kind: str
    # Of the kind "labels": the public set of classes (H,), in the order of the columns of M.
    labels: np.ndarray | None = None
    # Releases that the edges or classes came from.
    parents: tuple[str, ...] = ()

    def tails(self, y: np.ndarray) -> np.ndarray:
        """Indicators of ``y > edge``, shape (edges, n), float: differences of their sums are sums over slices."""
        return (y > self.edges[:, None]).astype(float)

    def codes(self, y) -> np.ndarray:
        """Slice number of every record, 0 to H - 1; ValueError for a label outside the public set."""
        if self.labels is None:
            return np.searchsorted(self.edges, np.asarray(y), side="left")
        values = np.asarray(y)
        order = np.argsort(self.labels, kind="stable")
        place = np.clip(np.searchsorted(self.labels[order], values), 0, len(order) - 1)
        numbers = order[place]
        if len(values) and np.any(unknown := self.labels[numbers] != values):
            label = values[unknown].tolist()[0]
            raise ValueError(
                f"y has the label {label!r}, which is not in the public set {self.labels.tolist()}; add it."
            )
        return numbers


def case_edges(values: ArrayLike) -> Public:
    """Edges or classes of a case: its settings, or quantiles of the population of its model."""
    return Public(values, because="edges or classes of the case, settings")


def case_clip(radius: float) -> BoxClip:
    """The rule by which records of a case are clipped, at its radius: all bounds are this object's."""
    return BoxClip(Public(radius, because="radius of the case, a setting"))


def public_slices(edges: AccountedValue, n_slices: int | None = None) -> Slices:
    """Slices with edges that state their origin: fixed before the data were seen, or released."""
    value = parameter("edges", edges)
    array = np.atleast_1d(np.array(value, dtype=float))
    wanted = check_slices(len(array) + 1 if n_slices is None else n_slices)
    if array.ndim != 1 or len(array) != wanted - 1 or not np.all(np.isfinite(array)) or np.any(np.diff(array) <= 0):
        raise ValueError(
            f"edges={value!r} must be {wanted - 1} finite, strictly increasing numbers for {wanted} slices."
        )
    return Slices(wanted, array, "public", parents=edges.parents)


def class_slices(labels: AccountedValue) -> Slices:
    """One slice per class, from a list of labels without repetition that states its origin."""
    value = parameter("labels", labels)
    array = np.asarray(value)
    if array.ndim != 1 or len(np.unique(array)) != len(array):
        raise ValueError(f"labels={value!r} must be a list of different classes.")
    return Slices(check_slices(len(array)), np.empty(0), "labels", array, parents=labels.parents)


def equal_frequency(y, n_slices: int) -> Slices:
    """Slices of nearly equal numbers of records; the first ``n % H`` hold one more.

    An edge is the last response of its slice. Where a boundary would cut through equal responses it moves to the nearer
    end of them; boundaries that meet are merged, as with fewer distinct responses than slices.
    """
    y, n, H = np.asarray(y, dtype=float), len(y), check_slices(n_slices)
    if n == 0:
        raise ValueError("y is empty: quantile slices need at least one record; skip this client.")
    cuts = np.cumsum([n // H + (h < n % H) for h in range(H - 1)])
    if n >= H:
        around = np.partition(y, np.union1d(cuts, cuts - 1))
        if np.all(around[cuts - 1] < around[cuts]):
            return Slices(H, around[cuts - 1], "quantile")
    values, counts = np.unique(y, return_counts=True)
    ends = np.cumsum(counts)[:-1]
    if len(ends) == 0:
        return Slices(H, np.empty(0), "quantile")
    right = np.clip(np.searchsorted(ends, cuts), 0, len(ends) - 1)
    left = np.maximum(right - 1, 0)
    nearer = np.where(cuts - ends[left] < ends[right] - cuts, left, right)
    # With no more values than slices every value is a slice of its own.
    chosen = np.arange(len(ends)) if len(values) <= H else np.unique(nearer)
    return Slices(H, values[chosen], "quantile")


def check_slices(n_slices: int) -> int:
    if n_slices != int(n_slices) or n_slices < 2:
        raise ValueError(f"n_slices={n_slices!r} must be a whole number of at least 2.")
    return int(n_slices)
