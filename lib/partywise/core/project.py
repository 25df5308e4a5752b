"""Place of the pipeline and the call of its verbs: next to ``lib`` in a clone, inside the package of a wheel."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .verbs import Verb

PACKAGE = Path(__file__).resolve().parents[1]
# A wheel is built with it (setup.py).
CARRIED = PACKAGE / "pipeline"
IN_CLONE = not CARRIED.is_dir()
ROOT = PACKAGE.parents[1] if IN_CLONE else CARRIED
# One thread a process: results do not depend on the number of cores.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def command(verb: str = "run") -> str:
    """Return how people call a verb: ``./run VERB`` in a clone, ``partywise VERB`` where the package is installed."""
    if IN_CLONE:
        return "./run" if verb == "run" else f"./run {verb}"
    return f"partywise {verb}"


def exit_code(verb: Callable[[], int]) -> int:
    """Run a verb; 141, as of a process that SIGPIPE ended, where what it prints is read no further (``| head``).

    The signal itself stays ignored: a party whose peer hangs up must go on.
    """
    try:
        try:
            return verb()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        reader = select.poll()
        reader.register(sys.stdout.fileno(), 0)
        if not reader.poll(0):
            raise
        # What is left goes nowhere, so that the end of the process does not try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def become(verb: Verb, words: Sequence[str]) -> int:
    """Turn this process into the program of a verb; 2 where the pipeline cannot run."""
    needed = ("snakemake", "netCDF4", "matplotlib") if verb.needs_pipeline else ()
    missing = next((name for name in needed if find_spec(name) is None), None)
    if missing is not None:
        print(f"partywise {verb.name} needs {missing}: pip install 'partywise[pipeline]'.", file=sys.stderr)
        return 2
    sys.stdout.flush()
    if verb.is_about_clone:
        os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, str(ROOT / "workflow" / verb.function), *words])
