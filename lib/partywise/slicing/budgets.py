"""How a client's budget is divided among its kinds of release; public numbers only."""

from __future__ import annotations

import math
from typing import Any

from ..privacy.calibration import gaussian_epsilon, gdp_mu


def claimed(spec: Any, epsilon: float) -> dict[str, float]:
    """Epsilon of each kind of release of a client; their sum is the claim."""
    second = spec.settings.epsilon_second or epsilon
    budget = {"means": epsilon, "second": second}
    return budget | ({"votes": epsilon} if spec.settings.screened else {})


def allotted(spec: Any, epsilon: float) -> dict[str, float]:
    """Epsilon at which each kind is calibrated, at the delta of one release.

    ``calibrate="each"``: the claims themselves, so that the exact total lies below their sum.  ``"total"``: the
    Gaussian-DP parameters of the claims times one factor, such that all kinds together cost exactly the sum of the
    claims at the sum of the deltas.
    """
    budget, settings = claimed(spec, epsilon), spec.settings
    if spec.options.calibrate == "each" or math.isinf(epsilon):
        return budget
    mus = {kind: float(gdp_mu(value, settings.release_delta)) for kind, value in budget.items()}
    wanted = float(gdp_mu(sum(budget.values()), settings.delta))
    factor = wanted / math.sqrt(math.fsum(mu * mu for mu in mus.values()))
    return {kind: float(gaussian_epsilon(factor * mu, settings.release_delta)) for kind, mu in mus.items()}


def vote_mu(spec: Any, epsilon: float) -> float:
    """Gaussian-DP parameter of the votes."""
    return math.inf if math.isinf(epsilon) else float(gdp_mu(epsilon, spec.settings.release_delta))


def kept_columns(spec: Any) -> int:
    """T: how many columns screening keeps, twice the true support unless the options say otherwise."""
    size = spec.options.max_size
    return size if size is not None else 2 * spec.settings.active


def user_epsilon(spec: Any, budget: dict[str, float]) -> float | None:
    """Certified epsilon of all records of one person together; None where no public number bounds them.

    m records cost m mu (group privacy of Gaussian mechanisms), mu being that of all releases of a client.
    """
    settings = spec.settings
    if settings.rows_per_user is None:
        return None
    mu = math.hypot(*(float(gdp_mu(value, settings.release_delta)) for value in budget.values()))
    return float(gaussian_epsilon(settings.rows_per_user * mu, settings.delta))
