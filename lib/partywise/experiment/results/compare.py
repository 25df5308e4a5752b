"""Two cubes, cell by cell and to the last bit: what moved, and what only one of them holds.

Cells are matched by their labels and words by what they say, so that neither the order of labels nor the numbering of
flags counts.  A regression report: the acceptance of every change that must not move a number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from ...core.errors import CubeError
from ..configuration.new_names import RENAMED, RENAMED_VALUES, RENAMED_VARIABLES
from .attributes import meanings
from .cube import DIMS, open_cube
from .labels import word_of

# How many cells of a list are written out.
SHOWN = 10


@dataclass(frozen=True)
class Report:
    """What a comparison found.

    cells : number of cells that both cubes hold
    variables : number of variables that both hold
    changes : for each variable with other values, how many there are and the first of them, in words
    missing : what only one of the two holds, in words
    """

    cells: int
    variables: int
    changes: Mapping[str, tuple[int, tuple[str, ...]]]
    missing: tuple[str, ...]

    def equal(self, common: bool = False) -> bool:
        """Whether nothing moved and nothing is missing; with ``common`` what only one holds does not count."""
        return not self.changes and (common or bool(self.cells and not self.missing))

    def verdict(self, common: bool = False) -> str:
        """The result in a line."""
        numbers, missing = sum(count for count, _ in self.changes.values()), len(self.missing)
        where = f"{self.cells:,} cells and {self.variables} variables in both"
        if not self.cells:
            return "no cell is in both"
        if self.equal(common):
            return f"equal to the last bit; {where}"
        return f"{numbers:,} values of {len(self.changes)} variables differ, {missing} things in one only; {where}"

    @property
    def lines(self) -> Iterator[str]:
        """What is behind the verdict."""
        yield from self.missing
        for name, (count, cells) in self.changes.items():
            yield f"{name}: {count:,} values differ"
            yield from (f"    {cell}" for cell in cells)
            if count > len(cells):
                yield f"    and {count - len(cells):,} more"


def compare_results(first: Path, second: Path) -> Iterator[tuple[str, Report]]:
    """Compare two cubes, or the cubes at the same places below two folders; the name and the report of each."""
    for name, one, other in cube_pairs(first, second):
        if one is None or other is None:
            yield name, Report(0, 0, {}, (f"only in the {'first' if other is None else 'second'}: the whole cube",))
        else:
            yield name, compare_cubes(open_cube(one), open_cube(other))


def cube_pairs(first: Path, second: Path) -> Iterator[tuple[str, Path | None, Path | None]]:
    """Name and files of two cubes, or of the cubes at the same places below two folders; None where one is absent."""
    for path in (first, second):
        if not path.exists():
            raise CubeError(f"{path} is not there: name two cubes or two folders of results.")
    if first.is_dir() != second.is_dir():
        raise CubeError(f"{first} and {second} are a file and a folder: name two cubes or two folders of results.")
    if not first.is_dir():
        yield second.name, first, second
        return
    found = [{path.relative_to(root) for path in root.rglob("cube.nc")} for root in (first, second)]
    for root, paths in zip((first, second), found, strict=True):
        if not paths:
            raise CubeError(f"{root} holds no cube.nc: name a folder of results.")
    for path in sorted(found[0] | found[1]):
        one, other = (root / path if path in held else None for root, held in zip((first, second), found, strict=True))
        yield path.parent.as_posix(), one, other


def compare_cubes(first: xr.Dataset, second: xr.Dataset) -> Report:
    """Compare two cubes over the cells and variables that both hold.

    Attributes are left out, but for units: they tell of the revision and of the configuration.
    """
    first, second = (_with_labels(_with_new_names(cube)) for cube in (first, second))
    missing = [
        f"only in the {which}: {kind} {', '.join(map(str, labels))}"
        for which, one, other in (("first", first, second), ("second", second, first))
        for kind, labels in labels_alone(one, other)
    ]
    held = [cube["status"].transpose(*DIMS) > 0 for cube in (first, second)]
    both = _common_cells(held[0], held[1])
    for which, cells in zip(("first", "second"), held, strict=True):
        absent = int(cells.sum()) - int(both.sum())
        if absent:
            alone = np.argwhere(cells.values & ~both.reindex_like(cells, fill_value=False).values)
            shown = "; ".join(cell_name(cells, tuple(place)) for place in alone[:SHOWN])
            missing.append(f"only in the {which}: {absent:,} cells, the first of them {shown}")
    moved: dict[str, tuple[int, tuple[str, ...]]] = {}
    names = sorted(set(map(str, first.variables)) & set(map(str, second.variables)) - set(map(str, first.dims)))
    for name in names:
        found = _changes(first[name], second[name], both)
        if found[0]:
            moved[name] = found
    return Report(int(both.sum()), len(names), moved, tuple(missing))


def _with_new_names(cube: xr.Dataset) -> xr.Dataset:
    """The cube with renamed variables, and coordinates of renamed settings and options, under their new names."""
    names = RENAMED_VARIABLES | {
        f"{word}_{old}": f"{word}_{new}" for old, new in RENAMED.items() for word in ("case", "method")
    }
    # Dims are not settings: `method_label` is no option `label`.
    named = set(cube.variables) - set(cube.dims)
    cube = cube.rename({old: new for old, new in names.items() if old in named and new not in cube})
    labels = {
        name: (cube[name].dims, [RENAMED_VALUES.get(label, label) for label in cube[name].values.tolist()])
        for name in ("method_label", "method_variant")
        if name in cube.coords
    }
    return cube.assign_coords(labels)


def _with_labels(cube: xr.Dataset) -> xr.Dataset:
    """The cube with labels along dims that have none of their own but variables such as ``example_case``."""
    for dim in set(cube.dims) - set(cube.coords):
        rows = [cube[name].values.tolist() for name in sorted(map(str, cube.variables)) if name.startswith(f"{dim}_")]
        labels = list(map(repr, zip(*rows, strict=True))) if all(len(row) == cube.sizes[dim] for row in rows) else []
        if labels and len(set(labels)) == len(labels):
            cube = cube.assign_coords({dim: labels})
    return cube


def labels_alone(one: xr.Dataset, other: xr.Dataset) -> Iterator[tuple[str, list[Hashable]]]:
    """Variables, and labels of each dim, that only the first of two cubes holds."""
    if names := sorted(set(one.variables) - set(other.variables), key=str):
        yield "variables", names
    for dim in one.dims:
        if dim in one.coords and dim in other.coords:
            held = set(other[dim].values.tolist())
            if labels := [label for label in one[dim].values.tolist() if label not in held]:
                yield word_of(str(dim)), labels


def _common_cells(first: xr.DataArray, second: xr.DataArray) -> xr.DataArray:
    """Cells that both hold, over the labels that both have, in the order of the first."""
    one, other = align(first, second)
    return one & other


def align(first: xr.DataArray, second: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Both over the labels that both have, in the order of the first."""
    labels = {}
    for dim in first.dims:
        if dim in first.coords and dim in second.coords:
            held = set(second[dim].values.tolist())
            labels[dim] = [label for label in first[dim].values.tolist() if label in held]
    return first.sel(labels), second.sel(labels)


def _changes(first: xr.DataArray, second: xr.DataArray, both: xr.DataArray) -> tuple[int, tuple[str, ...]]:
    """How many values of a variable differ in the cells that both hold, and the first of them."""
    if first.attrs.get("units") != second.attrs.get("units"):
        return 1, (f"units {first.attrs.get('units')!r} -> {second.attrs.get('units')!r}",)
    one, other = align(_words(first), _words(second))
    if set(one.dims) != set(other.dims) or (other := other.transpose(*one.dims)).shape != one.shape:
        return 1, (f"shape {dict(one.sizes)} -> {dict(other.sizes)}",)
    if "f" in (one.dtype.kind, other.dtype.kind) and one.dtype != other.dtype:
        return 1, (f"type {one.dtype} -> {other.dtype}",)
    different = bits_differ(one.values, other.values)
    if set(DIMS) <= set(one.dims):
        different &= both.broadcast_like(one).transpose(*one.dims).values
    places = np.argwhere(different)
    shown = [(tuple(place), one[tuple(place)].item(), other[tuple(place)].item()) for place in places[:SHOWN]]
    return len(places), tuple(f"{cell_name(one, place)}: {old!r} -> {new!r}" for place, old, new in shown)


def _words(variable: xr.DataArray) -> xr.DataArray:
    """Flags as the words that they stand for: cubes number them as they come."""
    words = variable.attrs.get("flag_meanings", "false true")
    return variable if words == "false true" else meanings(variable)


def bits_differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays hold other bits: NaN equals itself here, and -0 is not 0."""
    if one.dtype.kind != "f":
        return np.asarray(one != other)
    bits = np.dtype(f"u{one.dtype.itemsize}")
    return np.asarray(np.ascontiguousarray(one).view(bits) != np.ascontiguousarray(other).view(bits))


def cell_name(variable: xr.DataArray, place: tuple[int, ...]) -> str:
    """The cell of a place, by the labels of its dims; by its number where a dim has none."""
    parts = []
    for dim, i in zip(variable.dims, place, strict=True):
        parts.append(f"{word_of(str(dim))} {variable[dim].values[i] if dim in variable.coords else i}")
    return ", ".join(parts)
