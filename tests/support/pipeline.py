"""The project in a folder of its own, and Snakemake run in it: tools of the pipeline's tests.

``python tests/support/pipeline.py`` runs config/tiny.yaml and stores its means anew in
tests/support/files/tiny_summary.csv; a change of that file belongs into docs/numbers_moved.md.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path

import warm_python

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Snakefile", "config.yaml", "config", "workflow", "scripts", "lib", "profiles", "envs", "locks")
PARTS += ("CITATION.cff",)
TINY = ("--configfile", "config/tiny.yaml")
STUDY = "functional_boosting"
# Where the results of config/tiny.yaml lie.
RESULTS = "results/tiny"
STORED = ROOT / "tests" / "support" / "files" / "tiny_summary.csv"
STORED_VARIABLES = ("il2", "excess", "steps", "sensitivity", "specificity", "epsilon_claimed", "epsilon_certified")
STORED_VARIABLES += ("rho_total", "n_releases", "bytes_measured", "published_mib")
# What a run leaves for people; logs and benchmarks hold wall times and are not compared.
KEPT = (f"{RESULTS}/{STUDY}", f"{RESULTS}/figures")


def copy_project(target: Path, source: Path = ROOT) -> Path:
    """A copy of everything that a run needs, without results."""
    target.mkdir(parents=True)
    for part in PARTS:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part)
        else:
            shutil.copy2(source / part, target / part)
    if source == ROOT and sys.pycache_prefix:
        _copy_bytecode(target)
    return target


def _copy_bytecode(target: Path) -> None:
    """Put compiled modules next to the sources of a copy: to compile them takes longer than a dry run."""
    for path in target.rglob("*.py"):
        compiled = Path(cache_from_source(str(ROOT / path.relative_to(target))))
        if compiled.exists():
            (path.parent / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(compiled, path.parent / "__pycache__")


def copy_run(source: Path, target: Path) -> Path:
    """A copy of a project with its results and Snakemake's record of them, times of files included.

    A thousand files: ``shutil`` takes four times as long as ``cp``.
    """
    subprocess.run(["cp", "-a", source, target], check=True)
    return target


def environment(folder: Path = ROOT) -> dict[str, str]:
    """The environment of this process without what pytest or a user put on the path.

    In a copy of the project compiled modules are next to their sources, where copies of that copy have them as well.
    """
    is_copy = folder != ROOT and (folder / "lib").is_dir()
    left_out = {"PYTHONPATH", *(["PYTHONPYCACHEPREFIX"] if is_copy else [])}
    return {key: value for key, value in os.environ.items() if key not in left_out}


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder."""
    code, out, err = warm_python.run(folder, words, environment(folder), timeout=300)
    return subprocess.CompletedProcess(words, code, out, err)


def snakemake(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Plain Snakemake in a folder."""
    return python(folder, "-m", "snakemake", *words)


def launch(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The verb behind ``./run`` in a folder."""
    return python(folder, "workflow/launch.py", *words)


@dataclass(frozen=True)
class Planned:
    """What Snakemake would do: number of jobs of each rule, and the outputs of all jobs."""

    jobs: dict[str, int]
    outputs: tuple[str, ...]

    def methods(self) -> set[str]:
        """Methods that would be fitted again."""
        return {output.split("/")[5] for output in self.outputs if "/blocks/" in output}

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


def planned_after(folder: Path, files: Sequence[str], change: Callable[[Path], object], *words: str) -> Planned:
    """Dry run after a change of some files, which then are as they were, their times included.

    A dry run leaves the folder as it is: one copy of a run serves all such changes, and a copy takes as long as a plan.
    """
    with tempfile.TemporaryDirectory() as scratch:
        before = {file: shutil.copy2(folder / file, Path(scratch, str(place))) for place, file in enumerate(files)}
        try:
            for file in files:
                change(folder / file)
            return planned(folder, *words)
        finally:
            for file, kept in before.items():
                shutil.copy2(kept, folder / file)


def add_comment(path: Path) -> None:
    """An edit that changes a source and nothing else."""
    path.write_text(path.read_text() + "\n# edited\n")


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every kept result, by its path, blocks included; what a fit cost is different every time."""
    found = {}
    for part in KEPT:
        for path in sorted((folder / part).rglob("*")):
            if path.is_file() and not path.name.endswith("timings.csv"):
                found[str(path.relative_to(folder))] = sha256(path.read_bytes()).hexdigest()
    return found


def results(folder: Path) -> dict[str, str]:
    """The same without data and blocks, whose names depend on how cells are batched."""
    return {name: value for name, value in digests(folder).items() if not re.search("/(data|blocks)/", name)}


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def summary(path: Path) -> dict[tuple[str, ...], float]:
    """Means of a summary table by case, method, party count, epsilon and variable."""
    with path.open() as handle:
        key = ("case", "method", "parties", "epsilon", "variable")
        return {tuple(row[k] for k in key): float(row["mean"]) for row in csv.DictReader(handle)}


def store() -> None:
    """Run the tiny configuration and keep its means."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = copy_project(Path(scratch) / "project")
        done = launch(folder, *TINY)
        print(done.stdout, done.stderr)
        done.check_returncode()
        lines = (folder / RESULTS / STUDY / "summary.csv").read_text().splitlines(keepends=True)
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text("".join([lines[0], *(line for line in lines if line.split(",")[5] in STORED_VARIABLES)]))


if __name__ == "__main__":
    store()
