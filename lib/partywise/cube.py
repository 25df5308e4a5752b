"""The cube file: what one study computed, under its six dims, written and read back as one labelled NetCDF-4 file."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import xarray as xr

from .attributes import check_attributes, meanings
from .errors import CubeError
from .files import replacing

__all__ = ["DIMS", "check_attributes", "meanings", "open_cube", "write_cube"]

DIMS = ("case", "method", "replicate", "parties", "fold", "epsilon")
CHUNK_BYTES = 4 * 2**20
# Seconds after which a file that is still being read counts as damaged; a gigabyte takes a few.
PATIENCE = 120
PIPE_BYTES = 1000


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
        if not _opened(temporary, True).identical(cube):
            raise CubeError(f"cube {path} differs when read back: the disk may be full or faulty; run again.")


def _encodings(cube: xr.Dataset) -> Iterator[tuple[str, dict[str, Any]]]:
    """Compression, chunks, and the types and fill values that the variables were given; text of fixed width."""
    for name, variable in cube.variables.items():
        encoding = {key: variable.encoding[key] for key in ("dtype", "_FillValue") if key in variable.encoding}
        if name in cube.dims:
            encoding = {"_FillValue": None}
        if variable.dtype.kind in "UO":
            encoding = {"dtype": "S1"}
        else:
            encoding |= {"chunksizes": _chunks(variable), "shuffle": True}
        yield str(name), encoding | {"zlib": True, "complevel": 4}


def _chunks(variable: xr.Variable) -> tuple[int, ...]:
    """The whole variable where it has at most a few MB, else parts of its first dims."""
    chunks, size = list(variable.shape), variable.nbytes
    for i, length in enumerate(chunks):
        if size <= CHUNK_BYTES:
            break
        chunks[i] = max(1, int(length * CHUNK_BYTES // size))
        size = size // length * chunks[i]
    return tuple(chunks)


def open_cube(path: Path | str, *, load: bool = True) -> xr.Dataset:
    """Read a cube.

    Parameters
    ----------
    path : Path or str
    load : bool
        Whole into memory, and the file is closed. Otherwise each variable is read when it is first used: a figure
        needs few of them. Close the data set then, or use it in a ``with`` statement.

    Raises
    ------
    CubeError
        When the file is absent, truncated, or no cube of this project.
    """
    if problem := _trial(path):
        raise CubeError(f"cube {path} cannot be read ({problem}): delete it and run again.")
    cube = _opened(path, load)
    absent = [dim for dim in DIMS if dim not in cube.dims]
    if absent:
        cube.close()
        raise CubeError(f"{path} has no dim {absent[0]!r}: it is not a cube of this project.")
    return cube


def _opened(path: Path | str, load: bool) -> xr.Dataset:
    cube = xr.open_dataset(path, engine="netcdf4", decode_times=False)
    if load:
        with cube:
            cube = cube.load()
    return cube


def _trial(path: Path | str) -> str:
    """Why a file cannot be read, empty where it can: all of it is read by a process of its own.

    In a damaged file the reading library may go round in circles or crash, which no exception tells.
    """
    listening, telling = os.pipe()
    with warnings.catch_warnings():
        # Threads of linear algebra that are idle; the child only reads a file.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _read_all(path, telling)
    os.close(telling)
    with open(listening, "rb") as told:
        ended, _, _ = select.select([told], [], [], PATIENCE)
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not ended:
            return f"reading it did not end within {PATIENCE} seconds"
        if os.WIFSIGNALED(status):
            return f"reading it crashed, {signal.Signals(os.WTERMSIG(status)).name}"
        return told.read().decode(errors="replace")


def _read_all(path: Path | str, telling: int) -> NoReturn:
    """Read every value in parts that fit into memory, tell what is wrong, and end this process."""
    said = b""
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        with _opened(path, False) as cube:
            for variable in cube.variables.values():
                for i in range(len(variable) if variable.ndim else 0):
                    _ = variable[i].values
    except BaseException as error:
        said = (str(error) or type(error).__name__).encode(errors="replace")[:PIPE_BYTES]
    finally:
        os.write(telling, said)
        os._exit(0)
