"""Moments of one client with their sensitivities: what may be given to a mechanism.

A neighbour replaces one record of one client (unit ``row``, n_k public). The clip happens where the moments are made
(`moments.client_moments`, `moments.whitened_means`); moments that were not clipped have infinite sensitivity.
Certified methods release whole numbers (`whole_slices`, `whole_second`), published ones floats (`bounded_means`).
"""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np

from ...core.errors import CertificationError
from ...models.simulation.base import Sample
from ...privacy.statistics.bounded import Bounded, sum_certificate
from ...privacy.statistics.clips import WholeClip
from ...privacy.statistics.isometry import outer_vectors, to_vector
from ...privacy.statistics.moments import second_moment_bound
from ...privacy.statistics.slices import slice_means_bound
from ...privacy.statistics.whole import Whole, gram_squares, whole
from .moments import CENTRE, SliceMoments

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


def means_sensitivity(moments: SliceMoments) -> float:
    """l2 sensitivity of the slice mean matrix M.

    Public slices: 2 R sqrt(p) / n (clip to [-R, R]) or 2 C / n (clip to a ball). Quantile slices: infinite, for any
    data. Equal responses stay together (`slices.equal_frequency`), so that one response may move a whole group
    over a boundary, and nothing of order 1/n holds. Without equal responses sqrt(H) times the bound of public slices
    would do, but whether there are any is private, and a neighbour may have them.
    """
    return math.inf if moments.kind == "quantile" else slice_means_bound(record_length(moments), moments.n)


def second_sensitivity(moments: SliceMoments) -> float:
    """Frobenius sensitivity of S: sqrt(2) p R^2 / n, or sqrt(2) C^2 / n; two orthogonal records reach it."""
    return second_moment_bound(record_length(moments), moments.n)


def record_length(moments: SliceMoments) -> float:
    """Bound on ||T_i|| that the clip enforces; infinite if nothing was clipped."""
    return math.inf if moments.clip is None else moments.clip.length(moments.p)


def bounded_means(moments: SliceMoments, *, stratum: str = "*") -> Bounded:
    """Slice mean matrix as (H, p), one slice a row, with its l2 certificate, which may be infinite."""
    source = "quantile slices: no bound of order 1 / n" if moments.kind == "quantile" else "2 S / n, public slices"
    certificate = sum_certificate(means_sensitivity(moments), f"slice means: {source}", "row", ROW)
    return Bounded(moments.means.T, certificate, stratum, moments.clip_share, slices_parents(moments))


def bounded_second(moments: SliceMoments, *, stratum: str = "*") -> Bounded:
    """S as isometric vector of length p (p + 1) / 2, with its l2 = Frobenius certificate, which may be infinite."""
    certificate = sum_certificate(second_sensitivity(moments), "sqrt(2) S^2 / n from |xx' - yy'|", "row", {"features"})
    return Bounded(to_vector(moments.second), certificate, stratum, moments.clip_share, moments.parents)


def slices_parents(moments: SliceMoments) -> tuple[str, ...]:
    """The releases that slice means rest on."""
    return tuple(dict.fromkeys((*moments.parents, *moments.slice_parents)))


def squared_length(moments: SliceMoments) -> int:
    """L^2, the largest squared length of a record in steps; CertificationError for moments without a certificate."""
    if moments.clip is None:
        raise CertificationError(
            "clip=None: unclipped moments have unbounded sensitivity; make them with a clip of a public radius."
        )
    if CENTRE in moments.parents:
        raise CertificationError(
            "moments about the mean of the records are not sums of whole records; centre by a released mean."
        )
    return moments.clip.squares(moments.p, moments.bits)


def whole_slices(moments: SliceMoments, *, stratum: str = "*") -> Whole:
    """Sums of the records slice by slice, then the counts of the slices times 2^b: (H p + H,).

    The counts have a weight w <= L^2 / 4^b and cost nothing: a record that stays in its slice moves the sums by at
    most 2 L and no count, one that changes its slice moves both by at most L^2 + L^2 + 2 w 4^b, all of it squared.
    """
    if moments.kind == "quantile":
        raise CertificationError(
            "edges='quantile' depend on private responses: one record can move every boundary, and all records that "
            "share a response with it; use public edges, or release private quantiles first."
        )
    length, scale = squared_length(moments), 2 * moments.bits
    weight = max(1, length >> scale)
    return whole(
        np.concatenate([moments.sums.T.ravel(), moments.counts * 2.0**moments.bits]),
        2 * (length + max(length, weight << scale)),
        moments.step / moments.n,
        "slice sums and counts: 2 S / n, public slices",
        weights=_weights((moments.sums.size, 1), (moments.n_slices, weight)),
        depends_on=ROW,
        stratum=stratum,
        clip_share=moments.clip_share,
        parents=slices_parents(moments),
    )


def slices_of_model(sample: Sample, n_slices: int, clip: WholeClip) -> np.ndarray:
    """(m, H (p + 1)) what each record adds to the means of `whole_slices`, in floats without its rounding.

    Slice by slice: the clipped record in its own one, then 1.
    """
    clipped = clip.of(sample.columns).records
    table = np.zeros((len(clipped), n_slices, clipped.shape[1] + 1))
    rows = np.arange(len(clipped))
    table[rows, sample.response, :-1], table[rows, sample.response, -1] = clipped, 1.0
    return table.reshape(len(clipped), -1)


def whole_second(moments: SliceMoments, *, mirrored: bool = False, stratum: str = "*") -> Whole:
    """T'T as `to_triangle`; entries above the diagonal have weight 2, or, ``mirrored``, that of the diagonal.

    The Frobenius norm bounds that of the triangle without weights as well.
    """
    return _whole_gram(moments, moments.gram, gram_squares(squared_length(moments)), mirrored, stratum)


def second_of_model(sample: Sample, clip: WholeClip) -> np.ndarray:
    """(m, p (p + 1) / 2) what each record adds to the isometric vector of `whole_second`, as of `slices_of_model`."""
    return outer_vectors(clip.of(sample.columns).records)


def whole_second_and_mean(moments: SliceMoments, *, stratum: str = "*") -> Whole:
    """T'T as in `whole_second`, then c times the sum of the records, c = `mean_weight`.

    These are the entries of the second moment of (c, x), except n c^2, which is public.
    """
    length, c = squared_length(moments), mean_weight(moments)
    # Beyond 2^53 for records of more than 50 columns: as integers.
    entries = np.concatenate([moments.gram, moments.sums.sum(axis=1)]).astype(np.int64)
    entries[-moments.p :] *= c
    return _whole_gram(moments, entries, gram_squares(length + c * c), False, stratum)


def second_and_mean_of_model(sample: Sample, clip: WholeClip) -> np.ndarray:
    """(m, p (p + 3) / 2) what each record adds to the second moments, as of `second_of_model`, then to the mean."""
    clipped = clip.of(sample.columns).records
    return np.hstack([outer_vectors(clipped), clipped])


def _whole_gram(moments: SliceMoments, entries: np.ndarray, squares: int, mirrored: bool, stratum: str) -> Whole:
    return whole(
        entries,
        squares,
        moments.step**2 / moments.n,
        "2 S^4 from |xx' - yy'|",
        weights=None if mirrored else _weights((moments.p, 1), (len(entries) - moments.p, 2)),
        depends_on={"features"},
        stratum=stratum,
        clip_share=moments.clip_share,
        parents=moments.parents,
    )


@cache
def _weights(*runs: tuple[int, int]) -> np.ndarray:
    """Runs of equal weights, by their lengths."""
    weights = np.concatenate([np.full(length, weight) for length, weight in runs])
    weights.flags.writeable = False
    return weights


def mean_weight(moments: SliceMoments) -> int:
    """c, the constant in steps next to every record where their sum is released with their second moment."""
    return math.isqrt(int(MEAN_SHARE * squared_length(moments)))
