"""Statsmodels' families by our names, and its fit of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import statsmodels.api as sm

LOG = sm.families.links.Log()
ORACLES = {
    "gaussian": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(LOG),
    "inverse_gaussian": sm.families.InverseGaussian(LOG),
}


def oracle(X: np.ndarray, y: np.ndarray, family: str, **more: Any) -> Any:
    """Results of statsmodels, the intercept first; ``more``: var_weights, offset, scale."""
    scale = more.pop("scale", None)
    return sm.GLM(y, sm.add_constant(X), family=ORACLES[family], **more).fit(tol=1e-15, maxiter=300, scale=scale)
