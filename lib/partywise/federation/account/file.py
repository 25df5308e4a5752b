"""An append-only file of one process: a row is on disk before the write returns."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep

from ...core.errors import AccountError
from .chain import Row, Scan, line_of

# What one row tells, of which run, with which fields.
Entry = tuple[str, str, Mapping[str, object]]
# Seconds between two looks at a file that another process has open.
TURN = 0.02


class AccountFile:
    """The rows of an account, open for writing by this process and no other.

    read : given every row that the file held, in order
    wait : seconds in which another process may close the file
    torn_bytes : bytes of a row that was never finished, cut off the end of the file
    """

    def __init__(self, path: Path, read: Callable[[Row], None], wait: float = 0.0) -> None:
        self.path, self._lock, self._broken, self._process = path, threading.Lock(), False, os.getpid()
        try:
            self._handle = self._open(monotonic() + wait)
            try:
                scan = self._scan(read)
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise self._unwritten(error) from error
        self.torn_bytes, self._number, self._digest = scan.torn_bytes, scan.count, scan.digest

    def _open(self, end: float) -> int:
        _made_folder(self.path.parent)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() < end:
                    sleep(TURN)
                    continue
                os.close(handle)
                raise AccountError(
                    f"{self.path} is open in another process: a party is one process at a time; end the other one "
                    "first."
                ) from None
        # Each time: whoever made the file may have been killed before its name was on disk.
        os.fsync(handle)
        _sync_folder(self.path.parent)
        return handle

    def _scan(self, read: Callable[[Row], None]) -> Scan:
        """All rows are read; one that was never finished is cut off, and one without a line feed gets it."""
        scan = Scan(self.path)
        for row in scan:
            read(row)
        if scan.torn_bytes:
            os.ftruncate(self._handle, scan.end)
        elif scan.open:
            os.write(self._handle, b"\n")
        if scan.torn_bytes or scan.open:
            os.fsync(self._handle)
        return scan

    def append(self, entries: Sequence[Entry]) -> list[Row]:
        """Write rows and return when all are on disk."""
        self.require_own()
        with self._lock:
            if self._broken:
                raise AccountError(f"{self.path} is closed, or could not be written before: begin again.")
            if not os.fstat(self._handle).st_nlink:
                raise AccountError(f"{self.path} was deleted while it was open: put back a copy, and begin again.")
            if not entries:
                return []
            lines, rows, number, digest = list[bytes](), list[Row](), self._number, self._digest
            for kind, run, fields in entries:
                line, row = line_of(number, digest, kind, run, fields)
                number, digest = number + 1, row.digest
                lines.append(line)
                rows.append(row)
            self._broken = True
            try:
                self._write(b"".join(lines))
            except OSError as error:
                raise self._unwritten(error) from error
            self._number, self._digest, self._broken = number, digest, False
            return rows

    def require_own(self) -> None:
        """AccountError in another process than the one that opened the file: a lock is shared with forked children."""
        if os.getpid() != self._process:
            raise AccountError(
                f"{self.path} was opened in process {self._process}, and this is process {os.getpid()}: a party is one "
                "process at a time; open the account where it pays."
            )

    @property
    def size(self) -> int:
        """Bytes of all rows."""
        return os.fstat(self._handle).st_size

    @property
    def end(self) -> tuple[int, str]:
        """Number of rows, and the digest of the last one."""
        with self._lock:
            return self._number, self._digest

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._handle, left) :]
        os.fsync(self._handle)

    def close(self) -> None:
        """Let another process have the file."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._broken = -1, True

    def _unwritten(self, error: OSError) -> AccountError:
        reason = error.strerror or str(error)
        return AccountError(
            f"{self.path} cannot be written ({reason}), and nothing is drawn that is not on disk: free space or make "
            "the folder writable, and begin again."
        )


def _made_folder(folder: Path) -> None:
    """The folder, and those above it that there were none of, with their names on disk."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """The names in a folder are on disk, not the bytes of its files alone."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
