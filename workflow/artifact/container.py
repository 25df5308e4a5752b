"""Checks of the container recipe that need no build: words, files, the version of Python, the user."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from .facts import text

WORDS = ("FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD", "ENV", "ARG", "VOLUME", "LABEL")
FILE = "packaging/Dockerfile"
BASE = re.compile(r"python:(\d+)\.(\d+)\.(\d+)-slim(-\w+)?(@sha256:[0-9a-f]{64})?")
# The target of one party; what the last stage runs.
PARTY, RUN = "party", "./run"
# What ./run needs in the image.
NEEDED = (
    "run",
    "Snakefile",
    "config.yaml",
    ".git",
    "config",
    "workflow",
    "lib",
    "scripts",
    "profiles",
    "envs",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "locks",
)
# Folders of a clone with keys, data or results; the root has them all.
PRIVATE = ("results", "resources", ".", "./", "*")


def instructions(root: Path) -> list[tuple[str, str]]:
    """Word and rest of each instruction, continued lines joined, comments left out."""
    joined = re.sub(r"\\\n", " ", text(root, FILE))
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [(line.split(maxsplit=1)[0], line.partition(" ")[2].strip()) for line in lines]


def oddities(root: Path) -> Iterator[str]:
    """Sentences on what could not work."""
    steps = instructions(root)
    yield from (f"{FILE}: {word!r} is not an instruction" for word, _ in steps if word not in WORDS)
    yield from _base(root, steps)
    for name, stage in _stages(steps).items():
        users = [rest for word, rest in stage if word == "USER"]
        if name in (PARTY, RUN) and (not users or users[-1] in ("root", "0")):
            yield f"{FILE}: it runs {name} as root"
    if PARTY not in _stages(steps):
        yield f"{FILE}: it has no target {PARTY}"
    copied = [rest for word, rest in steps if word == "COPY" and not rest.startswith("--from=")]
    sources = {name for rest in copied for name in _sources(rest)}
    # An image is built in a clone; who reads an archive of it has no history.
    absent = sorted(name for name in sources - {".git"} if not (root / name).exists())
    yield from (f"{FILE}: it copies {name}, which is absent" for name in absent)
    yield from (f"{FILE}: it copies {name}, which may hold keys" for name in PRIVATE if name in sources)
    yield from (f"{FILE}: {name} is absent from what is copied" for name in NEEDED if name not in sources)
    entry = [rest for word, rest in steps if word == "ENTRYPOINT"]
    if not entry or json.loads(entry[-1])[0] != RUN:
        yield f"{FILE}: it does not run ./run"


def _stages(steps: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Instructions of each stage by its name; the last one has none."""
    stages = dict[str, list[tuple[str, str]]]()
    for word, rest in steps:
        if word == "FROM":
            stages[rest.partition(" AS ")[2] or RUN] = []
        elif stages:
            next(reversed(stages.values())).append((word, rest))
    return stages


def _base(root: Path, steps: list[tuple[str, str]]) -> Iterator[str]:
    """The image is a Python with a full version that the package allows and the environments have."""
    base = BASE.fullmatch(steps[0][1].removeprefix("BASE=")) if steps and steps[0][0] == "ARG" else None
    if not base or any(rest.split()[0] != "${BASE}" for word, rest in steps if word == "FROM"):
        yield f"{FILE}: it does not begin with a python:X.Y.Z-slim whose version is pinned"
        return
    version = (int(base[1]), int(base[2]))
    lowest = tomllib.loads(text(root, "pyproject.toml"))["project"]["requires-python"]
    if f"python={version[0]}.{version[1]}" not in text(root, "envs/fit.yaml"):
        yield f"{FILE}: Python {version[0]}.{version[1]} is not that of envs/fit.yaml"
    if version < tuple(map(int, lowest.removeprefix(">=").split("."))):
        yield f"{FILE}: Python {version[0]}.{version[1]} is older than {lowest}"


def _sources(rest: str) -> list[str]:
    """Return the sources of a COPY, without its options and its target."""
    return [word for word in rest.split() if not word.startswith("--")][:-1]
