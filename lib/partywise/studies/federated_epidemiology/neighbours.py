"""Neighbours for the claims of counts: x are values in [0, 1], y is 1 for a case."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...audits.worlds import AuditData
from ...core.randomness import Rng
from .claims import CountSettings

# Values of the record that the worst pair differs in; leaks ask at this value, which is public.
TARGET = 0.5


def another_case(settings: CountSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record is a case or is not; in the ordinary pair it is replaced by one with other values as well."""
    rng, n = rng_for("records"), settings.n
    x = np.repeat(rng.random((1, n, settings.columns)), 4, axis=0)
    y = np.repeat((rng.random(n) < settings.prevalence).astype(float)[None], 4, axis=0)
    x[:2, 0], y[:2, 0] = TARGET, (1.0, 0.0)
    x[3, 0], y[3, 0] = rng.random(settings.columns), float(rng.random() < settings.prevalence)
    return AuditData(x, y)
