"""The certificate of a sensitivity, the statistic that carries it, and the clipping that makes it true."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..rounding import NORMAL
from ..strata import check_stratum
from .geometry import factor, lengths

NORMS = ("l2", "l1", "linf", "mahalanobis", "distance", "hamming")
UNITS = ("row", "label", "features", "user")
RELATIONS = ("replace_one", "add_remove", "label_flip")
FIELDS = ("label", "features")


@dataclass(frozen=True, eq=False)
class SensitivityCertificate:
    """Bound on how far a statistic can move between neighbours.

    Parameters
    ----------
    value : float
        The bound, 0 (nothing can move) or at least 1e-290; infinity states that none is known.
    norm : {"l2", "l1", "linf", "mahalanobis", "distance", "hamming"}
        Norm of the bound. ``"mahalanobis"``: sqrt(sum of d' M d over the last axis) with ``metric`` M.
        ``"hamming"``: number of entries that differ. ``"distance"``: one entry differs, by at most the value.
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
    grid : float, optional
        For any data, every entry of the statistic is a whole multiple of it (1 for counts): rounding to a grid
        of which it is a multiple then moves nothing.
    records : int, optional
        Of an array with one record an index of its first axis: how many records one unit can move, all others being
        the same to the last bit. Without it every entry may move.

    Raises
    ------
    ValueError
        If a field is out of its range, or ``metric`` does not go with ``norm``.

    Examples
    --------
    >>> import partywise as pw
    >>> ages = pw.stream(1, "ages").uniform(18, 90, size=500)
    >>> certificate = pw.SensitivityCertificate(
    ...     (90 - 18) / 500, "l2", "row", "replace_one", {"features"}, source="range over n, both public"
    ... )
    >>> mean = pw.Bounded(ages.mean(), certificate)
    >>> release = pw.Gaussian(mu=0.5)(mean, pw.stream(1, "noise"), owner="clinic", release_id="mean age")
    >>> print(f"{release.value:.1f}, true {mean.value:.1f}; noise of {certificate.value / 0.5:.2f}")
    53.9, true 53.9; noise of 0.29
    """

    value: float
    norm: str
    unit: str
    relation: str
    depends_on: frozenset[str]
    assumptions: tuple[str, ...] = ()
    source: str = ""
    metric: np.ndarray | None = None
    grid: float | None = None
    records: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "depends_on", frozenset(self.depends_on))
        if not self.value >= 0:
            raise ValueError(f"value={self.value!r} of a sensitivity must be non-negative.")
        if 0 < self.value < NORMAL:
            raise ValueError(
                f"value={self.value!r} of a sensitivity is below {NORMAL:g}, where floats have few digits; rescale the "
                "records. 0 means that nothing can move."
            )
        for name, allowed in (("norm", NORMS), ("unit", UNITS), ("relation", RELATIONS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} of a sensitivity is unknown; use one of {allowed}.")
        if self.relation == "label_flip" and self.unit != "label":
            raise ValueError(f"relation='label_flip' of a sensitivity needs unit='label', not {self.unit!r}.")
        if not self.depends_on or not self.depends_on <= set(FIELDS):
            raise ValueError(f"depends_on={sorted(self.depends_on)} must name some of {FIELDS}.")
        if (self.metric is not None) != (self.norm == "mahalanobis"):
            raise ValueError(f"norm={self.norm!r}: a metric goes with the norm 'mahalanobis' and only with it.")
        if self.grid is not None and not 0 < self.grid < np.inf:
            raise ValueError(f"grid={self.grid!r} of a sensitivity must be positive and finite.")
        if self.records is not None and (self.records != int(self.records) or self.records < 1):
            raise ValueError(f"records={self.records!r} of a sensitivity must be a whole number from 1.")


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
        ``"*"`` if any record may be in it. ``"partition/cell"`` (`partywise.privacy.strata.cell_of`) only where public
        information, never data, states which records are in the cell: the cells of one partition compose in parallel.
    clip_share : float
        Share of records the constructor had to clip; a diagnostic that stays with the owner.
    parents : tuple of str
        The releases that parameters of the certificate came from, such as a private clipping radius.

    Raises
    ------
    TypeError
        If the certificate is missing.
    ValueError
        If a value is not finite, or its last axis is not that of the metric.

    Examples
    --------
    >>> import partywise as pw
    >>> certificate = pw.SensitivityCertificate(2.0, "l1", "row", "replace_one", {"label"}, grid=1.0)
    >>> histogram = pw.Bounded([120, 40, 9], certificate)  # a replaced answer leaves one bin and enters another
    >>> release = pw.Geometric(epsilon=1.0)(histogram, pw.stream(4, "noise"), owner="hospital", release_id="answers")
    >>> release.value, release.event.epsilon
    (array([121.,  39.,   8.]), 1.0)
    """

    value: np.ndarray | float
    certificate: SensitivityCertificate
    stratum: str = "*"
    clip_share: float = 0.0
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.certificate, SensitivityCertificate):
            raise TypeError(
                f"certificate={self.certificate!r} must be a SensitivityCertificate: "
                "a statistic of unknown sensitivity cannot be released."
            )
        check_stratum(self.stratum)
        value = np.array(self.value, dtype=float)
        if not np.all(np.isfinite(value)):
            raise ValueError("value of a bounded statistic has entries that are not finite; drop or impute them.")
        metric = self.certificate.metric
        if metric is not None and value.shape[-1:] != metric.shape[-1:]:
            raise ValueError(f"value has shape {value.shape}, its metric {metric.shape}: the last axes must agree.")
        value.flags.writeable = False
        object.__setattr__(self, "value", value)


def clip_curves(c: ArrayLike, gram: ArrayLike | None, radius: ArrayLike) -> tuple[np.ndarray, float]:
    """Curves (..., q) scaled down to a radius in the norm sqrt(c' M c) of a Gram matrix, and the share that was longer.

    ``c min(1, radius / norm)``: no norm exceeds ``radius (1 + 1e-12)``. Without ``gram`` coordinates are orthonormal.
    The radius is at least 1e-290, infinity allowed, and broadcasts against the leading axes of ``c``.
    """
    c = np.asarray(c, dtype=float)
    bound = np.asarray(radius, dtype=float)
    if not np.all(np.isfinite(c)):
        raise ValueError("c has entries that are not finite; drop or impute these curves before clipping.")
    if not np.all(bound >= NORMAL):
        raise ValueError(f"radius={radius!r} must be positive, at least {NORMAL:g}.")
    # Scaling by the largest entry first keeps squares of extreme coefficients from overflowing.
    scale = np.max(np.abs(c), axis=-1, initial=np.finfo(float).tiny)
    reduced = c / scale[..., None]
    with np.errstate(over="ignore"):
        norms = scale * lengths(reduced if gram is None else reduced @ factor("gram", gram, c.shape[-1]))
    long = norms > bound
    shrink = np.divide(bound, norms, out=np.ones_like(norms), where=long)
    return c * shrink[..., None], float(np.mean(long)) if long.size else 0.0


def product(radius: float, other: float, name: str = "radius") -> float:
    """Product of two radii; infinite if no float is as large, refused if it has no full float."""
    try:
        with np.errstate(over="ignore", under="ignore"):
            # A power may differ from a product in the last digit.
            value = float(radius**2 if other is radius else radius * other)
    except OverflowError:
        return np.inf
    if value < 1e-280:
        raise ValueError(
            f"{name}={radius!r} is so small that the product {radius!r} x {other!r} has no float; rescale."
        )
    return value


def record_matrix(name: str, value: ArrayLike) -> np.ndarray:
    """Records as a float array of shape (n, P); `ValueError` naming the argument otherwise."""
    array = np.asarray(value, dtype=float)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; give one record a row, shape (n, P).")
    return array


def sum_certificate(
    value: float, source: str, unit: str, depends_on: Iterable[str], norm: str = "l2", grid: float | None = None
) -> SensitivityCertificate:
    """Certificate of a sum over clipped records whose number is public."""
    return SensitivityCertificate(
        value=float(value),
        norm=norm,
        unit=unit,
        relation="replace_one",
        depends_on=frozenset(depends_on),
        assumptions=("number of records public", "radius public or charged"),
        source=source,
        grid=grid,
    )


def repeat(bounded: Bounded, times: int) -> Bounded:
    """Repeat the entries (norm ``"hamming"``) ``times`` times along a new first axis, for as many draws."""
    certificate = bounded.certificate
    if certificate.norm != "hamming" or times != int(times) or times < 1:
        raise ValueError(
            f"times={times!r} of a statistic in the norm {certificate.norm!r}: entries (norm 'hamming') are repeated a "
            "whole number of times from 1."
        )
    source = f"{certificate.source}, {times} times" if times > 1 else certificate.source
    value = np.broadcast_to(bounded.value, (int(times), *np.shape(bounded.value)))
    moved = replace(certificate, value=times * certificate.value, source=source, records=None)
    return replace(bounded, value=value, certificate=moved)
