"""Files in one step: readers see the whole file or none, and a killed writer leaves nothing that looks finished."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TRIAL_BYTES = 2**20


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
        except Exception as error:
            # Libraries of file formats hide the reason; the half file is still there, so that the disk tells it again.
            if not isinstance(error, OSError) or error.errno is None or error.errno < 0:
                _try_folder(path.parent)
            raise
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            error.errno, f"{path} cannot be written ({reason}): free space or make the folder writable, and run again."
        ) from error


def _try_folder(folder: Path) -> None:
    """Raise the OSError of a folder where nothing more can be written, for want of space or for another reason."""
    with tempfile.TemporaryFile(dir=folder) as trial:
        trial.write(bytes(TRIAL_BYTES))
        trial.flush()
        os.fsync(trial.fileno())
