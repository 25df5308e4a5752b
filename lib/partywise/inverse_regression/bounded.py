"""Moments of one client with their sensitivities: what may be given to a mechanism.

A neighbour replaces one record of one client (unit ``row``, n_k public). The clip happens where the moments are made
(`moments.client_moments`, `moments.whitened_means`); moments that were not clipped have infinite sensitivity.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np

from ..errors import CertificationError
from ..privacy.statistics.bounded import Bounded, sum_certificate
from ..privacy.statistics.isometry import to_vector
from ..privacy.statistics.moments import second_moment_bound
from ..privacy.statistics.slices import slice_means_bound
from .moments import Moments

ROW = frozenset({"label", "features"})
# Weight of the mean beside the second moment, as a share of the squared length of a record: what it adds to the noise.
MEAN_SHARE = 0.02


def check_budget(epsilon: float, delta: float, n: int) -> None:
    """ValueError unless epsilon > 0 and 0 < delta < 1; UserWarning from delta >= 1/n where noise is added.

    With delta = 1/n publishing one record drawn at random is already (0, delta)-DP.
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} must be positive; infinity means no noise.")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie strictly between 0 and 1: Gaussian noise has no delta = 0.")
    if delta >= 1 / n and epsilon < math.inf:
        warnings.warn(
            f"delta={delta:.3g} is not below 1/n = {1 / n:.3g}: publishing a random record meets it; lower delta.",
            UserWarning,
            stacklevel=3,
        )


def means_sensitivity(moments: Moments) -> float:
    """l2 sensitivity of the slice mean matrix M.

    Public slices: 2 R sqrt(p) / n (clip to [-R, R]) or 2 C / n (clip to a ball). Quantile slices: infinite, whatever
    the data. Equal responses stay together (`slices.equal_frequency`), so that one response may move a whole group
    over a boundary, and nothing of order 1/n holds. Without equal responses sqrt(H) times the bound of public slices
    would do, but whether there are any is private, and a neighbour may have them.
    """
    return math.inf if moments.kind == "quantile" else slice_means_bound(record_length(moments), moments.n)


def second_sensitivity(moments: Moments) -> float:
    """Frobenius sensitivity of S: sqrt(2) p R^2 / n, or sqrt(2) C^2 / n; two orthogonal records reach it."""
    return second_moment_bound(record_length(moments), moments.n)


def record_length(moments: Moments) -> float:
    """Bound on ||T_i|| that the clip enforces; infinite if nothing was clipped."""
    return math.inf if moments.clip is None else moments.clip.length(moments.p)


def bounded_means(moments: Moments, *, stratum: str = "*", certified: bool = True) -> Bounded:
    """Slice mean matrix as (H, p), one slice a row, with its l2 certificate."""
    if certified and moments.kind == "quantile":
        raise CertificationError(
            "edges='quantile' depend on private responses: one record can move every boundary, and all records that "
            "share a response with it; use public edges, or release private quantiles first."
        )
    require_clip(moments, certified)
    source = "quantile slices: no bound of order 1 / n" if moments.kind == "quantile" else "2 S / n, public slices"
    certificate = sum_certificate(means_sensitivity(moments), f"slice means: {source}", "row", ROW)
    parents = tuple(dict.fromkeys((*moments.parents, *moments.slice_parents)))
    return Bounded(moments.means.T, certificate, stratum, moments.clip_share, parents)


def bounded_second(moments: Moments, *, stratum: str = "*", certified: bool = True) -> Bounded:
    """S as isometric vector of length p (p + 1) / 2, with its l2 = Frobenius certificate."""
    require_clip(moments, certified)
    certificate = sum_certificate(second_sensitivity(moments), "sqrt(2) S^2 / n from |xx' - yy'|", "row", {"features"})
    return Bounded(to_vector(moments.second), certificate, stratum, moments.clip_share, moments.parents)


def bounded_slices(moments: Moments, *, stratum: str = "*") -> Bounded:
    """Slice means and slice proportions as one vector (H p + H,): M slice by slice, then L n_h / n.

    L is the length to which records are clipped. The proportions cost nothing: a record that stays in its slice moves
    M by at most 2 L / n and no proportion, one that changes its slice moves both together by at most
    sqrt(L^2 + L^2 + 2 L^2) / n.
    """
    means = bounded_means(moments, stratum=stratum)
    shares = record_length(moments) / moments.n * moments.counts
    source = "slice means and proportions: 2 S / n, public slices"
    return replace(
        means,
        value=np.concatenate([np.ravel(means.value), shares]),
        certificate=replace(means.certificate, source=source),
    )


def bounded_second_and_mean(moments: Moments, *, stratum: str = "*") -> Bounded:
    """S as isometric vector, then sqrt(2) c times the mean of the records, c = `mean_weight`.

    These are the entries of the second moment of (c, x), but for c^2: its certificate is that of records of the length
    sqrt(L^2 + c^2).
    """
    if moments.mean is None:
        raise ValueError("mean=None: the moments were kept without the mean of the records; make them of the records.")
    second, c = bounded_second(moments, stratum=stratum), mean_weight(moments)
    certificate = replace(
        second.certificate,
        value=second_moment_bound(math.hypot(record_length(moments), c), moments.n),
        source="second moment of (c, x): sqrt(2) (S^2 + c^2) / n",
    )
    value = np.concatenate([second.value, math.sqrt(2) * c * moments.mean])
    return replace(second, value=value, certificate=certificate)


def mean_weight(moments: Moments) -> float:
    """c, the constant beside every record where their mean is released with their second moment."""
    return math.sqrt(MEAN_SHARE) * record_length(moments)


def require_clip(moments: Moments, certified: bool) -> None:
    if certified and moments.clip is None:
        raise CertificationError(
            "clip=None: unclipped moments have unbounded sensitivity; make them with a clip of a public radius."
        )
