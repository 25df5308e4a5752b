"""The file that one fit job leaves: blocks of cells with their labels, one for each number of parties, as npz."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Unreadable, load_npz, save_npz
from ..errors import CubeError
from ..privacy.ledger.event import Event
from ..privacy.ledger.ledger import Ledger
from .cells import Cell

KINDS = ("none", "bool", "int", "float", "str")


@dataclass(frozen=True)
class Corner:
    """All cells of replicates x folds x epsilon for one case, method and party count, as one job computed them.

    numbers : name -> array (replicates, folds, epsilon), float (NaN where undefined) or str
    kinds : name -> bool, int, float or str, what the numbers were
    exhibits : name -> (dims, array (epsilon, ...)), of replicate 0 and fold 0
    releases : (replicate, epsilon) -> distinct events of all folds in the corner, in order, where they are kept
    names : everyone on the channel; wire : epsilon -> rows of the transcript
    """

    case: str
    method: str
    parties: int
    replicates: tuple[int, ...]
    folds: tuple[int, ...]
    epsilon: tuple[float, ...]
    numbers: Mapping[str, np.ndarray]
    kinds: Mapping[str, str]
    exhibits: Mapping[str, tuple[tuple[str, ...], np.ndarray]]
    releases: Mapping[tuple[int, float], tuple[Event, ...]]
    names: tuple[str, ...]
    wire: Mapping[float, list[dict[str, Any]]]


def write_corner(path: Path | str, cells: Sequence[Cell]) -> None:
    """Write the cells of one job, atomically: one corner for each number of parties.

    Raises
    ------
    CubeError
        When the cells are no full blocks of replicates x folds x epsilon, or differ in case or method.
    """
    by_parties: dict[int, list[Cell]] = {}
    for cell in cells:
        by_parties.setdefault(cell.coords["parties"], []).append(cell)
    stored: dict[str, np.ndarray] = {}
    for count, block in by_parties.items():
        stored |= {f"k{count}/{name}": array for name, array in _packed(block).items()}
    save_npz(path, stored)


def _packed(cells: Sequence[Cell]) -> dict[str, np.ndarray]:
    """The arrays of one corner."""
    axes = {name: tuple(dict.fromkeys(cell.coords[name] for cell in cells)) for name in cells[0].coords}
    for name in ("case", "method"):
        if len(axes[name]) != 1:
            raise CubeError(f"{name} takes {axes[name]} in one corner: write one corner for each.")
    shape = tuple(len(axes[name]) for name in ("replicate", "fold", "epsilon"))
    at = {tuple(cell.coords[a] for a in ("replicate", "fold", "epsilon")): cell for cell in cells}
    if len(at) != len(cells) or len(cells) != np.prod(shape):
        raise CubeError(f"{len(cells)} cells are no full block of {shape} replicates, folds and epsilons, each once.")
    order = [at[r, f, e] for r in axes["replicate"] for f in axes["fold"] for e in axes["epsilon"]]
    kinds, arrays = _numbers(order, shape)
    exhibits = _exhibits(order)
    header = {
        "kinds": kinds,
        "names": cells[0].names,
        "exhibits": {name: dims for name, (dims, _) in exhibits.items()},
        "wire": [[cell.coords["epsilon"], cell.wire] for cell in order if cell.wire],
        "releases": [[r, e, [x.to_row() for x in rows]] for (r, e), rows in _releases(order).items()],
    }
    packed = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 6)
    stored = {f"number/{name}": array for name, array in arrays.items()}
    stored |= {f"exhibit/{name}": array for name, (_, array) in exhibits.items()}
    where = np.frombuffer(json.dumps(axes).encode(), np.uint8)
    return {"axes": where, "header": np.frombuffer(packed, np.uint8), **stored}


def read_corners(path: Path | str) -> tuple[Corner, ...]:
    """Read what :func:`write_corner` wrote: one corner for each number of parties.

    Raises
    ------
    CubeError
        When the file is absent or broken: the message says to delete it and run again.
    """
    with _readable(path):
        blocks: dict[str, dict[str, np.ndarray]] = {}
        for name, array in load_npz(path).items():
            count, _, own = name.partition("/")
            blocks.setdefault(count, {})[own] = array
        if not blocks:
            raise ValueError("it is empty")
        return tuple(map(_unpacked, blocks.values()))


@dataclass(frozen=True, order=True)
class Entry:
    """Which cells a corner of a file holds, before it is read; ordered as a cube and its ledger are written."""

    case: str
    method: str
    parties: int
    replicates: tuple[int, ...]
    folds: tuple[int, ...]
    path: Path

    def read(self) -> Corner:
        """The corner itself; errors as in :func:`read_corners`."""
        with _readable(self.path):
            return _unpacked(load_npz(self.path, f"k{self.parties}/"))


def read_entries(path: Path | str) -> tuple[Entry, ...]:
    """What a file holds, without its numbers and releases; errors as in :func:`read_corners`."""
    with _readable(path):
        found = [json.loads(array.tobytes()) for array in load_npz(path, tail="/axes").values()]
        if not found:
            raise ValueError("it holds no cells")
        return tuple(
            Entry(a["case"][0], a["method"][0], a["parties"][0], tuple(a["replicate"]), tuple(a["fold"]), Path(path))
            for a in found
        )


@contextmanager
def _readable(path: Path | str) -> Iterator[None]:
    try:
        yield
    except (Unreadable, KeyError, ValueError, zlib.error) as error:
        raise CubeError(f"corner {path} cannot be read ({error}): delete it and run again.") from None


def read_corner(path: Path | str) -> Corner:
    """The one corner of a file with a single number of parties; errors as in :func:`read_corners`."""
    found = read_corners(path)
    if len(found) != 1:
        raise CubeError(f"corner {path} holds {len(found)} numbers of parties: use read_corners.")
    return found[0]


def _unpacked(arrays: dict[str, np.ndarray]) -> Corner:
    header = json.loads(zlib.decompress(arrays.pop("header").tobytes()))
    axes = json.loads(arrays.pop("axes").tobytes())
    exhibits = {n: (tuple(dims), arrays[f"exhibit/{n}"]) for n, dims in header["exhibits"].items()}
    return Corner(
        case=axes["case"][0],
        method=axes["method"][0],
        parties=axes["parties"][0],
        replicates=tuple(axes["replicate"]),
        folds=tuple(axes["fold"]),
        epsilon=tuple(axes["epsilon"]),
        numbers={name: arrays[f"number/{name}"] for name in header["kinds"]},
        kinds=header["kinds"],
        exhibits=exhibits,
        releases={(r, e): tuple(map(Event.from_row, rows)) for r, e, rows in header["releases"]},
        names=tuple(header["names"]),
        wire={epsilon: rows for epsilon, rows in header["wire"]},
    )


def kind_of(values: Sequence[Any]) -> str:
    """The narrowest kind that holds all values; None (undefined) fits every kind but text.

    Raises
    ------
    CubeError
        When text and numbers are mixed, or a value is neither.
    """
    found = {_kind(value) for value in values}
    if "str" in found and len(found) > 1:
        raise CubeError(f"a scalar is text in some cells and {sorted(found - {'str'})} in others: keep to one kind.")
    return max(found, key=KINDS.index)


def _kind(value: Any) -> str:
    if value is None:
        return "none"
    for kind, types in {"bool": (bool, np.bool_), "str": (str,), "int": (int, np.integer)}.items():
        if isinstance(value, types):
            return kind
    if isinstance(value, float | np.floating):
        return "float"
    raise CubeError(f"a scalar is {value!r}: it must be a number, true or false, text or None.")


def _numbers(order: Sequence[Cell], shape: tuple[int, ...]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    kinds, arrays = {}, {}
    for name in sorted({name for cell in order for name in cell.scalars}):
        values = [cell.scalars.get(name) for cell in order]
        kinds[name] = kind_of(values)
        if kinds[name] == "str":
            arrays[name] = np.array(values, dtype=str).reshape(shape)
        else:
            arrays[name] = np.array([np.nan if v is None else float(v) for v in values]).reshape(shape)
    return kinds, arrays


def _exhibits(order: Sequence[Cell]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Exhibits stacked over epsilon; only replicate 0 and fold 0 have any."""
    shown = [cell.exhibits for cell in order if cell.exhibits]
    stacked = {}
    for name in shown[0] if shown else ():
        dims, first = shown[0][name]
        if np.ndim(first) != len(dims):
            raise CubeError(f"exhibit {name} has shape {np.shape(first)}: its dims {dims} name another number of axes.")
        stacked[name] = (tuple(dims), np.stack([np.asarray(entry[name][1], dtype=float) for entry in shown]))
    return stacked


def _releases(order: Sequence[Cell]) -> dict[tuple[int, float], tuple[Event, ...]]:
    """Distinct releases of each replicate and epsilon: folds that re-use a release pay for it once."""
    ledgers: dict[tuple[int, float], Ledger] = {}
    for cell in order:
        if cell.ledger is None:
            continue
        ledger = ledgers.setdefault((cell.coords["replicate"], cell.coords["epsilon"]), Ledger())
        for event in cell.ledger:
            ledger.append(event)
    return {key: ledger.rows for key, ledger in ledgers.items()}
