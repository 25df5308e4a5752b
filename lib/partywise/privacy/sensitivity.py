"""Statistics that carry their own sensitivity: a bound and the clipping that makes it true live in one object.

A neighbour replaces one record (``replace_one``; the number of records is public). Every constructor clips inside,
so its certificate assumes nothing about the data except that all entries are finite.
"""

from dataclasses import dataclass

import numpy as np

from partywise.privacy.geometry import Ball, factor, mahalanobis

__all__ = [
    "Ball",
    "Bounded",
    "SensitivityCertificate",
    "clip_curves",
    "clipped_coefficients",
    "count_at_most",
    "cross_moment",
    "mahalanobis",
    "record_sum",
    "second_moment",
]

NORMS = ("l2", "l1", "mahalanobis", "distance")
UNITS = ("row", "label", "features", "user")
RELATIONS = ("replace_one", "add_remove", "label_flip")
FIELDS = ("label", "features")


@dataclass(frozen=True, eq=False)
class SensitivityCertificate:
    """How far a statistic can move between neighbours.

    Parameters
    ----------
    value : float
        The bound, non-negative; infinity states that none is known.
    norm : {"l2", "l1", "mahalanobis", "distance"}
        Norm of the bound. ``"mahalanobis"``: sqrt(sum of d' M d over the last axis) with ``metric`` M.
    unit : {"row", "label", "features", "user"}
        What changes between neighbours.
    relation : {"replace_one", "add_remove", "label_flip"}
        How it changes; never implied.
    depends_on : frozenset of {"label", "features"}
        Data fields from which the statistic is computed.
    assumptions : tuple of str
        What must hold besides; each is either public or enforced by the constructor.
    source : str
        Where the bound is proved.
    metric : ndarray of shape (q, q), optional
        Symmetric positive definite M of the norm ``"mahalanobis"``.

    Raises
    ------
    ValueError
        If a field is out of its range, or ``metric`` does not go with ``norm``.
    """

    value: float
    norm: str
    unit: str
    relation: str
    depends_on: frozenset[str]
    assumptions: tuple[str, ...] = ()
    source: str = ""
    metric: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "depends_on", frozenset(self.depends_on))
        if not self.value >= 0:
            raise ValueError(f"value={self.value!r} of a sensitivity must be non-negative.")
        for name, allowed in (("norm", NORMS), ("unit", UNITS), ("relation", RELATIONS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} of a sensitivity is unknown; use one of {allowed}.")
        if self.relation == "label_flip" and self.unit != "label":
            raise ValueError(f"relation='label_flip' of a sensitivity needs unit='label', not {self.unit!r}.")
        if not self.depends_on or not self.depends_on <= set(FIELDS):
            raise ValueError(f"depends_on={sorted(self.depends_on)} must name some of {FIELDS}.")
        if (self.metric is not None) != (self.norm == "mahalanobis"):
            raise ValueError(f"norm={self.norm!r}: a metric goes with the norm 'mahalanobis' and only with it.")


@dataclass(frozen=True, eq=False)
class Bounded:
    """A statistic with its sensitivity: the only input of a mechanism.

    Parameters
    ----------
    value : float or ndarray
        The statistic, stored read-only.
    certificate : SensitivityCertificate
        Its sensitivity.
    stratum : str
        ``"*"`` if any record may be in it. Another name only where public information, never data, says which
        records are in it: disjoint strata then compose in parallel.
    clip_share : float
        Share of records the constructor had to clip; a diagnostic that stays with the owner.
    """

    value: np.ndarray | float
    certificate: SensitivityCertificate
    stratum: str = "*"
    clip_share: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.certificate, SensitivityCertificate):
            raise TypeError(
                f"certificate={self.certificate!r} must be a SensitivityCertificate: "
                "a statistic of unknown sensitivity cannot be released."
            )
        value = np.array(self.value, dtype=float)
        if not np.all(np.isfinite(value)):
            raise ValueError("value of a bounded statistic has entries that are not finite; drop or impute them.")
        metric = self.certificate.metric
        if metric is not None and value.shape[-1:] != metric.shape[-1:]:
            raise ValueError(f"value has shape {value.shape}, its metric {metric.shape}: the last axes must agree.")
        value.flags.writeable = False
        object.__setattr__(self, "value", value)


def clip_curves(c, gram, radius):
    """Scale every curve down to at most a radius in the norm of a Gram matrix.

    Parameters
    ----------
    c : ndarray of shape (..., q)
        Coefficients, one curve along the last axis.
    gram : ndarray of shape (q, q) or None
        Gram matrix M of the norm sqrt(c' M c); None for orthonormal coordinates.
    radius : float or ndarray
        Positive, infinity allowed; broadcasts against the leading axes of ``c``.

    Returns
    -------
    clipped : ndarray of shape (..., q)
        ``c min(1, radius / norm)``: no norm exceeds ``radius (1 + 1e-12)``.
    share : float
        Share of curves that were longer than the radius.

    Raises
    ------
    ValueError
        If an entry is not finite, a radius is not positive, or ``gram`` is not symmetric positive definite.
    """
    c = np.asarray(c, dtype=float)
    bound = np.asarray(radius, dtype=float)
    if not np.all(np.isfinite(c)):
        raise ValueError("c has entries that are not finite; drop or impute these curves before clipping.")
    if not np.all(bound > 0):
        raise ValueError(f"radius={radius!r} must be positive.")
    # Scaling by the largest entry first keeps squares of extreme coefficients from overflowing.
    scale = np.max(np.abs(c), axis=-1, initial=np.finfo(float).tiny)
    reduced = c / scale[..., None]
    norms = scale * np.linalg.norm(reduced if gram is None else reduced @ factor("gram", gram, c.shape[-1]), axis=-1)
    long = norms > bound
    shrink = np.divide(bound, norms, out=np.ones_like(norms), where=long)
    return c * shrink[..., None], float(np.mean(long)) if long.size else 0.0


def clipped_coefficients(
    c, gram, radius, *, unit: str = "features", depends_on=("features",), stratum: str = "*"
) -> Bounded:
    """Coefficients of curves, clipped in the norm of their Gram matrix.

    Parameters
    ----------
    c, gram, radius
        As in `clip_curves`; the first axis of ``c`` runs over records, any axes between over the curves of one
        record.
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
    """
    c = np.asarray(c, dtype=float)
    clipped, share = clip_curves(c, gram, radius)
    per_curve = np.broadcast_to(np.asarray(radius, dtype=float), c.shape[:-1])
    record = per_curve.reshape(per_curve.shape[0], -1) if per_curve.ndim > 1 else per_curve[..., None]
    bound = 2 * float(np.max(np.linalg.norm(record, axis=-1), initial=0.0))
    certificate = SensitivityCertificate(
        value=bound,
        norm="l2" if gram is None else "mahalanobis",
        unit=unit,
        relation="replace_one",
        depends_on=frozenset(depends_on),
        assumptions=("number of records public", "Gram matrix public", "radius public or charged"),
        source="triangle inequality after clipping: 2 S",
        metric=None if gram is None else np.array(gram, dtype=float),
    )
    return Bounded(clipped, certificate, stratum, share)


def second_moment(z, radius: float, *, unit: str = "features", depends_on=("features",), stratum: str = "*") -> Bounded:
    """Sum Z'Z of outer products of records clipped to ``||z_i|| <= radius``.

    Parameters
    ----------
    z : ndarray of shape (n, P)
        Records in orthonormal coordinates.
    radius : float
        Clipping radius, positive.
    unit, depends_on, stratum
        Of the certificate.

    Returns
    -------
    Bounded
        Shape (P, P), exactly symmetric; l2 sensitivity ``sqrt(2) radius^2``.

    Notes
    -----
    Formal guarantee: ||xx' - yy'||_F^2 = |x|^4 + |y|^4 - 2 (x'y)^2 <= 2 radius^4. The bound holds for the whole
    matrix, hence for its upper triangle, where two different unit vectors reach it.
    """
    clipped, share = clip_curves(_matrix("z", z), None, radius)
    total = clipped.T @ clipped
    certificate = _sum_certificate(np.sqrt(2) * radius**2, "sqrt(2) S^2 from |xx' - yy'|", unit, depends_on)
    return Bounded((total + total.T) / 2, certificate, stratum, share)


def cross_moment(
    x, y, radius_x: float, radius_y: float, *, unit: str = "row", depends_on=("label", "features"), stratum: str = "*"
) -> Bounded:
    """Sum X'Y of outer products of records clipped to ``||x_i|| <= radius_x`` and ``||y_i|| <= radius_y``.

    Parameters
    ----------
    x, y : ndarray of shape (n, P) and (n, Q)
        Records in orthonormal coordinates.
    radius_x, radius_y : float
        Clipping radii, positive.
    unit, depends_on, stratum
        Of the certificate.

    Returns
    -------
    Bounded
        Shape (P, Q); l2 sensitivity ``2 radius_x radius_y`` when both sides of a record change, and the same when
        only one does.
    """
    x, y = _matrix("x", x), _matrix("y", y)
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} records and y has {len(y)}; align them first.")
    left, share = clip_curves(x, None, radius_x)
    right, _ = clip_curves(y, None, radius_y)
    certificate = _sum_certificate(2 * radius_x * radius_y, "triangle inequality: 2 S_x S_y", unit, depends_on)
    return Bounded(left.T @ right, certificate, stratum, share)


def record_sum(z, radius: float, *, unit: str = "features", depends_on=("features",), stratum: str = "*") -> Bounded:
    """Sum of records clipped to ``||z_i|| <= radius``: shape (P,), l2 sensitivity ``2 radius``.

    Parameters
    ----------
    z : ndarray of shape (n, P)
        Records in orthonormal coordinates.
    radius : float
        Clipping radius, positive.
    unit, depends_on, stratum
        Of the certificate.
    """
    clipped, share = clip_curves(_matrix("z", z), None, radius)
    certificate = _sum_certificate(2 * radius, "triangle inequality: 2 S", unit, depends_on)
    return Bounded(clipped.sum(axis=0), certificate, stratum, share)


def count_at_most(values, threshold: float, *, unit: str = "features", depends_on=("features",)) -> Bounded:
    """Number of records with ``value <= threshold``: replacing one record moves it by at most 1.

    Parameters
    ----------
    values : ndarray of shape (n,)
        One finite number a record.
    threshold : float
        Public.
    unit, depends_on
        Of the certificate.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError(f"values of shape {values.shape} must be one finite number a record.")
    certificate = _sum_certificate(1.0, "one record changes one indicator", unit, depends_on)
    return Bounded(float(np.count_nonzero(values <= threshold)), certificate)


def _matrix(name: str, value) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; give one record a row, shape (n, P).")
    return array


def _sum_certificate(value: float, source: str, unit: str, depends_on) -> SensitivityCertificate:
    return SensitivityCertificate(
        value=float(value),
        norm="l2",
        unit=unit,
        relation="replace_one",
        depends_on=frozenset(depends_on),
        assumptions=("number of records public", "radius public or charged"),
        source=source,
    )
