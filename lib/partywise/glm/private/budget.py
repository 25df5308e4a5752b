"""How one budget is divided among the releases of a fit, in squares of mu, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...errors import BudgetExceeded
from ...privacy.accounting.calibration import gdp_mu

__all__ = ["allotted"]


def allotted(epsilon: float, delta: float, shares: Sequence[float], group: int = 1) -> tuple[float, ...]:
    """Gaussian-DP parameters of releases that together cost epsilon at delta."""
    if not epsilon > 0:
        raise ValueError(f"epsilon is {epsilon}: a calibrated release needs a positive target.")
    if not all(share > 0 for share in shares):
        raise ValueError(f"shares={list(shares)} of a budget must all be positive: a release needs a part of it.")
    spent = math.fsum(shares)
    if spent > 1 + 1e-12:
        raise BudgetExceeded(
            f"shares of {len(shares)} releases are {spent:.6g} of the squared budget of epsilon = {epsilon:.6g} "
            f"at delta = {delta:.3g}: they must come to 1."
        )
    mu = float(gdp_mu(epsilon, delta)) / group
    # Equal to the last digit or below: a sum of many squares rounds either way.
    return tuple(mu * math.sqrt(share / max(spent, 1.0)) * (1 - 1e-15) for share in shares)
