"""The project in a folder of its own, and Snakemake run in it: tools of the pipeline's tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("Snakefile", "config.yaml", "config", "workflow", "scripts", "lib", "profiles", "envs", "requirements.lock")
TINY = ("--configfile", "config/tiny.yaml")
STUDY = "functional_boosting"
# What a run leaves for people; logs and benchmarks hold wall times and are not compared.
KEPT = (f"results/{STUDY}", "results/figures")


def copy_project(target: Path) -> Path:
    """A copy of everything that a run needs, without results."""
    target.mkdir(parents=True)
    ignore = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=ignore)
        else:
            shutil.copy2(source, target / part)
    return target


def copy_run(source: Path, target: Path) -> Path:
    """A copy of a project with its results and Snakemake's record of them, times of files included."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def environment() -> dict[str, str]:
    """The environment of this process without what pytest or a user put on the path."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def snakemake(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Plain Snakemake in a folder."""
    command = [sys.executable, "-m", "snakemake", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)


def launch(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The verb behind ``./run`` in a folder."""
    command = [sys.executable, "workflow/launch.py", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)


@dataclass(frozen=True)
class Planned:
    """What Snakemake would do: number of jobs of each rule, and the outputs of all jobs."""

    jobs: dict[str, int]
    outputs: tuple[str, ...]

    def methods(self) -> set[str]:
        """Methods that would be fitted again."""
        return {output.split("/")[4] for output in self.outputs if "/corners/" in output}

    def figures(self) -> set[str]:
        """Figures that would be drawn again."""
        return {Path(output).stem for output in self.outputs if "/figures/" in output}


def planned(folder: Path, *words: str) -> Planned:
    """Dry run in a folder."""
    done = snakemake(folder, "-n", *words)
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    if "Nothing to be done" in text:
        return Planned({}, ())
    jobs = Counter(re.findall(r"^(?:local)?rule (\w+):$", text, re.M))
    outputs = [name for line in re.findall(r"^    output: (.*)$", text, re.M) for name in line.split(", ")]
    jobs.pop("all", None)
    return Planned(dict(jobs), tuple(outputs))


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every kept result, by its path; data and corners included."""
    found = {}
    for part in KEPT:
        for path in sorted((folder / part).rglob("*")):
            if path.is_file():
                found[str(path.relative_to(folder))] = sha256(path.read_bytes()).hexdigest()
    return found


def results(folder: Path) -> dict[str, str]:
    """The same without data and corners, whose names depend on how cells are batched."""
    return {name: value for name, value in digests(folder).items() if not re.search(r"/(data|corners)/", name)}


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")
