"""Private protocols and numbers that floats barely hold: a run that stops at one record tells that it is there."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from glm_driver import DECLARED, fitted, records
from partywise.methods.glm import options
from partywise.privacy.accounted_values import Public

LARGEST = 1.7e308
METHODS = {
    "moments": (options.GlmMomentsOptions(cipher="sized"), "dealer"),
    "noisy_newton": (options.NoisyNewtonOptions(), "aggregator"),
    "noisy_gradient": (options.GlmNoisyGradientOptions(steps=2), "aggregator"),
    "noisy_predictor": (options.NoisyPredictorOptions(own="exact", sweeps=2, cipher="sized"), "dealer"),
}
CASES = [
    (protocol, family)
    for protocol in METHODS
    for family in ("gaussian", "binomial", "poisson", "gamma", "inverse_gaussian")
    if protocol != "noisy_predictor" or family in ("gaussian", "binomial")
]
# Declared on purpose far from the records, and fine: centring and scaling overflow, a slope of ten times it does not.
FACTS = {
    "location": Public(np.array([-1e307, 0.0, 0.0, 1e300]), because=DECLARED),
    "scale": Public(np.array([1.0, 0.1, 1e-3, 0.1]), because=DECLARED),
    "statistic": Public(np.array([0.0, 1.0]), because=DECLARED),
    "eta_start": Public(0.0, because=DECLARED),
}


@pytest.mark.parametrize(("protocol", "family"), CASES)
def test_every_finite_record_is_clipped_and_none_stops_the_run(protocol, family):
    chosen, place = METHODS[protocol]
    fit = importlib.import_module(f"partywise.methods.glm.protocols.{protocol}").fit
    costs = set()
    for sign in (0.0, 1.0, -1.0):
        X, y = records(family, 30, 4)
        if sign:
            X[0] = sign * LARGEST
            y[0] = {"binomial": y[0], "gaussian": sign * LARGEST}.get(family, LARGEST if sign > 0 else 5e-324)
            y[0] = 0.0 if family == "poisson" and sign < 0 else y[0]
        given = X, y, [(0, 1), (2, 3)], chosen
        found, run = fitted(fit, *given, family=family, extra=("analyst", place), epsilon=1.0, facts=FACTS)
        assert np.all(np.isfinite(found.coefficients))
        total = run.channel.ledger.worst_total(run.names, "row", 1e-5)
        costs.add((total.epsilon_certified, total.n_releases, len(run.channel.transcript())))
    assert len(costs) == 1
