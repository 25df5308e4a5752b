"""Counts of records in public bins, and sets as vectors of zeros and ones."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from ..accounted_values import AccountedValue, parameter
from .bounded import Bounded, SensitivityCertificate
from .whole import Whole, whole


def counts(
    indices: ArrayLike,
    n_bins: AccountedValue,
    *,
    relation: str = "replace_one",
    norm: str = "l2",
    unit: str = "row",
    depends_on: Iterable[str] = ("label", "features"),
    stratum: str = "*",
) -> Bounded:
    """Number of records in each bin.

    Parameters
    ----------
    indices : ndarray of shape (n,)
        Bin of each record, 0..n_bins - 1; the bins are public.
    n_bins : AccountedValue
        Number of bins, at least 1. The largest bin that has a record is data.
    relation : {"replace_one", "add_remove"}
        A replaced record leaves one bin and enters another: l2 sensitivity sqrt(2), l1 sensitivity 2. An added one: 1.
    norm : {"l2", "l1"}
        For Gaussian noise, or for `Geometric` and `Laplace`.
    unit, depends_on, stratum
        Of the certificate.

    Returns
    -------
    Bounded
        Shape (n_bins,).

    Raises
    ------
    ValueError
        If an index lies outside the bins, or the relation or the norm is another one.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> answers = np.repeat([0, 1, 2], [120, 40, 9])
    >>> asked = pw.counts(answers, pw.Public(3, because="three answers on the form"), norm="l1")
    >>> asked.value, asked.certificate.value  # a replaced answer moves two counts by one each
    (array([120.,  40.,   9.]), 2.0)
    >>> pw.Geometric(epsilon=1.0)(asked, pw.stream(4, "noise"), owner="hospital", release_id="answers").value
    array([121.,  39.,   8.])
    """
    index_array, size = np.asarray(indices), parameter("n_bins", n_bins)
    whole = index_array.astype(np.int64)
    if index_array.ndim != 1 or np.any(whole != index_array) or np.any((whole < 0) | (whole >= size)):
        raise ValueError(f"indices of shape {index_array.shape} must be one whole number of 0..{size - 1} a record.")
    if relation not in ("replace_one", "add_remove"):
        raise ValueError(f"relation={relation!r} of a count must be replace_one or add_remove.")
    if norm not in ("l2", "l1"):
        raise ValueError(f"norm={norm!r} of a count must be l2 or l1.")
    moved = 2.0 if norm == "l1" else float(np.sqrt(2))
    certificate = SensitivityCertificate(
        value=moved if relation == "replace_one" else 1.0,
        norm=norm,
        unit=unit,
        relation=relation,
        depends_on=frozenset(depends_on),
        assumptions=("bins public",) + (("number of records public",) if relation == "replace_one" else ()),
        source="a record is in one bin",
        grid=1.0,
    )
    return Bounded(np.bincount(whole, minlength=size), certificate, stratum, parents=n_bins.parents)


def membership(
    chosen: ArrayLike,
    n_items: int,
    max_size: AccountedValue,
    *,
    unit: str = "row",
    depends_on: Iterable[str] = ("label", "features"),
    stratum: str = "*",
) -> Whole:
    """A set of at most ``max_size`` of ``n_items`` indices, as a vector of zeros and ones, however it was chosen.

    l2 sensitivity ``sqrt(min(2 max_size, n_items))``: one record may change the whole set, whose own size is data. The
    stratum is the cell of the client whose set it is, if clients are public and disjoint.
    """
    indices, most = np.asarray(chosen, dtype=np.int64), parameter("max_size", max_size)
    if indices.ndim != 1 or len(np.unique(indices)) != len(indices) or len(indices) > most:
        raise ValueError(f"chosen of shape {indices.shape} must be at most max_size={most} different indices.")
    if np.any((indices < 0) | (indices >= n_items)):
        raise ValueError(f"chosen has indices outside 0..{n_items - 1}.")
    vector = np.zeros(n_items, dtype=np.int64)
    vector[indices] = 1
    return whole(
        vector,
        min(2 * int(most), n_items),
        1.0,
        "two sets differ in 2 T entries",
        unit=unit,
        depends_on=depends_on,
        stratum=stratum,
        parents=max_size.parents,
    )
