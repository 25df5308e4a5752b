"""The cube: what one study computed, as one labelled file, and the job that makes it from the corners of all fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from .assembly import DIMS, assemble
from .attributes import check_attributes, meanings
from .corners import read_corner
from .errors import CubeError
from .files import replacing
from .plan import Plan
from .provenance import global_attributes
from .summary import summary_rows, summary_text
from .tables import ledger_rows, ledger_totals, wire_markdown, write_csv, write_text

__all__ = ["DIMS", "assemble", "check_attributes", "collect", "meanings", "open_cube", "write_cube"]

CHUNK_BYTES = 4 * 2**20


def collect(
    plan: Plan, corners: Iterable[Path | str], outputs: Mapping[str, Path | str], *, code_sha256: str, root: Path
) -> None:
    """Gather the corners of a study and write everything that is kept of it.

    Parameters
    ----------
    plan : Plan
    corners : iterable of path
        One file of each fit job; their order does not matter.
    outputs : mapping
        Paths of ``cube``, ``ledger``, ``totals``, ``wire``, ``summary`` and ``text``.
    code_sha256 : str
        Fingerprint of the library files behind the cube.
    root : Path
        Project folder, for the revision and the lock.
    """
    found = sorted(map(read_corner, corners), key=lambda c: (c.case, c.method, c.parties, c.replicates, c.folds))
    cube = assemble(plan, found)
    cube.attrs = dict(global_attributes(plan, code_sha256=code_sha256, root=root))
    write_cube(outputs["cube"], cube)
    write_csv(outputs["ledger"], ledger_rows(plan, found))
    write_csv(outputs["totals"], ledger_totals(plan, found))
    write_text(outputs["wire"], wire_markdown(plan, found))
    write_csv(outputs["summary"], summary_rows(plan, cube))
    write_text(outputs["text"], summary_text(plan, cube))


def write_cube(path: Path | str, cube: xr.Dataset) -> None:
    """Write a cube as NetCDF-4, byte for byte the same for the same cube, in one step for its readers.

    Raises
    ------
    CubeError
        When an attribute is missing, or the file read back differs.
    """
    problems = check_attributes(cube)
    if problems:
        raise CubeError(f"the cube lacks metadata: {problems[0]} ({len(problems)} problems in all).")
    with replacing(path) as temporary:
        cube.to_netcdf(temporary, engine="netcdf4", format="NETCDF4", encoding=dict(_encodings(cube)))
        if not open_cube(temporary).identical(cube):
            raise CubeError(f"cube {path} differs when read back: the disk may be full or faulty; run again.")


def _encodings(cube: xr.Dataset) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, variable in cube.variables.items():
        encoding = dict(variable.encoding)
        if name in cube.dims:
            encoding = {"_FillValue": None} if variable.dtype.kind != "U" else {"dtype": "S1"}
        if variable.dtype.kind != "U":
            encoding |= {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": _chunks(variable)}
        else:
            encoding |= {"zlib": True, "complevel": 4}
        yield str(name), encoding


def _chunks(variable: xr.Variable) -> tuple[int, ...]:
    """The whole variable where it has at most a few MB, else parts of its first dims."""
    chunks, size = list(variable.shape), variable.nbytes
    for i, length in enumerate(chunks):
        if size <= CHUNK_BYTES:
            break
        chunks[i] = max(1, int(length * CHUNK_BYTES // size))
        size = size // length * chunks[i]
    return tuple(chunks)


def open_cube(path: Path | str) -> xr.Dataset:
    """Read a cube into memory.

    Raises
    ------
    CubeError
        When the file is absent, truncated, or no cube of this project.
    """
    try:
        with xr.open_dataset(path, engine="netcdf4", decode_times=False) as stored:
            cube = stored.load()
    except (OSError, ValueError, RuntimeError) as error:
        raise CubeError(f"cube {path} cannot be read ({error}): delete it and run again.") from None
    absent = [dim for dim in DIMS if dim not in cube.dims]
    if absent:
        raise CubeError(f"{path} has no dim {absent[0]!r}: it is not a cube of this project.")
    return cube
