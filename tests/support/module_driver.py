"""Which modules a job really loads: scripts of the pipeline, each in a process that had none of the library loaded.

Reads a list of jobs as JSON (``script``, ``input``, ``output``, ``params``), writes for each the modules of the package
that it loaded, and the error that ended it, if any.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator
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
    """Files of no bytes: writing pictures takes half of the time of all jobs and loads matplotlib's modules alone.

    What is printed into memory is a layout, and is made.
    """
    printed = getattr(kind, name)

    def touch(canvas: Any, path: Any, **given: Any) -> None:
        if not isinstance(path, Path):
            return printed(canvas, path, **given)
        path.touch()

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


def main() -> None:
    """Jobs on standard input, answers on standard output."""
    sys.path.insert(0, str(LIBRARY))
    answers = []
    for job in json.load(sys.stdin):
        with tempfile.TemporaryDirectory() as scratch:
            answer = Path(scratch) / "answer.json"
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                try:
                    run(job, answer)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            answers.append(json.loads(answer.read_text()))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
