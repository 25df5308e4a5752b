"""Errors and widths of all numbers over epsilon."""

from __future__ import annotations

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines

numbers_by_epsilon = Lines(
    "How far are released numbers from those of the pooled records?",
    x="epsilon",
    y=[
        Axis({"error": "distance in standard errors\nof the pooled numbers, median"}, log=True),
        Axis({"width_ratio": "width of intervals over that\nof the pooled records' intervals"}, log=True),
    ],
    size=(3.7, 4.0),
    ends="At ε = {place}",
    none="No case with private methods in this configuration.",
    caption="Median distance of the determined numbers from those of the pooled records, in the standard "
    "errors of these, and geometric mean of the widths of their intervals over those of the pooled records for a "
    "population, against the target epsilon; a panel for each case. Means over {replicates}.",
)
