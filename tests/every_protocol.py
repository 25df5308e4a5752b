"""Every method of the default configuration on small data: what tests that must hold for all protocols run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from partywise.study import available

from pipeline import ROOT

ROOT_SEED = 7
# One or more small cases of each study: source, settings, numbers of parties, epsilon.
CASES: dict[str, dict[str, tuple[str, dict[str, Any], list[int], float]]] = {
    "functional_boosting": {
        "simulated": ("simulated", {"n": 90, "p": 4, "n_basis_x": 6, "n_basis_y": 6, "active": [0, 1]}, [3], 8.0),
    },
    "label_private": {"generated": ("generated", {"n": 300, "k": 4}, [2], 1.0)},
    "sliced_inverse_regression": {
        "rows": ("simulated", {"model": "III", "n": 300, "clients": 3}, [3], 1.0),
        "many_columns": ("simulated", {"model": "III", "n": 400, "p": 60, "active": 5, "clients": 3}, [3], 1.0),
    },
    "privacy_audit": {
        "fb_sqrt_j": ("curves", {"row": "budget", "n": 30, "n_basis": 1, "n_predictors": 4}, [2], 1.0),
        "sir_slice_means_public": ("slices", {"row": "public_slices", "n": 100, "p": 3}, [1], 1.0),
        "walr_classic": ("labels", {"row": "label_sum", "n": 100, "k": 4}, [1], 1.0),
        "bucket_rr_public": ("trees", {"row": "public_buckets", "n": 60, "n_buckets": 10}, [1], 3.0),
        "scores_u_d": ("exchange", {"row": "scores", "n": 200}, [1], 1.0),
        "tracing": ("tracing", {"row": "tracing", "n": 41, "p": 5}, [1], 1.0),
    },
}
# Protocols that the default configuration has no method of.
MORE: dict[str, dict[str, Any]] = {
    "functional_boosting": {"roundwise": {"protocol": "roundwise"}, "central": {"protocol": "central"}},
}
# Options that cost time, at most so large where a method gives them; those of the audit also where it does not.
AUDIT = {"draws": 2000, "trials": 3, "canaries": 50}
CHEAP = AUDIT | {"audit_draws": 1000, "steps": 20, "trace_steps": 20, "rounds": 5}


def block(study: str) -> dict[str, Any]:
    """The block of a study in a configuration: its small cases, each with all methods."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["studies"][study]
    methods = {name: _cheap(entry) for name, entry in (default["methods"] | MORE.get(study, {})).items()}
    grid = {"methods": list(methods), "replicates": 1, "folds": 1}
    cases = {
        name: {"source": source, "settings": settings, "grid": grid | {"parties": parties, "epsilon": [epsilon]}}
        for name, (source, settings, parties, epsilon) in CASES[study].items()
    }
    return {"spec": default["spec"], "methods": methods, "cases": cases, "figures": []}


def _cheap(entry: dict[str, Any]) -> dict[str, Any]:
    """The same method in less time."""
    entry = (AUDIT if entry["protocol"] == "audit" else {}) | entry
    return entry | {key: min(value, entry[key]) for key, value in CHEAP.items() if key in entry}


def fits() -> Iterator[tuple[str, str, str]]:
    """Study, case and method of every fit."""
    for study in available():
        made = block(study)
        for case in made["cases"]:
            yield from ((study, case, method) for method in made["methods"])
