"""Figures 2 and 3 of the source: angle to the true subspace, as published and at one certified epsilon, one cube."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import xarray as xr

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.series import methods_of
from ....experiment.plotting.style import look
from ....privacy.rounding import upward
from ..settings import SimulatedSlicingSettings


def simulated_settings(cube: xr.Dataset) -> dict[str, SimulatedSlicingSettings]:
    """Settings in force of the simulated cases."""
    cases = plan_behind(cube).cases
    return {case: cases[case].settings for case in having(cube, "case", source="simulated")}


def party_counts(cube: xr.Dataset, case: str) -> int:
    """Count the numbers of clients that a case has."""
    done = (cube["status"].sel(case=case) > 0).any(["method_label", "replicate", "fold", "epsilon"])
    return int(done.sum())


def methods_by_calibration(cube: xr.Dataset, case: str) -> tuple[list[str], list[str]]:
    """Methods of a case at their own claims, and those whose releases cost one total; no privacy is in both."""
    total, free = having(cube, "method", calibrate="claims"), having(cube, "method", protocol="reference")
    total, methods = [*total, *having(cube, "method", noise="shared")], methods_of(cube, case)
    return [m for m in methods if m not in total], [m for m in methods if m in (*total, *free)]


def published_methods(cube: xr.Dataset, case: str) -> list[str]:
    """The published method whose claim is shown next to methods that keep theirs: algorithm 2, if the case has it."""
    others = having(cube, "method", mechanism="iid") + having(cube, "method", estimator="lda")
    methods = methods_of(cube, case)
    return [m for m in having(cube, "method", protocol="published") if m in methods and m not in others][:1]


def claim_label(cube: xr.Dataset, case: str, method: str) -> str:
    """Name of a published method with what it claims and what it proves."""
    return f"{look(cube, method).label}: ε = ∞, claimed {price(cube, case, method, 'epsilon_claimed'):.3g}"


def price(cube: xr.Dataset, case: str, method: str, name: str) -> float:
    """Claimed or certified epsilon of a method in a case."""
    values = cube[name].sel(case=case, method_label=method).values
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else np.nan


def _budgets(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods at their own claims; certified ones at one total, next to the published one that keeps no such claim."""
    (by_claim, equal), total = methods_by_calibration(cube, case), having(cube, "method", calibrate="claims")
    certified = [price(cube, case, method, "epsilon_certified") for method in equal if method in total]
    words = f"certified methods at ε = {upward(certified[0])}" if certified else "without privacy"
    return {"each method at its own claim": by_claim, words: [*equal, *published_methods(cube, case)]}


def _claim(cube: xr.Dataset, case: str, method: str) -> str:
    """Return the claim of a method of which nothing is certified, in words."""
    certified, claimed = (price(cube, case, method, f"epsilon_{name}") for name in ("certified", "claimed"))
    return f": ε = ∞, claimed {claimed:.3g}" if np.isinf(certified) and np.isfinite(claimed) else ""


def _of_one_client(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Simulated cases with one number of clients that are not rows of tables."""
    settings = simulated_settings(cube)
    return [c for c in cases if c in settings and settings[c].row is None and party_counts(cube, c) == 1]


def _of_many_clients(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Simulated cases with several numbers of clients that are not rows of tables, by model and size."""
    settings = simulated_settings(cube)
    chosen = [c for c in cases if c in settings and settings[c].row is None and party_counts(cube, c) > 1]
    return sorted(chosen, key=lambda case: (settings[case].model, settings[case].n))


def _model(cube: xr.Dataset, case: str) -> str:
    """The model of a case."""
    return f"model {simulated_settings(cube)[case].model}"


def _size(cube: xr.Dataset, case: str) -> str:
    """Model and records per client of a case."""
    return f"{_model(cube, case)}, n = {simulated_settings(cube)[case].n} per client"


ANGLE = Axis({"angle": "angle to the true subspace"}, bottom=0, top=92)
angle_by_size = Lines(
    "How many records does one client need?",
    x="n",
    y=ANGLE,
    xlabel="records n of the one client",
    by="model",
    select=_of_one_client,
    groups=_budgets,
    suffix=_claim,
    panel=_model,
    spread="middle",
    logx=True,
    share=True,
    size=(3.9, 3.2),
    ends="Angle to the true subspace in degrees, n = {place}",
    at=inf,
    none="No simulated case with one number of clients in this configuration.",
    caption="Angle to the true subspace against the number of records of one client, a column for each model; each "
    "method at its own claim, and certified ones at one total. Means over {replicates}; bars reach from the 5 % to the "
    "95 % quantile of the replicates, of few to the extremes. A published method without a certificate stands beside "
    "the certified ones, at its claim.",
)
angle_by_clients = Lines(
    "How many clients are needed?",
    x="parties",
    y=ANGLE,
    xlabel="clients K",
    select=_of_many_clients,
    groups=_budgets,
    suffix=_claim,
    panel=_size,
    least=2,
    logx=True,
    share=True,
    size=(3.9, 3.2),
    ends="Angle to the true subspace in degrees, K = {place}",
    at=inf,
    none="No simulated case with several numbers of clients, besides rows of tables, in this configuration.",
    caption="Angle to the true subspace against the number of clients, a column for each size; each method at its own "
    "claim, and certified ones at one total, with a published one at its claim.",
)
