"""The environment of a run: a place for caches, one thread per process, our plugins, our profile and our display."""

from __future__ import annotations

import argparse
import getpass
import os
from pathlib import Path

import yaml

from partywise.core.project import THREADS
from place import ROOT

WORKFLOW = Path(__file__).resolve().parents[1]
PLUGINS = WORKFLOW / "plugins"
BYTECODE = Path.cwd() / ".snakemake" / "bytecode"


def account(folder: Path) -> dict[str, str]:
    """Return what programs need of a user's account: a place for caches, below .snakemake, a home and a name.

    Snakemake, matplotlib and pip keep there what they need again; the user's choice wins.  Matplotlib would also read
    its user's settings, which change figures.
    """
    place = folder.resolve() / ".snakemake" / "cache"
    chosen = {"XDG_CACHE_HOME": str(place), "MPLCONFIGDIR": str(place / "matplotlib")}
    chosen = {name: os.environ.get(name) or value for name, value in chosen.items()}
    if not os.path.isdir(os.path.expanduser("~")):
        chosen["HOME"] = str(place)
    try:
        getpass.getuser()
    except (KeyError, OSError):
        # In a container a number can run without an account.
        chosen["USER"] = str(os.getuid())
    return chosen


def environment() -> dict[str, str]:
    """One thread per process, our plugins on the path, and compiled modules that are kept between jobs."""
    variables = dict(os.environ)
    # Container images often forbid bytecode beside the sources.  Without any, every job compiles all that it imports,
    # which costs more than its other start-up: then it has a folder of its own.
    if variables.pop("PYTHONDONTWRITEBYTECODE", ""):
        variables.setdefault("PYTHONPYCACHEPREFIX", str(BYTECODE))
    paths = filter(None, [str(PLUGINS), variables.get("PYTHONPATH")])
    return {**variables, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}


def profile_words(arguments: argparse.Namespace) -> list[str]:
    """Return the words of the profile that Snakemake would find by itself, and announce; none where one is named.

    A folder with a profile of its own keeps it.
    """
    file = Path("profiles") / "default" / "config.yaml"
    local_profiles = [
        path for path in (Path("default"), file.parent) if path.exists() and not path.samefile(ROOT / file.parent)
    ]
    if arguments.workflow_profile or local_profiles:
        return []
    settings = yaml.safe_load((ROOT / file).read_text(encoding="utf-8")).items()
    words = [f"--{key}" if value is True else f"--{key}={value}" for key, value in settings]
    return ["--workflow-profile=none", *words]


def display(arguments: argparse.Namespace) -> list[str]:
    """Jobs done, time left and errors in full, with or without a terminal; the user's choice wins."""
    return [] if arguments.logger or arguments.quiet is not None or arguments.verbose else ["--logger", "partywise"]
