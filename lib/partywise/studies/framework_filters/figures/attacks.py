"""Figures of attacks on what was sent: unknown patients, and seeds of a mask."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fits_of, methods_of
from ....experiment.plotting.style import BLACK, BLUE, GREY, ORANGE, RED, empty, heading, legend_below, look, panels
from ..settings import HOSPITALS

TIMES = ("first round", "trained coefficients")
SEARCH = ("search_bits", "search_left", "search_hits")
# Bits of a seed as it is shipped.
SEED_BITS = 32


def one_record(cube: xr.Dataset) -> Figure:
    """Share of unknown patients that are named by who knows all other records of the hospital and the coefficients.

    First replicate; among all patients of the table, so that chance is 0.0014. A row for each layer, of several targets
    at the largest, a column for each hospital: in the first round, and at coefficients trained without a layer.
    """
    if "identified_shares" not in cube:
        return empty("No layer whose updates are attacked in this configuration.")
    for case in cases_of(cube, "identified_share"):
        fits = example_fits_of(cube, case)
        rows = {}
        for method in methods_of(cube, case):
            places = np.flatnonzero(fits["example_method"].values == method)
            places = places[np.isfinite(fits["identified_shares"].values[places]).any(axis=(1, 2))]
            if len(places):
                place = places[np.argmax(fits["example_epsilon"].values[places])]
                epsilon = float(fits["example_epsilon"].values[place])
                words = look(cube, method).label + (f", ε = {epsilon:g}" if np.isfinite(epsilon) else "")
                rows[words] = fits["identified_shares"].values[place]
        if not rows:
            continue
        shares = np.stack(list(rows.values()))
        shares = shares[:, np.isfinite(shares).all(axis=(0, 2))]
        names = HOSPITALS if shares.shape[1] == len(HOSPITALS) else range(1, shares.shape[1] + 1)
        figure, axes = panels(1, 2, 4.0, 0.36 * len(rows) + 1.9, sharey="all")
        for time, ax in enumerate(axes):
            ax.imshow(shares[:, :, time], cmap="Blues", vmin=0, vmax=1, aspect="auto")
            for (row, column), share in np.ndenumerate(shares[:, :, time]):
                color = "white" if share > 0.7 else BLACK
                ax.text(column, row, f"{share:.2f}", ha="center", va="center", color=color, fontsize=8)
            ax.grid(visible=False)
            ax.set_xticks(
                range(shares.shape[1]), [fill(str(name), 8, break_long_words=False) for name in names], fontsize=9
            )
            ax.set_title(TIMES[time])
        axes[0].set_yticks(range(len(rows)), list(rows))
        heading(figure, f"Share of unknown patients that are named, {title(cube, 'case', case)}")
        return figure
    return empty("No layer whose updates are attacked in this configuration.")


def keys(cube: xr.Dataset) -> Figure:
    """Search for the planted seed of a mask: seeds below so many bits, how many the first word leaves, and all words.

    The first word is the weight, which is one of 2^22 + 1 integers of 2^32, so that a seed in 1,024 is left by chance;
    all words leave the planted one alone. Beyond the largest range that was searched lines are extrapolated (dotted) to
    the 32 bits of a seed as it is shipped: no key of a real client was folded, and that range was not searched. First
    replicate.
    """
    arrays = [cube[name].values for name in SEARCH] if set(SEARCH) <= set(cube) else []
    fits = np.flatnonzero(np.isfinite(arrays[0]).any(axis=1)).tolist() if arrays else list[int]()
    if not len(fits):
        return empty("No masks in this configuration.")
    known = np.isfinite(arrays[0][fits[0]])
    bits, left, hits = (array[fits[0]][known] for array in arrays)
    figure, (ax,) = panels(1, 1, 5.6, 3.8)
    lines = (
        ("seeds tried", 2.0**bits, RED, "o"),
        ("left by the weight", left, ORANGE, "s"),
        ("left by all", hits, BLUE, "^"),
    )
    for words, values, color, marker in lines:
        ax.plot(bits, values, color=color, marker=marker, label=words)
        end = values[-1] if words == "left by all" else values[-1] * 2.0 ** (SEED_BITS - bits[-1])
        ax.plot([bits[-1], SEED_BITS], [values[-1], end], color=color, linestyle=":", linewidth=1.2)
    ax.axvline(SEED_BITS, color=GREY, linewidth=0.8)
    words = "seed as shipped,\nnot searched"
    ax.text(SEED_BITS - 0.3, 0.1, words, transform=ax.get_xaxis_transform(), ha="right", va="bottom", fontsize=8)
    ax.set_yscale("log", base=2)
    ax.set_xticks(range(int(bits[0]), SEED_BITS + 1, 2))
    ax.set(xlabel="bits below which the seed was planted", ylabel="seeds")
    legend_below(figure, [ax], 3)
    heading(figure, "Search for a planted seed of the mask of a pair")
    return figure
