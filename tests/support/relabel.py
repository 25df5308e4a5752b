"""A cube whose cases and methods have other labels: what is drawn of it may not change."""

from __future__ import annotations

import json
from typing import Any

import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from partywise.experiment.plotting.select import plan_behind
from partywise.experiment.results.labels import dim_of
from partywise.experiment.tables.templates import TypesetTable


def relabelled(cube: xr.Dataset) -> xr.Dataset:
    """The cube under labels that nobody would choose; titles and all other coordinates stay."""
    new = {
        dim: {str(v): f"{dim[0]}_{i}_zq" for i, v in enumerate(cube[dim_of(dim)].values)} for dim in ("case", "method")
    }
    made = json.loads(cube.attrs["config_json"])
    cases = {}
    for name, entry in plan_behind(cube).plain["cases"].items():
        if name in new["case"]:
            listed = [new["method"][label] for label in entry["grid"]["methods"]]
            grid = entry["grid"] | {"methods": listed}
            cases[new["case"][name]] = {"source": name, **entry, "grid": grid}
    methods = {new["method"][label]: entry for label, entry in made["methods"].items() if label in new["method"]}
    coords: dict[str, Any] = {dim_of(dim): [new[dim][str(v)] for v in cube[dim_of(dim)].values] for dim in new}
    for dim in new:
        if f"example_{dim}" in cube:
            coords[f"example_{dim}"] = ("example_fit", [new[dim][str(v)] for v in cube[f"example_{dim}"].values])
    other = cube.assign_coords(coords)
    return other.assign_attrs(config_json=json.dumps(made | {"cases": cases, "methods": methods}))


def content(figure: Figure | TypesetTable) -> list[Any]:
    """Texts, lines and points of a figure, in order, or rows and notes of a table; the figure is closed."""
    if isinstance(figure, TypesetTable):
        return [figure.title, *map(dict, figure.rows), *figure.notes]
    plt.close(figure)
    found: list[Any] = [figure._suptitle.get_text() if figure._suptitle else ""]
    for ax in figure.axes:
        found += [ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]
        found += [(line.get_label(), str(line.get_color()), line.get_xydata().tobytes()) for line in ax.get_lines()]
        found += [points.get_offsets().tobytes() for points in ax.collections]
        found += [image.get_array().tobytes() for image in ax.images]
    return found + [text.get_text() for legend in figure.legends for text in legend.get_texts()]
