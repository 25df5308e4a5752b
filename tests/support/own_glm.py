"""A method of vertical GLM by address: the active party releases the mean response alone, with noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partywise.alignment.options import AlignmentOptions
from partywise.alignment.rows import common_rows
from partywise.experiment.study import Protocol
from partywise.federation.parties import Party
from partywise.federation.roles import ANALYST
from partywise.federation.run import Run
from partywise.methods.glm.model import GlmEstimate, GlmFacts
from partywise.methods.glm.records import response_of
from partywise.models.families import FAMILIES
from partywise.privacy.accounted_values import Public
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import Release
from partywise.privacy.statistics.moments import record_sum


@dataclass(frozen=True)
class MeanOptions(AlignmentOptions):
    """Keys beside ``protocol``. leak : means of columns are sent as if they were public, which a check must see."""

    leak: bool = False
    uses_epsilon = True


def local_total(active: Party, rows: np.ndarray, public: GlmFacts, mu: float, rng_for: Callable) -> Release:
    """Sum (1,) of responses, centred at the middle of their public range and clipped to it."""
    low, high = public.statistic.value
    y = response_of(active.block, rows, public.family, active.name).y
    half = Public((high - low) / 2, because="half of the public range", made_of=(public.statistic,))
    total = record_sum((y - (low + high) / 2)[:, None], half, unit="row", depends_on=("label",))
    return Gaussian(mu=mu)(total, rng_for("total", active.name), owner=active.name, release_id="total")


def local_means(passive: Party, rows: np.ndarray) -> Public:
    """The leak."""
    return Public(passive.block["X"][rows].mean(axis=0), because="a mean of many records says little of one")


def analyst_answer(total: np.ndarray, n: int, public: GlmFacts) -> np.ndarray:
    """The intercept at the link of the mean, inside the range; no slope."""
    low, high = public.statistic.value
    mean = np.clip(total[0] / n + (low + high) / 2, low + 1e-3, high - 1e-3)
    return np.concatenate([[float(FAMILIES[public.family].link(mean))], np.zeros(len(public.names))])


def to_estimate(answer: np.ndarray, epsilon: float, rows: Any) -> GlmEstimate:
    return GlmEstimate(answer, epsilon_claimed=epsilon, rows=rows, numbers={"record_openings": 0})


def fit(run: Run) -> GlmEstimate:
    """One release of one party."""
    rows, n = common_rows(run)
    (active,) = (party for party in run.parties if party.role == "active")
    public, mu = run.spec.public, gdp_mu(run.epsilon, run.spec.study.delta)
    total = run.send(active, ANALYST, "total", local_total, rows, public, mu, run.rng_for)
    if run.spec.options.leak:
        passive = tuple(party for party in run.parties if party.role == "passive")
        run.gather(passive, ANALYST, "means", local_means, rows)
    answer = run.at(ANALYST, analyst_answer, total, n, public)
    return run.assemble(to_estimate, answer, run.epsilon, None if public.aligned else rows)


PROTOCOL = Protocol(MeanOptions, study="vertical_glm", extra=(ANALYST,))
