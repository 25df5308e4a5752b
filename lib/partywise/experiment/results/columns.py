"""Scalars of all cells of a study before they become a cube: one array a variable, 8 bytes a number.

Only the cells that the plan asks for have a place, in the order of the cube, so that a sparse design costs what it
holds and every part of the dense product is made when it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.checks import Scalar
from ...core.errors import CubeError
from ..blocks import KINDS, Part
from ..cells import COMMON, RUN_APART, STATUS
from ..plan import Plan
from .attributes import CODE_PATTERN, flag_attributes, plain_word
from .cube import Layer
from .labels import word_of

MISSING = {"int8": -1, "int64": -(2**53)}
MOST_WORDS = 2**15 - 2
Label = str | int | float


def axes(plan: Plan) -> dict[str, np.ndarray]:
    """Labels of the six dims: the union over the cases of a plan."""
    cases = plan.cases.values()
    used = {label for case in cases for label in case.methods}
    slots = {e for case in cases for label in case.methods for e in plan.epsilons(case.name, label)}
    return {
        "case": np.array(list(plan.cases)),
        "method_label": np.array([label for label in plan.methods if label in used]),
        "replicate": np.arange(max(case.replicates for case in cases)),
        "parties": np.array(sorted({count for case in cases for count in case.parties})),
        "fold": np.arange(max(case.folds for case in cases)),
        "epsilon": np.array(sorted(slots)),
    }


@dataclass(frozen=True)
class CellBlock:
    """The cells of a case and a method: a product of their own labels, without a hole, one after the other.

    case, method : their labels; parties, epsilons : their own labels, in the order of the cube
    first : number of its first cell; shape : how many replicates, parties, folds and epsilons it has
    """

    case: str
    method: str
    parties: list[int]
    epsilons: list[float]
    first: int
    shape: tuple[int, int, int, int]

    @property
    def stop(self) -> int:
        """Number of the first cell behind it."""
        return self.first + math.prod(self.shape)


class Places:
    """Positions of the cells of a plan.

    labels : labels of the six dims; shape : their lengths
    cells : (n,) int64, ascending: positions of the cells in the dense product of the six dims, in C order
    blocks : the cells of each case and method, in the order of the cube
    """

    def __init__(self, plan: Plan) -> None:
        self.labels = axes(plan)
        self.shape = tuple(len(values) for values in self.labels.values())
        self._at = {name: {v: i for i, v in enumerate(values.tolist())} for name, values in self.labels.items()}
        self.blocks = list(self._blocks(plan))
        self.cells = np.concatenate([self._positions(plan, block) for block in self.blocks])

    def _blocks(self, plan: Plan) -> Iterator[CellBlock]:
        first = 0
        for name, case in plan.cases.items():
            for method in sorted(case.methods, key=self._at["method_label"].__getitem__):
                parties, epsilons = sorted(case.parties), sorted(map(float, plan.epsilons(name, method)))
                shape = (case.replicates, len(parties), case.folds, len(epsilons))
                yield CellBlock(name, method, parties, epsilons, first, shape)
                first += math.prod(shape)

    def _positions(self, plan: Plan, block: CellBlock) -> np.ndarray:
        """Positions of the cells of a block, ascending because all its labels are."""
        case = plan.cases[block.case]
        rest = (range(case.replicates), block.parties, range(case.folds), block.epsilons)
        return self.of((block.case, block.method, *rest))

    def of(self, block: Sequence[Label | Iterable[Label]]) -> np.ndarray:
        """Positions of a block of labels (or single labels) in the order of the six dims, in C order."""
        chosen = []
        for (name, at), wanted in zip(self._at.items(), block, strict=True):
            try:
                chosen.append([at[value] for value in ([wanted] if isinstance(wanted, str | int | float) else wanted)])
            except KeyError as missing:
                word = word_of(name)
                raise CubeError(
                    f"a block has {word} {missing}, which is not in the configuration: delete it and run again."
                ) from None
        return np.ravel_multi_index(np.ix_(*chosen), self.shape).ravel()

    def within(self, start: int, stop: int) -> slice:
        """The cells whose positions lie in start..stop-1."""
        first, last = np.searchsorted(self.cells, (start, stop))
        return slice(int(first), int(last))

    def name(self, position: int) -> str:
        """The labels of a position, for messages."""
        where = np.unravel_index(position, self.shape)
        labels = [values[i] for values, i in zip(self.labels.values(), where, strict=True)]
        return ", ".join(f"{word_of(dim)} {label}" for dim, label in zip(self.labels, labels, strict=True))


@dataclass(frozen=True)
class Words:
    """Text of all cells by number: ``codes`` (n,), 0 where a cell has none; ``number`` of each text, from 1."""

    codes: np.ndarray
    number: dict[str, int]

    def put(self, at: np.ndarray, values: np.ndarray) -> None:
        """Number the texts of some cells."""
        words, inverse = np.unique(values, return_inverse=True)
        numbers = [self.number.setdefault(word, len(self.number) + 1) if word else 0 for word in words.tolist()]
        self.codes[at] = np.array(numbers)[inverse.ravel()]


class CubeColumns:
    """Scalars of the cells of a plan, filled part by part."""

    def __init__(self, plan: Plan) -> None:
        self.places = Places(plan)
        self.described = {**COMMON, **plan.study.variables}
        self.status = np.zeros(len(self.places.cells), np.int8)
        self.numbers: dict[str, np.ndarray] = {}
        self.kinds: dict[str, set[str]] = {}
        self._digests: dict[str, np.ndarray] = {}
        self._words: dict[str, Words] = {}
        self._count = np.zeros(len(self.places.cells), np.uint8)
        self._unexpected: list[int] = []
        self._apart: set[str] = set()

    def add(self, part: Part) -> None:
        """Put the numbers of a part in their places."""
        cells = self.places.cells
        block = (part.case, part.method, part.replicates, part.parties, part.folds, part.epsilon)
        positions = self.places.of(block)
        at = np.searchsorted(cells, positions).clip(max=len(cells) - 1)
        known = cells[at] == positions
        self._unexpected += positions[~known].tolist()
        at = at[known]
        if RUN_APART in part.numbers:
            self._apart.add(part.case)
        self._count[at] = np.minimum(self._count[at], 254) + 1
        for name, values in part.numbers.items():
            self._put(name, part.kinds[name], at, values.ravel()[known])

    def _put(self, name: str, kind: str, at: np.ndarray, values: np.ndarray) -> None:
        if name == "status":
            self.status[at] = [STATUS.index(value) for value in values.tolist()]
            return
        kinds = self.kinds.setdefault(name, set())
        kinds |= {kind} - {"none"}
        if "str" in kinds and len(kinds) > 1:
            raise CubeError(f"{name} is text in some cells and a number in others: keep to one kind.")
        if kind == "str":
            self._put_text(name, at, values)
        else:
            self.number(name)[at] = values

    def number(self, name: str) -> np.ndarray:
        """The numbers of a variable, (n,), NaN where none was reported."""
        if name not in self.numbers:
            self.numbers[name] = np.full(len(self.status), np.nan)
        return self.numbers[name]

    def costs(self, name: str, method: str) -> bool:
        """Whether a variable is positive and finite in some cell of a method."""
        values = self.numbers.get(name, np.full(len(self.status), np.nan))
        blocks = (block for block in self.places.blocks if block.method == method)
        parts = (values[block.first : block.stop] for block in blocks)
        return any(bool(((part > 0) & np.isfinite(part)).any()) for part in parts)

    def _put_text(self, name: str, at: np.ndarray, values: np.ndarray) -> None:
        """Digests differ from cell to cell and are kept as they are, other texts by number."""
        digests = name not in self._words and all(map(CODE_PATTERN.fullmatch, values.tolist()))
        if digests:
            if name not in self._digests:
                self._digests[name] = np.zeros(len(self.status), "S64")
            self._digests[name][at] = values
            return
        if name not in self._words:
            self._words[name] = Words(np.zeros(len(self.status), np.int32), {})
            if name in self._digests:
                before = self._digests.pop(name)
                self._words[name].put(np.arange(len(before)), before.astype(str))
        self._words[name].put(at, values)

    def check(self) -> None:
        """CubeError for the first cell that is missing, duplicated or not in the plan.

        Of a case whose parties ran apart there are the fits that they ran.
        """
        cells, missing = self.places.cells, self._count == 0
        for block in self.places.blocks:
            missing[block.first : block.stop] &= block.case not in self._apart
        for problem, wrong in (
            ("is missing from the blocks: run again", cells[missing]),
            ("is in more than one block: delete these blocks and run again", cells[self._count > 1]),
            ("is in a block and not in the configuration: delete that block", sorted(set(self._unexpected))),
        ):
            if len(wrong):
                raise CubeError(f"cell ({self.places.name(wrong[0])}) {problem} ({len(wrong)} such cells in all).")

    def names(self) -> list[str]:
        """All variables but ``status``, sorted."""
        return sorted({*self.numbers, *self._digests, *self._words})

    def units(self, name: str) -> str:
        """Units of a variable."""
        return self.described[name][1]

    def display_values(self, name: str, at: slice) -> list[Scalar]:
        """Values of some cells as the cube has them: numbers, words, and ``""`` where there is none."""
        if name == "status":
            return [STATUS[code] for code in self.status[at].tolist()]
        if name in self._digests:
            return [digest.decode() for digest in self._digests[name][at].tolist()]
        if name in self._words:
            words = ["", *(plain_word(word) for word in self._words[name].number)]
            return [words[code] for code in self._words[name].codes[at].tolist()]
        whole = self.kind(name) in ("bool", "int")
        return ["" if x != x else int(x) if whole else x for x in self.numbers[name][at].tolist()]

    def part(self, values: np.ndarray, block: CellBlock) -> np.ndarray:
        """A view of the values of a block, (replicate, parties, fold, epsilon) of its own lengths."""
        return values[block.first : block.stop].reshape(block.shape)

    def _dense(self, values: np.ndarray, start: int, stop: int, outside: float | bytes) -> np.ndarray:
        block = np.full(stop - start, outside, values.dtype)
        chosen = self.places.within(start, stop)
        block[self.places.cells[chosen] - start] = values[chosen]
        return block

    def layers(self) -> Iterator[Layer]:
        """The variables over the six dims as they lie in the file, sorted by name."""
        for name in sorted([*self.names(), "status"]):
            yield self._layer(name)

    def _layer(self, name: str) -> Layer:
        def layer(
            values: np.ndarray, attributes: Mapping[str, object], outside: float | bytes, fill: float | None
        ) -> Layer:
            def block(start: int, stop: int) -> np.ndarray:
                return self._dense(values, start, stop, outside)

            def empty(start: int, stop: int) -> bool:
                chosen = self.places.within(start, stop)
                return bool(chosen.start == chosen.stop)

            return Layer(name, values.dtype, {**described, **attributes}, fill, block, empty)

        if name == "status":
            described = {"long_name": "what became of the cell", "units": "1"}
            return layer(self.status, flag_attributes(STATUS), 0, None)
        described = {"long_name": self.described[name][0], "units": self.units(name)}
        if name in self._digests:
            return layer(self._digests[name], {}, b"", None)
        if name in self._words:
            codes, words = self._ordered_codes(name)
            return layer(codes, flag_attributes(("not_in_design", *words), np.int16), 0, None)
        kind, values = self.kind(name), self.numbers[name]
        if kind not in ("bool", "int"):
            return layer(values, {}, np.nan, np.nan)
        dtype = "int8" if kind == "bool" else "int64"
        missing = MISSING[dtype]
        whole = np.where(np.isnan(values), missing, values).round().astype(dtype)
        flags = flag_attributes(("false", "true")) if kind == "bool" else {}
        return layer(whole, flags, missing, whole.dtype.type(missing))

    def kind(self, name: str) -> str:
        """The widest kind of number that the parts report."""
        return max(self.kinds[name], key=KINDS.index, default="float")

    def _ordered_codes(self, name: str) -> tuple[np.ndarray, list[str]]:
        """Codes of a text by the order of its words."""
        number = self._words[name].number
        words = sorted(number)
        if len(words) > MOST_WORDS:
            raise CubeError(f"{name} has {len(words)} different texts: at most {MOST_WORDS} can be flags.")
        order = np.zeros(len(words) + 1, np.int16)
        for i, word in enumerate(words, 1):
            order[number[word]] = i
        return order[self._words[name].codes], words
