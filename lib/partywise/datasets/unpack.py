"""Members of compressed files, of a size that is known before memory is spent: some bytes can stand for gigabytes."""

from __future__ import annotations

import bz2
import io
import zipfile
import zlib

from ..errors import DataMissing

# The largest table of the catalogue has 31 MB.
LARGEST = 500_000_000


def zip_member(content: bytes, member: str, file: str) -> bytes:
    """One member of a zip file as bytes.

    Raises
    ------
    DataMissing
        When ``content`` is no zip file, holds no such member, a damaged one or one of more than ``LARGEST`` bytes;
        names ``file`` and the remedy.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed, packed.open(member) as stream:
            unpacked = stream.read(LARGEST + 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error):
        raise DataMissing(f"{file} holds no {member}: delete the file and run again to fetch it.") from None
    _check(unpacked, f"{member} in {file}")
    return unpacked


def bzip2(content: bytes, file: str) -> bytes:
    """The content of a bzip2 file; errors as in :func:`zip_member`."""
    try:
        with bz2.BZ2File(io.BytesIO(content)) as stream:
            unpacked = stream.read(LARGEST + 1)
    except (OSError, ValueError, EOFError):
        raise DataMissing(f"{file} is no bzip2 file: delete it and run again to fetch it.") from None
    _check(unpacked, file)
    return unpacked


def _check(unpacked: bytes, name: str) -> None:
    if len(unpacked) > LARGEST:
        raise DataMissing(
            f"{name} has more than {LARGEST} bytes: delete the file and run again to fetch the pinned one."
        )
