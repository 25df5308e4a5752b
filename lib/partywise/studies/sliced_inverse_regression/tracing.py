"""Document 001, Example 1 and Figure 1: tracing attack on the discriminant direction.  Descriptive, no certificate."""

from __future__ import annotations

import numpy as np

from ...audits.attacks.membership import roc_curve, signed_records, trace_split, tracing_auc
from ...audits.exposure import Exposure, Task
from ...audits.pairs import ClearPair, GaussianPair
from ...privacy.accounted_values import Clear, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.release import Release
from ...privacy.statistics.moments import record_sum
from .claims import BodyFatSettings, BoxSettings

# Common false-positive rates of averaged curves.
GRID = np.linspace(0.0, 1.0, 101)


def direction_published(task: Task[BodyFatSettings | BoxSettings]) -> Exposure:
    """The mean of signed records as it is."""
    return _direction(task, 0.0)


def direction_corrected(task: Task[BodyFatSettings | BoxSettings]) -> Exposure:
    """The mean of signed records with independent noise for the target."""
    return _direction(task, task.analytic)


def _direction(task: Task[BodyFatSettings | BoxSettings], multiplier: float) -> Exposure:
    """The mean of signed records with noise, traced.

    Half of the records make the direction; the attack scores both halves.  The curve and its area are means over
    trials with new halves and new noise.
    """
    settings, world = task.settings, task.worst[0]
    radius = float(settings.truncation * np.sqrt(settings.p))
    length = Public(radius, because="length of the corner of the truncation box, a setting of the case")
    size = (len(world.x) - 1) // 2
    clipped = np.clip(world.x, -settings.truncation, settings.truncation)
    noise = 2 * radius * multiplier

    def direction(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(release(x, y, rng).value)

    def release(x: np.ndarray, y: np.ndarray, source: np.random.Generator) -> Release:
        bounded = record_sum(signed_records(x, y), length, unit="row", depends_on=("label", "features"))
        noisy = Gaussian(sigma=noise)(bounded, source, owner=task.owner, data_dependent_parameters=settings.whitening)
        return noisy.post_process(lambda total: total / len(x))

    rng = task.rng_for("tracing")
    traces = [trace_split(clipped, world.y, rng, direction, size) for _ in range(task.trials)]
    areas = [tracing_auc(trace.members, trace.nonmembers) for trace in traces]
    curve = np.mean([_on_grid(*roc_curve(trace.members, trace.nonmembers)) for trace in traces], axis=0)
    sent = release(clipped[:size], world.y[:size], task.noise())
    spread = float(np.std(areas, ddof=1) / np.sqrt(len(areas))) if len(areas) > 1 else None
    numbers = {"tracing_auc": float(np.mean(areas)), "tracing_se": spread, "members": size}
    # The worst pair of neighbours: one member at opposite corners of the box.
    corner = np.full(settings.p, settings.truncation)
    curves = np.stack([GRID, curve])
    if not noise:
        payload, clear = Clear(sent.value, units=("row",), owner=task.owner), ClearPair(corner, -corner)
        return Exposure({0: payload}, (clear, clear), numbers, curves=curves)
    pair = GaussianPair(corner, -corner, noise)
    return Exposure({0: sent}, (pair, pair), numbers, curves=curves)


def _on_grid(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """True-positive rates of a curve at the common false-positive rates."""
    last = np.concatenate([np.flatnonzero(np.diff(fpr)), [len(fpr) - 1]])
    return np.asarray(np.interp(GRID, fpr[last], tpr[last]))
