"""Whether results can be written, before any job."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from last_run import path_of
from place import RECORD, RESULTS, TAKEN, Place

from .words import Refused


def check_writable(folder: Path, place: Place, names: Sequence[str]) -> None:
    """Raise :class:`Refused` when a small file cannot be written where results go, or a folder below cannot be."""
    top, snakemake = folder / place.folder, folder / ".snakemake"
    below = [top / name for name in (*TAKEN, *names)]
    wanted = [snakemake, folder / RESULTS, top, *below]
    if snakemake.is_dir():
        wanted += [path for path in snakemake.iterdir() if path.is_dir()]
    wanted += [Path(path) for part in below for path, _, _ in os.walk(part)]
    for path in wanted:
        reason = "" if path.is_dir() else "it is not a folder"
        if path.is_dir() and not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
            reason = "Permission denied"
        if reason and os.path.lexists(path):
            raise Refused(f"{path} cannot be written ({reason}): make it a folder that you may write, or remove it.")
    for path in (path_of(folder), top / RECORD, top / "screen.txt"):
        if path.is_dir():
            raise Refused(f"{path} is a folder where a file should be: move it away or remove it.")
    probed = top if top.is_dir() else folder / RESULTS
    try:
        probed.mkdir(parents=True, exist_ok=True)
        # A file of its own, which no name that lies there already can turn into another one.
        with tempfile.NamedTemporaryFile(dir=probed, prefix=".probe.") as probe:
            probe.write(bytes(2**16))
    except OSError as error:
        raise Refused(
            f"{probed} cannot be written ({error.strerror}): free space, make the folder writable or run in another "
            "one.  What is finished stays."
        ) from None
