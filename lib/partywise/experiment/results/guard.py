"""Cubes whose methods cannot be missed: ``cube.sel(method="planned")`` is an error, and not the whole cube.

``method`` is a parameter of `xarray.Dataset.sel` (how to look up labels that are not there), which it ignores where
nothing is looked up. The dim has another name for that reason, and what is read from a file refuses the slip.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping

# Any: indexers and labels as xarray takes them, whose signature is kept.
from typing import Any, Self

import numpy as np
import xarray as xr

DIM = "method_label"
# How xarray looks up numbers that are not there.
LOOKUPS = ("nearest", "pad", "ffill", "backfill", "bfill")
# Labels that an error names.
SHOWN = 12


class CubeVariable(xr.DataArray):
    """A variable of a cube; `sel` as of `Cube`."""

    __slots__ = ()

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        **labels: Any,
    ) -> Self:
        """Select by labels, as in `Cube.sel`."""
        _check(self, {**(indexers or {}), **labels}, method)
        return super().sel(indexers, method, tolerance, drop, **labels)


class Cube(xr.Dataset):
    """A cube as `open_cube` reads it: a data set of xarray in which a method is selected by ``method_label``."""

    __slots__ = ()

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        **labels: Any,
    ) -> Self:
        """Select by labels, as of xarray; `KeyError` names the nearest label to one that is not there.

        ``method`` is a lookup of xarray: a method of the cube is selected by ``method_label``, which the error states.
        """
        _check(self, {**(indexers or {}), **labels}, method)
        return super().sel(indexers, method, tolerance, drop, **labels)

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, xr.DataArray):
            value.__class__ = CubeVariable
        return value


def guard_methods(cube: xr.Dataset) -> Cube:
    """Return the data set itself, as a cube."""
    cube.__class__ = Cube
    assert isinstance(cube, Cube)
    return cube


def _check(of: xr.Dataset | xr.DataArray, labels: Mapping[Any, Any], method: str | None) -> None:
    """KeyError for a method that is named as xarray's lookup, and for labels that are not there."""
    if method is not None and (method not in LOOKUPS or not labels):
        about = f"method={method!r} of sel is how xarray looks up labels, and selects nothing"
        known = _labels(of, DIM)
        if known and method not in known:
            raise KeyError(f"{about}: select by {DIM}; no method is called so, {_nearest(method, known)}.")
        raise KeyError(f"{about}: write sel({DIM}={method!r}).")
    for dim, value in labels.items():
        known = _labels(of, dim)
        asked = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
        for label in asked if known else []:
            if isinstance(label, str) and label not in known:
                raise KeyError(f"{dim}={label!r} is not in the cube, {_nearest(label, known)}.")


def _labels(of: xr.Dataset | xr.DataArray, dim: Hashable) -> list[str]:
    """Labels along a dim; none where it has numbers or is gone."""
    coordinate = of.coords.get(dim)
    return (
        []
        if coordinate is None or coordinate.dtype.kind not in "OU"
        else [str(label) for label in np.atleast_1d(coordinate.values)]
    )


def _nearest(label: str, known: list[str]) -> str:
    near = difflib.get_close_matches(label, known, 1)
    names = ", ".join(known[:SHOWN]) + " and more" * (len(known) > SHOWN)
    return (f"the nearest is {near[0]!r}; " if near else "") + f"there are {names}"
