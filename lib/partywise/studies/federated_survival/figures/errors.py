"""What privacy costs: errors of survival curves and of log hazard ratios against epsilon."""

from __future__ import annotations

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines

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
    y=Axis({"coefficient_rms": "distance from the pooled fit,\nits standard errors (rms)"}, log=True),
    none="No case with covariates in this configuration.",
    caption="Root mean square distance of log hazard ratios from those of the pooled Cox regression, in its standard "
    "errors, against the target epsilon; a panel for each case. Means over {replicates}.",
)
