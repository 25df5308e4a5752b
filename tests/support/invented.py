"""Cubes on the axes of any plan with invented numbers: every figure is drawn with its real labels, titles and panels.

A cube of the paper's size takes hours to compute; what a figure writes and where it writes it takes its labels alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from invented_studies import SHOWN, Fit, arrays, numbers
from partywise.core.randomness import stream
from partywise.experiment.blocks import Part
from partywise.experiment.plan import CasePlan, Plan
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.results.provenance import config_json
from partywise.experiment.tables.run_totals import RunTotals
from small_cube import assemble

# Cells of the dense product that a cube may have, by fewer replicates and folds than the plan's.
PLACES = 150_000
FOLDS, REPLICATES = 2, (2, 30)
# Common scalars that figures read.
TRUST = {
    "moments": "nobody",
    "noisy_predictor": "nobody",
    "noisy_newton": "aggregator does not collude",
    "noisy_gradient": "aggregator does not collude",
}


def invented(plan: Plan, replicates: int | None = None) -> xr.Dataset:
    """A cube of a plan: its labels and coordinates, invented numbers, the first few replicates (or so many)."""
    small, rng = _cut(plan, replicates), stream(plan.root_seed, "invented", plan.study.name)
    parts = [
        _part(small, case, label, count, rng)
        for case in small.cases.values()
        for label in case.methods
        for count in case.parties
    ]
    return assemble(small, parts).assign_attrs(config_json=config_json(plan))


def invented_columns(plan: Plan, replicates: int) -> tuple[Plan, CubeColumns]:
    """The plan cut to so many replicates and two folds, and the scalars of its cells, invented."""
    small, rng = _cut(plan, replicates), stream(plan.root_seed, "invented", plan.study.name)
    columns = CubeColumns(small)
    for case in small.cases.values():
        for label, count in itertools.product(case.methods, case.parties):
            columns.add(replace(_part(small, case, label, count, rng), example_fits={}))
    RunTotals(small, columns).close()
    return small, columns


def with_replicates(plan: Plan, count: int) -> Plan:
    """The plan with so many replicates of every case."""
    grids = {name: replace(case.grid, replicates=count) for name, case in plan.cases.items()}
    return replace(plan, cases={name: replace(case, grid=grids[name]) for name, case in plan.cases.items()})


def _cut(plan: Plan, replicates: int | None) -> Plan:
    """The plan with at most two folds, and with as many replicates as fit."""
    most = replicates
    if most is None:
        own = max(case.replicates for case in plan.cases.values()) * max(case.folds for case in plan.cases.values())
        fitting = PLACES * own // (plan.n_dense * FOLDS)
        most = int(np.clip(fitting, *REPLICATES))
    return replace(plan, cases={name: _fewer(case, most) for name, case in plan.cases.items()})


def _fewer(case: CasePlan, most: int) -> CasePlan:
    grid = replace(case.grid, replicates=min(most, case.replicates), folds=min(FOLDS, case.folds))
    return replace(case, grid=grid)


def _part(plan: Plan, case: CasePlan, label: str, parties: int, rng: np.random.Generator) -> Part:
    epsilon = tuple(map(float, plan.epsilons(case.name, label)))
    fit = Fit(plan, case, plan.methods[label], parties, np.array(epsilon), rng)
    shape = (case.replicates, case.folds, len(epsilon))
    values = {name: np.broadcast_to(one, shape) for name, one in _scalars(fit, shape).items()}
    kinds = {name: "str" if one.dtype.kind in "US" else "float" for name, one in values.items()}
    shown = {name: (dims, np.stack([one] * len(epsilon))) for name, (dims, one) in arrays(fit).items()}
    return Part(
        case=case.name,
        method=label,
        parties=parties,
        replicates=tuple(range(case.replicates)),
        folds=tuple(range(case.folds)),
        epsilon=epsilon,
        numbers=values,
        kinds=kinds,
        example_fits=shown,
        releases={},
        names=("one", "two"),
        wire={},
    )


def _scalars(fit: Fit, shape: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """Values of every scalar of a study: by its words where its study says nothing, NaN where it is not defined."""
    private = fit.method.uses_epsilon
    found: dict[str, Any] = {
        "status": np.array("ok"),
        "epsilon_claimed": fit.epsilon if private else np.inf,
        "epsilon_certified": fit.epsilon if private and fit.method.protocol_name != "published" else np.inf,
        "delta": plan_delta(fit),
        "mu_total": np.where(np.isfinite(fit.epsilon), fit.epsilon / 4, np.nan),
        "mu_upper": np.where(np.isfinite(fit.epsilon), fit.epsilon / 4, np.inf),
        "bytes_measured": 10 ** (4 + 2 * fit.level) * fit.parties,
    }
    if fit.method.protocol_name in TRUST:
        found["trust"] = np.array(TRUST[fit.method.protocol_name])
    for name, words in fit.plan.study.variables.items():
        if name not in SHOWN:
            found[name] = _guess(*words, fit, shape)
    own: Mapping[str, Any] = numbers(fit)
    return {name: np.asarray(value) for name, value in {**found, **own}.items() if value is not None}


def plan_delta(fit: Fit) -> float:
    """delta of the case, some number where its study has none of its own."""
    return fit.plan.delta(fit.case.name) if hasattr(fit.plan.spec, "delta") else 1e-5


def _guess(words: str, units: str, fit: Fit, shape: tuple[int, int, int]) -> np.ndarray | None:
    """Values of the size that the words and units of a variable promise; None for texts."""
    if any(
        kind in words
        for kind in ("distribution of", "what changes", "how the", "what corrects", "document", "what stopped")
    ):
        return None
    noise = fit.rng.uniform(0.9, 1.1, shape)
    if words.startswith("1 if"):
        return np.zeros(shape)
    if units in ("byte", "MiB"):
        return 10 ** ((4 if units == "byte" else 0) + 2 * fit.level) * fit.parties * noise
    if units in ("degree", "radian"):
        return (80 if units == "degree" else 1.4) * fit.level * noise
    if any(kind in words for kind in ("share", "area under", "AUC", "rate")):
        return np.clip(fit.level * noise, 0, 1)
    if any(kind in words for kind in ("loss", "error", "risk", "deviance", "difference")):
        return fit.falling * noise
    return np.round(1 + 40 * fit.level * noise)
