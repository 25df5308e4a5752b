"""Risks of two groups and their comparison: difference, ratio, odds ratio and attributable fractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import acos, atanh, copysign, cos, exp, inf, log, nan, pi, sqrt, tanh

import numpy as np

from ....models.follow_up.incidence import complex_step
from ....privacy.accounting.roots import bisect
from ..consistency import ReleasedTables
from .counts import proportion
from .inference import (
    REMEDY,
    Answer,
    Cells,
    Inference,
    Scale,
    delta_answers,
    hidden_answer,
    interval_answer,
    joint_inference,
    known_cells,
    undetermined_answer,
)

# Scales of normal intervals: those of the ratios are by Katz (1978) and Woolf (1955).
SCALES: Mapping[str, Scale] = {
    "risk difference": "identity",
    "risk ratio": "log",
    "odds ratio": "log",
    "risk of the unexposed over that of all": "log",
}
SCORES = tuple(SCALES)[:3]
# Beyond it a comparison on the scale atanh or log counts as unbounded.
FARTHEST = 30.0


def two_by_two(released: ReleasedTables, exposure: str, outcome: str, inference: Inference) -> list[Answer]:
    """Eight measures of a table of two known levels each; the last levels are the exposed group and the event.

    Risk of the exposed, of the unexposed and of all; risk difference, risk ratio, odds ratio; attributable fraction
    among the exposed and in the population.
    """
    cells = binary_cells(released, exposure, outcome)
    exposed, unexposed = np.array([0, 0, 1.0, 1.0]), np.array([1.0, 1.0, 0, 0])
    event = np.array([0, 1.0, 0, 1.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        gradients = complex_step(_measures, cells.flat)
    inference = joint_inference(gradients, cells, inference)
    risks = [
        proportion(f"risk of {outcome}, {group}", cells, event * mask, mask, inference)
        for group, mask in (("exposed", exposed), ("unexposed", unexposed), ("all", np.ones(4)))
    ]
    normal = delta_answers(list(SCALES), lambda x: _measures(x)[..., 3:], cells, inference, list(SCALES.values()))
    if not cells.clear(np.stack([exposed, unexposed])).all():
        comparisons = [hidden_answer(name, inference) for name in SCORES]
    elif inference.interval == "wald" or inference.radius:
        comparisons = normal[:3]
    else:
        comparisons = [score_answer(name, cells, inference) for name in SCORES]
    attributable = comparisons[1].transform("attributable fraction", lambda ratio: 1 - 1 / ratio if ratio else -inf)
    population = normal[3].transform("population attributable fraction", lambda ratio: 1 - ratio)
    return [*risks, *comparisons, attributable, population]


def binary_cells(released: ReleasedTables, *names: str) -> Cells:
    """Cells of known levels by exposure, outcome and further variables; ValueError if the first two are not binary."""
    counts = released.table(*names)
    for variable in counts.variables[:2]:
        if variable.known_levels != 2:
            raise ValueError(f"{variable.name!r} has {variable.known_levels} levels: this measure compares two.")
    return known_cells(counts, released.excess)


def _measures(x: np.ndarray) -> np.ndarray:
    """Risks of the exposed, the unexposed and all of cells (..., 4), then the comparisons of `SCALES`."""
    exposed, unexposed = x[..., 3] / (x[..., 2] + x[..., 3]), x[..., 1] / (x[..., 0] + x[..., 1])
    everyone = (x[..., 1] + x[..., 3]) / x.sum(axis=-1)
    odds_ratio = x[..., 3] * x[..., 0] / (x[..., 2] * x[..., 1])
    comparisons = (exposed - unexposed, exposed / unexposed, odds_ratio, unexposed / everyone)
    return np.stack([exposed, unexposed, everyone, *comparisons], axis=-1)


@dataclass(frozen=True)
class Arms:
    """Events a of N1 exposed and c of N0 unexposed records, moved into their ranges for the likelihood."""

    a: float
    n1: float
    c: float
    n0: float

    @property
    def events(self) -> float:
        """Events of both arms."""
        return self.a + self.c


def constrained_risks(measure: str, theta: float, arms: Arms) -> tuple[float, float, float]:
    """Most likely risks (r1, r0) of two arms whose measure is theta, and the derivative of r1 by r0 along it.

    Roots of the likelihood equations (Miettinen and Nurminen 1985).
    """
    n, n1, n0 = arms.n1 + arms.n0, arms.n1, arms.n0
    if measure == "risk difference":
        r0 = _difference_root(theta, arms)
        return min(max(r0 + theta, 0.0), 1.0), r0, 1.0
    if measure == "risk ratio":
        a, b, c = n * theta, -(n1 * theta + arms.a + n0 + arms.c * theta), arms.events
        r0 = 2 * c / (-b + sqrt(max(b * b - 4 * a * c, 0.0))) if c else 0.0
        return min(theta * r0, 1.0), r0, theta
    a, b, c = n0 * (theta - 1), n1 * theta + n0 - arms.events * (theta - 1), -arms.events
    root = sqrt(max(b * b - 4 * a * c, 0.0))
    # Two forms of the same root, each without cancellation.
    r0 = min(max(-2 * c / (b + root) if b > 0 else (root - b) / (2 * a), 0.0), 1.0)
    weight = 1 - r0 + theta * r0
    return theta * r0 / weight, r0, theta / weight**2


def _difference_root(theta: float, arms: Arms) -> float:
    """Most likely risk of the unexposed at a risk difference: the root of a cubic, in its trigonometric form."""
    n, n1, n0 = arms.n1 + arms.n0, arms.n1, arms.n0
    l3, l2 = n, (n1 + 2 * n0) * theta - n - arms.events
    l1 = (n0 * theta - n - 2 * arms.c) * theta + arms.events
    l0 = arms.c * theta * (1 - theta)
    q = l2**3 / (3 * l3) ** 3 - l1 * l2 / (6 * l3**2) + l0 / (2 * l3)
    p = copysign(sqrt(max(l2**2 / (3 * l3) ** 2 - l1 / (3 * l3), 0.0)), q)
    angle = (pi + acos(min(max(q / p**3, -1.0), 1.0))) / 3 if p else 0.0
    return min(max(2 * p * cos(angle) - l2 / (3 * l3), max(0.0, -theta)), min(1.0, 1 - theta))


def score_answer(measure: str, cells: Cells, inference: Inference) -> Answer:
    """Comparison of two risks whose interval holds all values that a score test with noise does not reject.

    The contrast (a - r1 N1) / N1 - r1' (c - r0 N0) / N0 at the constrained risks is linear in the released counts; its
    variance is that of both arms and of the noise.
    """
    x00, x01, x10, x11 = map(float, cells.flat)
    n1, n0 = x10 + x11, x00 + x01
    arms = Arms(min(max(x11, 0.0), n1), n1, min(max(x01, 0.0), n0), n0)

    def contrast(theta: float) -> tuple[float, float]:
        """Contrast in units of its reach, and the share of noise in its variance."""
        r1, r0, slope = constrained_risks(measure, theta, arms)
        gradient = np.array([slope * r0 / n0, slope * (r0 - 1) / n0, -r1 / n1, (1 - r1) / n1])
        noise = float(cells.noise_variance(gradient))
        sampling = r1 * (1 - r1) / n1 + slope**2 * r0 * (1 - r0) / n0
        variance = noise + sampling * inference.sampling
        value = x11 / n1 - r1 - slope * (x01 / n0 - r0)
        share = noise / variance if variance > 0 else 0.0
        reach = inference.reach(cells.kurtosis(gradient) if share else 0.0, share) * sqrt(max(variance, 0.0))
        # Without any variance only the value itself is accepted.
        return (value / reach if reach > 0 else copysign(inf, value) if abs(value) > 1e-12 else 0.0), share

    from_scale, to_scale = (tanh, atanh) if measure == "risk difference" else (exp, log)
    estimate = _plain_estimate(measure, x11, n1, x01, n0)
    lowest, highest = (-1.0, 1.0) if measure == "risk difference" else (0.0, inf)
    inside = lowest < estimate < highest

    def accepts(place: float) -> bool:
        return abs(contrast(from_scale(place))[0]) <= 1

    start = to_scale(estimate) if inside else _best_place(lambda place: contrast(from_scale(place))[0])
    if not accepts(start):
        return undetermined_answer(measure, inference, f"noise leaves no value of the {measure} that fits: {REMEDY}")
    lower, upper = (_end(accepts, start, sign) for sign in (-1, 1))
    ends = (lowest if lower == -inf else from_scale(lower), highest if upper == inf else from_scale(upper))
    reason = "" if inside else "the released counts lie outside of its range: the estimate is the best value inside"
    if inf in (abs(lower), abs(upper)):
        reason = "; ".join(
            filter(None, (reason, "the interval is unbounded: these counts do not exclude any value there"))
        )
    value = estimate if inside else from_scale(start)
    return interval_answer(measure, value, ends, inference, contrast(value)[1], reason)


def _plain_estimate(measure: str, a: float, n1: float, c: float, n0: float) -> float:
    """The measure of released counts; nan where they give none."""
    if measure == "risk difference":
        return a / n1 - c / n0
    if measure == "risk ratio":
        return (a / n1) / (c / n0) if a > 0 and c > 0 else nan
    return a * (n0 - c) / ((n1 - a) * c) if min(a, c, n1 - a, n0 - c) > 0 else nan


def _best_place(contrast: Callable[[float], float]) -> float:
    """Place on the scale at which the contrast is nearest to 0, among 121."""
    places = np.linspace(-12, 12, 121)
    return float(places[np.argmin([abs(contrast(float(place))) for place in places])])


def _end(accepts: Callable[[float], bool], start: float, sign: int) -> float:
    """End of the accepted values in one direction: outward by doubling, then by halving; infinite beyond `FARTHEST`."""
    step = 2.0**-10
    while accepts(start + sign * step):
        step *= 2
        if step > FARTHEST:
            return sign * inf
    inner = bisect(
        lambda distance: accepts(start + sign * distance), step / 2 if step > 2.0**-10 else 0.0, step, gap=1e-9
    )
    return start + sign * inner[0]
