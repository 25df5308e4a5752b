"""The labels of a cube and the fits that it shows, next to the numbers of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from ...core.errors import CubeError
from ..blocks import Part
from ..plan import Plan
from .columns import CubeColumns
from .labels import case_labels, method_labels, word_of

SHOWN = ("case", "method", "parties", "epsilon")

COORDS: dict[str, tuple[str, str]] = {
    "case": ("data-generating setting", "1"),
    "method_label": ("label of the method in the configuration", "1"),
    "replicate": ("number of the replicate", "1"),
    "parties": ("number of parties that own predictors", "1"),
    "fold": ("held-out fold", "1"),
    "epsilon": ("target epsilon; inf where the method has none", "1"),
}


def header_of(plan: Plan, columns: CubeColumns, parts: Iterable[Part]) -> xr.Dataset:
    """The labels of the six dims with what they stand for, and the example fits of the parts that have any."""
    labels = columns.places.labels
    example_fits, example_labels = _example_fits(list(parts), labels, columns.described)
    coords = example_labels | {name: (name, values, _attributes(COORDS[name])) for name, values in labels.items()}
    methods = labels["method_label"].tolist()
    claims = np.array([columns.costs("epsilon_claimed", method) for method in methods], dtype="int8")
    about = _attributes(("1 if some fit of the method claims a positive finite epsilon", "1"))
    coords |= case_labels(plan) | method_labels(plan, methods) | {"method_claims": ("method_label", claims, about)}
    return xr.Dataset(example_fits, coords=coords)


def _attributes(entry: tuple[str, str]) -> dict[str, str]:
    return {"long_name": entry[0], "units": entry[1]}


def _example_fits(
    parts: Sequence[Part], labels: Mapping[str, np.ndarray], described: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, xr.Variable], dict[str, xr.Variable]]:
    """Arrays over (example_fit, own dims), one entry for each fit that is shown, and the labels of these fits.

    A dim of their own keeps the cube small: the product of cases, methods, parties and epsilons is mostly empty.
    Sizes that differ between cases are padded by NaN.
    """
    order = {word_of(dim): {value: i for i, value in enumerate(values.tolist())} for dim, values in labels.items()}
    fits = [
        (
            (part.case, part.method, part.parties, epsilon),
            {n: (d, a[i]) for n, (d, a) in part.example_fits.items()},
        )
        for part in parts
        for i, epsilon in enumerate(part.epsilon)
        if part.example_fits
    ]
    fits.sort(key=lambda entry: tuple(order[dim][label] for dim, label in zip(SHOWN, entry[0], strict=True)))
    variables: dict[str, xr.Variable] = {}
    for name in sorted({name for _, arrays in fits for name in arrays}):
        dims = {arrays[name][0] for _, arrays in fits if name in arrays}
        if len(dims) > 1:
            raise CubeError(
                f"example array {name} has dims {sorted(dims)} in different cells: keep to one set of dims."
            )
        size = np.max([arrays[name][1].shape for _, arrays in fits if name in arrays], axis=0, initial=0)
        values = np.full([len(fits), *map(int, size)], np.nan)
        for i, (_, arrays) in enumerate(fits):
            if name in arrays:
                place = tuple(slice(n) for n in arrays[name][1].shape)
                values[i][place] = arrays[name][1]
        encoding = {"dtype": "float64", "_FillValue": np.nan}
        variables[name] = xr.Variable(("example_fit", *dims.pop()), values, _attributes(described[name]), encoding)
    coords = {
        f"example_{dim}": xr.Variable(
            "example_fit", [key[i] for key, _ in fits], {"long_name": f"{dim} of the fit that is shown", "units": "1"}
        )
        for i, dim in enumerate(SHOWN if fits else ())
    }
    return variables, coords
