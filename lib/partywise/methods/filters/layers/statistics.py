"""Changes of NVFlare (``nvflare`` 2.9.0) to statistics of a client before it sends them, restated.

Defaults are those of ``nvflare/job_config/stats_job.py:35-38``; another version may differ.
"""

from __future__ import annotations

from typing import Protocol

LEVELS = (0.1, 0.3)
# What stands for an extreme of 0.
ZERO = 1e-5


class Uniform(Protocol):
    """A generator of uniform numbers: ``random.Random``, as the source has it, or one of NumPy."""

    def uniform(self, low: float, high: float, /) -> float: ...


def noisy_minimum(value: float, rng: Uniform, levels: tuple[float, float] = LEVELS) -> float:
    """A minimum, moved down by a share r drawn from U(levels); 0 becomes -(1 - r) 1e-5.

    Source: ``nvflare/app_common/statistics/min_max_cleanser.py:67-77``.
    """
    share = rng.uniform(*levels)
    if value == 0:
        return -(1 - share) * ZERO
    return value * (1 - share) if value > 0 else value * (1 + share)


def noisy_maximum(value: float, rng: Uniform, levels: tuple[float, float] = LEVELS) -> float:
    """A maximum, moved up by a share r drawn from U(levels); 0 becomes (1 + r) 1e-5.

    Source: ``nvflare/app_common/statistics/min_max_cleanser.py:80-90``.
    """
    share = rng.uniform(*levels)
    if value == 0:
        return (1 + share) * ZERO
    return value * (1 + share) if value > 0 else value * (1 - share)


def histogram_bins(bins: int, records: int, percent: float = 10.0) -> bool:
    """Whether a histogram is sent: fewer bins than ``percent`` of the records without failures, rounded.

    Source: ``nvflare/app_common/statistics/histogram_bins_cleanser.py:40-64``.
    """
    return bins < round(records * percent / 100)


def min_count(records: int, least: int = 10) -> bool:
    """Whether statistics of a feature are sent; the count itself always is.

    Source: ``nvflare/app_common/statistics/min_count_cleanser.py:36-60``,
    ``nvflare/app_common/statistics/statistics_privacy_cleanser.py:26-47``.
    """
    return records >= least
