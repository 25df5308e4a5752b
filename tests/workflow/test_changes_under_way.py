"""What happens to files while a run plans and works: edits that are put back, a group, a dry run, ``--touch``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pyarrow import csv as pa_csv
from pyarrow import parquet

from partywise.experiment.plans import read_configuration
from partywise.experiment.results.cube import open_cube
from pipeline import RESULTS, ROOT, STUDY, TINY, copy_project, copy_run, edit, environment, launch, planned

WORDS = ("--configfile", "two.yaml", "--cores", "1")
METRICS = Path(f"lib/partywise/studies/{STUDY}/metrics.py")
OWN = Path("config/example_data/orders.csv")
DOWNSTREAM = {"collect": 1, "figure": 2}
# Another user and a group; and what takes the powers of root from a process, which then may write by its group alone.
OTHER = 65533
POWERS = ",".join(f"-{power}" for power in ("fowner", "dac_override", "dac_read_search", "chown"))
MEMBER = ("setpriv", f"--bounding-set={POWERS}", f"--inh-caps={POWERS}", "--groups", str(OTHER))


def write_configuration(folder: Path) -> None:
    """Three blocks of simulated curves, then three of own data."""
    simulated = {"n": 150, "p": 2, "n_basis_x": 6, "n_basis_y": 6, "active": [0]}
    grid = {"replicates": 3, "parties": [2], "folds": 1, "epsilon": [8.0]}
    curves = {
        "methods": {"moments": {"protocol": "moments", "cipher": "sized", "max_steps": 3}},
        "cases": {"one": {"source": "simulated", "settings": simulated, "grid": grid | {"methods": ["moments"]}}},
    }
    shipped = read_configuration(ROOT / "config" / "my_labels.example.yaml")
    labels = shipped["studies"]["label_private"]
    labels["cases"]["my_orders"]["grid"] = grid | {"methods": ["planned_release"]}
    labels["methods"] = {"planned_release": labels["methods"]["planned_release"]}
    del labels["methods"]["planned_release"]["without_noise"]
    studies = {STUDY: curves, "label_private": labels}
    for block in studies.values():
        block |= {"batch": {"replicates_per_job": 1}, "figures": []}
    (folder / "two.yaml").write_text(yaml.safe_dump({"root_seed": 3, "studies": studies}, sort_keys=False))


def files(folder: Path) -> dict[str, bytes]:
    """Everything that a run leaves, but for what times and machines decide."""
    top = folder / "results" / "two"
    found = {str(path.relative_to(top)): path for path in top.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if not name.startswith(("logs/", "benchmarks/")) and not name.endswith("timings.csv")
    }


def recorded(folder: Path) -> set[str]:
    """Blocks that have a provenance record, without the end of its name."""
    top = folder / "results" / "two" / "provenance"
    return {str(path.relative_to(top).with_suffix("")) for path in top.rglob("fit/**/*.json")}


@pytest.mark.runs
def test_what_is_edited_after_the_first_block_and_put_back_leaves_nothing_behind(tmp_path):
    """The library and an own file, whose time is put back as well: just the jobs that met them are made again."""
    undisturbed, folder = (copy_project(tmp_path / name) for name in ("undisturbed", "edited"))
    for one in (undisturbed, folder):
        write_configuration(one)
    done = launch(undisturbed, *WORDS)
    assert done.returncode == 0, done.stderr
    kept = {path: (folder / path).read_bytes() for path in (METRICS, OWN)}
    then = os.stat(folder / OWN)
    command = [sys.executable, "workflow/launch.py", *WORDS]
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=subprocess.PIPE, text=True) as run:
        while not recorded(folder) and run.poll() is None:
            time.sleep(0.02)
        (folder / METRICS).write_bytes(kept[METRICS] + b"\n_risk = lambda Y, predicted: 7.0\n")
        (folder / OWN).write_bytes(kept[OWN].replace(b"yes", b"no", 20))
        said = run.communicate(timeout=300)[1]
    assert run.returncode == 1, said
    assert f"Failed: {folder / METRICS} was changed while this run was under way: run again.\n" in said
    assert f"Failed: {OWN} was changed while this run was under way: run again.\n" in said
    for path, content in kept.items():
        (folder / path).write_bytes(content)
    os.utime(folder / OWN, ns=(then.st_atime_ns, then.st_mtime_ns))
    left = recorded(folder)
    assert 1 <= len(left) <= 2 and all(name.startswith(STUDY) for name in left)
    assert len([name for name in files(folder) if "/blocks/" in name and ".npz" in name]) == len(left), (
        "a block without its provenance record"
    )
    assert planned(folder, *WORDS).jobs == {"fit": 6 - len(left), "collect": 2}
    again = launch(folder, *WORDS)
    assert again.returncode == 0, again.stderr
    assert files(folder) == files(undisturbed)
    assert planned(folder, *WORDS).jobs == {}


@pytest.mark.runs
def test_a_parquet_file_gives_the_cube_of_its_csv_file_and_a_change_of_it_makes_the_cube_anew(tmp_path):
    folder = copy_project(tmp_path / "project")
    write_configuration(folder)
    whole = yaml.safe_load((folder / "two.yaml").read_text())
    del whole["studies"][STUDY]
    (folder / "two.yaml").write_text(yaml.safe_dump(whole, sort_keys=False))
    assert launch(folder, *WORDS).returncode == 0
    cube, typed = folder / "results/two/label_private/cube.nc", folder / OWN.with_suffix(".parquet")
    table = pa_csv.read_csv(folder / OWN)
    parquet.write_table(table, typed)
    edit(folder / "two.yaml", str(OWN), str(OWN.with_suffix(".parquet")))
    with open_cube(cube) as kept:
        before = kept.load()
    done = launch(folder, *WORDS)
    assert done.returncode == 0, done.stderr
    with open_cube(cube) as read:
        after = read.load()
    assert before.equals(after)
    assert planned(folder, *WORDS).jobs == {}
    parquet.write_table(table.slice(1), typed)
    assert planned(folder, *WORDS).jobs == {"generate": 1, "fit": 3, "collect": 1}


def stale(finished: Path, folder: Path) -> Path:
    """A finished run of which one figure is cut, and one method of another configuration."""
    copy_run(finished, folder)
    edit(folder / "config/tiny.yaml", "dealer\n        max_steps: 30", "dealer\n        max_steps: 31")
    figure = folder / RESULTS / "figures" / STUDY / "error_by_parties.svg"
    figure.write_bytes(figure.read_bytes()[:1000])
    return folder


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Content and time of all that a run leaves, and what of ours lies beside Snakemake's records."""
    own = [path for path in (folder / ".snakemake").iterdir() if path.is_file()]
    found = [*(folder / "results").rglob("*"), *own]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in found if path.is_file()}


def test_a_dry_run_writes_dates_and_removes_nothing(finished, tmp_path):
    folder = stale(finished, tmp_path / "copy")
    before = everything(folder)
    assert planned(folder, *TINY).jobs == {"fit": 2, **DOWNSTREAM}
    assert everything(folder) == before


def test_a_touch_makes_nothing_current_that_was_not(finished, tmp_path):
    folder = stale(finished, tmp_path / "copy")
    before = {name: content for name, (_, content) in everything(folder).items()}
    done = launch(folder, "--touch", *TINY)
    assert done.returncode == 0, done.stderr
    after = {name: content for name, (_, content) in everything(folder).items()}
    # Whose folder it is was written down with the digest of the configuration as it is now.
    changed = {name for name in after if after[name] != before.get(name) and f"/{STUDY}/" in name}
    assert changed == set() and after.keys() >= before.keys()
    assert planned(folder, *TINY).jobs == {"fit": 2, **DOWNSTREAM}


@pytest.fixture
def shared(finished: Path) -> Iterator[Path]:
    """A finished run that another user of a group made; a member of the group may write it, and date or own nothing."""
    assert os.geteuid() == 0, "the tests of ./run test --system run as root"
    place = Path(tempfile.mkdtemp(prefix="shared-"))
    place.chmod(0o755)
    try:
        folder = copy_run(finished, place / "project")
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
            path.chmod(0o2775 if path.is_dir() else 0o664)
        yield folder
    finally:
        shutil.rmtree(place)


@pytest.mark.runs
def test_a_folder_of_a_group_is_run_by_every_member(finished, shared):
    """A figure that was cut, and one that is drawn by other code: files of another user, older than all of ours."""
    figure = shared / RESULTS / "figures" / STUDY / "error_by_parties.svg"
    whole = figure.read_bytes()
    figure.write_bytes(whole[:1000])
    code = "import os, sys; os.utime(sys.argv[1], (1, 1))"
    dated = subprocess.run([*MEMBER, sys.executable, "-c", code, str(figure)], capture_output=True, text=True)
    assert "Operation not permitted" in dated.stderr, "a member may date what is not theirs"
    for words, said in (((), "1 of 2 jobs done"), ((), "Nothing to be done"), (("--touch",), "")):
        command = [*MEMBER, sys.executable, "workflow/launch.py", *TINY, *words]
        run = {"env": environment(shared), "umask": 0o002, "timeout": 300}
        done = subprocess.run(command, cwd=shared, capture_output=True, text=True, **run)
        assert done.returncode == 0 and said in done.stdout + done.stderr, done.stdout + done.stderr
    assert figure.read_bytes() == whole and figure.stat().st_uid == os.geteuid()
