"""Every method of every study on small data: what tests that must hold for all protocols run.

A study needs no line here: its methods are those of the default configuration, or else all of its protocols with their
defaults, and its small cases are its trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.study import available, load
from partywise.experiment.trial import trials
from pipeline import ROOT
from shipped import shipped

ROOT_SEED = 7
# Small cases in place of a study's trials: source, settings, numbers of parties, epsilon.
CASES: dict[str, dict[str, tuple[str, dict[str, Any], list[int], float]]] = {
    "functional_boosting": {
        "simulated": ("simulated", {"n": 90, "p": 4, "n_basis_x": 6, "n_basis_y": 6, "active": [0, 1]}, [3], 8.0),
    },
    "label_private": {
        "generated": ("generated", {"n": 300, "k": 4}, [2], 1.0),
        "several": ("generated", {"n": 300, "k": 4}, [4], 1.0),
    },
    "vertical_glm": {
        "aligned": ("generated", {"n": 80, "p": 5}, [3], 1.0),
        "unaligned": ("generated", {"n": 60, "p": 4, "records": "unaligned"}, [2], 1.0),
        "follow_up": ("generated", {"n": 60, "p": 4, "family": "cox"}, [3], 1.0),
    },
    "vertical_linear": {"generated": ("generated", {"n": 40, "d": 4}, [3], 1.0)},
    "vertical_trees": {"generated": ("generated", {"n": 120, "d": 4}, [2], 1.0)},
    "federated_epidemiology": {
        "cohort": ("generated", {"n": 300}, [3], 2.0),
        "columns": ("generated", {"n": 300, "partition": "columns"}, [2], 2.0),
    },
    "sliced_inverse_regression": {
        "rows": ("simulated", {"model": "III", "n": 300, "clients": 3}, [3], 1.0),
        "many_columns": ("simulated", {"model": "III", "n": 400, "p": 60, "active": 5, "clients": 3}, [3], 1.0),
    },
    "privacy_audit": {
        "fb_sqrt_j": ("budget", {"n": 30, "n_basis": 1, "n_predictors": 4}, [2], 1.0),
        "sir_slice_means_public": ("public_slices", {"n": 100, "p": 3}, [1], 1.0),
        "walr_classic": ("label_sum", {"n": 100, "k": 4}, [1], 1.0),
        "bucket_rr_public": ("public_bins", {"n": 60, "n_bins": 10}, [1], 3.0),
        "scores_u_d": ("scores", {"n": 200}, [1], 1.0),
        "hashed_identifiers": ("hashes", {"n": 40, "population": 100}, [1], 1.0),
        "tracing": ("tracing", {"n": 41, "p": 5}, [1], 1.0),
    },
}
# Protocols that the default configuration has no method of.
MORE: dict[str, dict[str, Any]] = {
    "functional_boosting": {"roundwise": {"protocol": "roundwise"}, "central": {"protocol": "central"}},
    "vertical_glm": {"hazards": {"protocol": "joint", "solver": "lbfgs"}},
    "federated_survival": {"dp_propensity": {"protocol": "dp_propensity", "seed": "own"}},
}
# Options that cost time, at most so large where a method gives them; those of the audit also where it does not.
AUDIT = {"draws": 2000, "trials": 3, "canaries": 50}
CHEAP = AUDIT | {
    "audit_draws": 1000,
    "steps": 20,
    "trace_steps": 20,
    "rounds": 5,
    "total_round_num": 3,
    "max_sweeps": 20,
    # Of times until a horizon of 2.
    "cutoff": 1.0,
    "width": 0.1,
}


def small_cases(study: str) -> dict[str, tuple[str, dict[str, Any], list[int], float]]:
    """Small cases of a study: those above, or its trials."""
    if study in CASES:
        return CASES[study]
    return {
        name: (trial.source, dict(trial.settings), [trial.parties[0]], trial.epsilon)
        for name, trial in trials(study).items()
    }


def _shipped() -> dict[str, Any]:
    """Blocks of the default configuration by study."""
    return shipped()["studies"]


def block(study: str) -> dict[str, Any]:
    """The block of a study in a configuration: its small cases, each with all methods."""
    protocols = {"methods": {name: {"protocol": name} for name in load(study).methods}}
    default = deepcopy({"spec": {}} | _shipped().get(study, protocols))
    methods = {name: _cheap(entry) for name, entry in (default["methods"] | MORE.get(study, {})).items()}
    grid = {"replicates": 1, "folds": 1}
    cases = {
        name: {
            "source": source,
            "settings": settings,
            "grid": grid | {"methods": methods_on(name, methods), "parties": parties, "epsilon": [epsilon]},
        }
        for name, (source, settings, parties, epsilon) in small_cases(study).items()
    }
    return {"spec": default["spec"], "methods": methods, "cases": cases, "figures": []}


def methods_on(case: str, methods: dict[str, Any]) -> list[str]:
    """Methods of a small case: on ``several`` those of several holders of labels, and no others there.

    On ``follow_up`` those that fit family ``cox``, of which ``hazards`` is nowhere else; on ``columns`` products.
    """
    methods = {
        name: entry for name, entry in methods.items() if (entry["protocol"] == "products") == (case == "columns")
    }
    if case == "follow_up":
        return ["pooled_fit", "hazards"]
    own = [name for name in methods if name != "hazards"]
    return [name for name in own if (methods[name].get("holders") == "rows") == (case == "several")]


def _cheap(entry: dict[str, Any]) -> dict[str, Any]:
    """The same method in less time."""
    entry = (AUDIT if entry["protocol"] == "audit" else {}) | entry
    return entry | {key: min(value, entry[key]) for key, value in CHEAP.items() if key in entry}


def fits() -> Iterator[tuple[str, str, str]]:
    """Study, case and method of every fit."""
    for study in available():
        made = block(study)
        for case in made["cases"]:
            yield from ((study, case, method) for method in made["cases"][case]["grid"]["methods"])


@cache
def planned(study: str) -> Plan:
    """The plan of the small cases of a study."""
    return plan(study, block(study), ROOT_SEED)


@cache
def generated(study: str, case: str) -> Any:
    """The one replicate of a small case."""
    return generate(planned(study), case, [0], ROOT / "resources")[0]
