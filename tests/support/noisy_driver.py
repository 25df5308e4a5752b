"""Runs of private protocols of vertical GLM, their neighbours, and an oracle of clipped iterations without noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from glm_driver import DECLARED, records, start
from partywise.audits.contract import Subject, changed_records
from partywise.core.randomness import Streams, stream
from partywise.federation.run import Run
from partywise.methods.glm.noisy_statistics.scaling import default_radius
from partywise.privacy.accounted_values import Public
from partywise.privacy.ledger.event import Event

PLACES = ("analyst", "dealer", "aggregator")
GROUPS = ((0, 2), (1,), (3, 4))
START = {"gaussian": 1.0, "binomial": 0.0}


def facts(family: str, **changes: Any) -> dict[str, Any]:
    """Public constants that fit the records of `glm_driver`."""
    low, high = (-4.0, 6.0) if family == "gaussian" else (0.0, 1.0) if family == "binomial" else (-3.0, 3.0)
    return {
        "statistic": Public((low, high), DECLARED),
        "eta_start": Public(START.get(family, float(np.log(2.0))), DECLARED),
    } | changes


def private_run(X: np.ndarray, y: np.ndarray, options: Any, family: str, epsilon: float, **changes: Any) -> Run:
    """A run not used yet; ``groups``, ``facts`` and ``seed`` may be changed."""
    return start(
        X,
        y,
        changes.get("groups", GROUPS),
        options,
        family=family,
        epsilon=epsilon,
        extra=PLACES,
        facts=facts(family) | changes.get("facts", {}),
        rng_for=Streams(changes.get("seed", 7), "glm"),
        block=changes.get("block", {}),
    )


def neighbours(data: tuple, family: str, unit: str, count: int, seed: int) -> Iterator[tuple[str, tuple]]:
    """Records changed as `changed_records` has them, responses of the family's domain."""
    rng = stream(seed, "neighbours")
    least = {"poisson": 0.0, "gamma": 1e-3, "inverse_gaussian": 1e-3}.get(family, -np.inf)
    for name, X, y in changed_records(*data, unit, count, rng, binary=family == "binomial"):
        y = np.maximum(y, least)
        yield name, (X, np.where(y == data[1], y, np.rint(y)) if family == "poisson" else y)


def subject(fit: Any, options: Any, family: str, *, n: int = 60, epsilon: float = 2.0, **changes: Any) -> Subject:
    """A private protocol on small records, for the contract."""

    def data(seed: int) -> tuple:
        X, y = records(family, n, 5, seed=1 + seed)
        return X, y

    def begun(given: tuple, seed: int) -> Run:
        return private_run(*given, options, family, epsilon, seed=seed, **changes)

    def changed(given: tuple, unit: str, count: int, seed: int) -> Iterator[tuple[str, tuple]]:
        yield from neighbours(given, family, unit, count, seed)

    return Subject(fit, data, begun, changed, 1e-5)


def clipped(values: np.ndarray, length: float) -> np.ndarray:
    """Rows no longer than that."""
    return values * np.minimum(1.0, length / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300))


def in_steps(values: np.ndarray, length: float) -> np.ndarray:
    """Rows in whole steps of 2^-20 of a length, towards 0 where the nearest are longer than it."""
    shrunk = clipped(values, length) / length * 2**20
    nearest = np.rint(shrunk)
    beyond = np.sum(nearest**2, axis=1) > 2**40
    nearest[beyond] = np.trunc(shrunk[beyond])
    return nearest * (length / 2**20)


def default_total() -> float:
    """S, the default length of a record of all blocks of `GROUPS`."""
    return float(np.linalg.norm([default_radius(len(group)) for group in GROUPS]))


def oracle_score(family: str, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """w (z - eta) of the table of section 3 of the specification, without care for overflow."""
    mu = {"gaussian": eta, "binomial": 1 / (1 + np.exp(-eta))}.get(family, np.exp(eta))
    return (y - mu) / {"gamma": mu, "inverse_gaussian": mu**2}.get(family, 1.0)


def oracle(
    family: str, X: np.ndarray, y: np.ndarray, *, C: float, bound: float, steps: int, rate: float | None
) -> np.ndarray:
    """Iterates (steps + 1, 1 + p) without noise: Newton with the mean outer product, or gradient of a rate / weight."""
    p, weight = X.shape[1], {"binomial": 0.18, "poisson": 2.0, "inverse_gaussian": 0.5}.get(family, 1.0)
    z = np.column_stack([clipped(X[:, group], default_radius(len(group))) for group in map(list, GROUPS)])
    x = np.column_stack([np.ones(len(y)), z[:, np.argsort([j for group in GROUPS for j in group])]])
    beta = np.zeros(1 + p)
    beta[0] = facts(family)["eta_start"].value
    found, radius = [beta], default_total()
    whole = np.column_stack([np.ones(len(y)), in_steps(x[:, 1:], radius)])
    second = whole.T @ whole / len(y)
    for _ in range(steps):
        r = np.clip(oracle_score(family, y, x @ beta), -bound, bound)
        score = in_steps(x * r[:, None], C).mean(axis=0)
        step = np.linalg.solve(second, score) if rate is None else rate * score
        beta = beta + step / weight
        found.append(beta)
    return np.array(found)


def noise_row(sd: float, **row: object) -> Event:
    """Row of a release whose entries have Gaussian noise of one deviation; 0 for none."""
    profile = {"mu": 1.0, "sensitivity": sd} if sd else {"mu": np.inf, "sensitivity": 1.0}
    fields = {"release_id": "sums", "owner": "north", "mechanism": "rounded_gaussian", "unit": "row", "norm": "l2"}
    return Event(**fields | {"depends_on": {"label", "features"}} | profile | row)
