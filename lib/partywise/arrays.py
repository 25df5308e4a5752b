"""Named arrays in npz files, written in one step and read with one kind of error."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .files import replacing


class Unreadable(ValueError):
    """An npz file is absent, cut off, or something else."""


def save_npz(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name; the same arrays give the same bytes."""
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def load_npz(path: Path | str, head: str = "", tail: str = "") -> dict[str, np.ndarray]:
    """Arrays whose names begin with ``head`` and end with ``tail``, without the head.

    Raises
    ------
    Unreadable
        With the reason.
    """
    try:
        # numpy leaves the file open when it turns out to be broken, so it is opened here.
        with Path(path).open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            wanted = [name for name in stored.files if name.startswith(head) and name.endswith(tail)]
            return {name.removeprefix(head): stored[name] for name in wanted}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zlib.error, zipfile.BadZipFile) as error:
        raise Unreadable(str(error)) from None
