"""Figures of errors and of the coverage of intervals over epsilon, and of shares of records that are read."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from ....experiment.plotting.bars import Bars
from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines


def _read(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases in which some method lets records be read."""
    return [case for case in cases if cube["records_read"].sel(case=case).max() > 0]


survival_error = Lines(
    "What privacy costs survival curves",
    x="epsilon",
    y=Axis({"km_error": "largest distance from\npooled Kaplan-Meier"}, log=True),
    none="No case with survival curves in this configuration.",
    caption="Largest distance of the survival curve from the pooled Kaplan-Meier curve, over 500 times until the "
    "horizon and all groups, against the target epsilon; a panel for each case. Means over {replicates}.",
)
hazard_ratio_error = Lines(
    "What privacy costs log hazard ratios",
    x="epsilon",
    y=(
        Axis({"coefficient_rms": "distance from the pooled fit,\nits standard errors (rms)"}, log=True),
        Axis(
            {"squared_error": "squared distance, share of\nthe squared length"},
            log=True,
            levels={1.0: "log hazard ratios of 0"},
        ),
    ),
    none="No case with covariates in this configuration.",
    caption="Root mean square distance of log hazard ratios from those of the pooled Cox regression, in its standard "
    "errors, and their squared distance as a share of the squared length of the pooled ones, which is 1 for log hazard "
    "ratios of 0, against the target epsilon; a panel for each case. Means over {replicates}.",
)
interval_coverage = Lines(
    "What 95 % intervals of survival cover",
    x="epsilon",
    y=(
        Axis({"curve_coverage": "coverage, noise counted"}, percent=True, top=1, levels={0.95: "95 %"}),
        Axis({"curve_coverage_of_sampling": "coverage, noise left out"}, percent=True, top=1, levels={0.95: "95 %"}),
    ),
    none="No case of generated records without covariates in this configuration.",
    caption="Share of edges at which the 95 % interval holds the true survival: of intervals that count the noise of "
    "privacy, and of those that leave it out. Means over {replicates}.",
)
records_read = Bars(
    "Records that somebody can read off what crosses",
    Axis("records_read", percent=True, bottom=0, top=1),
    select=_read,
    none="No case in this configuration in which records are read.",
    caption="Share of records whose covariates or exact time somebody can compute from the messages: the largest over "
    "replicates, targets and numbers of parties, in cases in which some method lets records be read.",
)
