"""config/tiny.yaml through real Snakemake: results, their independence of batches and cores, and what jobs say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fingerprint import closure, script_roots
from guard import take
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.attributes import check_attributes
from partywise.experiment.results.cube import DIMS, open_cube
from pipeline import (
    RESULTS,
    ROOT,
    STORED,
    STUDY,
    TINY,
    copy_project,
    copy_run,
    edit,
    environment,
    launch,
    python,
    results,
    snakemake,
    summary,
)

# Numbers move in the last digits between versions of BLAS; a change of a method moves them far more.
RELATIVE, ABSOLUTE = 1e-6, 1e-9


@pytest.fixture(scope="module")
def cube(finished):
    return open_cube(finished / RESULTS / STUDY / "cube.nc")


def test_run_leaves_cube_tables_and_figures(finished):
    names = set(results(finished))
    tables = {"cube.nc", "tidy.csv", "ledger.csv", "ledger_totals.csv", "wire.md", "summary.csv", "summary.txt"}
    tables |= {"dictionary.csv", "predictions.csv", "models.json", "findings.json", "tables.html"}
    figures = {
        f"{name}.{kind}" for name in ("error_by_parties", "error_by_epsilon") for kind in ("svg", "pdf", "png", "csv")
    }
    expected = {f"{RESULTS}/{STUDY}/{name}" for name in tables} | {
        f"{RESULTS}/figures/{STUDY}/{name}" for name in figures
    }
    assert names == expected
    assert all((finished / name).stat().st_size > 0 for name in names)


def test_run_prints_progress_and_summary(finished):
    said, progress = (finished / "stdout.txt").read_text(), (finished / "stderr.txt").read_text()
    screen = (finished / RESULTS / "screen.txt").read_text()
    first, rest = screen.split("\n", 1)
    assert re.fullmatch(rf"{re.escape(first)} in [\d:]+\n{re.escape(rest)}", said)
    assert "Weakest" in screen and f"{RESULTS}  files" in screen
    table = (finished / RESULTS / STUDY / "summary.txt").read_text()
    assert "certified" in table and "MiB sent" in table
    assert "1 of 15 jobs done" in progress and "left" in progress
    assert "15 of 15 jobs done" in progress
    assert f"first figures of {STUDY}: {RESULTS}/figures/{STUDY}" in progress


def test_second_run_says_that_nothing_was_to_be_done_below_the_screen_of_what_is_there(finished, tmp_path):
    """Not of what an earlier run wrote: that was of another epsilon, or of other studies."""
    folder = copy_run(finished, tmp_path / "again")
    screen = folder / RESULTS / "screen.txt"
    before = screen.read_text()
    screen.write_text(before.replace("1 study", "3 studies"))
    assert screen.read_text() != before
    done = launch(folder, *TINY)
    assert done.returncode == 0 and done.stderr == "", "no line names the profile that every run has"
    nothing = f"Nothing to be done: {RESULTS} is up to date with config/tiny.yaml.\n"
    assert done.stdout == before + nothing and screen.read_text() == before
    # Results that a call leaves as they are may be of another configuration: no screen tells of them.
    screen.unlink()
    edit(folder / "config/tiny.yaml", "epsilon: [8.0, 64.0]", "epsilon: [8.0, 32.0]")
    block = f"{RESULTS}/{STUDY}/blocks/simulated/mean_curve/k2_r0000-0001_f00-01.npz"
    done = launch(folder, block, *TINY)
    assert done.returncode == 0 and done.stdout == nothing and not screen.exists()


def test_the_verb_summary_prints_the_tables_of_the_last_run(finished):
    table = (finished / RESULTS / STUDY / "summary.txt").read_text()
    asked = partial(python, finished, "workflow/verbs/summary.py")
    assert asked().stdout == asked(STUDY, "--folder", RESULTS).stdout == table
    for words, sentence in (
        (["other"], f"{RESULTS} has no table of 'other': its studies are {STUDY}.\n"),
        (["--folder", "results/none"], "results/none holds no tables: "),
    ):
        done = asked(*words)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(sentence)


@pytest.mark.runs
def test_small_blocks_on_one_core_give_the_same_bytes(finished, tmp_path):
    """Fourteen jobs on two cores against forty-four on one: cube, tables and figures are equal byte for byte."""
    folder = copy_project(tmp_path / "blocks", finished)
    edit(
        folder / "config/tiny.yaml",
        "replicates_per_job: 2\n      folds_per_job: 2",
        "replicates_per_job: 1\n      folds_per_job: 1",
    )
    done = snakemake(folder, *TINY, "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert len(list((folder / RESULTS / STUDY / "blocks").rglob("*.npz"))) == 40
    assert results(folder) == results(finished)


def test_cube_agrees_with_the_stored_one(finished):
    """Means of the tiny run, stored when its numbers were last meant to move (docs/numbers_moved.md)."""
    found, stored = summary(finished / RESULTS / STUDY / "summary.csv"), summary(STORED)
    assert len(stored) > 80
    for where, value in stored.items():
        assert found[where] == pytest.approx(value, rel=RELATIVE, abs=ABSOLUTE), where


def test_cube_is_described_and_complete(cube):
    assert check_attributes(cube) == []
    assert cube["il2"].dims == DIMS
    assert np.isinf(cube["epsilon"].values[-1])
    filled = cube["status"] > 0
    assert np.isfinite(cube["il2"].where(filled, 0.0)).all()
    assert cube["il2"].where(~filled).isnull().all()
    # Moments run at two targets, everything else at the one slot "no target"; 2 replicates x 2 party counts x 2 folds.
    per_method = filled.sum([dim for dim in DIMS if dim != "method_label"]).to_series().to_dict()
    assert per_method.pop("moments") == 2 * 2 * 2 * 2
    assert set(per_method.values()) == {2 * 2 * 2}


def test_jobs_ran_with_one_thread_and_wrote_benchmarks(finished):
    logs = list((finished / RESULTS / "logs").rglob("*.log"))
    assert len(logs) == 14
    for log in logs:
        assert "OMP_NUM_THREADS=1, OPENBLAS_NUM_THREADS=1, MKL_NUM_THREADS=1" in log.read_text()
    assert len(list((finished / RESULTS / "benchmarks").rglob("*.tsv"))) == len(logs)


def test_timings_stand_beside_the_cube_and_name_all_cells(finished):
    text = (finished / RESULTS / STUDY / "timings.csv").read_text().splitlines()
    assert text[0] == "case,method,cells,cpu_seconds,peak_megabytes"
    rows = [line.split(",") for line in text[1:]]
    # Two replicates, numbers of parties and folds; moments have two targets.
    methods = read_configuration(ROOT / "config" / "tiny.yaml")["studies"][STUDY]["methods"]
    counted = [["simulated", label, "16" if label == "moments" else "8"] for label in sorted(methods)]
    assert sorted(row[:3] for row in rows) == counted
    assert all(float(row[3]) > 0 and float(row[4]) > 10 for row in rows)


def test_nothing_of_the_machine_is_in_the_results(finished):
    cube = open_cube(finished / RESULTS / STUDY / "cube.nc")
    text = " ".join(map(str, cube.attrs.values()))
    for name in (f"{RESULTS}/{STUDY}/wire.md", f"{RESULTS}/{STUDY}/summary.txt"):
        text += (finished / name).read_text()
    assert str(finished) not in text
    assert str(ROOT) not in text


def test_every_fit_imports_numpy_and_little_else():
    """Import everything behind all methods in one process and look at what came with it."""
    from partywise.experiment.study import load

    study = load(STUDY)
    roots = {protocol.fit.module for protocol in study.methods.values()}
    roots |= {lazy.module for lazy in (study.split, study.metrics, study.folds, study.example_fits, study.data) if lazy}
    roots |= {f"partywise.studies.{STUDY}.study", *script_roots(ROOT / "scripts" / "fit.py")}
    code = f"import sys, {', '.join(sorted(closure(roots)))}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    environ = {**environment(), "PYTHONPATH": str(ROOT / "lib")}
    loaded = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.split()
    tops = {name.partition(".")[0] for name in loaded}
    assert not tops & {"xarray", "netCDF4", "matplotlib", "pandas", "snakemake", "yaml", "pytest"}
    assert not {"scipy.stats", "scipy.optimize", "scipy.sparse.linalg"} & set(loaded)


def as_cloned(folder: Path, clone: Path) -> Path:
    """A copy of the project with ``run`` and an environment of its own, and a link to ``run`` from another folder."""
    copy_project(clone, folder)
    shutil.copy2(ROOT / "run", clone / "run")
    (clone / ".venv").mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (clone / ".venv" / part).symlink_to(Path(sys.prefix) / part)
    # As `run` leaves an environment that is complete, so that it installs nothing into the one that is linked to.
    (clone / ".venv" / "place").write_text(f"{clone.resolve()}\n")
    shutil.copy2(ROOT / "locks/requirements.lock", clone / ".venv")
    link = clone.parent / "bin" / "partywise"
    link.parent.mkdir()
    # Through a second link, and relative, as package managers make them.
    (link.parent / "real").symlink_to(clone / "run")
    link.symlink_to("real")
    return link


def call(link: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``./run`` by a link, from its folder, with an empty folder for temporary files."""
    scratch = link.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    environ = {**environment(link.resolve().parent), "TMPDIR": str(scratch)}
    done = subprocess.run([f"./{link.name}", *words], cwd=link.parent, env=environ, capture_output=True, text=True)
    assert list(scratch.glob("partywise-*")) == [], "names for the run outlived it"
    return done


@pytest.mark.runs
def test_a_clone_at_a_path_with_spaces_and_signs_runs(finished, tmp_path):
    """Through a link to ``./run`` from another folder, a job of each rule: same bytes, and nothing to do after it."""
    clone = tmp_path / 'it\'s {my} & 100 % "clone"; $HOME'
    link = as_cloned(finished, clone)
    shutil.copytree(finished / RESULTS, clone / RESULTS)
    data, block = "data/simulated/r0000-0001.npz", "blocks/simulated/moments/k2_r0000-0001_f00-01.npz"
    gone = [clone / RESULTS / STUDY / name for name in (data, block, "cube.nc")]
    gone.append(clone / RESULTS / "figures" / STUDY / "error_by_parties.svg")
    for path in gone:
        path.unlink()
    done = call(link, *TINY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 jobs done" in done.stderr and all(path.exists() for path in gone)
    assert results(clone) == results(finished)
    again = call(link, *TINY, "-n")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout + again.stderr
    assert {path.name for path in link.parent.iterdir()} == {"partywise", "real", "scratch"}


def test_what_cannot_run_at_a_path_is_told_before_anything_starts(finished, tmp_path):
    link = as_cloned(finished, tmp_path / "two words")
    done = call(link, *TINY, "--workflow-profile", "profiles/slurm")
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"The path '{tmp_path}/two words/.venv/bin/python' holds spaces or signs, with which no"
    )
    assert done.stderr.count("\n") == 1
    for sign in (":", "\\"):
        (tmp_path / f"a{sign}b").mkdir()
        link = as_cloned(finished, tmp_path / f"a{sign}b" / "project")
        done = call(link, *TINY)
        assert done.returncode == 2
        assert done.stderr.startswith(
            f"The path '{tmp_path}/a{sign}b/project' holds a colon or a backslash, with which"
        )
        assert done.stderr.count("\n") == 1
    assert not [path for path in tmp_path.rglob("results") if "lib" not in path.parts]
    assert not list(tmp_path.rglob(".snakemake"))


def test_results_are_not_removed_under_the_feet_of_a_run(finished, tmp_path):
    link = as_cloned(finished, tmp_path / "project")
    kept = tmp_path / "project" / "results" / "kept"
    kept.mkdir(parents=True)
    claim = take(tmp_path / "project")
    done = call(link, "clean")
    assert done.returncode == 2 and kept.exists()
    assert done.stderr == f"A run is alive in this folder (process {os.getpid()}): wait for it or end it first.\n"
    claim.release()
    done = call(link, "clean")
    assert done.returncode == 2 and kept.exists(), "nobody can answer without a terminal"
    assert done.stdout == "results/kept: 0.0 MB\n"
    assert done.stderr == "Nothing was removed: without a terminal use `--yes`.\n"
    done = call(link, "clean", "--yes")
    assert done.returncode == 0 and not kept.parent.exists(), done.stderr
