"""Protocol: every client releases the sum of its clipped values; the server divides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.privacy.accounted_values import Public
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import Release
from partywise.privacy.statistics.moments import record_sum

from ..rounding import rounded


@dataclass(frozen=True)
class Estimate:
    mean: float
    epsilon_claimed: float


def local_sum(client: Party, bound: float, mu: float, rng_for: Callable) -> Release:
    limit = Public(bound, because="bound of the method, an option")
    bounded = record_sum(client.block["x"][:, None], limit, stratum=f"clients/{client.name}")
    return Gaussian(mu=mu)(bounded, rng_for("sum", client.name), owner=client.name, release_id=f"sum of {client.name}")


def server_mean(sums: Sequence[np.ndarray], n: int) -> float:
    return rounded(float(np.sum(sums)) / n)


def fit(run: Run) -> Estimate:
    mu = gdp_mu(run.epsilon, run.spec.study.delta)
    sums = run.gather(run.parties, "server", "sum", local_sum, run.spec.options.bound, mu, run.rng_for)
    mean = run.at("server", server_mean, sums, run.spec.public)
    return run.at("server", Estimate, mean, run.epsilon)
