"""Files in one step: readers see the whole file or none, and a killed writer leaves nothing that looks finished.

Named arrays in npz files are written in this way and read with one kind of error.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

TRIAL_BYTES = 2**20
MARK = re.compile(r"([0-9a-f]{8})-(\d+)")
FILES_OPEN = 64


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A temporary path in the same folder that takes the name of ``path`` when the block ends without an error.

    The name carries the process, so that a job that outlived its killed pipeline and the job that repeats it each
    write into a file of their own; the first gives its file up when another run holds the folder.  Files of processes
    of this machine that have ended are removed.  The file of a living one is not, nor one of another machine, whose
    processes are unknown here.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{_machine()}-{os.getpid()}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A process that had this number before may have left a file, or a link, of this name.
        for old in [temporary, *_left(path)]:
            old.unlink(missing_ok=True)
        try:
            yield temporary
            if _survives_run():
                raise OSError(
                    errno.ECANCELED, "the run that started this job has ended, and another may have repeated it"
                )
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


def _left(path: Path) -> list[Path]:
    """Temporary files for a path whose processes have ended on this machine."""
    head, tail = f".{path.stem}.", f".part{path.suffix}"
    leftovers = []
    for name in os.listdir(path.parent):
        if name.startswith(head) and name.endswith(tail):
            mark = MARK.fullmatch(name.removeprefix(head).removesuffix(tail))
            if mark and mark[1] == _machine() and not _alive(int(mark[2])):
                leftovers.append(path.parent / name)
    return leftovers


def _survives_run() -> bool:
    """Whether this process is a job of a run that was killed; False where no run is known or can be asked."""
    run, file = os.environ.get("PARTYWISE_RUN"), os.environ.get("PARTYWISE_RUN_FILE")
    if not run or not file:
        return False
    try:
        return run not in Path(file).read_text(encoding="utf-8")
    except OSError:
        return False


def _alive(process: int) -> bool:
    """Whether a process of this machine runs; one of another user counts."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


@cache
def _machine() -> str:
    """Eight digits for what numbers processes: this host, or one container on it."""
    numbering = ""
    with suppress(OSError):
        numbering = os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(f'{os.uname().nodename} {numbering}'.encode()):08x}"


class Unreadable(ValueError):
    """An npz file is absent, cut off, or something else."""


@contextmanager
def npz_writer(path: Path | str) -> Iterator[Callable[[str, np.ndarray], None]]:
    """A function that writes arrays by name, one in memory at a time; the same arrays give the same bytes."""
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:

        def write(name: str, array: np.ndarray) -> None:
            # Members carry the date that zip files begin with, so that no clock is in the bytes.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)

        yield write


def save_npz(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name; the same arrays give the same bytes."""
    with npz_writer(path) as write:
        for name, array in arrays.items():
            write(name, np.asanyarray(array))


class Npz:
    """An npz file that is read in parts and stays open; `Unreadable` states why it, or a part of it, cannot be read."""

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
    return _open(path, status.st_ino, status.st_mtime_ns)


@lru_cache(maxsize=FILES_OPEN)
def _open(path: Path | str, inode: int, written: int) -> Npz:
    return Npz(path)


@contextmanager
def _reasons() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zlib.error, zipfile.BadZipFile) as error:
        raise Unreadable(str(error)) from None


def bin_names(edges: Sequence[float]) -> list[str]:
    """Names of the bins that cuts make, in order."""
    return [*(f"up to {edge:g}" for edge in edges), "above"]


class ReadPolicy:
    """Questions that readers of own files ask at each step: all is allowed, unless the site of a party allows less."""

    def check_file(self, file: str) -> None:
        """A file is about to be opened."""

    def check_column(self, file: str, name: str) -> None:
        """A column is about to be used."""

    def check_cells(self, file: str, name: str, values: np.ndarray, levels: Sequence[str]) -> None:
        """The (rows,) numbers of a column, or those of its levels, are about to be used."""


READ_POLICY: ContextVar[ReadPolicy] = ContextVar("READ_POLICY", default=ReadPolicy())  # noqa: B039


def nearest_file(path: Path) -> Path | None:
    """The file next to a missing one whose name without its ending is most alike; None where none is."""
    stems = {file.stem: file for file in path.parent.iterdir()} if path.parent.is_dir() else {}
    near = get_close_matches(path.stem, stems, 1)
    return stems[near[0]] if near else None
