"""The budget of a whole record, divided among the indices that it can move: randomised responses of mixed alphabets."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

from .compose import check_delta, compose
from .privacy_profile import PrivacyProfile
from .roots import bisect

# How far below the exact answer the result may stay, relative; and what the pure division gives way to roundings.
GAP = 1e-8
ROUNDING = 1e-12


def index_epsilon(indices: Iterable[tuple[int | None, int]], epsilon: float, delta: float) -> float:
    """Largest epsilon of one index at which all indices that a record moves keep (epsilon, delta) together.

    Notes
    -----
    Formal guarantee: the composition that a ledger makes of these profiles is at most ``epsilon`` at ``delta``. It
    grows with the epsilon of an index, since randomised response at a smaller one is a function of that at a larger
    one. Source: the indices of seed 003, section "Privacy protection algorithms"; the calibration is ours.
    """
    groups = tuple(
        sorted(((k, int(count)) for k, count in indices if count), key=lambda group: (group[0] or 0, group[1]))
    )
    if not groups:
        raise ValueError(f"indices={groups}: a record must move at least one index, or there is nothing to divide.")
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} of a record must be positive.")
    return _largest(groups, float(epsilon), check_delta(delta))


def grouped_epsilon(indices: Iterable[tuple[int | None, int]], epsilon: float, delta: float, group: int) -> float:
    """`index_epsilon` where ``group`` records of one person keep (epsilon, delta) together.

    Formal guarantee: the indices of one place in all of them are one pure profile of ``group`` times the epsilon of an
    index, for any alphabet: randomised response of two letters at that epsilon covers it.
    """
    if group == 1:
        return index_epsilon(indices, epsilon, delta)
    return index_epsilon([(None, count) for _, count in indices], epsilon, delta) / group


@functools.lru_cache(maxsize=1024)
def _largest(indices: tuple[tuple[int | None, int], ...], epsilon: float, delta: float) -> float:
    if math.isinf(epsilon):
        return math.inf

    def fits(candidate: float) -> bool:
        return (
            compose(PrivacyProfile(epsilon=candidate, k=k, count=count) for k, count in indices).epsilon(delta)
            <= epsilon
        )

    low = epsilon / sum(count for _, count in indices) * (1 - ROUNDING)
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    return bisect(fits, low, high, gap=GAP * low)[0]
