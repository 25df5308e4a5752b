"""Seed 000, functional boosting: noise on curves, their clipping radius, the budget, and what else is sent."""

from __future__ import annotations

import numpy as np

from ...audits.exposure import Exposure, Task, fixed
from ...audits.pairs import ClearPair, GaussianPair, LawPair, canaries
from ...audits.worlds import World
from ...functional.bases import BSplineBasis
from ...privacy.accounted import Clear, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.quantiles import PrivateQuantile
from ...privacy.statistics.bounded import clip_curves
from ...privacy.statistics.records import clipped_coefficients, entries

SHARE = 0.95


def covariance(task: Task) -> Exposure:
    """Coefficients clipped to ||c||_M <= S plus N(0, s^2 M); repaired: N(0, s^2 M^-1), the geometry of the clip.

    Published: seed 000, "Gaussian mechanism", with s = 2 S sqrt(2 log(1.25 / delta)) / epsilon.  The least noise lies
    along the eigenvector of the least eigenvalue of M, where the clip allows the longest coefficients.
    """
    settings = task.settings
    gram = BSplineBasis((settings.start, settings.end), settings.n_basis).gram
    shape = gram if task.published else np.linalg.inv(gram)
    noise = (2 * settings.radius * task.multiplier) ** 2 * (shape + shape.T) / 2

    def attacked(first: World, second: World) -> GaussianPair:
        return GaussianPair(_record(first, gram, settings.radius), _record(second, gram, settings.radius), noise)

    metric = Public(gram, because="Gram matrix of the basis of the case, a setting")
    bounded = clipped_coefficients(task.worst[0].x, metric, fixed(settings, "radius"))
    spread = Public(noise, because="a multiple of the Gram matrix, or of its inverse, of a basis that is a setting")
    release = Gaussian(covariance=spread)(bounded, task.noise(), owner=task.owners[0], epsilon_claimed=task.epsilon)
    worst = attacked(*task.worst)
    return Exposure(
        task.sent("curves", release),
        (worst, attacked(*task.ordinary)),
        one_run=lambda rng, count: canaries(worst, rng, count),
    )


def orthonormal(task: Task) -> Exposure:
    """White noise on orthonormal coordinates: the classic level of the source, or the analytic one."""
    settings, noise = task.settings, 2 * task.settings.radius * task.multiplier
    bounded = clipped_coefficients(task.worst[0].x, None, fixed(settings, "radius"))
    release = Gaussian(sigma=noise)(bounded, task.noise(), owner=task.owners[0], epsilon_claimed=task.epsilon)
    return Exposure(task.sent("curves", release), _white(task, noise))


def radius(task: Task) -> Exposure:
    """``adapt_Sx``: the 95 % quantile of the norms, announced and not charged; repaired: a private quantile."""
    first = _norms(task.worst[0])
    if task.published:
        payload = Clear(float(np.quantile(first, SHARE)), units=("features",), owner=task.owners[0])
        pairs = task.pairs(
            lambda one, other: ClearPair(np.quantile(_norms(one), SHARE), np.quantile(_norms(other), SHARE))
        )
        return Exposure(task.sent("radius", payload), pairs)
    domain = Public((0.0, 4 * task.settings.radius), because="four times the radius of the case, a setting")
    quantile = PrivateQuantile(task.epsilon, SHARE, domain)
    release = quantile(entries(first, unit="features"), task.noise(), owner=task.owners[0])
    pairs = task.pairs(lambda one, other: LawPair(*_quantile_laws(quantile, _norms(one), _norms(other))))
    return Exposure(task.sent("radius", release), pairs)


def budget(task: Task) -> Exposure:
    """ "Total held" by noise s sqrt(J) for J parties, although p predictors are released; repaired: sqrt(p), analytic.

    Each party releases its predictors by itself, so a record's curves compose over all p of them.
    """
    settings, count = task.settings, task.settings.n_predictors
    noise = 2 * settings.radius * task.multiplier * float(np.sqrt(len(task.owners) if task.published else count))
    payloads = []
    for j in range(count):
        owner = task.owners[j % len(task.owners)]
        columns = slice(j * settings.n_basis, (j + 1) * settings.n_basis)
        bounded = clipped_coefficients(task.worst[0].x[:, columns], None, fixed(settings, "radius"))
        release = Gaussian(sigma=noise)(bounded, task.rng_for("release", j), owner=owner, release_id=f"curves {j}")
        payloads.append((owner, f"curves {j}", release))

    def attacked(one: World, other: World) -> GaussianPair:
        first, second = (_curves(world, settings.n_basis, settings.radius) for world in (one, other))
        return GaussianPair(first, second, noise)

    return Exposure(tuple(payloads), task.pairs(attacked))


def messages(task: Task) -> Exposure:
    """Residuals: the first are the response curves less their mean, in the clear; repaired: a released response."""
    settings, noise = task.settings, 2 * task.settings.radius * task.multiplier
    if task.published:
        payload = Clear(_residuals(task.worst[0]), units=("label",), owner=task.owners[0])
        pairs = task.pairs(lambda one, other: ClearPair(_residuals(one), _residuals(other)))
        return Exposure(task.sent("residuals", payload), pairs)
    radius = fixed(settings, "radius")
    bounded = clipped_coefficients(task.worst[0].x, None, radius, unit="label", depends_on=("label",))
    release = Gaussian(sigma=noise)(bounded, task.noise(), owner=task.owners[0])
    return Exposure(task.sent("response", release), _white(task, noise))


def _white(task: Task, noise: float) -> tuple[GaussianPair, GaussianPair]:
    """Both pairs under white noise on orthonormal coordinates."""

    def attacked(first: World, second: World) -> GaussianPair:
        return GaussianPair(
            _record(first, None, task.settings.radius), _record(second, None, task.settings.radius), noise
        )

    return attacked(*task.worst), attacked(*task.ordinary)


def _record(world: World, gram: np.ndarray | None, radius: float) -> np.ndarray:
    """The clipped curve of the record in which neighbours differ, shape (q,)."""
    return clip_curves(world.x[:1], gram, radius)[0][0]


def _curves(world: World, n_basis: int, radius: float) -> np.ndarray:
    """All clipped curves of that record, shape (p q,)."""
    return clip_curves(world.x[0].reshape(-1, n_basis), None, radius)[0].ravel()


def _norms(world: World) -> np.ndarray:
    return np.linalg.norm(world.x, axis=1)


def _residuals(world: World) -> np.ndarray:
    return world.x - world.x.mean(axis=0)


def _quantile_laws(quantile: PrivateQuantile, *values: np.ndarray) -> list[np.ndarray]:
    """Probabilities of a private quantile in both worlds, on the common refinement of their pieces."""
    laws = [quantile.law(one) for one in values]
    cuts = np.unique(np.concatenate([points for points, _ in laws]))
    refined = []
    for points, shares in laws:
        cumulated = np.concatenate([[0.0], np.cumsum(shares)])
        distinct = np.concatenate([np.diff(points) > 0, [True]])
        refined.append(np.diff(np.interp(cuts, points[distinct], cumulated[distinct])))
    return refined
