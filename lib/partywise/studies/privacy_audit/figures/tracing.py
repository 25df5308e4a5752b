"""The tracing attack on a discriminant direction: ROC curves of the raw direction and of private ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from ....experiment.plotting.select import having, title
from ....experiment.plotting.series import series
from ....experiment.plotting.style import BLACK, BLUE, ORANGE, PURPLE, Marks, empty, heading, legend_of, panels
from ....plot.curves import privacy_curve
from ....privacy.accounting.compose import cost

# Panels side by side: each has a legend of its own.
ABREAST = 2
LIMIT = "most that its certificate leaves to any attack"
PRIVATE = ((BLUE, "--"), (ORANGE, "-."), (PURPLE, ":"))


def tracing_roc(cube: xr.Dataset) -> Figure:
    """True- against false-positive rate of a tracing attack, with the area under each curve.

    Curves are means over random splits into members and others, of the first replicate; areas are means over
    {replicates} with the standard error of the splits. A thin line of the colour of a private direction is the largest
    true-positive rate that its certificate leaves to any attack, where the ledger certifies one. The dotted diagonal is
    guessing. This describes one attack: an area near one half proves no privacy.
    """
    if "roc_true" not in cube:
        return empty("No tracing attack in this configuration.")
    examples = cube[["roc_false", "roc_true"]].isel(
        example_fit=np.flatnonzero(cube["roc_true"].notnull().all("rate").values)
    )
    cases = list(dict.fromkeys(map(str, examples["example_case"].values)))
    abreast = min(ABREAST, len(cases))
    figure, axes = panels(-(-len(cases) // abreast), abreast, 4.0, 4.0)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    limits: dict[str, Artist] = {}
    for ax, case in zip(axes, cases, strict=False):
        curves = list(_curves(cube, examples, case))
        for label, style, rates, _ in curves:
            ax.plot(*rates, label=label, **style)
        bounds = {label: cost(mu=mu) for label, _, _, mu in curves if np.isfinite(mu)}
        thin: dict[str, Marks] = {
            label: style | {"linewidth": 0.8, "label": f"{label.partition(':')[0]}: {LIMIT}"}
            for label, style, _, _ in curves
            if label in bounds
        }
        privacy_curve(bounds, kind="roc", marks=thin, ax=ax)
        ax.text(0.8, 0.76, "guessing", rotation=45, rotation_mode="anchor", ha="center", va="top", fontsize=7.5)
        members = float(cube["members"].sel(case=case).max())
        ax.set(title=f"{title(cube, 'case', case)}, {members:.0f} members", xlabel="false-positive rate")
        ax.set(ylabel="true-positive rate", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        handles = ax.lines[: len(curves)]
        ax.legend(handles=handles, loc="lower right", title="area ± standard error")
        limits |= {str(line.get_label()): line for line in ax.lines if LIMIT in str(line.get_label())}
    if limits:
        legend_of(figure, list(limits.values()), list(limits), 2)
    heading(figure, "Who was among the records? Area under the curve of one tracing attack on a released direction")
    return figure


def _curves(
    cube: xr.Dataset, examples: xr.Dataset, case: str
) -> Iterator[tuple[str, Marks, tuple[np.ndarray, np.ndarray], float]]:
    """Label, line style, rates and certified mu: the raw direction once, then private ones from large to small epsilon.

    mu is infinite where nothing is certified.
    """
    place = np.flatnonzero(examples["example_case"].values == case)
    keys = [(str(examples["example_method"].values[i]), float(examples["example_epsilon"].values[i]), i) for i in place]
    corrected = having(cube, "method", variant="corrected")
    raw = [key for key in keys if key[0] not in corrected][:1]
    private = sorted((key for key in keys if key[0] in corrected), key=lambda key: -key[1])
    looks = [(BLACK, "-")] * len(raw) + [PRIVATE[k % len(PRIVATE)] for k in range(len(private))]
    for (method, epsilon, i), (color, line) in zip(raw + private, looks, strict=True):
        area = series(cube, "tracing_auc", case, method, "epsilon")
        error = series(cube, "tracing_se", case, method, "epsilon")
        at = int(np.flatnonzero(area.x == epsilon)[0])
        name = f"ε = {epsilon:g}" if method in corrected else "without noise"
        label = f"{name}: {area.mean[at]:.3f}"
        if len(error.mean) > at:
            label += f" ± {error.mean[at]:.3f}"
        rates = (examples["roc_false"].values[i], examples["roc_true"].values[i])
        known = series(cube, "mu_upper", case, method, "epsilon")
        bounds = known.mean[known.x == epsilon] if method in corrected else []
        yield label, {"color": color, "linestyle": line}, rates, float(max(bounds, default=np.inf))
