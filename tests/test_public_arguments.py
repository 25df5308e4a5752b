"""What a certificate takes for public is no function of the data: every certified mechanism, recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from partywise.auditing.data import World
from partywise.auditing.exposure import Task
from partywise.auditing.protocol import MECHANISMS, SERVER
from partywise.auditing.settings import SliceSettings
from partywise.parties import Party
from partywise.plan import Plan, plan
from partywise.randomness import stream
from partywise.wire import Channel
from replay import compare, record, replay

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())["studies"]

# What the default audit certifies nothing for: an infinite epsilon is kept by every neighbour.
UNPROVED = {
    (case, "published")
    for case in (
        "fb_radius",
        "fb_messages",
        "sir_vectorised_printed",
        "sir_vectorised_charitable",
        "sir_scale_1_1",
        "sir_scale_1_5",
        "sir_screening",
        "opboost_adjusting",
        "affine_map",
        "abstract_paillier",
        "scores_u_d",
        "linear_predictors",
        "hashed_identifiers",
        "tracing",
    )
}

# Rows whose labels are 0 or 1.
CLASSES = ("label_sum", "tracing")


def audit_plan() -> Plan:
    return plan("privacy_audit", CONFIG["privacy_audit"], 7)


def audit_cells() -> list[tuple[str, str, int, float]]:
    """Every cell of the default audit: case, method, parties, epsilon (generated data only)."""
    made = audit_plan()
    return [
        (name, method, parties, epsilon)
        for name, case in made.cases.items()
        if name != "body_fat"
        for method in case.grid.methods
        for parties in case.grid.parties
        for epsilon in case.grid.epsilon
    ]


def neighbours(
    x: np.ndarray, y: np.ndarray, unit: str, binary: bool = False
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Data sets that differ in one record, as the unit allows: fractions, ties, edges, huge values, zeros, signs."""
    last, longest = len(x) - 1, int(np.argmax(np.linalg.norm(x, axis=1)))
    corner = np.full(x.shape[1], np.max(np.abs(x), initial=1.0))
    ways = [
        ("half a unit further", last, x[last] + 0.5, y[last] + 0.5),
        ("at an edge", last // 2, np.round(x[last // 2] * 2) / 2, 0.5),
        ("tied with another", 1, x[last], y[last]),
        ("huge", longest, 1e9 * corner, 1e9),
        ("hugely negative", 0, -1e9 * corner, -1e9),
        ("zero", longest, 0 * corner, 0.0),
        ("all signs turned", 2, -x[2], -y[2]),
        ("corner of the data", last // 3, corner, float(np.max(y))),
    ]
    found = []
    for name, i, features, label in ways:
        x2, y2 = x.copy(), y.copy()
        if unit != "label":
            x2[i] = features
        if unit != "features":
            y2[i] = 1 - y[i] if binary else label
        found.append((name, x2, y2))
    return found


def exposed(made: Plan, case: str, method: str, parties: int, epsilon: float, world: World) -> Callable[[], Channel]:
    """A run of one row of the audit: what its owners send of a data set."""
    settings, options = made.cases[case].settings, made.methods[method].options

    def rng_for(*names: Any) -> np.random.Generator:
        return stream(7, "replay", *names)

    def run() -> Channel:
        owners = tuple(f"owner {k + 1}" for k in range(parties))
        channel = Channel([Party(name, "passive", {}) for name in owners], (SERVER,))
        pair, delta = (world, world), settings.claim_delta(made.spec.delta)
        task = Task(settings, options.variant, epsilon, delta, pair, pair, owners, rng_for, 2)
        for owner, name, payload in MECHANISMS[settings.row](task).payloads:
            channel.send(owner, SERVER, name, payload)
        return channel

    return run


@pytest.mark.parametrize(("case", "method", "parties", "epsilon"), audit_cells())
def test_certificates_of_the_audit_hold_for_every_neighbour(case, method, parties, epsilon):
    made = audit_plan()
    settings = made.cases[case].settings
    unit, delta = settings.entry.unit, settings.claim_delta(made.spec.delta)
    data = made.cases[case].source.generate(settings, made.spec, lambda *names: stream(7, case, *names), ROOT)
    worlds = [(data.x[0], data.y[0]), (data.x[2], data.y[2])]
    if isinstance(settings, SliceSettings) and settings.row not in CLASSES:
        # Responses that are all classes: the data that made edges look public.
        worlds.append((data.x[2], np.arange(settings.n) % settings.n_slices * 1.0))
    for x, y in worlds:
        first = record(exposed(made, case, method, parties, epsilon, World(x, y)))
        channel = first.result
        certified = channel.ledger.worst_total(channel.names, unit, delta).epsilon_certified
        assert isfinite(certified) == ((case, method) not in UNPROVED), certified
        if not isfinite(certified):
            continue
        for name, x2, y2 in neighbours(x, y, unit, settings.row in CLASSES):
            second = replay(exposed(made, case, method, parties, epsilon, World(x2, y2)), first)
            try:
                compare(first, second, unit)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error
