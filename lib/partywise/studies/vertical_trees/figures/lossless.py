"""Figures of vertical trees: whether a federated fit is the pooled one, and whether its thresholds keep its leaves."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import coordinate_of, title
from .utility import LOSSES

DIFFERENCE = {"max_prediction_difference": "largest difference\nto the pooled fit"}


lossless_by_parties = Lines(
    "Trees of more parties",
    x="parties",
    y=(Axis(LOSSES), Axis(DIFFERENCE, log=True, linear=1e-16, levels={1e-12: "rounding of sums"})),
    needs="max_prediction_difference",
    size=(4.0, 2.4),
    overlap=True,
    least=2,
    none="No case with several numbers of parties in this configuration.",
    caption="Test loss and largest difference to the pooled fit of the same codes, by the number of parties. Where "
    "lines lie on each other, later marks are smaller, and the largest hollow.",
)


def _rerouting(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases in which something was rerouted."""
    return [case for case in cases if float(cube["rows_rerouted"].sel(case=case).max()) > 0]


def _bins(cube: xr.Dataset, case: str, method: str) -> str:
    """The number of bins, where the title of the method does not state it."""
    bins = coordinate_of(cube, "method", method, "n_bins")
    in_title = not bins or f"{bins:g}" in title(cube, "method", method)
    return "" if in_title else f", {bins:g} bins"


rows_rerouted = Lines(
    "Rows that change their leaf when routed by the stored thresholds",
    x="epsilon",
    y=Axis({"rows_rerouted": "share of training rows\nin another leaf"}, percent=True, bottom=-0.02, top=1.02),
    select=_rerouting,
    suffix=_bins,
    least=0,
    share=True,
    none="No case whose thresholds could reroute a row in this configuration.",
    caption="Share of training rows that the stored thresholds route to another leaf than the codes that were learned "
    "from.",
)
