"""Document 001 under audit: slice means, vectorised noise, the covariance of Lemma 1, screening."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...audits.exposure import Exposure, Task, public_settings, unproved_release
from ...audits.pairs import GaussianPair, NoDistribution, clear_exposure, gaussian_exposure
from ...audits.worlds import World
from ...methods.inverse_regression.estimate import eigengap_dimension
from ...methods.inverse_regression.published import lemma1_sigma, vgm_covariance, vgm_floor
from ...privacy.accounted_values import AccountedValue, Clear, Public
from ...privacy.accounting.calibration import analytic_gaussian_sigma
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.release import resting_on
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.counts import membership
from ...privacy.statistics.moments import covariance
from ...privacy.statistics.slices import Quantiles, slice_means
from ...privacy.statistics.whole import Whole
from .claims import ClassSettings, RecordSettings, ScaleSettings, ScreeningSettings, SliceSettings


def public_edges(settings: SliceSettings) -> Public:
    """Cuts that the case fixes: between the classes 0..H-1, or equally spaced over a range.  No data enter."""
    if settings.edges == "classes":
        return Public(np.arange(settings.n_slices - 1) + 0.5, because="between the classes 0..H-1; H is a setting")
    cuts = np.linspace(settings.lowest, settings.highest, settings.n_slices + 1)[1:-1]
    return Public(cuts, because="equal parts of lowest..highest, settings of the case")


def means(settings: SliceSettings, world: World, edges: AccountedValue | Quantiles) -> Bounded:
    """Slice mean matrix (H, p) of truncated features, with the sensitivity that its edges allow."""
    return slice_means(world.x, world.y, edges, box=public_settings(settings, "truncation"))


def public_slices_published(task: Task[SliceSettings]) -> Exposure:
    """Proposition 2: iid noise for the sensitivity 2 R sqrt(p) / n, with public slices."""
    return _proposition(task, public_edges(task.settings), task.classic)


def public_slices_corrected(task: Task[SliceSettings]) -> Exposure:
    """Proposition 2 at the analytic level: iid noise for the sensitivity 2 R sqrt(p) / n, with public slices."""
    return _proposition(task, public_edges(task.settings), task.analytic)


def quantile_slices(task: Task[SliceSettings]) -> Exposure:
    """Proposition 2 with quantile slices, which one record moves all of."""
    return _proposition(task, Quantiles(task.settings.n_slices), task.classic)


def _proposition(task: Task[SliceSettings], edges: AccountedValue | Quantiles, multiplier: float) -> Exposure:
    settings = task.settings
    noise = 2 * settings.truncation * np.sqrt(settings.p) / settings.n * multiplier
    return _means_exposure(task, edges, float(noise))


def independent_noise(task: Task[ClassSettings]) -> Exposure:
    """Independent noise at the analytic level, the correction of all vectorised noise."""
    sensitivity = 2 * task.settings.truncation * np.sqrt(task.settings.p) / task.settings.n
    noise = float(analytic_gaussian_sigma(task.epsilon, task.delta, sensitivity))
    return _means_exposure(task, public_edges(task.settings), noise)


def fixed_covariance(task: Task[ClassSettings]) -> Exposure:
    """Theorem 3 with a fixed covariance I / sigma_vgm^2, equation (4)."""
    return _means_exposure(task, public_edges(task.settings), float(np.sqrt(floor_variance(task))))


def near_tie(task: Task[ClassSettings]) -> Exposure:
    """Algorithm 2, charitable: variances 1/sigma_vgm^2 + |s_j - s_j+1| along the singular vectors of the data."""
    settings, floor = task.settings, floor_variance(task)
    edges = public_edges(settings)

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        first, second = (np.asarray(means(settings, world, edges).value) for world in (data, neighbour))
        return GaussianPair(first, second, vectorised_covariance(first, floor), vectorised_covariance(second, floor))

    bounded = means(settings, task.worst[0], edges)
    shape = Clear(vectorised_covariance(np.asarray(bounded.value), floor), units=("row",), owner=task.owner)
    release = Gaussian(covariance=shape)(bounded, task.noise(), owner=task.owner, epsilon_claimed=task.epsilon)
    return Exposure({0: release}, task.pairs(pair_of))


def printed_covariance(task: Task[ClassSettings]) -> Exposure:
    """Algorithm 2 with the sign of its eigengaps, r_j = s_j+1 - s_j: a negative variance, so no distribution has it."""
    bounded = means(task.settings, task.ordinary[0], public_edges(task.settings))
    # The sign turned: floor - gap where the charitable reading has floor + gap.
    floor = floor_variance(task)
    shape = 2 * floor * np.eye(task.settings.p) - vectorised_covariance(np.asarray(bounded.value), floor)
    numbers = {"least_variance": float(np.linalg.eigvalsh(shape)[0])}
    try:
        covariance = Clear(shape, units=("row",), owner=task.owner)
        payload = Gaussian(covariance=covariance)(bounded, task.noise(), owner=task.owner)
    except ValueError:
        # What a program makes of the root of a negative variance.
        nothing = np.full(np.shape(bounded.value), np.nan)
        payload = unproved_release(nothing, task.owner, "row", "vectorised noise as printed", task.noise())
    return Exposure({0: payload}, (NoDistribution(), NoDistribution()), numbers)


def floor_variance(task: Task[ClassSettings]) -> float:
    """1 / sigma_vgm^2, the inverse of the precision of equation (4)."""
    settings = task.settings
    return vgm_floor(settings.n, settings.p, settings.truncation, task.epsilon, task.delta)


def vectorised_covariance(slice_mean: np.ndarray, floor: float) -> np.ndarray:
    """Covariance W1 V W1' of Algorithm 2 for a slice mean matrix (H, p), its dimension at the largest eigengap."""
    means, p = slice_mean.T, slice_mean.shape[1]
    strengths = np.zeros(p + 1)
    values = np.linalg.svd(means, compute_uv=False)[:p]
    strengths[: len(values)] = values
    shape = vgm_covariance(means, eigengap_dimension(strengths, p - 1), floor)
    return np.asarray((shape + shape.T) / 2)


def symmetric_published(task: Task[RecordSettings]) -> Exposure:
    """Lemma 1: symmetric noise on X X' / n of records of norm at most 1."""
    return _moments(task, _of_norm_one, _lemma(task))


def symmetric_corrected(task: Task[RecordSettings]) -> Exposure:
    """Lemma 1 at the analytic level: symmetric noise on X X' / n of records of norm at most 1."""
    return _moments(task, _of_norm_one)


def scale_published(task: Task[ScaleSettings]) -> Exposure:
    """Lemma 1 on X / c_R, c_R = max ||X_i|| of the data: one record rescales all."""
    return _moments(task, lambda world: Clear(_longest(world), units=("row",), owner=task.owner), _lemma(task))


def scale_corrected(task: Task[ScaleSettings]) -> Exposure:
    """Symmetric noise on X divided by a public bound, as the truncation box gives one; longer records are clipped."""
    return _moments(task, lambda world: public_settings(task.settings, "ratio"))


def _of_norm_one(world: World) -> Public:
    return Public(1.0, because="Lemma 1 states it for records of norm at most 1")


def _lemma(task: Task[RecordSettings]) -> float:
    return lemma1_sigma(task.settings.n, task.settings.p, task.epsilon, task.delta)


def _moments(
    task: Task[RecordSettings | ScaleSettings], scale_of: Callable[[World], AccountedValue], noise: float | None = None
) -> Exposure:
    """X X' / n of records divided by a scale, with symmetric noise (None: of the analytic level)."""
    if noise is None:
        sensitivity = _moment(task.worst[0], scale_of).certificate.value
        noise = float(analytic_gaussian_sigma(task.epsilon, task.delta, sensitivity))
    moment = partial(_moment, scale_of=scale_of)
    return gaussian_exposure(task, moment, noise, {"noise_sd": noise}, symmetric=True, epsilon_claimed=task.epsilon)


def screened_indices(task: Task[ScreeningSettings]) -> Exposure:
    """CCMD filter: the indices j with |mean(x_j in h) - mean(x_j)| > t, per slice, uploaded."""
    return clear_exposure(task, partial(screening_matrix, task.settings), "row")


def noisy_votes(task: Task[ScreeningSettings]) -> Exposure:
    """Noisy votes for as many columns as the filter may choose."""
    settings = task.settings
    size = max(1, settings.p // 2)

    def vote(world: World) -> Whole:
        chosen = np.flatnonzero(screening_matrix(settings, world).sum(axis=0))[:size]
        return membership(chosen, settings.p, Public(size, because="half of the columns, whose number is public"))

    first = vote(task.worst[0])
    release = IntegerGaussian(mu=task.mu)(first, task.noise(), owner=task.owner)
    noise = first.certificate.value / task.mu
    pairs = task.pairs(lambda data, neighbour: GaussianPair(vote(data).value, vote(neighbour).value, noise))
    return Exposure({0: release}, pairs)


def screening_matrix(settings: ScreeningSettings, world: World) -> np.ndarray:
    """0/1 matrix (H, p) of the features whose mean in a slice differs from their mean by more than the threshold."""
    classes = np.searchsorted(public_edges(settings).value, world.y, side="left")
    chosen = np.zeros((settings.n_slices, settings.p))
    for h in np.unique(classes):
        chosen[h] = np.abs(world.x[classes == h].mean(axis=0) - world.x.mean(axis=0)) > settings.threshold
    return chosen


def _means_exposure(task: Task[SliceSettings], edges: AccountedValue | Quantiles, noise: float) -> Exposure:
    """Slice means with independent noise."""
    slice_mean = partial(means, task.settings, edges=edges)
    return gaussian_exposure(task, slice_mean, noise, {"noise_sd": noise}, epsilon_claimed=task.epsilon)


def _longest(world: World) -> float:
    return float(np.max(np.linalg.norm(world.x, axis=1)))


def _moment(world: World, scale_of: Callable[[World], AccountedValue]) -> Bounded:
    """X X' / n of X divided by a scale, not centred, as in Lemma 1."""
    scale = scale_of(world)
    longest = Public(1.0, because="longest record of Lemma 1, in units of the scale")
    bounded = covariance(world.x / scale.value, longest, unit="row", depends_on=("features",), centered=False)
    return resting_on(bounded, scale)
