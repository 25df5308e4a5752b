"""Figures of vertical GLM: how many iterations a solver takes, how the objective falls, and what parties cost."""

from __future__ import annotations

from functools import partial

import xarray as xr

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.style import shade
from ....models.family_facts import FACTS
from .case_facts import ends, setting_of


def _family(cube: xr.Dataset, case: str) -> str:
    """The family of the response in words."""
    return FACTS[str(setting_of(cube, case, "model"))].title


iterations_by_correlation = Lines(
    "Iterations until the tolerance",
    x="rho",
    y=Axis({"iterations": "iterations or sweeps"}, log=True),
    xlabel="correlation ρ of any two columns",
    by="family",
    size=(3.7, 3.4),
    panel=_family,
    columns=5,
    share=True,
    style=shade,
    overlap=True,
    none="No family with several correlations of the columns in this configuration.",
    caption="Iterations against the correlation of any two columns: one panel per family, thicker lines for more "
    "parties. Where lines lie on each other, the marks of the later one are smaller.",
)
objective_by_iteration = Lines(
    "How the objective falls, the ridge of a method included",
    x="path_iteration",
    y=Axis({"path_excess": "objective above the pooled fit\n(1: no column used)"}, log=True, linear=1e-12),
    xlabel="iterations or sweeps",
    fewest=2,
    select=partial(ends, most=6),
    style=shade,
    share=True,
    logx=True,
    none="No case with the objective of several solvers in this configuration.",
    caption="Objective above the least deviance, in what all columns explain, by iteration.",
)
costs_by_parties = Lines(
    "What more parties cost",
    x="parties",
    y=(Axis("bytes_measured", log=True), Axis({"secure_products": "products of\nsecret-shared numbers"}, bottom=0)),
    needs="bytes_measured",
    select=partial(ends, most=5),
    share=True,
    size=(3.2, 2.5),
    style=shade,
    none="No method that sends messages in this configuration.",
    caption="Bytes of all messages, and products of secret-shared numbers, by the number of parties. Cases with one "
    "number of parties are shown where no case has several.",
)
