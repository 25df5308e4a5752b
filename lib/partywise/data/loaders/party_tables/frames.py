"""Columns of a pickled table of pandas, read without pandas: the pickle may name arrays and nothing else.

A pickle runs what it names.  This reader knows the few names that a table is made of and gives each a meaning of its
own, so that nothing foreign runs, and a fit does not import a package that it needs for one table.
"""

from __future__ import annotations

import io
import lzma
import pickle

# Any: what a pickle holds.
from typing import Any, Literal

import numpy as np

from ....core.errors import DataMissing

# What bytes that are no such table end in.
_WRONG = (
    *(lzma.LZMAError, pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError, AttributeError, IndexError),
)
# Far above the largest member, 2 MB.
LARGEST = 100_000_000


class _State:
    """A substitute for a pandas object: its arguments, and the state that the pickle gives it."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments, self.state = arguments, None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _array(values: bytes, dtype: np.dtype, shape: tuple[int, ...], order: Literal["C", "F"]) -> np.ndarray:
    return np.frombuffer(values, dtype).reshape(shape, order=order)


def _empty(kind: type, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.ndarray(shape, dtype)


def _block(values: np.ndarray, place: slice | np.ndarray, axes: int) -> tuple[np.ndarray, slice | np.ndarray]:
    return values, place


def _index(kind: str, parts: dict[str, object]) -> object:
    return parts.get("data")


# Every name that the tables use, and what it means here.
_KNOWN: dict[tuple[str, str], object] = {
    ("pandas.core.frame", "DataFrame"): _State,
    ("pandas.core.internals.managers", "BlockManager"): _State,
    ("pandas._libs.internals", "_unpickle_block"): _block,
    ("pandas.core.indexes.base", "_new_Index"): _index,
    ("pandas.core.indexes.base", "Index"): "Index",
    ("pandas.core.indexes.range", "RangeIndex"): "RangeIndex",
    ("numpy.core.numeric", "_frombuffer"): _array,
    ("numpy.core.multiarray", "_reconstruct"): _empty,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("builtins", "slice"): slice,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"names {module}.{name}")
        return _KNOWN[module, name]


def read_frame(content: bytes, file: str) -> dict[str, np.ndarray]:
    """The columns of a table: xz-compressed pickle of a pandas DataFrame."""
    try:
        decompressor = lzma.LZMADecompressor()
        raw = decompressor.decompress(content, LARGEST)
        manager = _Reader(io.BytesIO(raw)).load().state["_mgr"]
        blocks, (names, _) = manager.arguments
        columns: dict[int, np.ndarray] = {}
        for values, place in blocks:
            numbers = range(len(names))[place] if isinstance(place, slice) else place.tolist()
            columns |= dict(zip(numbers, values, strict=True))
        return {str(name): columns[j] for j, name in enumerate(names)}
    except _WRONG as error:
        raise DataMissing(
            f"{file} is not a table as it was pinned ({error}): delete the file and run again to fetch it."
        ) from None
