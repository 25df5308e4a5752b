"""Cost of a set of releases together, and the noise that a number of sampled releases needs.

`partywise.privacy.accounting.compose` composes profiles; this module answers questions about events and releases.
Its answers hold for releases that are chosen adaptively; for *parameters* that are chosen adaptively use
`PrivacyFilter`.
"""

import functools
import math
from collections.abc import Iterable

# Any: events, or releases of them, which are looked at as they come.
from typing import Any

from ..accounting.compose import Composition, check_delta, compose
from ..accounting.privacy_profile import PrivacyProfile
from .event import Event
from .total import warn_of_sampling


def epsilon(events: Iterable[object], delta: float) -> float:
    """Epsilon of releases made one after another, for their own unit and relation.

    Parameters
    ----------
    events : iterable of Event or Release
        Of one unit; of one relation, or of ``replace_one`` and ``add_remove`` together, which is answered for
        ``replace_one``.
    delta : float
        In [0, 1).

    Returns
    -------
    float
        Rounded up; 0 for no events; inf if an event is not certified, or if ``delta`` is used up by what the profiles
        do not cover.

    Raises
    ------
    ValueError
        If units or relations differ, or ``delta`` is out of range.
    """
    composition = _compose(events)
    check_delta(delta)
    return math.inf if composition is None else composition.epsilon(delta)


def delta(events: Iterable[object], epsilon: float) -> float:
    """Delta of releases made one after another at ``epsilon`` >= 0; parameters as in `epsilon`, 1 if uncertified."""
    composition = _compose(events)
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon!r} must be non-negative.")
    return 1.0 if composition is None else composition.delta(epsilon)


@functools.lru_cache(maxsize=256)
def subsampled_sigma(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Least noise multiplier of Poisson-sampled Gaussian sums."""
    check_delta(delta)
    if not (0 < epsilon < math.inf and delta > 0):
        raise ValueError(f"epsilon={epsilon!r} and delta={delta!r} must be positive, and epsilon finite.")
    if not 0 < rate <= 1:
        raise ValueError(f"rate={rate!r} must lie in (0, 1].")
    if steps < 1 or steps != int(steps):
        raise ValueError(f"steps={steps!r} must be a whole number from 1.")

    def excess(log_sigma: float) -> float:
        profile = PrivacyProfile(mu=math.exp(-log_sigma), rate=float(rate), count=int(steps))
        composed_epsilon = max(compose([profile]).epsilon(delta), min(1e-12, epsilon / 2))
        # Quotients without a float: far above the target.
        return math.log(composed_epsilon / epsilon) if composed_epsilon / epsilon < math.inf else 700.0

    low = high = 0.0
    at_low = at_high = excess(0.0)
    while at_high > 0:
        low, at_low = high, at_high
        high += 1.0
        at_high = excess(high)
    while at_low <= 0:
        high, at_high = low, at_low
        low -= 1.0
        at_low = excess(low)
    # Regula falsi with the Illinois rule: epsilon falls smoothly in log sigma.
    weight_low, weight_high = at_low, at_high
    while high - low > 1e-6:
        guess = low + (high - low) * weight_low / (weight_low - weight_high)
        guess = min(max(guess, low + 4e-7), high - 4e-7)
        value = excess(guess)
        if value > 0:
            low, weight_low, weight_high = guess, value, weight_high / 2
        else:
            high, weight_high, weight_low = guess, value, weight_low / 2
    return math.exp(high)


def _compose(events: Iterable[object]) -> Composition | None:
    """The composition of events or releases; None if one is not certified."""
    rows: list[Any] = [getattr(item, "event", item) for item in events]
    for row in rows:
        if not isinstance(row, Event):
            raise TypeError(f"composition takes Event or Release objects, got {type(row).__name__}.")
    units, relations = {row.unit for row in rows}, {row.relation for row in rows}
    if len(units) > 1 or (len(relations) > 1 and "label_flip" in relations):
        raise ValueError(
            f"the events speak of the units {sorted(units)} and the relations {sorted(relations)}: a sum of these "
            "means nothing; put them into a Ledger and ask for its total for one unit."
        )
    if any(not row.certified or row.profile is None for row in rows):
        return None
    if len(relations) > 1 or relations == {"replace_one"}:
        costs = [row.cost(row.unit) for row in rows]
        if any(cost is None for cost in costs):
            return None
        warn_of_sampling(zip(rows, costs, strict=True))
        profiles = [cost for cost in costs if isinstance(cost, PrivacyProfile)]
    else:
        profiles = [row.profile for row in rows if row.profile is not None]
    return compose(profiles, *(math.fsum(part) for part in zip(*(row.delta_terms for row in rows), strict=True)))
