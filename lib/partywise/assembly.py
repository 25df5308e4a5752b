"""Corners of all jobs put into one labelled cube, without a hole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from .attributes import CODE_PATTERN, flag_attributes
from .cells import COMMON, STATUS
from .corners import KINDS, Corner
from .cube import DIMS
from .errors import CubeError
from .plan import Plan
from .run_totals import CELL, RUN, run_total

SHOWN = ("case", "method", "parties", "epsilon")
MISSING = {"int8": -1, "int64": -(2**53)}

COORDS: dict[str, tuple[str, str]] = {
    "case": ("data-generating setting", "1"),
    "method": ("label of the method in the configuration", "1"),
    "replicate": ("number of the replicate", "1"),
    "parties": ("number of parties that own predictors", "1"),
    "fold": ("held-out fold", "1"),
    "epsilon": ("target epsilon; inf where the method has none", "1"),
}


def axes(plan: Plan) -> dict[str, np.ndarray]:
    """Labels of the six dims: the union over the cases of a plan."""
    cases = plan.cases.values()
    used = {label for case in cases for label in case.methods}
    slots = {e for case in cases for label in case.methods for e in plan.epsilons(case.name, label)}
    return {
        "case": np.array(list(plan.cases)),
        "method": np.array([label for label in plan.methods if label in used]),
        "replicate": np.arange(max(case.replicates for case in cases)),
        "parties": np.array(sorted({count for case in cases for count in case.parties})),
        "fold": np.arange(max(case.folds for case in cases)),
        "epsilon": np.array(sorted(slots)),
    }


def design(plan: Plan) -> np.ndarray:
    """Which cells the plan asks for: bool over the six dims."""
    labels = axes(plan)
    asked = np.zeros([len(values) for values in labels.values()], dtype=bool)
    for case in plan.cases.values():
        for method in case.methods:
            block = (case.name, method, range(case.replicates), case.parties, range(case.folds))
            asked[_index(labels, (*block, plan.epsilons(case.name, method)))] = True
    return asked


def assemble(plan: Plan, corners: Iterable[Corner], totals: Iterable[Mapping[str, Any]] = ()) -> xr.Dataset:
    """Put every corner in its place and count every cell once; ``totals`` are the rows of ``tables.ledger_totals``.

    Returns
    -------
    Dataset
        Scalars over the six dims, NaN outside the design; text as integer flags; exhibits over (exhibit,
        own dims) with the labels of the fit beside them; ``status`` says what became of each cell.

    Raises
    ------
    CubeError
        Naming the first cell that is missing, duplicated or not in the plan.
    """
    labels, corners = axes(plan), list(corners)
    asked = design(plan)
    count = np.zeros(asked.shape, dtype=int)
    for corner in corners:
        count[_place(labels, corner)] += 1
    for found, wrong in (
        ("is missing from the corners: run again", asked & (count == 0)),
        ("is in more than one corner: delete the corners and run again", count > 1),
        ("is in a corner and not in the configuration: delete that corner", ~asked & (count > 0)),
    ):
        if wrong.any():
            cell = np.argwhere(wrong)[0]
            raise CubeError(f"cell ({_name(labels, cell)}) {found} ({int(wrong.sum())} such cells in all).")
    described = {**COMMON, **plan.study.variables}
    data = {name: _scalar(name, corners, labels, described) for name in _names(corners) if name != "status"}
    data["status"] = _status(corners, labels)
    data[RUN] = run_total(plan, labels, data[CELL], totals)
    exhibits, shown = _exhibits(corners, labels, described)
    data |= exhibits
    coords = shown | {name: (name, values, _described(COORDS[name])) for name, values in labels.items()}
    return xr.Dataset(dict(sorted(data.items())), coords=coords)


def _index(labels: Mapping[str, np.ndarray], block: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """Open mesh of a block of labels (or single labels) in the order of the six dims."""
    positions = []
    for (name, values), wanted in zip(labels.items(), block, strict=True):
        at = {value: i for i, value in enumerate(values.tolist())}
        chosen = [wanted] if isinstance(wanted, str | int | float) else list(wanted)
        try:
            positions.append([at[value] for value in chosen])
        except KeyError as missing:
            raise CubeError(
                f"a corner has {name} {missing}, which is not in the configuration: delete it and run again."
            ) from None
    return np.ix_(*positions)


def _place(labels: Mapping[str, np.ndarray], corner: Corner) -> tuple[np.ndarray, ...]:
    block = (corner.case, corner.method, corner.replicates, corner.parties, corner.folds, corner.epsilon)
    return _index(labels, block)


def _name(labels: Mapping[str, np.ndarray], cell: Sequence[int]) -> str:
    return ", ".join(f"{name} {values[i]}" for (name, values), i in zip(labels.items(), cell, strict=True))


def _names(corners: Sequence[Corner]) -> list[str]:
    return sorted({name for corner in corners for name in corner.numbers})


def _described(entry: tuple[str, str]) -> dict[str, Any]:
    return {"long_name": entry[0], "units": entry[1]}


def _shaped(corner: Corner, values: np.ndarray) -> np.ndarray:
    """(replicates, folds, epsilon) of a corner over the six dims."""
    return values[None, None, :, None, :, :]


def _scalar(
    name: str, corners: Sequence[Corner], labels: Mapping[str, np.ndarray], described: Mapping[str, tuple[str, str]]
) -> xr.Variable:
    """One variable over the six dims, encoded by the widest kind that the corners report."""
    having = [corner for corner in corners if name in corner.numbers]
    shape = tuple(len(values) for values in labels.values())
    kinds = {corner.kinds[name] for corner in having} - {"none"}
    attributes = _described(described[name])
    if "str" in kinds:
        if len(kinds) > 1:
            raise CubeError(f"{name} is text in some cells and a number in others: keep to one kind.")
        text = np.full(shape, "", dtype=f"U{max(corner.numbers[name].dtype.itemsize // 4 for corner in having)}")
        for corner in having:
            text[_place(labels, corner)] = _shaped(corner, corner.numbers[name])
        return _text(text, attributes)
    values = np.full(shape, np.nan)
    for corner in having:
        values[_place(labels, corner)] = _shaped(corner, corner.numbers[name])
    kind = max(kinds, key=KINDS.index, default="float")
    encoding: dict[str, Any] = {"dtype": "float64", "_FillValue": np.nan}
    if kind in ("bool", "int"):
        dtype = "int8" if kind == "bool" else "int64"
        encoding = {"dtype": dtype, "_FillValue": MISSING[dtype]}
    if kind == "bool":
        attributes |= flag_attributes(("false", "true"))
    return xr.Variable(DIMS, values, attributes, encoding)


def _text(text: np.ndarray, attributes: dict[str, Any]) -> xr.Variable:
    """Few distinct texts become flags (0: not in the design), digests stay text of fixed width."""
    words = sorted(set(text.ravel()) - {""})
    if all(CODE_PATTERN.fullmatch(word) for word in words):
        return xr.Variable(DIMS, text, attributes, {"dtype": "S1"})
    codes = np.searchsorted(["", *words], text).astype(np.int16)
    flags = flag_attributes(("not_in_design", *words), np.int16)
    return xr.Variable(DIMS, codes, attributes | flags, {"dtype": "int16"})


def _status(corners: Sequence[Corner], labels: Mapping[str, np.ndarray]) -> xr.Variable:
    codes = np.zeros([len(values) for values in labels.values()], dtype=np.int8)
    for corner in corners:
        found = np.vectorize(STATUS.index, otypes=[np.int8])(corner.numbers["status"])
        codes[_place(labels, corner)] = _shaped(corner, found)
    attributes = {"long_name": "what became of the cell", "units": "1", **flag_attributes(STATUS)}
    return xr.Variable(DIMS, codes, attributes, {"dtype": "int8"})


def _exhibits(
    corners: Sequence[Corner], labels: Mapping[str, np.ndarray], described: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, xr.Variable], dict[str, xr.Variable]]:
    """Exhibits over (exhibit, own dims), one entry for each fit that is shown, and the labels of these fits.

    A dim of their own keeps the cube small: the product of cases, methods, parties and epsilons is mostly empty.
    Sizes that differ between cases are padded by NaN.
    """
    order = {dim: {value: i for i, value in enumerate(values.tolist())} for dim, values in labels.items()}
    shown = [
        ((corner.case, corner.method, corner.parties, epsilon), {n: (d, a[i]) for n, (d, a) in corner.exhibits.items()})
        for corner in corners
        for i, epsilon in enumerate(corner.epsilon)
        if corner.exhibits
    ]
    shown.sort(key=lambda entry: tuple(order[dim][label] for dim, label in zip(SHOWN, entry[0], strict=True)))
    found: dict[str, xr.Variable] = {}
    for name in sorted({name for _, arrays in shown for name in arrays}):
        dims = {arrays[name][0] for _, arrays in shown if name in arrays}
        if len(dims) > 1:
            raise CubeError(f"exhibit {name} has dims {sorted(dims)} in different cells: keep to one set of dims.")
        size = np.max([arrays[name][1].shape for _, arrays in shown if name in arrays], axis=0, initial=0)
        values = np.full([len(shown), *map(int, size)], np.nan)
        for i, (_, arrays) in enumerate(shown):
            if name in arrays:
                corner = tuple(slice(n) for n in arrays[name][1].shape)
                values[i][corner] = arrays[name][1]
        encoding = {"dtype": "float64", "_FillValue": np.nan}
        found[name] = xr.Variable(("exhibit", *dims.pop()), values, _described(described[name]), encoding)
    coords = {
        f"exhibit_{dim}": xr.Variable(
            "exhibit", [key[i] for key, _ in shown], {"long_name": f"{dim} of the fit that is shown", "units": "1"}
        )
        for i, dim in enumerate(SHOWN if shown else ())
    }
    return found, coords
