"""The shipped configurations and their plans, read once by a process of tests; nobody changes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from partywise.experiment.plan import Plan
from partywise.experiment.plans import plans, read_configuration
from pipeline import ROOT

DEFAULT = ROOT / "config.yaml"
SHIPPED = (DEFAULT, *sorted((ROOT / "config").glob("*.yaml")))


@cache
def shipped(path: Path = DEFAULT) -> dict[str, Any]:
    """The content of a configuration, by default of that of `./run`."""
    return read_configuration(path)


@cache
def shipped_plans(path: Path = DEFAULT) -> Mapping[str, Plan]:
    """The plans of its studies, in its order."""
    return plans(shipped(path))
