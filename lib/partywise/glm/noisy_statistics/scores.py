"""Noisy scores and the matrix that Newton steps follow, of records that one place has together.

x = (1, z), z the scaled columns of all parties, each block clipped to its public radius, so that ||z|| <= S. Replacing
one record at all parties together moves the mean of clipped x r by 2 C / n at most (r and -r of one long record reach
it), and the mean of v v', v = (S / sqrt(p), z), by sqrt(2) r^2 / n, r^2 = S^2 / p + S^2 (orthogonal records reach it).
Nothing here is chosen by a look at the data: see `ScoreClip` and `mean_weight`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from ...models.families import FAMILIES
from ...privacy.accounted_values import AccountedValue, Public
from ...privacy.statistics.bounded import Bounded, SensitivityCertificate, sum_certificate
from ...privacy.statistics.clips import ClipResult, NormClip
from ...privacy.statistics.isometry import nearest_semidefinite, to_matrix, to_vector
from ...privacy.statistics.moments import second_moment_bound
from ..model import PublicFacts
from .scaling import constant, statistic_range

BOTH = ("label", "features")
# Clipped by record: canonical links, whose r is y - mu.
BY_RECORD = ("gaussian", "binomial", "poisson")


@dataclass(frozen=True)
class ScoreClip(NormClip):
    """How far one record can move a score.

    radius : C, to which x r is clipped; residual : to which r is clipped before, infinite where it is not
    """

    residual: float = np.inf

    def of_scores(self, x: np.ndarray, r: np.ndarray) -> ClipResult:
        """Clipped x r (n, 1 + p) of records and the scores (n,) of their responses."""
        return self.of(x * np.clip(r, -self.residual, self.residual)[:, None])


def mean_weight(public: PublicFacts) -> float:
    """Weight of a record in the family's information at the public start, .18 for a binomial response of any mean."""
    start = float(constant(public, "eta_start"))
    return {"binomial": 0.18, "poisson": exp(start), "inverse_gaussian": exp(-start)}.get(public.family, 1.0)


def residual_bound(public: PublicFacts) -> float:
    """Usual size of r in the family's score, from public constants, in the unit that the response has.

    Gaussian: 2/3 of the half-width of the response's public range; binomial .8; Poisson 2 roots of the mean at the
    start; Gamma 4; inverse Gaussian 4 over the mean at the start.
    """
    if public.family == "gaussian":
        return 2 * statistic_range(public)[1] / 3
    if public.family in ("binomial", "poisson"):
        return 0.8 if public.family == "binomial" else 2 * sqrt(mean_weight(public))
    return 4 * mean_weight(public)


def clip_of(clip: str | None, bound: float | None, public: PublicFacts, radius: AccountedValue) -> ScoreClip:
    """The clipping of a protocol's options, or of the family: the whole x r by record, or r alone."""
    how = clip or ("record" if public.family in BY_RECORD else "residual")
    size = residual_bound(public) if bound is None else bound
    if how == "record":
        length = size if bound is not None else size * sqrt(len(public.names) + 1)
        facts = [one for one in (public.statistic, public.eta_start) if one is not None]
        because = "bound of the method, an option" if bound is not None else "the family's, from public constants"
        return ScoreClip(Public(length, because=because, made_of=(radius, *facts)))
    facts = [one for one in (public.statistic, public.eta_start) if one is not None]
    because = "bound of the residual times that of a record"
    longest = Public(sqrt(1 + radius.value**2) * size, because=because, made_of=(radius, *facts))
    return ScoreClip(longest, residual=size)


def with_constant(z: np.ndarray, value: float = 1.0) -> np.ndarray:
    """(n, 1 + p) records with a constant first entry."""
    return np.column_stack([np.full(len(z), value), z])


def mean_score(z: np.ndarray, y: np.ndarray, beta: AccountedValue, clip: ScoreClip, public: PublicFacts) -> Bounded:
    """Mean over records (n, p) of x r, r the family's score at beta (1 + p,), clipped; l2 sensitivity 2 C / n."""
    x = with_constant(z)
    terms = clip.of_scores(x, FAMILIES[public.family].score(y, x @ beta.value))
    certificate, parents = mean_score_certificate(clip, len(y)), (*clip.parents, *beta.parents)
    return Bounded(terms.records.mean(axis=0), certificate, clip_share=terms.share, parents=parents)


def mean_score_certificate(clip: ScoreClip, n: int) -> SensitivityCertificate:
    """That of `mean_score` of n records, public."""
    return sum_certificate(2 * clip.size / n, "triangle inequality: 2 C / n", "row", BOTH)


def second_moments(z: np.ndarray, radius: AccountedValue) -> Bounded:
    """Mean of v v', v = (S / sqrt(p), z), as isometric vector without its constant entry.

    l2 sensitivity sqrt(2) (S^2 / p + S^2) / n.
    """
    (n, p), clip = z.shape, NormClip(radius)
    v = with_constant(clip.of(z).records, clip.size / sqrt(p))
    certificate = second_moments_certificate(radius, p, n)
    return Bounded(to_vector(v.T @ v / n)[1:], certificate, parents=radius.parents)


def second_moments_certificate(radius: AccountedValue, p: int, n: int) -> SensitivityCertificate:
    """That of `second_moments` of n records of p columns, public."""
    return sum_certificate(second_moments_bound(radius, p, n), "sqrt(2) r^2 / n from |vv' - ww'|", "row", ("features",))


def second_moments_bound(radius: AccountedValue, p: int, n: int) -> float:
    """The sensitivity of `second_moments` of n records of p columns."""
    S = float(radius.value)
    return second_moment_bound(sqrt(S**2 / p + S**2), n)


@dataclass(frozen=True)
class Matrix:
    """w (M + rho I) from a noisy M: the mean of x x', made positive semi-definite.

    rho : sigma sqrt(p / 2), the size of the noise of a p-column matrix; weight : w
    """

    second: np.ndarray
    rho: float
    weight: float

    @classmethod
    def of(cls, vector: np.ndarray, radius: AccountedValue, sigma: float, weight: float, p: int) -> Matrix:
        """From what was released of `second_moments`, with the sd of its noise."""
        S = float(radius.value)
        noisy = to_matrix(np.concatenate([[S**2 / p], vector]), p + 1)
        back = np.concatenate([[sqrt(p) / S], np.ones(p)])
        return cls(nearest_semidefinite(noisy * np.outer(back, back)), sigma * sqrt(p / 2), weight)

    def step(self, score: np.ndarray) -> np.ndarray:
        """The Newton step of a mean score."""
        return np.linalg.lstsq(self.weight * (self.second + self.rho * np.eye(len(score))), score, rcond=None)[0]
