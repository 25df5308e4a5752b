"""Files in one step: readers see the whole file or none, and a killed writer leaves nothing that looks finished."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A temporary path in the same folder that takes the name of ``path`` when the block ends without an error.

    The name carries the process, so that a job that outlived its killed pipeline never writes into the file of the
    job that repeats it; leftovers of processes that were killed are removed.

    Raises
    ------
    OSError
        Naming the file and the remedy, when it cannot be written; what was there before stays.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f".{path.stem}.*.part{path.suffix}"):
            old.unlink(missing_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            error.errno, f"{path} cannot be written ({reason}): free space or make the folder writable, and run again."
        ) from error
