"""Cases of the study: draw_<source> for each source."""

from __future__ import annotations

from typing import Any

from .data import Data


def draw_normal(settings: Any, spec: Any, rng_for: Any, resources: Any) -> Data:
    return Data(settings.mean + 0.1 * rng_for("x").standard_normal(settings.n), settings.mean)
