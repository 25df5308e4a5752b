"""Noisy scores and the matrix that Newton steps follow, of records that one place has together.

x = (1, z), z the scaled columns of all parties, each block clipped to its public radius, so that ||z|| <= S. Replacing
one record at all parties together moves the mean of clipped x r by 2 C / n at most (r and -r of one long record reach
it), and the mean of v v', v = (c, z), c about S / sqrt(p), by sqrt(2) r^2 / n, r^2 = c^2 + S^2 (orthogonal records
reach it). Every record is rounded to whole steps by itself, and only integers are added. Nothing here is chosen by a
look at the data: see `ScoreClip` and `mean_weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, isqrt, sqrt

import numpy as np

from ....models.families import FAMILIES
from ....models.family_facts import FACTS
from ....models.simulation.base import ReleasedSum, Sample
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.ledger.event import Event
from ....privacy.rounding import bounded_entries
from ....privacy.statistics.bounded import SensitivityCertificate
from ....privacy.statistics.clips import BallClip, ClipResult
from ....privacy.statistics.isometry import nearest_semidefinite, outer_vectors, to_matrix, to_triangle
from ....privacy.statistics.whole import Whole, gram_squares, step_bits, whole
from ..model import GlmFacts
from .moments import MomentScale
from .scaling import constant, statistic_range


@dataclass(frozen=True)
class ScoreClip(BallClip):
    """Clipping that bounds how far one record can move a score.

    radius : C, to which x r is clipped; residual : to which r is clipped before, infinite where it is not
    """

    residual: float = np.inf

    def of_scores(self, x: np.ndarray, r: np.ndarray) -> ClipResult:
        """x r (n, 1 + p) of records and the scores (n,) of their responses, clipped, in whole steps."""
        steps = self.steps(self._terms(x, r), step_bits(len(x)))
        # A score whose residual was clipped is no longer than C: it counts as well.
        return replace(steps, number=max(steps.number, int(np.count_nonzero(~(np.abs(r) <= self.residual)))))

    def of_model(self, x: np.ndarray, r: np.ndarray) -> np.ndarray:
        """x r (m, 1 + p) of drawn records, clipped: in floats, without rounding to steps."""
        return self.of(self._terms(x, r)).records

    def residual_size(self, entries: int) -> float:
        """Return the size of r from which records of so many entries of size 1 are clipped."""
        return min(self.residual, self.size / sqrt(entries))

    def _terms(self, x: np.ndarray, r: np.ndarray) -> np.ndarray:
        # Means overflow at coefficients far off, and infinity times 0 counts as 0.
        with np.errstate(over="ignore", invalid="ignore"):
            return bounded_entries(x * np.clip(r, -self.residual, self.residual)[:, None])


def mean_weight(public: GlmFacts) -> float:
    """Weight of a record in the family's information at the public start, 0.18 for a logit link at any mean."""
    facts = FACTS[public.family]
    if facts.link == "logit":
        return 0.18
    if facts.link == "identity":
        return 1.0
    start = float(constant(public, "eta_start"))
    if facts.variance_power is None:
        return float(FAMILIES[public.family].weight(np.array([start]))[0])
    return exp((2 - facts.variance_power) * start)


def residual_bound(public: GlmFacts) -> float:
    """Usual size of r in the family's score, from public constants, in the unit that the response has.

    Gaussian: 2/3 of the half-width of the response's public range; binomial 0.8; Poisson and others of dispersion 1: 2
    roots of the weight at the start, 2 standard deviations of r; Gamma 4; inverse Gaussian 4 over the mean at start.
    """
    facts = FACTS[public.family]
    if facts.link == "identity":
        return 2 * statistic_range(public)[1] / 3
    if facts.link == "logit":
        return 0.8
    return 4 * mean_weight(public) if facts.estimates_dispersion else 2 * sqrt(mean_weight(public))


def clip_of(clip: str | None, bound: float | None, public: GlmFacts, radius: AccountedValue) -> ScoreClip:
    """The clipping of a protocol's options, or of the family: the whole x r by record, or r alone."""
    # Of canonical links r is y - mu.
    how = clip or ("record" if FACTS[public.family].canonical else "residual")
    size = residual_bound(public) if bound is None else bound
    if how == "record":
        length = size if bound is not None else size * sqrt(len(public.names) + 1)
        facts = [fact for fact in (public.statistic, public.eta_start) if fact is not None]
        because = "bound of the method, an option" if bound is not None else "the family's, from public constants"
        return ScoreClip(Public(length, because=because, made_of=(radius, *facts)))
    facts = [fact for fact in (public.statistic, public.eta_start) if fact is not None]
    because = "bound of the residual times that of a record"
    longest = Public(sqrt(1 + radius.value**2) * size, because=because, made_of=(radius, *facts))
    return ScoreClip(longest, residual=size)


def with_constant(z: np.ndarray, value: float = 1.0) -> np.ndarray:
    """(n, 1 + p) records with a constant first entry."""
    return np.column_stack([np.full(len(z), value), z])


def mean_score(z: np.ndarray, y: np.ndarray, beta: AccountedValue, clip: ScoreClip, public: GlmFacts) -> Whole:
    """Mean over records (n, p) of x r, r the family's score at beta (1 + p,), clipped; l2 sensitivity 2 C / n."""
    x = with_constant(z)
    terms = clip.of_scores(x, FAMILIES[public.family].score(y, x @ beta.value))
    return whole_score(terms.records.sum(axis=0), clip, len(y), terms.share, beta.parents)


def whole_score(
    sums: np.ndarray, clip: ScoreClip, n: int, clip_share: float = 0.0, parents: tuple[str, ...] = ()
) -> Whole:
    """Sums (1 + p,) of clipped x r over n records, in whole steps, as their mean: what it may cost is public."""
    bits = step_bits(n)
    squares, step = 4 * clip.squares(len(sums), bits), clip.step(bits) / n
    source, parents = "triangle inequality: 2 C / n", (*clip.parents, *parents)
    return whole(sums, squares, step, source, clip_share=clip_share, parents=parents)


def second_moments(z: np.ndarray, radius: AccountedValue) -> Whole:
    """Mean of v v', v = (c, z), as isometric vector without its constant entry; l2 sensitivity sqrt(2) (c^2 + S^2) / n.

    c is S / sqrt(p) in whole steps, `constant_entry`.
    """
    (n, p), clip, bits = z.shape, BallClip(radius), step_bits(len(z))
    clipped = clip.steps(z, bits)
    v = with_constant(clipped.records, _constant_steps(p, bits))
    return whole_moments(to_triangle(v.T @ v)[1:], radius, p, n, clipped.share)


def whole_moments(entries: np.ndarray, radius: AccountedValue, p: int, n: int, clip_share: float = 0.0) -> Whole:
    """Sums of products of n records of p columns, in whole steps, as their mean: what it may cost is public."""
    bits, clip = step_bits(n), BallClip(radius)
    return whole(
        entries,
        gram_squares(clip.squares(p, bits) + _constant_steps(p, bits) ** 2),
        clip.step(bits) ** 2 / n,
        "sqrt(2) r^2 / n from |vv' - ww'|",
        weights=np.repeat([1, 2], [p, len(entries) - p]),
        depends_on={"features"},
        clip_share=clip_share,
        parents=clip.parents,
    )


def moments_certificate(radius: AccountedValue, p: int, n: int) -> SensitivityCertificate:
    """Return the public certificate of `second_moments` of n records of p columns."""
    return whole_moments(np.zeros(p), radius, p, n).certificate


def _constant_steps(p: int, bits: int) -> int:
    """S / sqrt(p) in steps of 2^-bits S, rounded down."""
    return isqrt((1 << 2 * bits) // p)


def constant_entry(radius: AccountedValue, p: int, n: int) -> float:
    """c, the constant next to the scaled columns of every record in `second_moments`: about S / sqrt(p)."""
    bits = step_bits(n)
    return _constant_steps(p, bits) * BallClip(radius).step(bits)


@dataclass(frozen=True)
class NoisyScores:
    """Released second moments of scaled columns and T mean scores of the same n records.

    values : isometric vector of `second_moments`, then a score (1 + p,) at each of the coefficients
    events, units : rows of these releases, and the size of a step of their entries
    at : (T, 1 + p) coefficients of scaled columns, from earlier releases, that each score was computed at
    clip : of scores; constant : c of `constant_entry`
    public : where records are clipped; location, scale : (p,) of the columns
    """

    values: tuple[np.ndarray, ...]
    events: tuple[Event, ...]
    units: tuple[np.ndarray, ...]
    at: np.ndarray
    clip: ScoreClip
    constant: float
    n: int
    public: MomentScale
    location: np.ndarray
    scale: np.ndarray

    def moments_of(self, z: np.ndarray) -> np.ndarray:
        """(m, d) what each record (m, p) of clipped columns adds to the moments, in floats."""
        return outer_vectors(with_constant(z, self.constant))[:, 1:]

    def sums(self, of_records: Sequence[Callable[[Sample], np.ndarray]]) -> list[ReleasedSum]:
        """Return the releases as sums over records; each of_records gives what drawn records add to one of them."""
        releases = zip(self.values, self.events, self.units, of_records, strict=True)
        return [ReleasedSum.from_release(value, (event,), units, f, self.n) for value, event, units, f in releases]


@dataclass(frozen=True)
class Matrix:
    """w (M + rho I) from a noisy M: the mean of x x', made positive semi-definite.

    rho : sigma sqrt(p / 2), the size of the noise of a p-column matrix; weight : w
    constant : c, the entry of a released record that stands for the 1 of x
    """

    second: np.ndarray
    rho: float
    weight: float
    constant: float

    @classmethod
    def of(cls, vector: np.ndarray, constant: float, sigma: float, weight: float, p: int) -> Matrix:
        """Return the matrix from released `second_moments`, with the sd of its noise."""
        noisy = to_matrix(np.concatenate([[constant**2], vector]), p + 1)
        back = np.concatenate([[1 / constant], np.ones(p)])
        return cls(nearest_semidefinite(noisy * np.outer(back, back)), sigma * sqrt(p / 2), weight, constant)

    def step(self, score: np.ndarray) -> np.ndarray:
        """The Newton step of a mean score."""
        return np.linalg.lstsq(self.weight * (self.second + self.rho * np.eye(len(score))), score, rcond=None)[0]
