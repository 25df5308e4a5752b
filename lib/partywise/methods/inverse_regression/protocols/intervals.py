"""Intervals of the direction, and a bound of the loss of the basis, from released sums and public facts alone.

Both are about records before clipping: the law of what was released is that of a mixture of slices with normal columns
(`partywise.models.simulation.slices`). They are post-processing, so that they cost nothing and any reader may compute
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import orient, symmetric_root
from ....core.randomness import stream
from ....models.intervals import Intervals, reason_of
from ....models.simulation.base import ReleasedSum, Sample
from ....models.simulation.fit import Fit
from ....models.simulation.slices import SliceMixture
from ....models.simulation.targets import Question, fit_of, intervals_at
from ....privacy.statistics.clips import WholeClip
from ..bounded import slices_of_model
from ..model import SlicingSpec
from ..options import SlicingExactOptions
from ..subspace import projection_loss
from .noise import Deviations

# Of the bound of the loss: its level, and the draws of parameters.
LEVEL, DRAWS = 0.95, 200
# So many standard errors lie between the d-th squared singular value and the next.
APART = 2.0
ESTIMAND = (
    "of the direction of length 1 before clipping, over records and noise; they rest on columns that are normal, as "
    "declared, with one covariance within every slice, and on independent records: no released number tests these"
)
SCREENED = "columns were screened by the same records; the law of that choice is not known"
ESTIMATED = "the number of directions was chosen by the same noisy numbers; the law of that choice is not known"
OTHER_OPTIONS = "only releases with aggregation 'mean' and second 'goe' have a law for intervals yet"
UNDECLARED = (
    "no release tests whether columns are normal in slices: declare `kind: normal` for every column (own tables), or "
    "`kinds` (estimator); a category has no such law"
)
TURNING = "{} directions may turn within their subspace: only the bound of the loss of their span is given"


@dataclass(frozen=True)
class Subspaces:
    """Subspaces by parameters of a law: spans of Sigma^-1 U_d with U_d of M, or of Sigma^(-1/2) U_d with U_d of
    Sigma^(-1/2) M where records are whitened.
    """

    model: SliceMixture
    d: int
    is_whitened: bool

    def _decompose(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U (p, min(p, H)), its singular values, and the matrix (p, p) that leads from U to the basis."""
        means, covariance = self.model.moments(theta)
        values, vectors = np.linalg.eigh(covariance)
        inverse = (vectors * values ** (-0.5 if self.is_whitened else -1.0)) @ vectors.T
        left, strengths, _ = np.linalg.svd(inverse @ means if self.is_whitened else means, full_matrices=False)
        return left, strengths, inverse

    def basis(self, theta: np.ndarray) -> np.ndarray:
        """(p, d) orthonormal basis."""
        left, _, inverse = self._decompose(theta)
        return np.asarray(np.linalg.qr(inverse @ left[:, : self.d])[0])

    def projection(self, theta: np.ndarray) -> np.ndarray:
        """(p p,) entries of the projection on the subspace."""
        basis = self.basis(theta)
        return np.asarray(basis @ basis.T).ravel()

    def gap(self, theta: np.ndarray) -> np.ndarray:
        """(1,) the d-th squared singular value less the next."""
        squares = np.append(self._decompose(theta)[1] ** 2, 0.0)
        return np.asarray(squares[[self.d - 1]] - squares[[self.d]])

    def excess(self, fitted: Fit) -> float:
        """Return two errors of that gap, over it."""
        gap = float(self.gap(fitted.theta)[0])
        error = float(np.sqrt(fitted.covariance_of(self.gap)[0][0]))
        return APART * error / gap if gap > 0 else np.inf

    def fault(self, fitted: Fit, n: int) -> str:
        """Return a sentence on that gap, with the remedy."""
        return (
            f"noise and sampling hide direction {self.d} at n = {n}: its singular value is not {APART:g} standard "
            "errors apart from the next; use more records, a larger epsilon or other slices"
        )


@dataclass(frozen=True, eq=False)
class ReleasedLaw:
    """Released sums, merged over clients, as the simulation needs them.

    sums : every release with its noise; beyond : as of `Question`; is_whitened : whether slices are of whitened records
    shares : (H,) of slices; slices : (p, H) sums over them; second : (p, p) second moment, all of columns as given
    """

    sums: list[ReleasedSum]
    beyond: Callable[[Sample], np.ndarray]
    shares: np.ndarray
    slices: np.ndarray
    second: np.ndarray
    is_whitened: bool = False


def slices_sum(
    table: np.ndarray,
    sds: Deviations,
    clip: WholeClip,
    n: int,
    columns: Callable[[np.ndarray], np.ndarray] = lambda columns: columns,
) -> ReleasedSum:
    """Return released slices (p + 1, H) with their noise, of records whose columns went through a public map."""
    variances = np.append(np.full(len(table) - 1, sds.means**2), sds.shares**2)
    n_slices = table.shape[1]

    def of_records(sample: Sample) -> np.ndarray:
        return slices_of_model(replace(sample, columns=columns(sample.columns)), n_slices, clip)

    return ReleasedSum(table.T.ravel(), np.tile(variances, n_slices), of_records, n)


def intervals_of(
    spec: SlicingSpec[SlicingExactOptions], law: ReleasedLaw, basis: np.ndarray
) -> tuple[Intervals, float | None]:
    """Return intervals of a direction, or why there are none, and the bound of the loss of a reported basis (p, d).

    The bound is None where the law cannot be fitted. That of d > 1 directions comes without intervals of their entries.
    """
    reason = refusal(spec, basis)
    if reason:
        return Intervals(reason=reason), None
    p, d = basis.shape
    model = SliceMixture(len(law.shares), p)
    subspaces = Subspaces(model, d, law.is_whitened)
    start = model.start(law.shares, law.slices, law.second)
    question = subspace_question(law, subspaces, start, orient(basis)[:, 0])
    fitted = fit_of(question)
    if isinstance(fitted, Intervals):
        return fitted, None
    intervals, bound = intervals_at(question, fitted), loss_bound(subspaces, fitted, basis)
    if d > 1:
        intervals = Intervals(reason=reason_of("later", TURNING.format(d)), record_law=intervals.record_law)
    return intervals, bound


def subspace_question(law: ReleasedLaw, subspaces: Subspaces, start: np.ndarray, reported: np.ndarray) -> Question:
    """Return what intervals are computed from; ``reported`` (p,) has the sign of the direction."""

    def direction(theta: np.ndarray) -> np.ndarray:
        vector = subspaces.basis(theta)[:, 0]
        return vector if vector @ reported >= 0 else -vector

    return Question(
        subspaces.model,
        law.sums,
        start,
        direction if subspaces.d == 1 else subspaces.projection,
        subspaces,
        declared=True,
        tested=False,
        beyond=law.beyond,
        estimand=ESTIMAND,
    )


def refusal(spec: SlicingSpec[SlicingExactOptions], basis: np.ndarray) -> str:
    """Return why options, public facts or the basis alone exclude intervals; empty if they do not."""
    options, settings = spec.options, spec.settings
    if options.intervals == "none":
        return reason_of("not asked for")
    if not options.has_law:
        return reason_of("later", OTHER_OPTIONS)
    if settings.screened:
        return reason_of("selection", SCREENED)
    if options.dimension == "estimated":
        return reason_of("selection", ESTIMATED)
    if (settings.rows_per_user or 1) > 1:
        return reason_of("dependent records")
    if not spec.public.kinds_of_columns:
        return reason_of("undeclared kinds", UNDECLARED)
    return "" if np.all(np.isfinite(basis)) else reason_of("not estimable")


def loss_bound(subspaces: Subspaces, fitted: Fit, basis: np.ndarray) -> float:
    """Upper 95 % bound of the projection loss of a reported basis (p, d).

    The 95 % point of its loss to 200 subspaces, whose parameters are normal about the fitted ones with the covariance
    of these. Draws are the same for the same releases.
    """
    root = symmetric_root(fitted.covariance)
    numbers = stream(0, "intervals", subspaces.model.name, "loss").standard_normal((DRAWS, len(root)))
    drawn = (subspaces.model.within(theta) for theta in fitted.theta + numbers @ root)
    return float(np.quantile([projection_loss(subspaces.basis(theta), basis) for theta in drawn], LEVEL))
