"""Curves of a release: quantiles from bands, ROC curves of scores, cumulative incidence, survival and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from scipy.interpolate import CubicSpline

from ....models.follow_up.incidence import exit_curves
from ..consistency import ReleasedTables
from ..layout import ExitVariable, Variable
from .counts import answer_name, proportion
from .inference import (
    CLEAR,
    NO_REGION,
    Answer,
    Cells,
    Inference,
    delta_answers,
    hidden_answer,
    interval_answer,
    joint_inference,
    known_cells,
    quadratic_interval,
    scaled_answer,
    undetermined_answer,
)

POINTS = 281
QUARTILES = (0.25, 0.5, 0.75)
# Share of the records of a group in one band from which a curve inside the band is not known well enough.
FULL_BAND = 0.3


def group_cells(released: ReleasedTables, name: str) -> tuple[Variable | None, list[Cells]]:
    """Cells of the known levels of a variable in every known group, and the variable of groups."""
    by = released.layout.by
    if not by:
        return None, [known_cells(released.table(name), released.excess)]
    counts = released.table(by, name)
    cells = known_cells(counts, released.excess)
    width = cells.values.shape[1]
    blocks = [slice(row * width, (row + 1) * width) for row in range(len(cells.values))]
    rows = [
        replace(cells, values=cells.flat[block], noise=cells.noise[block, block], centred=False) for block in blocks
    ]
    return counts.variables[0], rows


def quantiles(
    released: ReleasedTables, name: str, inference: Inference, probabilities: Sequence[float] = QUARTILES
) -> list[Answer]:
    """Quantiles of a column in bands, by group.

    The number of records up to a value is the natural cubic spline through the cumulated bands, which is linear in the
    counts. The interval holds the values at which a test does not reject the probability. ValueError for a variable
    without finite edges.
    """
    for probability in probabilities:
        if not 0 < probability < 1:
            raise ValueError(f"probabilities has {probability!r}: give numbers between 0 and 1.")
    variable = released.variable(name)
    if not variable.has_quantiles:
        raise ValueError(f"{name!r} has no finite bands: declare Bands with finite edges for quantiles.")
    group, rows = group_cells(released, name)
    edges = np.asarray(variable.edges)
    points = np.linspace(edges[0], edges[-1], POINTS)
    cumulated = np.vstack([np.zeros(variable.known_levels), np.tri(variable.known_levels)])
    shares = CubicSpline(edges, cumulated, bc_type="natural")(points)
    return [
        _quantile(
            answer_name(f"quantile {probability:g} of {name}", "", group, row),
            variable,
            cells,
            points,
            shares - probability,
            probability,
            inference,
        )
        for row, cells in enumerate(rows)
        for probability in probabilities
    ]


def _quantile(
    name: str,
    variable: Variable,
    cells: Cells,
    points: np.ndarray,
    gradients: np.ndarray,
    probability: float,
    inference: Inference,
) -> Answer:
    """Quantile of one group, from gradients (T, c) of the records up to each point above their expected number."""
    size = float(cells.flat.sum())
    if not cells.clear(np.ones(cells.flat.size)):
        return hidden_answer(name, inference)
    noise = cells.noise_variance(gradients)
    sampling = size * probability * (1 - probability) * inference.sampling
    excess = gradients @ cells.flat
    scores = excess / np.sqrt(np.maximum(noise + sampling, 1e-18))
    at_zero = int(np.argmin(np.abs(excess)))
    share = float(noise[at_zero] / max(noise[at_zero] + sampling, 1e-300))
    z = inference.reach(cells.kurtosis(gradients[at_zero]), share)
    if inference.radius:
        scores, z, share = excess / np.maximum(np.abs(gradients).sum(axis=1), 1e-18), inference.radius, 1.0
    lower, estimate = _crossing(points, scores, -z, first=True), _crossing(points, excess, 0.0, first=True)
    upper = _crossing(points, scores, z, first=False)
    reason = ""
    for band, (low, high) in enumerate(zip(variable.edges[:-1], variable.edges[1:], strict=True)):
        # Before the ends move only: a band next to a full one is judged by the interval itself.
        if cells.flat[band] > FULL_BAND * size and low <= upper and high >= lower:
            lower, upper = min(lower, low), max(upper, high)
            reason = f"the band {variable.levels[band]} holds many records: the interval has its ends"
    if variable.whole:
        lower, estimate, upper = (float(np.floor(value + 1e-9)) for value in (lower, estimate, upper))
    return interval_answer(name, estimate, (lower, upper), inference, share, reason)


def _crossing(points: np.ndarray, values: np.ndarray, level: float, *, first: bool) -> float:
    """First or last place at which a curve rises through a level, by linear interpolation; an end if none."""
    above = values >= level
    turns = np.flatnonzero(~above[:-1] & above[1:])
    if not len(turns):
        return float(points[0] if above[0] else points[-1])
    if first and above[0]:
        return float(points[0])
    if not first and not above[-1]:
        return float(points[-1])
    turn = turns[0 if first else -1]
    share = (level - values[turn]) / (values[turn + 1] - values[turn])
    return float(points[turn] + share * (points[turn + 1] - points[turn]))


@dataclass(frozen=True)
class RocCurve:
    """Sensitivity and false positive rate at thresholds between bands of a score, from the highest on, and the area."""

    thresholds: tuple[float, ...]
    sensitivities: tuple[Answer, ...]
    false_positives: tuple[Answer, ...]
    area: Answer


def roc_curve(released: ReleasedTables, score: str, outcome: str, inference: Inference) -> RocCurve:
    """ROC curve of a score in bands against an outcome of two known levels, the last of which is the event.

    With ``together`` the intervals of all rates hold together.
    """
    counts = released.table(outcome, score)
    if counts.variables[0].known_levels != 2 or not counts.variables[1].edges:
        raise ValueError(
            f"an ROC curve needs an outcome of two levels and a score in Bands, not {outcome!r}, {score!r}."
        )
    cells = known_cells(counts, released.excess)
    bands, edges = cells.values.shape[1], counts.variables[1].edges
    masks = np.zeros((2, bands - 1, 2, bands))
    for row in range(2):
        for place, band in enumerate(range(bands - 1, 0, -1)):
            masks[row, place, row, band:] = 1
    wholes = np.repeat(np.eye(2), bands, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = wholes @ cells.flat
        shares = (masks.reshape(2, bands - 1, -1) @ cells.flat) / sizes[:, None]
        slopes = masks.reshape(2, bands - 1, -1) - shares[..., None] * wholes[:, None]
    joint = joint_inference((slopes / sizes[:, None, None]).reshape(2 * (bands - 1), -1), cells, inference)
    rates = [
        tuple(
            proportion(f"{name} from {edge:g}", cells, mask.ravel(), wholes[row], joint)
            for mask, edge in zip(masks[row], edges[bands - 1 : 0 : -1], strict=True)
        )
        for row, name in ((1, "sensitivity"), (0, "false positive rate"))
    ]

    def area(x: np.ndarray) -> np.ndarray:
        table = x.reshape(*x.shape[:-1], 2, bands)
        others, events = table[..., 0, :], table[..., 1, :]
        below = np.cumsum(others, axis=-1) - others / 2
        return ((events * below).sum(axis=-1) / (events.sum(axis=-1) * others.sum(axis=-1)))[..., None]

    name = f"AUC of {score} for {outcome}"
    if cells.clear(wholes).all():
        (answer,) = delta_answers([name], area, cells, inference, ["logit"])
    else:
        answer = hidden_answer(name, inference, "the number of events or of others")
    return RocCurve(edges[bands - 1 : 0 : -1], rates[0], rates[1], answer)


@dataclass(frozen=True)
class ExitAnswers:
    """Curves of one group at edges (J,) after the first, and the restricted mean up to the last.

    survival : (J,) shares that have not left by any cause; incidence : by cause, (J,) shares that have left
    """

    group: str
    edges: tuple[float, ...]
    survival: tuple[Answer, ...]
    incidence: dict[str, tuple[Answer, ...]]
    restricted_mean: Answer


def cumulative_incidence(released: ReleasedTables, name: str, inference: Inference) -> list[ExitAnswers]:
    """Cumulative incidence of every cause, survival and its restricted mean, by group.

    Curves end before the first bin whose number at risk noise hides, or after which none survive.
    """
    variable = released.variable(name)
    assert isinstance(variable, ExitVariable)
    group, rows = group_cells(released, name)
    return [_exit_answers(variable, cells, group, row, inference) for row, cells in enumerate(rows)]


def _exit_answers(
    variable: ExitVariable, cells: Cells, group: Variable | None, row: int, inference: Inference
) -> ExitAnswers:
    """Curves of one group."""
    bins, causes = variable.bins, len(variable.values)
    edges, widths = variable.edges[1:], np.diff(variable.edges)
    at_risk = _exit_masks(variable)
    clear = cells.clear(at_risk)
    last = bins if clear.all() else int(np.argmin(clear))
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = _curves(cells.flat, bins, causes)[0]
    fallen = np.flatnonzero(survival[1:] <= 0)
    last = min(last, int(fallen[0])) if len(fallen) else last

    def shares(x: np.ndarray) -> np.ndarray:
        survival, incidence = _curves(x, bins, causes)
        return np.concatenate([survival[..., None, 1:], incidence[..., 1:]], axis=-2)[..., :last].reshape(
            *x.shape[:-1], -1
        )

    def mean(x: np.ndarray) -> np.ndarray:
        survival = _curves(x, bins, causes)[0]
        return (widths * (survival[..., :-1] + survival[..., 1:]) / 2).sum(axis=-1)[..., None]

    labels = ["survival", *(f"incidence of {cause}" for cause in variable.values)]
    names = [[answer_name(f"{label} at {edge:g}", "", group, row) for edge in edges] for label in labels]
    reason = "noise hides the number at risk: give fewer bins or a nearer horizon, or take a larger epsilon"
    wanted = [name for line in names for name in line[:last]]
    answers = iter(delta_answers(wanted, shares, cells, inference, ["logit"] * len(wanted)))
    curves = [
        tuple(
            next(answers) if place < last else undetermined_answer(n, inference, reason) for place, n in enumerate(line)
        )
        for line in names
    ]
    mean_name = answer_name(f"restricted mean to {edges[-1]:g}", "", group, row)
    restricted = (
        delta_answers([mean_name], mean, cells, inference, ["identity"])[0]
        if last == bins
        else undetermined_answer(mean_name, inference, reason)
    )
    label = "" if group is None else group.levels[row]
    incidence = dict(zip(map(str, variable.values), curves[1:], strict=True))
    return ExitAnswers(label, edges, curves[0], incidence, restricted)


def _curves(x: np.ndarray, bins: int, causes: int) -> tuple[np.ndarray, np.ndarray]:
    """Survival (..., J + 1) and incidence (..., C, J + 1) from cells (..., (C + 1) J + 1) of one group."""
    blocks = x[..., :-1].reshape(*x.shape[:-1], causes + 1, bins)
    curves = exit_curves(blocks[..., :-1, :], blocks[..., -1, :], x[..., -1])
    return curves.survival, curves.incidence


def _exit_masks(variable: ExitVariable) -> np.ndarray:
    """Weights (J, c) of the cells of one group in the number at risk of each bin."""
    later = np.tri(variable.bins).T
    causes = np.tile(later, len(variable.values))
    return np.hstack([causes, later - np.eye(variable.bins) / 2, np.ones((variable.bins, 1))])


def rates(released: ReleasedTables, name: str, inference: Inference) -> list[Answer]:
    """Rates of every cause per unit of person-time by group, and between two groups their ratio."""
    variable = released.variable(name)
    assert isinstance(variable, ExitVariable)
    group, rows = group_cells(released, name)
    if variable.time not in released.moments:
        raise KeyError(f"no person-time of {variable.time!r} was released: ask for its Incidence with person_time.")
    moments = released.moments[variable.time]
    half = variable.edges[-1] / 2
    answers = []
    for place, cause in enumerate(variable.values):
        part = np.zeros(len(rows[0].flat))
        part[place * variable.bins : (place + 1) * variable.bins] = 1
        parts = [
            _RateParts(
                events=float(part @ cells.flat),
                time=half * float(moments.sums[row] + cells.flat.sum()),
                events_noise=float(part @ cells.noise @ part),
                time_noise=half**2 * (moments.variance + float(cells.noise.sum())),
                both_noise=half * float(part @ cells.noise.sum(axis=1)),
            )
            for row, cells in enumerate(rows)
        ]
        names = [answer_name(f"rate of {cause}", "", group, row) for row in range(len(rows))]
        if inference.radius:
            wanted = [*names, f"rate ratio of {cause}"][: len(rows) + (len(rows) == 2)]
            answers += [undetermined_answer(name, inference, NO_REGION) for name in wanted]
            continue
        answers += [_rate(label, pair, inference) for label, pair in zip(names, parts, strict=True)]
        if len(parts) == 2:
            answers.append(_rate_ratio(f"rate ratio of {cause}", parts[0], parts[1], inference))
    return answers


@dataclass(frozen=True)
class _RateParts:
    """Events and person-time of one group, and the covariance of their noise."""

    events: float
    time: float
    events_noise: float
    time_noise: float
    both_noise: float

    @property
    def log_noise(self) -> float:
        """Variance of the noise of the logarithm of the rate."""
        return (
            self.events_noise / self.events**2
            + self.time_noise / self.time**2
            - 2 * self.both_noise / (self.events * self.time)
        )


def _rate(name: str, parts: _RateParts, inference: Inference) -> Answer:
    """Rate whose interval inverts the test (D - rate P)^2 <= z^2 (rate P + noise)."""
    if not parts.time > max(CLEAR * sqrt(parts.time_noise), 0.0):
        return hidden_answer(name, inference, "the person-time")
    z, events = inference.factor**2, max(parts.events, 0.0)
    sampling = z * parts.time if inference.sampling else 0.0
    ends = quadratic_interval(
        parts.time**2 - z * parts.time_noise,
        events * parts.time + sampling / 2 - z * parts.both_noise,
        events**2 - z * parts.events_noise,
        0.0,
        inf,
    )
    rate = events / parts.time
    noise = max(parts.events_noise - 2 * rate * parts.both_noise + rate**2 * parts.time_noise, 0.0)
    total = noise + events * inference.sampling
    return interval_answer(name, rate, ends, inference, noise / total if total else 0.0)


def _rate_ratio(name: str, unexposed: _RateParts, exposed: _RateParts, inference: Inference) -> Answer:
    """Rate of the last group over that of the first, on the scale of logarithms."""
    for parts in (unexposed, exposed):
        if parts.events < max(CLEAR * sqrt(parts.events_noise), 1e-9) or parts.time < CLEAR * sqrt(parts.time_noise):
            return hidden_answer(name, inference, "the number of events or the person-time")
    ratio = (exposed.events / exposed.time) / (unexposed.events / unexposed.time)
    noise = (exposed.log_noise + unexposed.log_noise) * ratio**2
    return scaled_answer(name, ratio, noise, ratio**2 * (1 / exposed.events + 1 / unexposed.events), inference, "log")
