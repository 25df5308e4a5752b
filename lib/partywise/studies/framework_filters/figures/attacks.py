"""Figures of attacks on what was sent: unknown patients, and seeds of a mask."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fits_of, methods_of
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    empty,
    heading,
    label_ends,
    legend_below,
    look,
    panels,
)
from ....experiment.tables.templates import TypesetTable
from ..settings import HOSPITALS

TIMES = ("first round", "trained coefficients")
SEARCH = ("search_bits", "search_left", "search_hits")
# Bits of a seed as it is shipped.
SEED_BITS = 32


def one_record(cube: xr.Dataset) -> TypesetTable:
    """Share of unknown patients that are named by who knows all other records of the hospital and the coefficients.

    First replicate; among all patients of the table. Two rows for each layer, of several targets at the largest: in
    the first round, and at coefficients trained without a layer; a column for each hospital.
    """
    question = "Which layers let an unknown patient be named from one update?"
    rows: list[dict[str, object]] = []
    for case in cases_of(cube, "identified_share") if "identified_shares" in cube else []:
        fits = example_fits_of(cube, case)
        for method in methods_of(cube, case):
            places = np.flatnonzero(fits["example_method"].values == method)
            places = places[np.isfinite(fits["identified_shares"].values[places]).any(axis=(1, 2))]
            if len(places):
                place = places[np.argmax(fits["example_epsilon"].values[places])]
                shares = fits["identified_shares"].values[place]
                rows += _rows(cube, case, method, float(fits["example_epsilon"].values[place]), shares)
    if not rows:
        return TypesetTable(question, (), ("No layer whose updates are attacked in this configuration.",))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    note = "Share of patients that an attack names who knows all other records of the hospital; first replicate."
    return TypesetTable(question, [{key: row.get(key, "") for key in columns} for row in rows], (note,))


def _rows(cube: xr.Dataset, case: str, method: str, epsilon: float, shares: np.ndarray) -> list[dict[str, object]]:
    """Rows of one layer, of its shares (hospital, time)."""
    sites = np.flatnonzero(np.isfinite(shares).all(axis=1)).tolist()
    names = HOSPITALS if len(sites) == len(HOSPITALS) else [f"hospital {site + 1}" for site in sites]
    rows: list[dict[str, object]] = []
    for time, words in enumerate(TIMES):
        row: dict[str, object] = {"case": title(cube, "case", case), "layer": look(cube, method).label}
        row |= {"target epsilon": epsilon if np.isfinite(epsilon) else "none", "update": words}
        row |= {name: f"{shares[site, time]:.0%}" for name, site in zip(names, sites, strict=True)}
        rows.append(row)
    return rows


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
        ("seeds tried", 2.0**bits, BLACK, "o"),
        ("left after the first word", left, ORANGE, "s"),
        ("left after all words", hits, BLUE, "^"),
    )
    for words, values, color, marker in lines:
        ax.plot(bits, values, color=color, marker=marker)
        end = values[-1] if words == "left after all words" else values[-1] * 2.0 ** (SEED_BITS - bits[-1])
        ax.plot([bits[-1], SEED_BITS], [values[-1], end], color=color, linestyle=":", linewidth=1.2, label=words)
    ax.axvline(SEED_BITS, color=GREY, linewidth=0.8)
    words = "seed as shipped,\nnot searched"
    ax.text(SEED_BITS - 0.3, 0.1, words, transform=ax.get_xaxis_transform(), ha="right", va="bottom", fontsize=8)
    ax.set_yscale("log", base=2)
    ax.set_xticks(range(int(bits[0]), SEED_BITS + 1, 2))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{np.log2(count):.0f}"))
    ax.set(xlabel="bits below which the seed was planted", ylabel="number of seeds,\nbase-2 logarithm")
    if not label_ends(figure, [ax]):
        legend_below(figure, [ax], 3)
    heading(figure, "How many seeds of a mask remain after a search through all of them?")
    return figure
