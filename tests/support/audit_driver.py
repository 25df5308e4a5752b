"""One cell of the audit study in this process: what the tests of the study and of the known-bad formulas share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from error_rates import ALPHA
from partywise.experiment.cells import Cell, run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan

# Each sampled bound is wrong with probability ALPHA, so a bound above a true epsilon is no bad luck.
SURE = 1 - ALPHA
SEED = 7


def audit_plan(
    source: str, settings: dict[str, Any], variant: str, epsilon: float, parties: int = 1, **options: Any
) -> Plan:
    """A study with one case and one method."""
    given = {"draws": 20_000, "confidence": SURE, "canary_confidence": SURE, "trials": 20} | options
    grid = {"methods": [variant], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [epsilon]}
    block = {
        "methods": {variant: {"protocol": "audit", "variant": variant, **given}},
        "cases": {"one": {"source": source, "settings": settings, "grid": grid}},
    }
    return plan("privacy_audit", block, SEED)


@cache
def _cell(frozen: tuple[Any, ...]) -> Cell:
    source, settings, variant, epsilon, parties, options = frozen
    made = audit_plan(source, dict(settings), variant, epsilon, parties, **dict(options))
    data = generate(made, "one", [0], Path("resources"))
    return run(made, "one", variant, parties, [0], [0], data)[0]


def cell(
    source: str, settings: dict[str, Any], variant: str = "published", epsilon: float = 1.0, parties: int = 1, **options
) -> Cell:
    """One fit with its ledger and its scalars."""
    return _cell((source, tuple(settings.items()), variant, epsilon, parties, tuple(options.items())))


def scalars(source: str, settings: dict[str, Any], variant: str = "published", epsilon: float = 1.0, **options) -> dict:
    """Its scalars."""
    return dict(cell(source, settings, variant, epsilon, **options).scalars)
