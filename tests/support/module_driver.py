"""Which modules a job really loads: scripts of the pipeline, each in a process of its own.

Reads a list of jobs as JSON (``script``, ``input``, ``output``, ``params``, ``study``, ``closure``), writes for each
the modules of the package that it loaded, and the error that ended it, if any.  What the closures of neighbours have in
common is loaded once and forked: a module that a closure lacks is not among it, so a job that uses it loads it itself.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Packages that many jobs need are loaded once and forked; the library itself is loaded by each job.
import matplotlib.pyplot  # noqa: F401
import netCDF4  # noqa: F401
import scipy.linalg
import scipy.special  # noqa: F401
import xarray  # noqa: F401
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "lib"


def without_pictures(kind: type[Any], name: str) -> None:
    """Files of an empty picture: writing pictures takes half of the time of all jobs, and loads matplotlib's modules.

    What is printed into memory is a layout, and is made.
    """
    printed = getattr(kind, name)

    def touch(canvas: Any, path: Any, **given: Any) -> None:
        if not isinstance(path, Path):
            return printed(canvas, path, **given)
        path.write_text("<svg></svg>")

    setattr(kind, name, touch)


without_pictures(FigureCanvasSVG, "print_svg")
without_pictures(FigureCanvasPdf, "print_pdf")
without_pictures(FigureCanvasAgg, "print_png")


class Named(dict[str, Any]):
    """Files or parameters of a job, by name or by number, as Snakemake hands them to a script."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __getitem__(self, key: str | int) -> Any:
        return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)


def run(job: dict[str, Any], answer: Path) -> None:
    """Run the script of a job in this process and write what it used."""
    script, error = ROOT / "scripts" / f"{job['script']}.py", ""
    parts = {part: Named(job[part]) for part in ("input", "output", "params")}
    handed = SimpleNamespace(**parts, log=[os.devnull], scriptdir=str(script.parent))
    try:
        runpy.run_path(str(script), init_globals={"snakemake": handed})
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "partywise")
    answer.write_text(json.dumps({"loaded": loaded, "error": error}))


def forked(work: Callable[[], None]) -> None:
    """Do it in a process of its own, and wait for its end."""
    sys.stdout.flush()
    # A collector that looks at what is loaded copies every page of it, in every process.
    gc.disable()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.waitpid(child, 0)


def neighbours(jobs: dict[int, dict[str, Any]], scratch: Path) -> None:
    """Jobs of one script on one study: what all of their closures hold is loaded, then each runs in a fork."""
    for module in sorted(set.intersection(*(set(job["closure"]) for job in jobs.values()))):
        importlib.import_module(module)
    for number, job in jobs.items():
        forked(partial(run, job, scratch / str(number)))


def main() -> None:
    """Jobs on standard input, answers on standard output."""
    sys.path.insert(0, str(LIBRARY))
    groups: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for number, job in enumerate(json.load(sys.stdin)):
        groups.setdefault((job["study"], job["script"]), {})[number] = job
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for jobs in groups.values():
            forked(partial(neighbours, jobs, scratch))
        count = sum(map(len, groups.values()))
        json.dump([json.loads((scratch / str(number)).read_text()) for number in range(count)], sys.stdout)


if __name__ == "__main__":
    main()
