"""The verbs ``compare --findings``, of two runs, and ``compare --reference``, of a run and the stored one.

The reference is one archive of the cubes of a run, without examples and digests: the same bytes wherever it is packed,
as it has no names, times and owners of its files.
"""

from __future__ import annotations

import argparse
import io
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import DataMissing
from ...core.files import replacing
from ...core.project import ROOT, command

if TYPE_CHECKING:
    import xarray as xr

EPILOG = """exit code: 0 nothing differs, 1 something differs, 2 nothing could be compared (as `diff` of files)

A cell is a case, a method, a number of parties and an epsilon.  Its mean is that over replicates of each one's mean
over folds.  With one root seed the replicates share their random numbers: their differences are tested (paired); with
two root seeds the means of two independent samples.  Without --findings the
verb reports every bit that moved."""
ARCHIVE = ROOT / "docs/reference/default.tar.xz"
NAME, FOLDER = "cube.nc", Path("reference")


def compare_findings(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print what differs between two cubes or folders; 1 when something does."""
    parser.add_argument("first", type=Path, help="a cube, or a folder of results such as results/default")
    parser.add_argument("second", type=Path)
    parser.add_argument("--only-changed", action="store_true", help="leave out cubes and cases without a difference")
    parser.add_argument("--csv", type=Path, help="write everything that differs to this file, not a screen of it")
    parser.epilog = EPILOG
    options = parser.parse_args(words)
    return print_findings(options.first, options.second, options.only_changed, options.csv)


def print_findings(first: Path, second: Path, only_changed: bool, csv: Path | None) -> int:
    """Print what differs between two cubes or folders; 1 when something does."""
    from ..tables.rows import write_csv
    from .difference import differences, rows
    from .summary import text

    findings = list(differences(first, second))
    print(text(findings, only_changed))
    if csv is not None:
        write_csv(csv, rows(findings))
        print(f"Everything that differs: {csv}")
    return 0 if all(finding.equal for finding in findings) else 1


def compare_reference(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Pack a run, or unpack the archive next to the runs and print what differs; 1 when something does."""
    parser.add_argument("run", type=Path, nargs="?", default=Path("results/default"), help="default results/default")
    parser.add_argument("--archive", type=Path, default=ARCHIVE)
    parser.add_argument("--pack", action="store_true", help="make the archive from the run, in place of unpacking it")
    options = parser.parse_args(words)
    run, archive = options.run, options.archive
    if options.pack:
        pack(run, archive)
        print(f"{archive}: {archive.stat().st_size / 1e6:.2f} MB of {run}.")
        return 0
    folder = run.parent / FOLDER / run.name
    unpack(archive, folder)
    print(f"{archive} is unpacked into {folder}.")
    if not run.is_dir():
        print(f"{run} is absent: run {command()}, then {command('compare --reference')} again.")
        return 2
    return print_findings(folder, run, True, None)


def bare(cube: xr.Dataset) -> xr.Dataset:
    """A cube with the numbers of its cells only: without examples, and without the digests of ledgers."""
    from ..results.cube import DIMS

    names = [
        name for name, variable in cube.data_vars.items() if variable.dims == DIMS and variable.dtype.kind not in "OUS"
    ]
    inner = cube[names]
    return inner.drop_vars([name for name, variable in inner.coords.items() if not set(variable.dims) <= set(DIMS)])


def pack(run: Path, archive: Path) -> None:
    """All cubes of a run in one archive."""
    from ..results.cube import open_cube

    paths = sorted(run.glob(f"*/{NAME}"))
    if not paths:
        raise DataMissing(f"{run} has no cube: run it first.")
    archive.parent.mkdir(parents=True, exist_ok=True)
    # Nothing is compressed before the archive is: that would hide what repeats.
    with replacing(archive) as temporary, tarfile.open(temporary, "w:xz", preset=9) as tar:
        for path in paths:
            content = netcdf_bytes(bare(open_cube(path)))
            info = tarfile.TarInfo(f"{path.parent.name}/{NAME}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def netcdf_bytes(cube: xr.Dataset) -> bytes:
    """A cube as the bytes of a file."""
    for variable in cube.variables.values():
        variable.encoding = {key: variable.encoding[key] for key in ("dtype", "_FillValue") if key in variable.encoding}
    with tempfile.TemporaryDirectory() as scratch:
        cube.to_netcdf(Path(scratch, NAME), engine="netcdf4", format="NETCDF4")
        return Path(scratch, NAME).read_bytes()


def unpack(archive: Path, folder: Path) -> None:
    """The cubes of an archive, each in the folder of its study."""
    if not archive.is_file():
        raise DataMissing(f"{archive} is absent: restore it from the repository.")
    with tarfile.open(archive, "r:xz") as tar:
        for member in tar.getmembers():
            content = tar.extractfile(member)
            study = Path(member.name).parts[0]
            if content is None or member.name != f"{study}/{NAME}":
                raise DataMissing(f"{archive} holds {member.name!r}: it is not an archive of cubes.")
            target = folder / study / NAME
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                temporary.write_bytes(content.read())
