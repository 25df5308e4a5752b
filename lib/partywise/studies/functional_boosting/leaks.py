"""Seed 000 under audit: noise on curves, their clipping radius, the budget, and what else is sent.

First the neighbours: antipodal curves of the clipping radius, along the direction in which the noise is smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...audits.exposure import AttackedPair, Exposure, Task, public_settings
from ...audits.pairs import DistributionPair, GaussianPair, canaries, clear_exposure
from ...audits.worlds import AuditData, World
from ...core.randomness import Rng
from ...methods.functional.bases import BSplineBasis
from ...privacy.accounted_values import Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.quantiles import PrivateQuantile
from ...privacy.statistics.bounded import clip_curves
from ...privacy.statistics.records import clipped_coefficients, entries
from .claims import BudgetSettings, CurveClaim, SplineSettings

SHARE = 0.95


def antipodal_curves(settings: CurveClaim, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One curve along the first coordinate, and its opposite; one ordinary curve, and another."""
    white, other, extreme = _curves(settings, 1, rng_for)
    return _neighbours(white, other, extreme, -extreme)


def curves_of_predictors(settings: BudgetSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Curves of all predictors of one record along the first coordinate, and their opposites; ordinary curves."""
    white, other, extreme = _curves(settings, settings.n_predictors, rng_for)
    return _neighbours(white, other, extreme, -extreme)


def long_curve(settings: CurveClaim, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record crosses the 95th percentile; in the ordinary pair one curve replaces another."""
    white, other, extreme = _curves(settings, 1, rng_for)
    return _neighbours(white, other, 10 * extreme, 0 * extreme)


def spline_curves(settings: SplineSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Coefficients of splines; the extreme ones lie along the eigenvector of the least eigenvalue of M."""
    white, other, _ = _curves(settings, 1, rng_for)
    basis = BSplineBasis((settings.start, settings.end), settings.n_basis)
    values, vectors = np.linalg.eigh(basis.gram)
    extreme = settings.radius / np.sqrt(values[0]) * vectors[:, :1].T
    return _neighbours(white @ basis.inverse_root, other @ basis.inverse_root, extreme, -extreme)


def _curves(settings: CurveClaim, copies: int, rng_for: Rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ordinary curves (n, copies, Q) of about the clipping radius, another one, and the longest along an axis."""
    rng, q = rng_for("curves"), settings.n_basis
    white = rng.standard_normal((settings.n, copies, q)) * settings.radius / np.sqrt(q)
    other = rng.standard_normal((copies, q)) * settings.radius / np.sqrt(q)
    extreme = np.zeros((copies, q))
    extreme[:, 0] = settings.radius
    return white, other, extreme


def _neighbours(white: np.ndarray, other: np.ndarray, first: np.ndarray, second: np.ndarray) -> AuditData:
    x = np.repeat(white.reshape(1, len(white), -1), 4, axis=0)
    x[0, 0], x[1, 0], x[3, 0] = first.ravel(), second.ravel(), other.ravel()
    return AuditData(x, np.zeros((4, len(white))))


def covariance_published(task: Task[SplineSettings]) -> Exposure:
    """Coefficients clipped to ||c||_M <= S plus N(0, s^2 M), s = 2 S sqrt(2 log(1.25 / delta)) / epsilon.

    Seed 000, "Gaussian mechanism".  The least noise lies along the eigenvector of the least eigenvalue of M, where the
    clip allows the longest coefficients.
    """
    return _coefficients(task, task.classic, lambda gram: gram)


def covariance_corrected(task: Task[SplineSettings]) -> Exposure:
    """Clipped coefficients plus N(0, s^2 M^-1), the geometry of the clip, at the analytic level."""
    return _coefficients(task, task.analytic, np.linalg.inv)


def _coefficients(
    task: Task[SplineSettings], multiplier: float, shape_of: Callable[[np.ndarray], np.ndarray]
) -> Exposure:
    settings = task.settings
    gram = BSplineBasis((settings.start, settings.end), settings.n_basis).gram
    shape = shape_of(gram)
    noise = (2 * settings.radius * multiplier) ** 2 * (shape + shape.T) / 2

    def pair_of(first: World, second: World) -> GaussianPair:
        return GaussianPair(_record(first, gram, settings.radius), _record(second, gram, settings.radius), noise)

    metric = Public(gram, because="Gram matrix of the basis of the case, a setting")
    bounded = clipped_coefficients(task.worst[0].x, metric, public_settings(settings, "radius"))
    spread = Public(noise, because="a multiple of the Gram matrix, or of its inverse, of a basis that is a setting")
    release = Gaussian(covariance=spread)(bounded, task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)
    worst = pair_of(*task.worst)
    pairs = worst, pair_of(*task.ordinary)
    return Exposure({0: release}, pairs, one_run=lambda rng, count: canaries(worst, rng, count))


def orthonormal_published(task: Task[CurveClaim]) -> Exposure:
    """White noise on orthonormal coordinates at the classic level of the source."""
    return _orthonormal(task, task.classic)


def orthonormal_corrected(task: Task[CurveClaim]) -> Exposure:
    """White noise on orthonormal coordinates at the analytic level."""
    return _orthonormal(task, task.analytic)


def _orthonormal(task: Task[CurveClaim], multiplier: float) -> Exposure:
    settings, noise = task.settings, 2 * task.settings.radius * multiplier
    bounded = clipped_coefficients(task.worst[0].x, None, public_settings(settings, "radius"))
    release = Gaussian(sigma=noise)(bounded, task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)
    return Exposure({0: release}, _white(task, noise))


def radius_published(task: Task[CurveClaim]) -> Exposure:
    """``adapt_Sx``: the 95 % quantile of the norms, announced and not charged."""
    return clear_exposure(task, lambda world: float(np.quantile(_norms(world), SHARE)), "features")


def radius_corrected(task: Task[CurveClaim]) -> Exposure:
    """A private quantile."""
    domain = Public((0.0, 4 * task.settings.radius), because="four times the radius of the case, a setting")
    quantile = PrivateQuantile(task.epsilon, SHARE, domain)
    release = quantile(entries(_norms(task.worst[0]), unit="features"), task.noise(), owner=task.owner)
    pairs = task.pairs(
        lambda data, neighbour: DistributionPair(*_quantile_distributions(quantile, _norms(data), _norms(neighbour)))
    )
    return Exposure({0: release}, pairs)


def budget_published(task: Task[BudgetSettings]) -> Exposure:
    """ "Total held" by noise s sqrt(J) for J parties, although p predictors are released."""
    return _budget(task, task.classic, len(task.owners))


def budget_corrected(task: Task[BudgetSettings]) -> Exposure:
    """A budget kept by noise s sqrt(p) for p predictors, at the analytic level."""
    return _budget(task, task.analytic, task.settings.n_predictors)


def _budget(task: Task[BudgetSettings], multiplier: float, shares: int) -> Exposure:
    """Each party releases its predictors by itself, so a record's curves compose over all p of them."""
    settings = task.settings
    noise = 2 * settings.radius * multiplier * float(np.sqrt(shares))
    releases = {}
    for j in task.deal_releases(settings.n_predictors):
        columns = slice(j * settings.n_basis, (j + 1) * settings.n_basis)
        bounded = clipped_coefficients(task.worst[0].x[:, columns], None, public_settings(settings, "radius"))
        rng = task.rng_for("release", j)
        releases[j] = Gaussian(sigma=noise)(bounded, rng, owner=task.owner, release_id=f"curves {j}")

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        first, second = (_clipped_curves(world, settings.n_basis, settings.radius) for world in (data, neighbour))
        return GaussianPair(first, second, noise)

    return Exposure(releases, task.pairs(pair_of))


def residuals(task: Task[CurveClaim]) -> Exposure:
    """Residuals: the first are the response curves less their mean, in the clear."""
    return clear_exposure(task, lambda world: world.x - world.x.mean(axis=0), "label")


def response(task: Task[CurveClaim]) -> Exposure:
    """A released response, from which any observer may compute residuals."""
    settings, noise = task.settings, 2 * task.settings.radius * task.analytic
    radius = public_settings(settings, "radius")
    bounded = clipped_coefficients(task.worst[0].x, None, radius, unit="label", depends_on=("label",))
    return Exposure({0: Gaussian(sigma=noise)(bounded, task.noise(), owner=task.owner)}, _white(task, noise))


def _white(task: Task[CurveClaim], noise: float) -> tuple[AttackedPair, AttackedPair]:
    """Both pairs under white noise on orthonormal coordinates."""
    radius = task.settings.radius
    return task.pairs(
        lambda data, neighbour: GaussianPair(_record(data, None, radius), _record(neighbour, None, radius), noise)
    )


def _record(world: World, gram: np.ndarray | None, radius: float) -> np.ndarray:
    """The clipped curve of the record in which neighbours differ, shape (q,)."""
    return np.asarray(clip_curves(world.x[:1], gram, radius)[0][0])


def _clipped_curves(world: World, n_basis: int, radius: float) -> np.ndarray:
    """All clipped curves of that record, shape (p q,)."""
    return clip_curves(world.x[0].reshape(-1, n_basis), None, radius)[0].ravel()


def _norms(world: World) -> np.ndarray:
    return np.asarray(np.linalg.norm(world.x, axis=1))


def _quantile_distributions(quantile: PrivateQuantile, *values: np.ndarray) -> list[np.ndarray]:
    """Probabilities of a private quantile in both worlds, on the common refinement of their pieces."""
    distributions = [quantile.distribution(norms) for norms in values]
    cuts = np.unique(np.concatenate([points for points, _ in distributions]))
    refined = []
    for points, shares in distributions:
        cumulated = np.concatenate([[0.0], np.cumsum(shares)])
        distinct = np.concatenate([np.diff(points) > 0, [True]])
        refined.append(np.diff(np.interp(cuts, points[distinct], cumulated[distinct])))
    return refined
