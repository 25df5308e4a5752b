"""Neighbours for the claims of survival analysis: column 0 of x is the time, y the event, the other columns covariates.

The ordinary pair is one of drawn records, in which one record is replaced by another.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...audits.worlds import AuditData
from ...core.randomness import Rng
from .claims import FollowUpSettings, GradientSettings

TIME = 0


def _ordinary(settings: FollowUpSettings, rng_for: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Four data sets of the same records, of which the last differs from the third in one."""
    rng, n, p = rng_for("records"), settings.n, settings.p
    z = rng.standard_normal((n, p))
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1)
    x = np.repeat(np.column_stack([np.round(rng.random(n) * 1000) / 1000, z])[None], 4, axis=0)
    y = np.repeat((rng.random(n) < 0.6).astype(float)[None], 4, axis=0)
    other = rng.standard_normal(p)
    x[3, 0] = [rng.random(), *(other / max(1.0, float(np.linalg.norm(other))))]
    return x, y


def opposite_risk_sets(settings: GradientSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Covariates u of the earliest twentieth, -u of all others, all events; the last record's turned to u."""
    x, y = _ordinary(settings, rng_for)
    n, unit = settings.n, np.eye(settings.p)[0]
    early = max(n // 20, 1)
    times = np.concatenate([np.linspace(0.01, 0.1, early), np.linspace(0.2, 1.0, n - early)])
    x[:2, :, TIME], y[:2] = times, 1.0
    x[:2, :, 1:] = np.where(np.arange(n)[:, None] < early, unit, -unit)
    x[1, -1, 1:] = unit
    return AuditData(x, y)


def opposite_labels(settings: FollowUpSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record of length 1 whose label turns."""
    x, y = _ordinary(settings, rng_for)
    x[:2, 0, 1:] = np.eye(settings.p)[0]
    y[0, 0], y[1, 0] = 1.0, 0.0
    return AuditData(x, y)


def another_record(settings: FollowUpSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record with opposite covariates and another exit: an event at once against one that outlives the horizon."""
    x, y = _ordinary(settings, rng_for)
    unit = np.eye(settings.p)[0]
    x[0, 0], y[0, 0] = [0.0, *unit], 1.0
    x[1, 0], y[1, 0] = [1.0, *-unit], 0.0
    return AuditData(x, y)


def another_time(settings: FollowUpSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One event moves from one end of follow-up to the other."""
    x, y = _ordinary(settings, rng_for)
    x[0, 0, TIME], x[1, 0, TIME], y[:2, 0] = 0.0005, 0.9995, 1.0
    return AuditData(x, y)


def last_at_risk(settings: FollowUpSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """All but one are censored at half of the horizon; the last record has the event at its end, or has not."""
    x, y = _ordinary(settings, rng_for)
    x[:2, :, TIME], y[:2] = 0.5, 0.0
    x[:2, -1, TIME] = 1.0
    y[0, -1] = 1.0
    return AuditData(x, y)
