"""Statistics that carry their own sensitivity: a bound and the clipping that makes it true live in one object.

A neighbour replaces one record (``replace_one``; the number of records is public) unless a constructor states
otherwise. Every constructor clips inside, so its certificate assumes nothing about the data except that all entries
are finite. All else that a certificate rests on (radii, boxes, edges, thresholds, bins, Gram matrices) is given as
`AccountedValue`: `Public` with the argument where it comes from, the `Release` that drew it, or `Clear`; a bare number
is refused. Shapes are plain: they show in what is released.
"""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ..accounted_values import UNPROVED, AccountedValue, Public, parameter
from ..rounding import NORMAL, bounded_entries
from .bounded import Bounded, SensitivityCertificate, record_matrix
from .clips import LONGEST_BITS, NormClip, ball_steps
from .geometry import Ball, lengths, mahalanobis
from .whole import Whole, whole

ONE_ENTRY = Public(1, because="a record holds one entry")


def clipped_coefficients(
    c: ArrayLike,
    gram: AccountedValue | None,
    radius: AccountedValue,
    *,
    unit: str = "features",
    depends_on: Iterable[str] = ("features",),
    stratum: str = "*",
) -> Bounded:
    """Coefficients of curves, clipped in the norm of their Gram matrix.

    Parameters
    ----------
    c : ndarray of shape (n, ..., q)
        As in `clip_curves`; the first axis runs over records, any axes between over the curves of one record.
    gram : AccountedValue or None
        Gram matrix M of shape (q, q); None for orthonormal coordinates.
    radius : AccountedValue
        Positive; broadcasts against the leading axes of ``c``.
    unit, depends_on, stratum
        Of the certificate.

    Returns
    -------
    Bounded
        The clipped coefficients; norm ``"mahalanobis"`` with metric ``gram``, or ``"l2"`` if ``gram`` is None.

    Notes
    -----
    Formal guarantee: replacing one record moves each of its curves by at most ``2 radius`` in sqrt(d' M d) and no
    other record, so all its curves together by ``2 sqrt(sum radius^2)``. Nothing smaller holds: c and -c of length
    ``radius`` reach it. The matrix M belongs to the norm: the plain length of the coefficients can be
    1/sqrt(lambda_min(M)) times larger.

    Raises
    ------
    TypeError
        If the radius or the Gram matrix is bare.
    ValueError
        If coefficients are not finite, or the radius is not positive.

    Examples
    --------
    >>> import partywise as pw
    >>> curves = pw.stream(1, "curves").normal(size=(200, 3))
    >>> held = pw.clipped_coefficients(curves, None, pw.Public(1.0, because="curves are scaled to length 1"))
    >>> held.certificate.value, round(held.clip_share, 2)  # most curves were longer than 1
    (2.0, 0.83)
    >>> release = pw.Gaussian(mu=1.0)(held, pw.stream(1, "noise"), owner="clinic", release_id="curves")
    >>> round(float((release.value - held.value).std()), 1)  # of every coefficient: it hides a whole curve
    2.0
    """
    clip = NormClip(radius, gram)
    metric, clipped = clip.metric, clip.of(np.asarray(c, dtype=float))
    per_curve = np.broadcast_to(np.asarray(clip.radius.value, dtype=float), clipped.records.shape[:-1])
    record = per_curve.reshape(per_curve.shape[0], -1) if per_curve.ndim > 1 else per_curve[..., None]
    bound = 2 * float(np.max(lengths(record), initial=0.0))
    certificate = SensitivityCertificate(
        value=bound,
        norm="l2" if metric is None else "mahalanobis",
        unit=unit,
        relation="replace_one",
        depends_on=frozenset(depends_on),
        assumptions=("number of records public", "Gram matrix public", "radius public or charged"),
        source="triangle inequality after clipping: 2 S",
        metric=metric,
        records=1,
    )
    return Bounded(clipped.records, certificate, stratum, clipped.share, clip.parents)


def whole_curves(
    c: np.ndarray,
    clip: NormClip,
    step: float,
    shape: np.ndarray,
    *,
    unit: str = "features",
    depends_on: Iterable[str] = ("features",),
) -> Whole:
    """Curves (n, q), one a record, clipped and whitened, in whole steps of a public length.

    Noise whose covariance is a multiple of ``shape`` = L L', public, is alike in all directions for z = L^-1 c, which
    lies in a ball as large as the clip reaches there. What is released is multiplied by L (`unwhiten`). Steps are
    longer where a ball would have more than 2^26.
    """
    clipped = clip.of(bounded_entries(c))
    radius = mahalanobis(Ball(clip.size, clip.metric), shape)
    step = max(step, radius * 2.0**-LONGEST_BITS)
    return whole(
        ball_steps(clipped.records @ np.linalg.inv(np.linalg.cholesky(shape)).T, radius, step).records,
        (2 * Fraction(radius) / Fraction(step)) ** 2,
        step,
        "triangle inequality after clipping: 2 S",
        unit=unit,
        depends_on=depends_on,
        clip_share=clipped.share,
        parents=clip.parents,
        records=1,
    )


def unwhiten(z: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Curves c = L z of `whole_curves`."""
    return z @ np.linalg.cholesky(shape).T


def count_at_most(
    values: ArrayLike, threshold: AccountedValue, *, unit: str = "features", depends_on: Iterable[str] = ("features",)
) -> Whole:
    """Number of records with ``value <= threshold``: replacing one record moves it by at most 1.

    A threshold that moved with the data could move every record across it.
    """
    values, limit = np.asarray(values, dtype=float), parameter("threshold", threshold)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError(f"values of shape {values.shape} must be one finite number a record.")
    return whole(
        np.asarray(np.count_nonzero(values <= limit)),
        1,
        1.0,
        "one record changes one indicator",
        unit=unit,
        depends_on=depends_on,
        parents=threshold.parents,
    )


def label_dot_product(x: ArrayLike, y: ArrayLike, *, stratum: str = "*") -> Bounded:
    """Average label-weighted record X'y / N: all that logistic regression needs to know of the labels.

    Parameters
    ----------
    x : ndarray of shape (N, k)
        Features. The bound is their largest length: no label is read for it, so it is the same for all neighbours in
        the unit ``label``, and nothing is promised about any other unit.
    y : ndarray of shape (N,)
        Labels, 0 or 1.
    stratum : str
        Of the statistic.

    Returns
    -------
    Bounded
        Shape (k,); l2 sensitivity ``max_i ||x_i|| / N``, unit ``label``, relation ``label_flip``.

    Raises
    ------
    ValueError
        If an entry is not finite, a label is not 0 or 1, or the lengths differ.

    Notes
    -----
    Formal guarantee: flipping label i moves the statistic by x_i / N, so the longest record reaches the bound. It
    holds for labels only: the features enter unprotected.
    """
    x, y = record_matrix("x", x), np.asarray(y, dtype=float)
    if y.shape != (len(x),) or not len(x):
        raise ValueError(f"x has {len(x)} records and y has shape {y.shape}; give one label a record.")
    if not np.all(np.isfinite(x)):
        raise ValueError("x has entries that are not finite; drop or impute them.")
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("y has labels other than 0 and 1; the bound is for binary labels.")
    longest = float(np.max(lengths(x)))
    certificate = SensitivityCertificate(
        # Features are public: a bound that has few digits is raised to one that has all.
        value=max(longest / len(x), NORMAL) if longest else 0.0,
        norm="l2",
        unit="label",
        relation="label_flip",
        depends_on=frozenset({"label", "features"}),
        assumptions=("features public",),
        source="a flipped label moves X'y by x_i",
    )
    return Bounded(x.T @ y / len(x), certificate, stratum)


def entries(
    values: np.ndarray,
    *,
    unit: str = "label",
    relation: str | None = None,
    depends_on: Iterable[str] | None = None,
    moved: AccountedValue = ONE_ENTRY,
    stratum: str = "*",
) -> Bounded:
    """Raw values or indices, one entry a record: what local and selection mechanisms take; norm ``"hamming"``.

    Nothing is clipped: a mechanism that takes entries has its own public domain. ``moved`` is the number of entries
    that one unit holds: d if a record has d entries, m if a user has at most m rows; 1 by default. It must be public:
    nothing here enforces it, so one that was released certifies nothing.
    """
    fields = {"label": ("label",), "features": ("features",)}.get(unit, ("label", "features"))
    certificate = SensitivityCertificate(
        value=float(parameter("moved", moved)),
        norm="hamming",
        unit=unit,
        relation=("label_flip" if unit == "label" else "replace_one") if relation is None else relation,
        depends_on=frozenset(fields if depends_on is None else depends_on),
        assumptions=("number of records public", "entries of one unit at most as many as stated"),
        source="one unit holds this many entries",
    )
    return Bounded(values, certificate, stratum, parents=(*moved.parents, UNPROVED) if moved.parents else ())
