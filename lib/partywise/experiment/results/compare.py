"""Two cubes, cell by cell and to the last bit: what moved, and what only one of them holds.

Cells are matched by their labels and words by their text, so that neither the order of labels nor the numbering of
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
class CubeReport:
    """Result of a comparison of two cubes.

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
        """Lines behind the verdict: what is missing, and the first values that differ per variable."""
        yield from self.missing
        for name, (count, cells) in self.changes.items():
            yield f"{name}: {count:,} values differ"
            yield from (f"    {cell}" for cell in cells)
            if count > len(cells):
                yield f"    and {count - len(cells):,} more"


def compare_results(first: Path, second: Path) -> Iterator[tuple[str, CubeReport]]:
    """Compare two cubes, or the cubes at the same places below two folders; the name and the report of each."""
    for name, first_path, second_path in cube_pairs(first, second):
        if first_path is None or second_path is None:
            yield (
                name,
                CubeReport(0, 0, {}, (f"only in the {'first' if second_path is None else 'second'}: the whole cube",)),
            )
        else:
            yield name, compare_cubes(open_cube(first_path), open_cube(second_path))


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
    paths_below = [{path.relative_to(root) for path in root.rglob("cube.nc")} for root in (first, second)]
    for root, paths in zip((first, second), paths_below, strict=True):
        if not paths:
            raise CubeError(f"{root} holds no cube.nc: name a folder of results.")
    for path in sorted(paths_below[0] | paths_below[1]):
        first_path, second_path = (
            root / path if path in paths else None for root, paths in zip((first, second), paths_below, strict=True)
        )
        yield path.parent.as_posix(), first_path, second_path


def compare_cubes(first: xr.Dataset, second: xr.Dataset) -> CubeReport:
    """Compare two cubes over the cells and variables that both hold.

    Attributes are left out, except units: they depend on the revision and on the configuration.
    """
    first, second = (_with_labels(_with_new_names(cube)) for cube in (first, second))
    missing = [
        f"only in the {which}: {kind} {', '.join(map(str, labels))}"
        for which, holder, other in (("first", first, second), ("second", second, first))
        for kind, labels in labels_alone(holder, other)
    ]
    masks = [cube["status"].transpose(*DIMS) > 0 for cube in (first, second)]
    both = _common_cells(masks[0], masks[1])
    for which, cells in zip(("first", "second"), masks, strict=True):
        absent = int(cells.sum()) - int(both.sum())
        if absent:
            alone = np.argwhere(cells.values & ~both.reindex_like(cells, fill_value=False).values)
            examples = "; ".join(cell_name(cells, tuple(place)) for place in alone[:SHOWN])
            missing.append(f"only in the {which}: {absent:,} cells, the first of them {examples}")
    moved: dict[str, tuple[int, tuple[str, ...]]] = {}
    names = sorted(set(map(str, first.variables)) & set(map(str, second.variables)) - set(map(str, first.dims)))
    for name in names:
        change = _changes(first[name], second[name], both)
        if change[0]:
            moved[name] = change
    return CubeReport(int(both.sum()), len(names), moved, tuple(missing))


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


def labels_alone(first: xr.Dataset, second: xr.Dataset) -> Iterator[tuple[str, list[Hashable]]]:
    """Variables, and labels of each dim, that only the first of two cubes holds."""
    if names := sorted(set(first.variables) - set(second.variables), key=str):
        yield "variables", names
    for dim in first.dims:
        if dim in first.coords and dim in second.coords:
            second_labels = set(second[dim].values.tolist())
            if labels := [label for label in first[dim].values.tolist() if label not in second_labels]:
                yield word_of(str(dim)), labels


def _common_cells(first: xr.DataArray, second: xr.DataArray) -> xr.DataArray:
    """Cells that both hold, over the labels that both have, in the order of the first."""
    in_first, in_second = align(first, second)
    return in_first & in_second


def align(first: xr.DataArray, second: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Both over the labels that both have, in the order of the first."""
    labels = {}
    for dim in first.dims:
        if dim in first.coords and dim in second.coords:
            second_labels = set(second[dim].values.tolist())
            labels[dim] = [label for label in first[dim].values.tolist() if label in second_labels]
    return first.sel(labels), second.sel(labels)


def _changes(first: xr.DataArray, second: xr.DataArray, both: xr.DataArray) -> tuple[int, tuple[str, ...]]:
    """Count the values of a variable that differ in the cells that both hold, and write out the first of them."""
    if first.attrs.get("units") != second.attrs.get("units"):
        return 1, (f"units {first.attrs.get('units')!r} -> {second.attrs.get('units')!r}",)
    first, second = align(_words(first), _words(second))
    if set(first.dims) != set(second.dims) or (second := second.transpose(*first.dims)).shape != first.shape:
        return 1, (f"shape {dict(first.sizes)} -> {dict(second.sizes)}",)
    if "f" in (first.dtype.kind, second.dtype.kind) and first.dtype != second.dtype:
        return 1, (f"type {first.dtype} -> {second.dtype}",)
    different = bits_differ(first.values, second.values)
    if set(DIMS) <= set(first.dims):
        different &= both.broadcast_like(first).transpose(*first.dims).values
    places = np.argwhere(different)
    examples = [(tuple(place), first[tuple(place)].item(), second[tuple(place)].item()) for place in places[:SHOWN]]
    return len(places), tuple(f"{cell_name(first, place)}: {old!r} -> {new!r}" for place, old, new in examples)


def _words(variable: xr.DataArray) -> xr.DataArray:
    """Flags as the words that they stand for: cubes number them as they come."""
    words = variable.attrs.get("flag_meanings", "false true")
    return variable if words == "false true" else meanings(variable)


def bits_differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Mask of the entries whose bits differ, of the shape of the arrays: NaN equals itself here, and -0 is not 0."""
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    bits = np.dtype(f"u{first.dtype.itemsize}")
    return np.asarray(np.ascontiguousarray(first).view(bits) != np.ascontiguousarray(second).view(bits))


def cell_name(variable: xr.DataArray, place: tuple[int, ...]) -> str:
    """The cell of a place, by the labels of its dims; by its number where a dim has none."""
    parts = []
    for dim, i in zip(variable.dims, place, strict=True):
        parts.append(f"{word_of(str(dim))} {variable[dim].values[i] if dim in variable.coords else i}")
    return ", ".join(parts)
