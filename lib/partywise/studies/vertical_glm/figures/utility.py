"""Figure of private vertical GLM: what a certified epsilon costs, and whom one has to trust for it."""

from __future__ import annotations

import xarray as xr

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import plan_behind, title
from ....experiment.results.attributes import meanings

EXCESS = "excess_deviance"


def _records(cube: xr.Dataset, case: str) -> str:
    """Title of a case, and on which records the deviance is."""
    records = "on held-out records" if plan_behind(cube).cases[case].folds > 1 else "on the records of the fit"
    return f"{title(cube, 'case', case)}\n{records}"


def _trust(cube: xr.Dataset, case: str, method: str) -> str:
    """Return what the epsilon of a method with a target rests on, as its ledger states."""
    if not bool(cube["method_claims"].sel(method_label=method)):
        return ""
    values = meanings(cube["trust"].sel(case=case, method_label=method)).values.ravel()
    stated = {str(value).replace("_", " ") for value in values} - {"not in design"}
    # Whose keys these are depends on the number of parties, and is too much for a legend.
    parts = {part for value in stated for part in value.split("; ")}
    words = sorted({"encryption holds" if part.startswith("encryption") else part for part in parts})
    if words == ["nobody"]:
        return "; trusts nobody"
    return f"; if the {' and the '.join(words)}" if words else ""


deviance_by_epsilon = Lines(
    "How much deviance does a certified ε cost, and whom does it trust?",
    ends="Deviance above the pooled fit at ε = {place}",
    x="epsilon",
    y=Axis({EXCESS: "deviance above the pooled fit\n0: pooled, 1: no column used"}, log=True),
    panel=_records,
    suffix=_trust,
    legend=2,
    size=(4.2, 4.0),
    none="No method with a target of epsilon in this configuration.",
    caption="Deviance above the pooled fit at each certified epsilon, by the title on held-out records or on those of "
    "the fit. 0 is the pooled fit, 1 a model without columns.",
)
