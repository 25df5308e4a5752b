"""Means and standard deviations by group, their differences, and standardised differences of two groups."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ....models.follow_up.incidence import complex_step
from ..consistency import REFUSED, ReleasedTables
from ..layout import Moments
from .counts import answer_name
from .inference import (
    CLEAR,
    NO_REGION,
    REMEDY,
    Answer,
    Inference,
    corner_values,
    hidden_answer,
    interval_answer,
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
    """Means and variances of a column z in [-1, 1] by group, as released, and their noise.

    sizes : (G,) records with a value; size_noise : (G,) variance of their noise; clear : whether they are above it
    values : (3 G,) means, variances, and the standardised distance of each group from the first
    noise : (3 G, 3 G) covariance of the noise of the values
    has_squares : whether squares were released, without which only the means are determined
    box : (2, 3 G) least and largest values over the box of a published region
    squares : (G,) variance of a squared deviation in units of the squared variance; reason : what they assume
    """

    sizes: np.ndarray
    size_noise: np.ndarray
    clear: np.ndarray
    values: np.ndarray
    noise: np.ndarray
    box: np.ndarray
    has_squares: bool
    squares: np.ndarray
    reason: str

    @property
    def means(self) -> np.ndarray:
        """Means (G,)."""
        return self.values[: len(self.sizes)]

    @property
    def variances(self) -> np.ndarray:
        """Variances (G,)."""
        return self.values[len(self.sizes) : 2 * len(self.sizes)]

    @property
    def counted_variances(self) -> np.ndarray:
        """Variances (G,) that an interval of the mean counts: without squares the largest that the range allows."""
        return np.maximum(self.variances if self.has_squares else 1 - self.means**2, LEAST_VARIANCE)


def group_moments(released: ReleasedTables, item: Moments) -> GroupMoments:
    """Moments of every known group, from sums and from the released numbers of records with a value."""
    released_sums = released.moments[item.column]
    sizes, size_noise, cells = _sizes(released, item)
    groups = len(sizes)
    squares = np.zeros(groups) if released_sums.squares is None else released_sums.squares[:groups]
    variances = np.repeat([released_sums.variance, released_sums.squares_variance], groups)
    noise = np.zeros((3 * groups, 3 * groups))
    noise[: 2 * groups, : 2 * groups] = np.diag(variances)
    noise[2 * groups :, 2 * groups :] = size_noise

    def values(x: np.ndarray) -> np.ndarray:
        total, square, size = (x[..., part * groups : (part + 1) * groups] for part in range(3))
        mean = total / size
        # Half of the records is added back to the sum of z^2 - 1/2, and with it the noise of their number.
        variance = square / size + 0.5 - mean**2
        spread = (variance[..., :1] + variance) / 2
        distance = (mean - mean[..., :1]) / np.sqrt(np.where(spread.real > 0, spread, np.nan))
        return np.concatenate([mean, variance, distance], axis=-1)

    point = np.concatenate([released_sums.sums[:groups], squares, sizes])
    radius, least = (
        np.repeat(row, groups) for row in (np.multiply(released.radius, [sqrt(2), 1, cells]), [-np.inf, -np.inf, 0])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = complex_step(values, point)
        return GroupMoments(
            sizes,
            np.diag(size_noise),
            sizes > np.maximum(CLEAR * np.sqrt(np.diag(size_noise)), 1e-9),
            values(point),
            gradient @ noise @ gradient.T,
            np.array(corner_values(values, point, gradient, radius, least)),
            released_sums.squares is not None,
            *_squares(released, item, groups),
        )


def means(released: ReleasedTables, column: str, inference: Inference) -> list[Answer]:
    """Mean and, where squares were released, standard deviation by group; of two groups their differences."""
    item = moments_of(released, column)
    moments = group_moments(released, item)
    groups = range(len(moments.sizes))
    answers = [_mean(answer_name(f"mean of {column}", "", item.group, g), moments, g, item, inference) for g in groups]
    if moments.has_squares:
        names = [answer_name(f"standard deviation of {column}", "", item.group, group) for group in groups]
        answers += [_deviation(name, moments, group, item, inference) for group, name in enumerate(names)]
    if len(groups) == 2:
        answers.append(mean_difference(f"difference of means of {column}", moments, item.half, inference))
        if moments.has_squares:
            answers.append(_standardised_difference(f"standardised difference of {column}", moments, inference))
    return answers


def moments_of(released: ReleasedTables, column: str) -> Moments:
    """Sums of a column in the layout of a release; KeyError names what to ask for if there are none."""
    item = next((item for item in released.layout.moments if item.column == column), None)
    if item is None:
        refused = any(isinstance(item, Moments) and item.column == column for item in released.refusals)
        remedy = REFUSED if refused else f"add {column!r} to means, with its public range"
        raise KeyError(f"no mean of {column!r} was released: {remedy}.")
    return item


def _mean(name: str, moments: GroupMoments, group: int, item: Moments, inference: Inference) -> Answer:
    """Mean m whose interval inverts (S - m N)^2 <= z^2 (noise + N v), cut to the public range."""
    if not moments.clear[group]:
        return hidden_answer(name, inference)
    size, mean = float(moments.sizes[group]), float(moments.means[group])
    noise, size_noise = float(moments.noise[group, group]), float(moments.size_noise[group])
    sampling = float(moments.counted_variances[group]) / size * inference.sampling
    z = inference.factor**2
    lower, upper = quadratic_interval(
        size**2 - z * size_noise,
        mean * size**2,
        (mean * size) ** 2 - z * (size**2 * (noise + sampling) - mean**2 * size_noise),
        -1.0,
        1.0,
    )
    if inference.radius:
        lower, upper = np.clip(moments.box[:, group], -1.0, 1.0).tolist()
    share = noise / (noise + sampling) if noise + sampling > 0 else 0.0
    reason = (
        "" if moments.has_squares or inference.radius else "without squares the interval counts the largest variance"
    )
    estimate, low, high = (item.centre + item.half * value for value in (min(max(mean, -1.0), 1.0), lower, upper))
    return interval_answer(name, estimate, (low, high), inference, share, reason)


def _deviation(name: str, moments: GroupMoments, group: int, item: Moments, inference: Inference) -> Answer:
    """Standard deviation whose interval inverts the test of the variance w: (v - w)^2 <= z^2 (c w^2 / N + noise)."""
    if not moments.clear[group]:
        return hidden_answer(name, inference)
    place = len(moments.sizes) + group
    size, v, noise = float(moments.sizes[group]), float(moments.values[place]), float(moments.noise[place, place])
    z, c = inference.factor**2, float(moments.squares[group]) * inference.sampling
    if v <= 0 or size <= c * z:
        return undetermined_answer(name, inference, f"noise hides the variance: {REMEDY}, or a narrower range")
    lower, upper = quadratic_interval(1 - z * c / size, v, v**2 - z * noise, 0.0, 1.0)
    if inference.radius:
        lower, upper = np.clip(moments.box[:, place], 0.0, 1.0).tolist()
    total = noise + c * v**2 / size
    share = noise / total if total > 0 else 0.0
    estimate, low, high = (item.half * sqrt(value) for value in (min(v, 1.0), lower, upper))
    reason = "" if inference.radius else moments.reason
    return interval_answer(name, estimate, (low, high), inference, share, reason)


def mean_difference(name: str, moments: GroupMoments, half: float, inference: Inference) -> Answer:
    """Mean of the last of two groups minus that of the first (Welch 1947), with the noise of both."""
    if inference.radius:
        return undetermined_answer(name, inference, NO_REGION)
    if not moments.clear.all():
        return hidden_answer(name, inference)
    signs = np.array([-1.0, 1.0])
    noise = float(signs @ moments.noise[:2, :2] @ signs) * half**2
    sampling = float((moments.counted_variances / moments.sizes).sum()) * half**2
    return scaled_answer(name, half * float(signs @ moments.means), noise, sampling, inference, "identity")


def _standardised_difference(name: str, moments: GroupMoments, inference: Inference) -> Answer:
    """Difference of means in units of the root mean variance of both groups."""
    if inference.radius:
        return undetermined_answer(name, inference, NO_REGION)
    if not moments.clear.all():
        return hidden_answer(name, inference)
    if (moments.variances <= 0).any():
        return undetermined_answer(name, inference, f"noise hides the variance: {REMEDY}, or a narrower range")
    value, shares = float(moments.values[-1]), moments.variances / moments.variances.mean()
    of_variances = value**2 / 16 * moments.squares * shares**2
    sampling = float(((shares + of_variances) / moments.sizes).sum())
    return scaled_answer(name, value, float(moments.noise[-1, -1]), sampling, inference, "identity")


def _sizes(released: ReleasedTables, item: Moments) -> tuple[np.ndarray, np.ndarray, int]:
    """Numbers (G,) of records with a value in known groups, the covariance (G, G) of their noise, and cells of each."""
    names = [item.group.name] if item.group is not None else []
    if item.may_be_missing and (known := released.layout.known_variable(item.column)) is not None:
        names.append(known.name)
    if not names and released.records is not None:
        return np.array([float(released.records)]), np.zeros((1, 1)), 0
    cells = known_cells(released.table(*names))
    groups = 1 if item.group is None else item.group.known_levels
    sums = np.kron(np.eye(groups), np.ones(cells.flat.size // groups))
    return sums @ cells.flat, sums @ cells.noise @ sums.T, cells.flat.size // groups


def _squares(released: ReleasedTables, item: Moments, groups: int) -> tuple[np.ndarray, str]:
    """Kurtosis minus 1 (G,) from bands of the column by group, or that of the normal distribution, which is stated."""
    variable = released.layout.variables.get(item.column)
    by = [item.group.name] if item.group is not None else []
    normal = np.full(groups, NORMAL_SQUARES), "the interval assumes the normal distribution"
    if variable is None or not variable.has_quantiles:
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
