"""What the pipeline costs beside the fits: CPU seconds of a whole run of 5,000 fits, and of a second one without work.

The grid is the case `simulated` of config.yaml as it stands (data, methods, party counts, folds, batching, all figures
of the study) with 20 replicates.  One of its eleven methods is left out, as 5,000 is no multiple of eleven: the mean
curve with its 2 ms, which raises the mean fit by a tenth to some 50 ms.  The cost of a fit at which the limit would
just hold is printed beside it.  The run is the one of `./run`, in a new copy of the project: Snakemake, data, start of
every job, cube, tables and figures count as overhead, also modules that are imported while a fit job computes.
Bytecode of the project is compiled within the run; the packages may have theirs already.

Fails when more than 15 % of all CPU seconds are spent outside the fits, or a second run without work takes more than
6.  Snakemake looks at every running job twice a second, so a busy machine raises the share.
"""

from __future__ import annotations

import os

from partywise.experiment.plans import read_configuration

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from pipeline import STUDY, copy_project, environment

FITS, CASE, LEFT_OUT = 5_000, "simulated", "mean_curve"
SHARE, IDLE = 0.15, 6.0
RULES = ("generate", "fit", "collect", "figure")
# Every Python of the run imports this first.  Snakemake's own benchmark files hold samples of the CPU time, too few of
# them for jobs of a second.  Modules that a study names are imported on first use, by importlib, within the computing.
HOOK = """
import atexit, importlib, json, os, pathlib, resource, sys, time

plain, spent, depth = importlib.import_module, 0.0, 0

def counted(*args, **kwargs):
    global spent, depth
    begun, depth = time.process_time(), depth + 1
    try:
        return plain(*args, **kwargs)
    finally:
        depth -= 1
        spent += 0.0 if depth else time.process_time() - begun

def note():
    used = resource.getrusage(resource.RUSAGE_SELF)
    name = pathlib.Path(sys.argv[0]).stem.rpartition(".")[2]
    written = json.dumps({"name": name, "cpu": used.ru_utime + used.ru_stime, "imports": spent})
    pathlib.Path(__file__).with_name(f"{os.getpid()}-{time.monotonic_ns()}.json").write_text(written)

def forget():
    global spent
    spent = 0.0

importlib.import_module = counted
atexit.register(note)
os.register_at_fork(after_in_child=forget)
"""


def configuration(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Write the grid to a file; the lengths of its axes and its batching."""
    shipped = read_configuration(ROOT / "config.yaml")
    block = shipped["studies"][STUDY]
    case = block["cases"][CASE]
    grid = case["grid"]
    grid["methods"] = [method for method in grid["methods"] if method != LEFT_OUT]
    axes: dict[str, int] = {
        "methods": len(grid["methods"]),
        "party counts": len(grid["parties"]),
        "folds": grid["folds"],
    }
    a_replicate = axes["methods"] * axes["party counts"] * axes["folds"]
    if FITS % a_replicate:
        sys.exit(f"A replicate of case {CASE} has {a_replicate} fits, no divisor of {FITS}: leave out other methods.")
    axes["replicates"] = grid["replicates"] = FITS // a_replicate
    block["methods"] = {method: block["methods"][method] for method in grid["methods"]}
    block["cases"] = {CASE: case}
    path.write_text(yaml.safe_dump({"root_seed": shipped["root_seed"], "studies": {STUDY: block}}, sort_keys=False))
    return axes, block["batch"]


def run(folder: Path, hook: Path) -> float:
    """CPU seconds of the verb and of everything that it starts."""
    environ = environment() | {"PYTHONPATH": str(hook)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "workflow/launch.py", "--configfile", "grid.yaml"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"The run ended with exit code {done.returncode}:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def computing(folder: Path) -> float:
    """CPU seconds inside the study's run, as the log of every fit job tells; all cells must be there."""
    logs = [log.read_text(encoding="utf-8") for log in (folder / "results/grid/logs" / STUDY / "fit").rglob("*.log")]
    cells = sum(int(count) for log in logs for count in re.findall(r": (\d+) cells", log))
    if cells != FITS:
        sys.exit(f"The logs tell of {cells} fits, not of {FITS}.")
    return sum(float(re.findall(r"computing: ([\d.]+) CPU s", log)[-1]) for log in logs)


def parts(notes: list[dict[str, Any]], total: float, inside: float) -> dict[str, float]:
    """CPU seconds by what they are spent on; all but the fits are overhead."""
    jobs = Counter(note["name"] for note in notes)
    cpu = {name: sum(note["cpu"] for note in notes if note["name"] == name) for name in jobs}
    late = sum(note["imports"] for note in notes if note["name"] == "fit")
    rows = {f"{rule}, {jobs[rule]} jobs": cpu[rule] for rule in RULES if rule != "fit"}
    rows[f"fit, {jobs['fit']} jobs, outside the study's run"] = cpu["fit"] - inside
    rows["fit, imports within the study's run"] = late
    rows["Snakemake and its launcher"] = sum(used for name, used in cpu.items() if name not in RULES)
    rows["shells, processes that end"] = total - sum(cpu.values())
    rows["overhead"] = total - inside + late
    rows["fits"] = inside - late
    rows["total"] = total
    return rows


def main() -> int:
    """Run the grid twice and print the table; 1 when something that is required is missed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, hook = copy_project(Path(scratch) / "project"), Path(scratch) / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        axes, batch = configuration(folder / "grid.yaml")
        begun = time.perf_counter()
        total = run(folder, hook)
        wall = time.perf_counter() - begun
        notes = [json.loads(path.read_text(encoding="utf-8")) for path in hook.glob("*.json")]
        inside = computing(folder)
        idle = run(folder, hook)
    print(f"{FITS:,} fits: {', '.join(f'{count} {name}' for name, count in axes.items())}; without {LEFT_OUT}")
    print(f"batching of config.yaml: {', '.join(f'{name} {size}' for name, size in batch.items())}")
    rows = parts(notes, total, inside)
    print(f"\n{'':45s} CPU s   share")
    for label, used in rows.items():
        print(f"{label:45s} {used:5.1f}   {used / total:5.1%}")
    names = Counter(note["name"] for note in notes)
    share, least = rows["overhead"] / total, rows["overhead"] * (1 / SHARE - 1) / FITS
    print(f"\n{wall:.0f} s wall, beside whatever else this machine does")
    print(f"a fit job: {FITS // names['fit']} fits, {rows['fits'] / names['fit']:.1f} CPU s")
    print(f"a fit: {1e3 * rows['fits'] / FITS:.0f} ms; at {1e3 * least:.0f} ms the overhead would be {SHARE:.0%}")
    print(f"overhead {share:.1%}; {1 - inside / total:.1%} if imports within the study's run were no overhead")
    print(f"second run, nothing to do for {sum(names[rule] for rule in RULES)} jobs: {idle:.1f} CPU s")
    checks = [
        (f"overhead {share:.1%} (limit {SHARE:.0%})", share <= SHARE),
        (f"second run {idle:.1f} CPU s (limit {IDLE:g})", idle <= IDLE),
    ]
    for text, met in checks:
        print(f"{text}: {'met' if met else 'MISSED'}")
    return int(not all(met for _, met in checks))


if __name__ == "__main__":
    sys.exit(main())
