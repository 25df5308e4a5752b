"""One look for all figures: a colour and a marker for each kind of method, readable in greyscale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's palette: distinguishable with the common colour vision deficiencies.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE, GREY = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"

SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Look:
    """How one method is drawn, in every figure."""

    label: str
    color: str
    marker: str
    line: str = "-"


LOOKS = {
    "mean_curve": Look("mean curve", GREY, "_", ":"),
    "least_squares": Look("least squares, pooled, no privacy", GREY, "x", "--"),
    "oracle": Look("true operators", BLACK, "*", ":"),
    "predictor_none": Look("no noise", BLACK, "o"),
    "predictor_fixed": Look("local noise s = 0.5", RED, "s"),
    "predictor_sqrt_j": Look("local noise s = 0.2 √J", BLUE, "^"),
    "predictor_rho": Look("local noise at ρ = 4000", GREEN, "D", "--"),
    "party_none": Look("no noise", BLACK, "o"),
    "party_fixed": Look("local noise s = 0.5", RED, "s"),
    "party_sqrt_j": Look("local noise s = 0.2 √J", BLUE, "^"),
    "party_rho": Look("local noise at ρ = 4000", GREEN, "D", "--"),
    "local": Look("released curves (local)", RED, "s"),
    "moments": Look("released moments (central)", PURPLE, "v"),
    "roundwise_last": Look("noise every round, newest", SKY, "<", "--"),
    "roundwise_mean": Look("noise every round, averaged", BLUE, ">", "-."),
    "local_dp_radius": Look("released curves, private radius", ORANGE, "D", "--"),
    "local_smooth": Look("released curves, smooth directions only", BLUE, "^", "-."),
    "published": Look("as published, s = 0.2", ORANGE, "P", "-."),
    "published_sqrt_j": Look("as published, s = 0.2 √J", BLUE, "^", "--"),
    "published_party": Look("as published, party learner", RED, "s"),
    "published_update": Look("as published, with its increment", PURPLE, "v", ":"),
    "published_noise_right": Look("published, with the right noise", GREEN, "D"),
    "certified_fine": Look("certified, s = 0.2", BLACK, "o"),
    "published_noise": Look("published noise N(0, s²M)", ORANGE, "P"),
    "corrected_noise": Look("corrected noise N(0, s²M⁻¹)", GREEN, "D"),
    "published_hybrid": Look("published trainer and noise (central)", RED, "P", "-."),
    "published_newton": Look("published noise, exact fit, ridge (central)", ORANGE, "s", "--"),
    "analytic": Look("exact noise level, ridge (central)", PURPLE, "v", "--"),
    "planned": Look("planned noise and ridge (central)", BLUE, "o"),
    "rr": Look("randomised response, ridge (local)", SKY, "h", ":"),
    "rr_planned": Look("randomised response, planned (local)", SKY, "^", "--"),
    "auto": Look("planner's choice (central or local)", GREEN, "D"),
    "noisy_gd": Look("noise in every step (central)", GREY, "<", ":"),
    "label_sgd": Look("noise in every step, samples (central)", GREY, ">", "-."),
    "objective_perturbation": Look("objective perturbation, unit row (central)", YELLOW, "X", "--"),
    "non_private": Look("no privacy", BLACK, "*", ":"),
    "classic": Look("classic noise formula", RED, "P"),
    "no_ridge": Look("published noise, full batch, no ridge (central)", RED, "s", "--"),
    "free_newton": Look("damped Newton", BLACK, "*"),
    "free_full_batch": Look("full batch", ORANGE, "s", "--"),
    "free_hybrid": Look("hybrid: batch left, all labels right", BLUE, "o"),
    "free_minibatch": Look("ordinary mini-batch", SKY, "^", "-."),
    "sir": Look("SIR, pooled, no privacy", BLACK, "*", ":"),
    "sir_real": Look("SIR, pooled, no privacy", BLACK, "*", ":"),
    "iid_real": Look("FSIR-IID as published", SKY, "s", "--"),
    "vgm_real": Look("FSIR-VGM as published", RED, "o"),
    "cert_screened": Look("certified, noisy votes", GREEN, "D"),
    "fsir_iid": Look("FSIR-IID as published", SKY, "s", "--"),
    "fsir_vgm": Look("FSIR-VGM as published", RED, "o"),
    "lda_iid": Look("DP-LDA, IID", PURPLE, "^", ":"),
    "lda_vgm": Look("DP-LDA, VGM", ORANGE, "v", ":"),
    "cert": Look("certified", GREEN, "D"),
    "cert_whiten": Look("certified, whitened", BLUE, "P"),
    "iid_equal": Look("IID, public slices, exact noise", SKY, "s", "--"),
    "cert_equal": Look("certified", GREEN, "D"),
    "whiten_equal": Look("certified, whitened", BLUE, "P"),
}
SPARE = [ORANGE, SKY, GREEN, BLUE, RED, PURPLE, GREY]


def look(method: str) -> Look:
    """The look of a method; labels outside the list get a spare colour by their name, the same in every figure."""
    if method in LOOKS:
        return LOOKS[method]
    index = sum(method.encode())
    return Look(method.replace("_", " "), SPARE[index % len(SPARE)], "osD^vP<>"[index % 8])


def panels(rows: int, columns: int, width: float, height: float, **options) -> tuple[Figure, list[Axes]]:
    """A figure of rows x columns panels in the common style; ``width`` and ``height`` of one panel in inches."""
    mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)
    return figure, list(axes.ravel())


def legend_below(figure: Figure, axes: list[Axes], columns: int = 4) -> None:
    """One legend for all panels, below them, without repetitions."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns)


def empty(reason: str) -> Figure:
    """A figure that says why there is nothing to show in this configuration."""
    figure, (ax,) = panels(1, 1, 6, 1.2)
    ax.set_axis_off()
    ax.text(0.5, 0.5, reason, ha="center", va="center", wrap=True, transform=ax.transAxes)
    return figure
