"""Sums and second moments of clipped records, each with its sensitivity under replacement of one record.

A clipping radius is `AccountedValue`: it states its origin, and a release that it came from is charged.
"""

import math
from collections.abc import Iterable

from numpy.typing import ArrayLike

from ..accounted_values import AccountedValue, parameter, parents_of
from .bounded import Bounded, clip_curves, product, record_matrix, sum_certificate


def second_moment(
    z: ArrayLike,
    radius: AccountedValue,
    *,
    unit: str = "features",
    depends_on: Iterable[str] = ("features",),
    stratum: str = "*",
) -> Bounded:
    """Sum Z'Z of outer products of records clipped to ``||z_i|| <= radius``; l2 sensitivity ``sqrt(2) radius^2``.

    Formal guarantee: ||xx' - yy'||_F^2 = |x|^4 + |y|^4 - 2 (x'y)^2 <= 2 radius^4. The bound holds for the whole matrix,
    hence for its upper triangle, where two different unit vectors reach it.
    """
    length = parameter("radius", radius)
    clipped, share = clip_curves(record_matrix("z", z), None, length)
    total = clipped.T @ clipped
    certificate = sum_certificate(second_moment_bound(length), "sqrt(2) S^2 from |xx' - yy'|", unit, depends_on)
    return Bounded((total + total.T) / 2, certificate, stratum, share, radius.parents)


def second_moment_bound(length: float, n: int = 1) -> float:
    """l2 sensitivity sqrt(2) S^2 / n of a second moment of records of at most this length; orthogonal ones reach it."""
    return math.sqrt(2) * product(length, length) / n


def cross_moment(
    x: ArrayLike,
    y: ArrayLike,
    radius_x: AccountedValue,
    radius_y: AccountedValue,
    *,
    unit: str = "row",
    depends_on: Iterable[str] = ("label", "features"),
    stratum: str = "*",
) -> Bounded:
    """Sum X'Y of outer products of records clipped to ``||x_i|| <= radius_x`` and ``||y_i|| <= radius_y``.

    l2 sensitivity ``2 radius_x radius_y`` when both sides of a record change, and the same when only one does.
    """
    x, y = record_matrix("x", x), record_matrix("y", y)
    length_x, length_y = parameter("radius_x", radius_x), parameter("radius_y", radius_y)
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} records and y has {len(y)}; align them first.")
    left, share = clip_curves(x, None, length_x)
    right, _ = clip_curves(y, None, length_y)
    certificate = sum_certificate(
        2 * product(length_x, length_y, "radius_x"), "triangle inequality: 2 S_x S_y", unit, depends_on
    )
    return Bounded(left.T @ right, certificate, stratum, share, parents_of(radius_x, radius_y))


def record_sum(
    z: ArrayLike,
    radius: AccountedValue,
    *,
    unit: str = "features",
    depends_on: Iterable[str] = ("features",),
    stratum: str = "*",
) -> Bounded:
    """Sum of records clipped to ``||z_i|| <= radius``: shape (P,), l2 sensitivity ``2 radius`` (triangle inequality).

    Parameters
    ----------
    z : ndarray of shape (n, P)
        Records in orthonormal coordinates.
    radius : AccountedValue
        Clipping radius, positive.
    unit, depends_on, stratum
        Of the certificate.

    Returns
    -------
    Bounded

    Raises
    ------
    TypeError
        If the radius is a bare number.
    ValueError
        If records are not finite or no matrix, or the radius is below 1e-290.

    Examples
    --------
    >>> import partywise as pw
    >>> records = pw.stream(4, "records").normal(size=(100, 2))
    >>> total = pw.record_sum(records, pw.Public(1.0, because="upper limit of the assay"))
    >>> total.certificate.value, round(total.clip_share, 2)  # the share stays with its owner
    (2.0, 0.56)
    >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
    >>> release.value.round(1), total.value.round(1)
    (array([ 0.1, -0.8]), array([0.8, 2.7]))
    """
    length = parameter("radius", radius)
    clipped, share = clip_curves(record_matrix("z", z), None, length)
    certificate = sum_certificate(2 * length, "triangle inequality: 2 S", unit, depends_on)
    return Bounded(clipped.sum(axis=0), certificate, stratum, share, radius.parents)


def covariance(
    x: ArrayLike,
    radius: AccountedValue,
    *,
    centered: bool = True,
    unit: str = "features",
    depends_on: Iterable[str] = ("features",),
    stratum: str = "*",
) -> Bounded:
    """Covariance (1/n) sum (x_i - m)(x_i - m)' of records clipped to ``||x_i|| <= radius``, or without the mean m.

    l2 sensitivity ``(sqrt(2) + 4) radius^2 / n`` centred and ``sqrt(2) radius^2 / n`` otherwise. Formal guarantee: the
    mean outer product moves by at most sqrt(2) S^2 / n (see `second_moment`), and mm' by ||m - m2|| (||m|| + ||m2||) <=
    (2 S / n) 2 S. The bounds hold for the whole matrix, hence for its upper triangle.
    """
    x = record_matrix("x", x)
    n, length = _at_least_one("x", len(x)), parameter("radius", radius)
    clipped, share = clip_curves(x, None, length)
    if centered:
        clipped = clipped - clipped.mean(axis=0)
    bound, source = second_moment_bound(length, n), "sqrt(2) S^2 / n"
    if centered:
        bound = (math.sqrt(2) + 4) * product(length, length) / n
        source = "outer products and their mean: sqrt(2) + 4 S^2 / n"
    certificate = sum_certificate(bound, source, unit, depends_on)
    total = clipped.T @ clipped / n
    return Bounded((total + total.T) / 2, certificate, stratum, share, radius.parents)


def _at_least_one(name: str, n: int) -> int:
    if n < 1:
        raise ValueError(f"{name} has no records; an average needs one.")
    return n
