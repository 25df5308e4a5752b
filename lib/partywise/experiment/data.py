"""The data of replicates: drawn by the sources of a plan, and kept in the file that one generate job leaves.

A file holds the fields of each replicate of some cases, every distinct array once.  A source with ``complete`` draws
less, what its data are made of: every fit completes them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import TracebackType, UnionType

# Any: fields of the data of any study, read back from a file.
from typing import TYPE_CHECKING, Any, Protocol, get_args, get_origin, get_type_hints

import numpy as np

from ..core.checks import Json
from ..core.errors import CubeError, DataMissing
from ..core.files import Npz, Unreadable, npz_writer, open_npz
from ..core.notes import collected_notes, repeat_notes
from ..core.randomness import stream
from .plan import Plan

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    class Replicate(DataclassInstance, Protocol):
        """The data of a replicate, of any study."""

        def public(self) -> object:
            """The part that everyone may know."""

    # The data, or what a source with `complete` makes them of.
    SourceDraw = Replicate | Mapping[str, object]

LOG = logging.getLogger("partywise")
INDEX = "index"


def draw(plan: Plan, case: str, replicate: int, resources: Path | str) -> SourceDraw:
    """Draw a replicate from the source of a case.

    Randomness lives at (study, case, "data", replicate, ...), so every method, party count and epsilon sees the
    same data; with ``shared=True`` it lives at (study, case, "data", "shared", ...).
    """
    chosen = plan.cases[case]

    def rng_for(*names: str | int, shared: bool = False) -> np.random.Generator:
        where = "shared" if shared else replicate
        return stream(plan.root_seed, plan.study.name, case, "data", where, *names)

    drawn: SourceDraw = chosen.source.generate(chosen.settings, plan.spec, rng_for, Path(resources))
    return drawn


def complete(plan: Plan, case: str, drawn: SourceDraw) -> Replicate:
    """The data of a replicate, from what its source drew."""
    chosen = plan.cases[case]
    if chosen.source.complete is not None:
        data: Replicate = chosen.source.complete(chosen.settings, drawn)
        return data
    assert not isinstance(drawn, Mapping)
    return drawn


def generate(plan: Plan, case: str, replicates: Iterable[int], resources: Path | str) -> dict[int, Replicate]:
    """Data of some replicates of a case, as fits see them."""
    return {r: complete(plan, case, draw(plan, case, r, resources)) for r in replicates}


class NamedErrors:
    """Errors inside become errors that name the place; the reason stays the cause. Errors of data are named as such."""

    def __init__(self, what: str, **where: object) -> None:
        self.what, self.where = what, ", ".join(f"{key} {value}" for key, value in where.items())

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, DataMissing):
            LOG.info("stopped at %s (%s)", self.what, self.where)
        elif isinstance(error, Exception):
            raise RuntimeError(f"{self.what} ({self.where}) failed: {type(error).__name__}: {error}") from error


def write_data(path: Path | str, plan: Plan, replicates: Mapping[str, Iterable[int]], resources: Path | str) -> None:
    """Draw some replicates of each case and write them, atomically; the same ones give the same bytes."""
    index, places = dict[str, dict[int, Json]](), dict[bytes, int]()
    with npz_writer(path) as write:

        def place(array: np.ndarray) -> int:
            key = sha256(f"{array.dtype.str} {array.shape} ".encode() + array.tobytes()).digest()
            if key not in places:
                places[key] = len(places)
                write(f"{places[key]}/values", array)
            return places[key]

        for case, numbers in replicates.items():
            index[case] = {}
            for replicate in numbers:
                where = NamedErrors("data", study=plan.study.name, case=case, replicate=replicate)
                with where, collected_notes() as notes:
                    drawn = encode(draw(plan, case, replicate, resources), place)
                index[case][replicate] = {"drawn": drawn, "notes": [*notes]}
        write(INDEX, np.frombuffer(json.dumps(index).encode(), np.uint8))


def read_data(path: Path | str, plan: Plan, case: str, replicate: int) -> Replicate:
    """The data of a replicate from a file of `write_data`, completed; notes on its records are collected again."""
    try:
        stored = open_npz(path)
        entry = _index(stored)[case][str(replicate)]
        kind = plan.study.data.target if plan.cases[case].source.complete is None else object
        drawn = decode(entry["drawn"], kind, lambda number: stored.part(f"{number}/")["values"])
    except (Unreadable, KeyError, ValueError) as error:
        raise CubeError(f"data file {path} cannot be read ({error}): delete it and run again.") from None
    repeat_notes(entry["notes"])
    return complete(plan, case, drawn)


@lru_cache(maxsize=8)
def _index(stored: Npz) -> dict[str, dict[str, Any]]:
    """Read the index of a file, parsed once: its entries by case and replicate."""
    index: dict[str, dict[str, dict[str, Json]]] = json.loads(stored.part(INDEX)[""].tobytes())
    return index


def encode(value: object, place: Callable[[np.ndarray], int]) -> Json:
    """A value as plain data, with numbers in place of its arrays; lists are a word and what follows it."""
    if isinstance(value, np.ndarray | np.generic):
        array, axes = in_order(np.asarray(value))
        return ["array", place(array), axes, isinstance(value, np.generic)]
    if is_dataclass(value):
        value = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
    if isinstance(value, Mapping):
        return ["fields", {str(name): encode(item, place) for name, item in value.items()}]
    if isinstance(value, tuple):
        return ["tuple", *(encode(item, place) for item in value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"data hold a {type(value).__name__}: fields are arrays, numbers, text, tuples or dataclasses.")


def in_order(array: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """An array with its axes as they lie in memory, and which they are: their order decides the last bits of sums."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    if (turned := array.transpose(axes)).flags.c_contiguous:
        return turned, axes
    return np.ascontiguousarray(array), list(range(array.ndim))


def decode(plain: Any, kind: object, array: Callable[[int], np.ndarray]) -> Any:
    """Decode a value of type ``kind`` from plain data; fields become a mapping if ``kind`` is not a dataclass."""
    if not isinstance(plain, list):
        return plain
    word, *rest = plain
    if word == "array":
        number, axes, is_scalar = rest
        return array(number)[()] if is_scalar else array(number).transpose(np.argsort(axes))
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if word == "tuple":
        item_kind = next((get_args(member)[0] for member in kinds if get_origin(member) is tuple), object)
        return tuple(decode(item, item_kind, array) for item in rest)
    cls: Any = next((member for member in kinds if is_dataclass(member)), None)
    hints = get_type_hints(cls) if cls else {}
    values = {name: decode(item, hints.get(name, object), array) for name, item in rest[0].items()}
    return cls(**values) if cls else values
