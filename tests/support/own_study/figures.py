"""The figure of the study."""

from __future__ import annotations

import matplotlib.pyplot as plt


def errors(cube):
    """Error of the private mean by epsilon, one line a number of parties."""
    mean = cube["error"].mean(["replicate", "fold"]).isel(case=0, method_label=0)
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    for count in cube["parties"].values:
        axes.loglog(cube["epsilon"], mean.sel(parties=count), marker="o", label=f"{count} clients")
    axes.set(xlabel="epsilon", ylabel="error of the mean")
    axes.legend()
    return figure
