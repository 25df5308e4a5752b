"""The file that one fit job leaves: its cells with their labels by case, method and number of parties, as npz."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from ..core.errors import CubeError
from ..core.files import Unreadable, open_npz, save_npz
from ..privacy.ledger.event import Event
from ..privacy.ledger.ledger import Ledger
from .cells import RUN_APART, Cell
from .owner_outputs import OwnerReport, decode_report, encode_report

if TYPE_CHECKING:
    from ..core.checks import Scalar
    from ..federation.payloads import TranscriptRow

KINDS = ("none", "bool", "int", "float", "str")
OUTER: tuple[Literal["case", "method", "parties"], ...] = ("case", "method", "parties")
INNER: tuple[Literal["replicate", "fold", "epsilon"], ...] = ("replicate", "fold", "epsilon")
INDEX = "index"


class Axes(TypedDict):
    """Labels of a part, in the index of a file."""

    case: str
    method: str
    parties: int
    replicate: tuple[int, ...]
    fold: tuple[int, ...]
    epsilon: tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """All cells of replicates x folds x epsilon for one case, method and party count, as one job computed them.

    numbers : name -> array (replicates, folds, epsilon), float (NaN where undefined) or str
    kinds : name -> bool, int, float or str, what the numbers were
    example_fits : name -> (dims, array (epsilon, ...)), of replicate 0 and fold 0
    releases : (replicate, epsilon) -> distinct events of all folds in the part, in order, where they are kept
    names : everyone on the channel; wire : epsilon -> rows of the transcript
    owner_reports : (replicate, fold, epsilon) -> what the owner of own data takes home, of replicate 0
    notes : sentences on records of own data that are left out or clipped
    """

    case: str
    method: str
    parties: int
    replicates: tuple[int, ...]
    folds: tuple[int, ...]
    epsilon: tuple[float, ...]
    numbers: Mapping[str, np.ndarray]
    kinds: Mapping[str, str]
    example_fits: Mapping[str, tuple[tuple[str, ...], np.ndarray]]
    releases: Mapping[tuple[int, float], tuple[Event, ...]]
    names: tuple[str, ...]
    wire: Mapping[float, list[TranscriptRow]]
    owner_reports: Mapping[tuple[int, int, float], OwnerReport] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def write_block(path: Path | str, cells: Sequence[Cell]) -> None:
    """Write the cells of one job, atomically: one part for each case, method and number of parties.

    A fit whose parties ran apart is a part of its own, since any fits may have been run so.
    """
    parts: dict[tuple[str | int | float, ...], list[Cell]] = {}
    for cell in cells:
        names = (*OUTER, *INNER) if RUN_APART in cell.scalars else OUTER
        parts.setdefault(tuple(cell.coords[name] for name in names), []).append(cell)
    index, stored = [], dict[str, np.ndarray]()
    for number, part in enumerate(parts.values()):
        axes, arrays = _part_arrays(part)
        index.append(axes)
        stored |= {f"{number}/{name}": array for name, array in arrays.items()}
    save_npz(path, {INDEX: _bytes(json.dumps(index).encode()), **stored})


def _part_arrays(cells: Sequence[Cell]) -> tuple[Axes, dict[str, np.ndarray]]:
    """The axes of one part and its arrays."""
    first = cells[0].coords
    axes: Axes = {
        "case": first["case"],
        "method": first["method"],
        "parties": first["parties"],
        "replicate": tuple(dict.fromkeys(cell.coords["replicate"] for cell in cells)),
        "fold": tuple(dict.fromkeys(cell.coords["fold"] for cell in cells)),
        "epsilon": tuple(dict.fromkeys(cell.coords["epsilon"] for cell in cells)),
    }
    shape = tuple(len(axes[name]) for name in INNER)
    at = {tuple(cell.coords[name] for name in INNER): cell for cell in cells}
    if len(at) != len(cells) or len(cells) != np.prod(shape):
        raise CubeError(
            f"{len(cells)} cells are not a full block of {shape} replicates, folds and epsilons, each once."
        )
    order = [at[place] for place in product(*(axes[name] for name in INNER))]
    kinds, numbers, texts = _numbers(order, shape)
    example_fits = _example_fits(order)
    reporting = [cell for cell in order if cell.owner_report is not None]
    header = {
        "kinds": kinds,
        "names": cells[0].names,
        "example_fits": {name: dims for name, (dims, _) in example_fits.items()},
        "wire": [[cell.coords["epsilon"], cell.wire] for cell in order if cell.wire],
        "homes": [[cell.coords[name] for name in INNER] for cell in reporting],
        "notes": sorted({sentence for cell in order for sentence in cell.notes}),
        "releases": [[r, e, [x.to_row() for x in rows]] for (r, e), rows in _releases(order).items()],
    }
    header_bytes = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 6)
    stored = {f"text/{name}": array for name, array in texts.items()}
    stored |= {f"example_fit/{name}": array for name, (_, array) in example_fits.items()}
    stored |= {
        f"home/{k}": encode_report(cell.owner_report)
        for k, cell in enumerate(reporting)
        if cell.owner_report is not None
    }
    return axes, {"header": _bytes(header_bytes), "numbers": numbers, **stored}


def _bytes(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)


@dataclass(frozen=True, order=True)
class PartLabels:
    """Labels of the cells in a part of a file, before it is read; ordered as a cube and its ledger are written."""

    case: str
    method: str
    parties: int
    replicates: tuple[int, ...]
    folds: tuple[int, ...]
    path: Path
    number: int
    epsilon: tuple[float, ...]

    def read(self) -> Part:
        """The part itself; errors as in `read_entries`."""
        with _readable(self.path):
            return self._part(open_npz(self.path).part(f"{self.number}/"))

    def _part(self, arrays: dict[str, np.ndarray]) -> Part:
        header = json.loads(zlib.decompress(arrays["header"].tobytes()))
        numeric = [name for name, kind in header["kinds"].items() if kind != "str"]
        numbers = dict(zip(numeric, arrays["numbers"], strict=True))
        return Part(
            case=self.case,
            method=self.method,
            parties=self.parties,
            replicates=self.replicates,
            folds=self.folds,
            epsilon=self.epsilon,
            numbers={name: numbers[name] if name in numbers else arrays[f"text/{name}"] for name in header["kinds"]},
            kinds=header["kinds"],
            example_fits={n: (tuple(dims), arrays[f"example_fit/{n}"]) for n, dims in header["example_fits"].items()},
            releases={(r, e): tuple(map(Event.from_row, rows)) for r, e, rows in header["releases"]},
            names=tuple(header["names"]),
            wire={epsilon: rows for epsilon, rows in header["wire"]},
            owner_reports={
                (r, f, e): decode_report(arrays[f"home/{k}"]) for k, (r, f, e) in enumerate(header["homes"])
            },
            notes=tuple(header["notes"]),
        )


def read_entries(path: Path | str) -> tuple[PartLabels, ...]:
    """Return the entries of a file, without its numbers and releases; CubeError if it cannot be read."""
    with _readable(path):
        index = json.loads(open_npz(path).part(INDEX)[""].tobytes())
        if not index:
            raise ValueError("it holds no cells")
        return tuple(
            PartLabels(
                axes["case"],
                axes["method"],
                axes["parties"],
                tuple(axes["replicate"]),
                tuple(axes["fold"]),
                Path(path),
                number,
                tuple(axes["epsilon"]),
            )
            for number, axes in enumerate(index)
        )


@contextmanager
def _readable(path: Path | str) -> Iterator[None]:
    try:
        yield
    except (Unreadable, KeyError, ValueError, zlib.error) as error:
        raise CubeError(f"block {path} cannot be read ({error}): delete it and run again.") from None


def kind_of(values: Sequence[Scalar]) -> str:
    """The narrowest kind that holds all values; None (undefined) fits every kind but text."""
    kinds = {_kind(value) for value in values}
    if "str" in kinds and len(kinds) > 1:
        raise CubeError(f"a scalar is text in some cells and {sorted(kinds - {'str'})} in others: keep to one kind.")
    return max(kinds, key=KINDS.index)


def _kind(value: Scalar) -> str:
    if value is None:
        return "none"
    for kind, types in {"bool": (bool, np.bool_), "str": (str,), "int": (int, np.integer)}.items():
        if isinstance(value, types):
            return kind
    if isinstance(value, float | np.floating):
        return "float"
    raise CubeError(f"a scalar is {value!r}: it must be a number, true or false, text or None.")


def _numbers(order: Sequence[Cell], shape: tuple[int, ...]) -> tuple[dict[str, str], np.ndarray, dict[str, np.ndarray]]:
    """Kinds of all scalars by name, the numbers among them in one array in that order, and the texts."""
    kinds, numbers, texts = {}, [], {}
    for name in sorted({name for cell in order for name in cell.scalars}):
        values = [cell.scalars.get(name) for cell in order]
        kinds[name] = kind_of(values)
        if kinds[name] == "str":
            texts[name] = np.array(values, dtype=str).reshape(shape)
        else:
            numbers.append([np.nan if v is None else float(v) for v in values])
    return kinds, np.array(numbers, dtype=float).reshape(len(numbers), *shape), texts


def _example_fits(order: Sequence[Cell]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Arrays of example fits stacked over epsilon; only replicate 0 and fold 0 have any."""
    fits = [cell.example_fits for cell in order if cell.example_fits]
    arrays = {}
    for name in fits[0] if fits else ():
        dims, first = fits[0][name]
        if np.ndim(first) != len(dims):
            raise CubeError(
                f"example array {name} has shape {np.shape(first)}: its dims {dims} name another number of axes."
            )
        arrays[name] = (tuple(dims), np.stack([np.asarray(entry[name][1], dtype=float) for entry in fits]))
    return arrays


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
