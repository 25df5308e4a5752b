"""The cube file: what one study computed, under its six dims, written and read back as one labelled NetCDF-4 file."""

from __future__ import annotations

import itertools
import math
import os
import select
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import netCDF4
import numpy as np
import xarray as xr

from ...core.errors import CubeError
from ...core.files import replacing
from .attributes import check_attributes, check_variable
from .guard import Cube, guard_methods

# ``method`` is a parameter of `xarray.Dataset.sel`, so that the dim of the methods has another name.
DIMS = ("case", "method_label", "replicate", "parties", "fold", "epsilon")
CHUNK_BYTES = 4 * 2**20
# Seconds after which a file that is still being read counts as damaged; a gigabyte takes a few.
PATIENCE = 120
PIPE_BYTES = 1000


@dataclass(frozen=True)
class Layer:
    """A variable over the six dims as it lies in the file; its values are made in parts.

    name, dtype, attributes : of the variable; ``S64`` is text of 64 characters
    fill : stands for undefined values, None where every value is defined
    block : (start, stop) -> values at these positions of the dense product, in C order
    empty : (start, stop) -> whether no cell lies there
    """

    name: str
    dtype: np.dtype
    attributes: Mapping[str, object]
    fill: float | None
    block: Callable[[int, int], np.ndarray]
    empty: Callable[[int, int], bool]


def write_cube(path: Path | str, cube: xr.Dataset, layers: Callable[[], Iterable[Layer]] = tuple) -> None:
    """Write a cube as NetCDF-4, byte for byte the same for the same cube, in one step for its readers."""
    problems = check_attributes(cube) + [problem for layer in layers() for problem in check_variable(*_bare(layer))]
    if problems:
        raise CubeError(f"the cube lacks metadata: {problems[0]} ({len(problems)} problems in all).")
    with replacing(path) as temporary:
        cube.to_netcdf(temporary, engine="netcdf4", format="NETCDF4", encoding=dict(_encodings(cube)))
        same = _open(temporary, True).identical(cube)
        with netCDF4.Dataset(temporary, "a") as file:
            for layer in layers():
                _write_layer(file, layer)
        with netCDF4.Dataset(temporary) as file:
            same = same and all(_same_layer(file, layer) for layer in layers())
        if not same:
            raise CubeError(f"cube {path} differs when read back: the disk may be full or faulty; run again.")


def _bare(layer: Layer) -> tuple[str, xr.Variable]:
    """The variable of a layer without its values."""
    return layer.name, xr.Variable(DIMS, np.empty([0] * len(DIMS), layer.dtype), layer.attributes)


def _write_layer(file: netCDF4.Dataset, layer: Layer) -> None:
    shape = tuple(len(file.dimensions[dim]) for dim in DIMS)
    chunks, dtype = _chunks(shape, layer.dtype.itemsize), layer.dtype.str
    dims: tuple[str, ...] = DIMS
    width: tuple[int, ...] = ()
    if layer.dtype.kind == "S":
        dims, dtype, width = (*DIMS, f"string{layer.dtype.itemsize}"), "S1", (layer.dtype.itemsize,)
        if dims[-1] not in file.dimensions:
            file.createDimension(dims[-1], layer.dtype.itemsize)
    variable = file.createVariable(
        layer.name,
        dtype,
        dims,
        zlib=True,
        complevel=4,
        shuffle=True,
        chunksizes=(*chunks, *width),
        fill_value=layer.fill,
    )
    variable.setncatts(dict(layer.attributes) | ({"_Encoding": "utf-8"} if width else {}))
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    # Whole chunks are written one after the other: a cache for each variable would only cost memory.
    variable.set_var_chunk_cache(1, 1, 0.0)
    for part, start, stop in _parts(shape, chunks):
        # What is never written holds the fill value, or no text, and takes no space.
        if (layer.fill is None and not width) or not layer.empty(start, stop):
            variable[part] = _chars(layer.block(start, stop), [s.stop - s.start for s in part])


def _same_layer(file: netCDF4.Dataset, layer: Layer) -> bool:
    """Whether a layer reads back as it was written, to the last bit."""
    variable, shape = file[layer.name], tuple(len(file.dimensions[dim]) for dim in DIMS)
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    variable.set_var_chunk_cache(1, 1, 0.0)
    return all(
        variable[part].tobytes() == _chars(layer.block(start, stop), [s.stop - s.start for s in part]).tobytes()
        for part, start, stop in _parts(shape, variable.chunking()[: len(DIMS)])
        if not layer.empty(start, stop)
    )


def _chars(values: np.ndarray, shape: list[int]) -> np.ndarray:
    """Values in the shape of a part; text as single characters along one more axis."""
    return values.view("S1").reshape(*shape, -1) if values.dtype.kind == "S" else values.reshape(shape)


def _parts(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[tuple[tuple[slice, ...], int, int]]:
    """The chunks of a variable, each with the positions that it covers: chunks only divide the first dims."""
    ranges = [range(0, length, size) for length, size in zip(shape, chunks, strict=True)]
    for corner in itertools.product(*ranges):
        part = tuple(slice(i, min(i + c, n)) for i, c, n in zip(corner, chunks, shape, strict=True))
        start = int(np.ravel_multi_index(corner, shape))
        yield part, start, start + math.prod(s.stop - s.start for s in part)


def _encodings(cube: xr.Dataset) -> Iterator[tuple[str, dict[str, object]]]:
    """Compression, chunks, and the types and fill values that the variables were given; text of fixed width."""
    for name, variable in cube.variables.items():
        encoding: dict[str, object] = {
            key: variable.encoding[key] for key in ("dtype", "_FillValue") if key in variable.encoding
        }
        if name in cube.dims:
            encoding = {"_FillValue": None}
        if variable.dtype.kind in "UO":
            encoding = {"dtype": "S1"}
        else:
            encoding |= {"chunksizes": _chunks(variable.shape, variable.dtype.itemsize), "shuffle": True}
        yield str(name), encoding | {"zlib": True, "complevel": 4}


def _chunks(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The whole variable where it has at most a few MB, else parts of its first dims."""
    chunks, size = list(shape), math.prod(shape) * itemsize
    for i, length in enumerate(chunks):
        if size <= CHUNK_BYTES:
            break
        chunks[i] = max(1, int(length * CHUNK_BYTES // size))
        size = size // length * chunks[i]
    return tuple(chunks)


def open_cube(path: Path | str, *, load: bool = True) -> Cube:
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

    Examples
    --------
    >>> import partywise as pw
    >>> pw.open_cube("mine/cube.nc")  # of results/mine/vertical_glm
    Traceback (most recent call last):
    partywise.core.errors.CubeError: mine/cube.nc is not there: name the cube.nc of a study in a folder of results.
    """
    if problem := _no_cube(Path(path)):
        raise CubeError(f"{path} {problem}.")
    if problem := _trial(path):
        # Made here by a run, which leaves records beside its cubes; whatever else was named is its owner's.
        from_run = Path(path).name == "cube.nc" and (Path(path).parents[1] / "provenance").is_dir()
        remedy = "delete it and run again" if from_run else "name the cube.nc of a study in a folder of results, whole"
        raise CubeError(f"{path} cannot be read as a cube ({problem}): {remedy}.")
    cube = _open(path, load)
    absent = [dim for dim in DIMS if dim not in cube.dims]
    if absent:
        cube.close()
        if absent == ["method_label"] and "method" in cube.dims:
            raise CubeError(
                f"{path} has the dim 'method' of an earlier version, which is called 'method_label' now: run again, or "
                "write it anew after cube.rename(method='method_label')."
            )
        raise CubeError(f"{path} has no dim {absent[0]!r}: it is not a cube of this project.")
    return guard_methods(cube)


def open_recorded_cube(path: Path | str) -> Cube:
    """A cube whose bytes a provenance record vouches for, so that nothing is tried; as `open_cube` without ``load``."""
    return guard_methods(_open(path, load=False))


def _no_cube(path: Path) -> str:
    """Why a path is not a cube's file and what to name instead, as the end of a sentence; empty where it may be one."""
    if path.is_dir():
        cubes = [str(cube) for cube in sorted(path.glob("cube.nc")) + sorted(path.glob("*/cube.nc"))]
        return f"is a folder: name a cube, {' or '.join(cubes[:3]) or 'such as results/default/vertical_glm/cube.nc'}"
    if not path.exists():
        return "is not there: name the cube.nc of a study in a folder of results"
    if path.suffix in (".yaml", ".yml", ".json", ".csv", ".html", ".txt"):
        return "is no cube: name the cube.nc of a study in a folder of results"
    return ""


def _open(path: Path | str, load: bool) -> xr.Dataset:
    cube = xr.open_dataset(path, engine="netcdf4", decode_times=False)
    if load:
        with cube:
            cube = cube.load()
    return cube


def _trial(path: Path | str) -> str:
    """Why a file cannot be read, empty where it can: all of it is read by a process of its own.

    In a damaged file the reading library may loop forever or crash, without an exception.
    """
    listening, telling = os.pipe()
    with warnings.catch_warnings():
        # Threads of linear algebra that are idle; the child only reads a file.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _read_all(path, telling)
    os.close(telling)
    with open(listening, "rb") as pipe:
        ended, _, _ = select.select([pipe], [], [], PATIENCE)
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not ended:
            return f"reading it did not end within {PATIENCE} seconds"
        if os.WIFSIGNALED(status):
            return f"reading it crashed, {signal.Signals(os.WTERMSIG(status)).name}"
        return pipe.read().decode(errors="replace")


def _read_all(path: Path | str, telling: int) -> NoReturn:
    """Read every value in parts that fit into memory, report what is wrong, and end this process."""
    message = b""
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        with netCDF4.Dataset(path) as cube:
            # As it lies there, chunk by chunk: no label is made, and no chunk unpacked twice.
            cube.set_auto_maskandscale(False)
            cube.set_auto_chartostring(False)
            for variable in cube.variables.values():
                chunking = variable.chunking()
                chunks = variable.shape if isinstance(chunking, str) else chunking
                for part, _, _ in _parts(variable.shape, chunks):
                    _ = variable[part]
    except BaseException as error:
        words = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = words.encode(errors="replace")[:PIPE_BYTES]
    finally:
        os.write(telling, message)
        os._exit(0)
