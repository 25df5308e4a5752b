"""Means and standard deviations by group, their differences, and standardised differences of two groups."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ..consistency import ReleasedTables
from ..layout import Moments
from .counts import answer_name
from .inference import (
    CLEAR,
    REMEDY,
    Answer,
    Inference,
    known_cells,
    quadratic_interval,
    scaled_answer,
    undetermined_answer,
)

# Least variance of a column in [-1, 1] that an interval of its mean counts.
LEAST_VARIANCE = 1e-4
# Variance of a squared normal number in units of its squared variance.
NORMAL_SQUARES = 2.0


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Mean m and variance v of a column z in [-1, 1] by group, with the covariance of their noise.

    sizes : (G,) records with a value; size_noise : (G,) variance of their noise; clear : whether they are above it
    means : (G,); variances : (G,), as released, or None without squares
    mean_noise : (G, G) covariance of the noise of the means; variance_noise : (G,) of the noise of the variances
    difference_noise : noise variance of the standardised difference of two groups; nan where there is none
    squares : (G,) variance of a squared deviation in units of the squared variance
    """

    sizes: np.ndarray
    size_noise: np.ndarray
    clear: np.ndarray
    means: np.ndarray
    variances: np.ndarray | None
    mean_noise: np.ndarray
    variance_noise: np.ndarray
    difference_noise: float
    squares: np.ndarray
    reason: str

    def variance(self, group: int) -> float:
        """Variance that an interval of the mean counts: without squares the largest that the range allows."""
        if self.variances is None:
            return float(max(1 - self.means[group] ** 2, LEAST_VARIANCE))
        return float(max(self.variances[group], LEAST_VARIANCE))


def group_moments(released: ReleasedTables, item: Moments) -> GroupMoments:
    """Moments of every group, from sums and from the released numbers of records with a value."""
    sums = released.moments[item.column]
    sizes, noise = _sizes(released, item)
    groups = len(sizes)
    safe = np.where(np.abs(sizes) < 1e-9, 1.0, sizes)
    means = sums.sums[:groups] / safe
    mean_noise = (np.diag(np.full(groups, sums.variance)) + np.outer(means, means) * noise) / np.outer(safe, safe)
    variances, variance_noise, difference_noise = None, np.zeros(groups), float("nan")
    if sums.squares is not None:
        squares = sums.squares[:groups]
        variances = squares / safe + 0.5 - means**2
        # Derivatives of a variance by its sum of squares, sum and number of records.
        by_size = (2 * means**2 - squares / safe) / safe
        variance_noise = (
            sums.squares_variance / safe**2 + (2 * means / safe) ** 2 * sums.variance + by_size**2 * np.diag(noise)
        )
        spread = float(variances.mean()) if groups == 2 else 0.0
        if spread > 0:
            distance = (means[1] - means[0]) / (2 * spread)
            signs = np.array([-1.0, 1.0])
            by_sum = (signs + distance * means) / safe
            by_number = -signs * means / safe - distance * by_size / 2
            total = sums.variance * (by_sum**2).sum() + sums.squares_variance * (distance**2 / (4 * safe**2)).sum()
            difference_noise = float((total + by_number @ noise @ by_number) / spread)
    clear = sizes > np.maximum(CLEAR * np.sqrt(np.diag(noise)), 1e-9)
    kurtoses, reason = _squares(released, item, groups)
    return GroupMoments(
        sizes, np.diag(noise), clear, means, variances, mean_noise, variance_noise, difference_noise, kurtoses, reason
    )


def means(released: ReleasedTables, column: str, inference: Inference) -> list[Answer]:
    """Mean and, where squares were released, standard deviation by group; of two groups their differences."""
    item = next((item for item in released.layout.moments if item.column == column), None)
    if item is None:
        raise KeyError(f"no sums of {column!r} were released: add {column!r} to means, with its public range.")
    moments = group_moments(released, item)
    groups = range(len(moments.sizes))
    names = [answer_name(f"mean of {column}", "", item.group, group) for group in groups]
    answers = [_mean(name, moments, group, item, inference) for group, name in enumerate(names)]
    if moments.variances is not None:
        names = [answer_name(f"standard deviation of {column}", "", item.group, group) for group in groups]
        answers += [_deviation(name, moments, group, item, inference) for group, name in enumerate(names)]
    if len(moments.sizes) == 2:
        answers.append(_difference(f"difference of means of {column}", moments, item, inference))
        if moments.variances is not None:
            answers.append(_standardised_difference(f"standardised difference of {column}", moments, inference))
    return answers


def _hidden_answer(name: str, inference: Inference) -> Answer:
    """Answer of a group whose number of records noise hides."""
    return undetermined_answer(name, inference, f"noise hides the number of records of a group: {REMEDY}")


def _mean(name: str, moments: GroupMoments, group: int, item: Moments, inference: Inference) -> Answer:
    """Mean m whose interval inverts (S - m N)^2 <= z^2 (noise + N v), cut to the public range."""
    if not moments.clear[group]:
        return _hidden_answer(name, inference)
    size, mean, noise = moments.sizes[group], moments.means[group], float(moments.mean_noise[group, group])
    sampling = moments.variance(group) / size * inference.sampling
    z = inference.factor**2
    size_noise = float(moments.size_noise[group])
    sum_noise = size**2 * noise - mean**2 * size_noise
    lower, upper = quadratic_interval(
        size**2 - z * size_noise,
        mean * size**2,
        (mean * size) ** 2 - z * (sum_noise + size**2 * sampling),
        -1.0,
        1.0,
    )
    share = noise / (noise + sampling) if noise + sampling > 0 else 0.0
    reason = "" if moments.variances is not None else "without squares the interval counts the largest variance"
    ends = (item.centre + item.half * lower, item.centre + item.half * upper)
    return Answer(name, item.centre + item.half * mean, *ends, inference.target, share, True, reason)


def _deviation(name: str, moments: GroupMoments, group: int, item: Moments, inference: Inference) -> Answer:
    """Standard deviation whose interval inverts the test of the variance w: (v - w)^2 <= z^2 (c w^2 / N + noise)."""
    assert moments.variances is not None
    size, v, z = float(moments.sizes[group]), float(moments.variances[group]), inference.factor**2
    c = float(moments.squares[group]) * inference.sampling
    if not moments.clear[group]:
        return _hidden_answer(name, inference)
    if v <= 0 or size <= c * z:
        return undetermined_answer(name, inference, f"noise hides the variance: {REMEDY}, or a narrower range")
    noise = float(moments.variance_noise[group])
    lower, upper = quadratic_interval(1 - z * c / size, v, v**2 - z * noise, 0.0, 1.0)
    total = noise + c * v**2 / size
    ends = (item.half * sqrt(lower), item.half * sqrt(upper))
    share = noise / total if total > 0 else 0.0
    return Answer(name, item.half * sqrt(v), *ends, inference.target, share, True, moments.reason)


def _difference(name: str, moments: GroupMoments, item: Moments, inference: Inference) -> Answer:
    """Mean of the last group minus that of the first (Welch 1947), with the noise of both."""
    if not moments.clear.all():
        return _hidden_answer(name, inference)
    noise = float(moments.mean_noise[0, 0] + moments.mean_noise[1, 1] - 2 * moments.mean_noise[0, 1])
    sampling = sum(moments.variance(group) / float(moments.sizes[group]) for group in range(2))
    difference = item.half * float(moments.means[1] - moments.means[0])
    return scaled_answer(name, difference, noise * item.half**2, sampling * item.half**2, inference, "identity")


def _standardised_difference(name: str, moments: GroupMoments, inference: Inference) -> Answer:
    """Difference of means in units of the root mean variance of both groups."""
    assert moments.variances is not None
    spread = float(moments.variances.mean())
    if not moments.clear.all():
        return _hidden_answer(name, inference)
    if (moments.variances <= 0).any():
        return undetermined_answer(name, inference, f"noise hides the variance: {REMEDY}, or a narrower range")
    value = float(moments.means[1] - moments.means[0]) / sqrt(spread)
    shares = moments.variances / spread
    sampling = float(
        (shares / moments.sizes).sum() + value**2 / 16 * (moments.squares * shares**2 / moments.sizes).sum()
    )
    return scaled_answer(name, value, moments.difference_noise, sampling, inference, "identity")


def welch_statistic(moments: GroupMoments) -> float:
    """Difference of two means over its deviation with the noise; nan where noise hides a group."""
    answer = _difference("", moments, Moments("", -1.0, 1.0, None, False, False), Inference())
    width = answer.width
    return float("nan") if answer.estimate is None else 2 * Inference().factor * answer.estimate / width


def _sizes(released: ReleasedTables, item: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (G,) of records with a value in known groups, and the covariance (G, G) of their noise."""
    names = [item.group.name] if item.group is not None else []
    if item.may_be_missing:
        of_column = (item.column, f"{item.column} known")
        names.append(next(name for name in reversed(of_column) if name in released.layout.variables))
    if not names and released.records is not None:
        return np.array([float(released.records)]), np.zeros((1, 1))
    cells = known_cells(released.table(*names))
    groups = 1 if item.group is None else item.group.known
    sums = np.kron(np.eye(groups), np.ones(cells.flat.size // groups))
    return sums @ cells.flat, sums @ cells.noise @ sums.T


def _squares(released: ReleasedTables, item: Moments, groups: int) -> tuple[np.ndarray, str]:
    """Kurtosis minus 1 (G,) from bands of the column by group, or that of the normal distribution, which is stated."""
    variable = released.layout.variables.get(item.column)
    by = [item.group.name] if item.group is not None else []
    normal = np.full(groups, NORMAL_SQUARES), "the interval assumes the normal distribution"
    if variable is None or not variable.edges or inf in (variable.edges[-1], -variable.edges[0]):
        return normal
    try:
        cells = known_cells(released.table(*by, item.column))
    except KeyError:
        return normal
    counts = np.maximum(cells.values.reshape(groups, -1), 0)
    middle = (np.asarray(variable.edges[1:]) + np.asarray(variable.edges[:-1])) / 2
    sizes = np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
    deviations = middle - counts @ middle[:, None] / sizes
    second = (counts * deviations**2).sum(axis=1) / sizes[:, 0]
    fourth = (counts * deviations**4).sum(axis=1) / sizes[:, 0]
    return np.maximum(fourth / np.maximum(second, 1e-12) ** 2 - 1, 0.5), ""
