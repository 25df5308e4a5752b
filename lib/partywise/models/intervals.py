"""Intervals of coefficients that count the noise of privacy in addition to sampling, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..core.verdicts import TOLERATED


@dataclass(frozen=True, eq=False)
class Intervals:
    """Normal intervals of coefficients, from releases and public facts alone: they cost nothing.

    centre : (k,) coefficients without the bias of a ridge and, to first order, of the noise
    standard_errors : (k,) of the centres, over records and noise
    reason : why there are none; empty where there are some
    """

    centre: np.ndarray | None = None
    standard_errors: np.ndarray | None = None
    reason: str = ""

    def bounds(self, level: float = 0.95) -> np.ndarray | None:
        """Intervals (k, 2); None where there are none, `ValueError` for a level outside (0, 1)."""
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} of an interval must lie in (0, 1).")
        if self.centre is None or self.standard_errors is None:
            return None
        reach = float(ndtri((1 + level) / 2)) * self.standard_errors
        return np.column_stack([self.centre - reach, self.centre + reach])

    def coverage(self, truth: np.ndarray) -> float | None:
        """Share of the 95 % intervals that hold the true coefficients (k,); None where there are none."""
        bounds = self.bounds()
        return None if bounds is None else float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])))


def noise_line(reason: str, thing: str = "a coefficient") -> str:
    """Return the summary's line on the noise in coefficients; ``reason`` is empty where its deviations are stated."""
    if reason:
        return f"noisy: the standard deviation of its noise is not computed: {reason}"
    return f"noisy: 'noise sd' is what the noise of privacy alone gives {thing}, to first order"


# What nobody can check who has the release alone.
CONDITION = f"valid if clipping took at most {100 * TOLERATED:g} % of any party's records and of their squares"
NOT_COMPUTED = Intervals(reason="not computed for this protocol")
