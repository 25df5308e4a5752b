"""Named arrays in npz files, written in one step and read with one kind of error."""

from __future__ import annotations

import os
import weakref
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

from .files import replacing

FILES_OPEN = 64


class Unreadable(ValueError):
    """An npz file is absent, cut off, or something else."""


def save_npz(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name; the same arrays give the same bytes."""
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **arrays)


class Npz:
    """An npz file that is read in parts and stays open as long as this object.

    Raises
    ------
    Unreadable
        With the reason, when the file or a part of it cannot be read.
    """

    def __init__(self, path: Path | str) -> None:
        with _reasons(), ExitStack() as closing:
            # numpy leaves the file open when it turns out to be broken, so it is opened here.
            handle = closing.enter_context(Path(path).open("rb"))
            self._stored = closing.enter_context(np.load(handle, allow_pickle=False))
            self._names = list(self._stored.files)
            self._finalizer = weakref.finalize(self, closing.pop_all().close)

    def part(self, head: str) -> dict[str, np.ndarray]:
        """Arrays whose names begin with ``head``, without the head."""
        with _reasons():
            return {name.removeprefix(head): self._stored[name] for name in self._names if name.startswith(head)}


def open_npz(path: Path | str) -> Npz:
    """A file that may be read again soon: the latest ones stay open, as long as they are the same files."""
    with _reasons():
        status = os.stat(path)
    return _opened(path, status.st_ino, status.st_mtime_ns)


@lru_cache(maxsize=FILES_OPEN)
def _opened(path: Path | str, inode: int, written: int) -> Npz:
    return Npz(path)


@contextmanager
def _reasons() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zlib.error, zipfile.BadZipFile) as error:
        raise Unreadable(str(error)) from None
