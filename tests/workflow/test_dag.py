"""Dry runs of every shipped configuration: exact job counts, and what planning costs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

from config_check import check_files
from partywise.experiment.batches import blocks, data_blocks
from pipeline import ROOT, environment, planned, snakemake
from shipped import DEFAULT, SHIPPED, shipped_plans

PAGE = ROOT / "docs" / "architecture.md"
# A dry run of 500 jobs takes about 3 CPU s and 100 MB on its own.
LIMIT_RATIO, LIMIT_MB = 2.0, 200.0
# One with files of its own, and one whose studies are files.
QUICK = ("my_tables.example.yaml", "smoke.yaml")


def expected_jobs(path: Path) -> dict[str, int]:
    """Jobs of a configuration: what `tests/experiment/test_batches.py` checks of its blocks, and one of all else."""
    count: Counter[str] = Counter()
    datasets = set()
    for made in shipped_plans(path).values():
        count += {"collect": 1, "fit": len(blocks(made)), "generate": len(data_blocks(made))}
        count.update({"image": "figure", "table": "table"}[made.study.figures[one].output] for one in made.figures)
        datasets |= {resource for case in made.cases.values() for resource in case.resources}
    if datasets:
        count["fetch"] = len(datasets)
    return dict(count)


# A dry run of a large configuration takes half a minute; the default, without words, is below.
DRY_RUNS = [pytest.param(path, id=path.name, marks=[] if path.name in QUICK else pytest.mark.runs) for path in SHIPPED]


@pytest.mark.parametrize("path", DRY_RUNS)
def test_job_counts_of_shipped_configurations(path, tmp_path):
    """In a folder with nothing but the files of the example, whose paths begin in the folder of the run."""
    shutil.copytree(ROOT / "config" / "example_data", tmp_path / "config" / "example_data")
    found = planned(tmp_path, "--snakefile", str(ROOT / "Snakefile"), "--configfile", str(path))
    assert found.jobs == expected_jobs(path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_job_of_shipped_configurations_is_one_of_a_rule(path, monkeypatch):
    """By the patterns that the rules have for their names; files of an example are where the folder of the run is."""
    monkeypatch.chdir(ROOT)
    patterns = dict(re.findall(r'^    (\w+)=r"(.+)",$', (ROOT / "workflow/rules/study.smk").read_text(), re.M))
    check_files(shipped_plans(path), ROOT, set())
    for study, made in shipped_plans(path).items():
        datasets = {resource for case in made.cases.values() for resource in case.resources}
        names = {"study": [study], "dataset": datasets, "figure": made.figures}
        names |= {"block": blocks(made), "data": data_blocks(made)}
        assert names.keys() == patterns.keys() and names["block"] and names["data"]
        wrong = [one for kind in names for one in names[kind] if not re.fullmatch(patterns[kind], one)]
        assert wrong == []


@pytest.mark.parametrize(("snakefile", "whole"), [("Snakefile", {}), ("workflow/Snakefile", {"everything": 1})])
def test_tiny_is_fifteen_jobs(tmp_path, snakefile, whole):
    """Also where the workflow catalogue looks for it."""
    found = planned(tmp_path, "--snakefile", str(ROOT / snakefile), "--configfile", str(ROOT / "config/tiny.yaml"))
    assert found.jobs == {"generate": 1, "fit": 10, "collect": 1, "figure": 2} | whole


def test_the_default_is_below_a_hundred_and_fifty_jobs():
    jobs = expected_jobs(DEFAULT)
    assert sum(jobs.values()) < 150 and jobs["generate"] < 3 * len(shipped_plans()), jobs


def test_default_configuration_is_found_without_words(finished):
    found = planned(finished, "--forceall")
    assert found.jobs == expected_jobs(DEFAULT)


def big_configuration(path: Path) -> None:
    """1e5 fits in blocks of 200: 100 replicates x 10 folds x 10 party counts x 10 methods."""
    methods = {f"m{i}": {"protocol": "boosting", "s": 0.1 * (i + 1)} for i in range(10)}
    grid = {"methods": list(methods), "replicates": 100, "parties": list(range(1, 11)), "folds": 10}
    study = {
        "methods": methods,
        "cases": {"simulated": {"grid": grid | {"epsilon": [float("inf")]}}},
        "batch": {"replicates_per_job": 20, "folds_per_job": 10},
        "figures": [],
    }
    path.write_text(yaml.safe_dump({"root_seed": 1, "studies": {"functional_boosting": study}}))


@pytest.mark.runs
def test_planning_a_hundred_thousand_fits_is_cheap(tmp_path):
    big_configuration(tmp_path / "big.yaml")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "-n", "-q", "all"]
    # Through a small process: the peak of a child forked from pytest itself would count pytest's own memory.
    measure = (
        "import json, resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))"
    )

    def planned(configuration: str) -> tuple[float, float]:
        wrapped = [sys.executable, "-S", "-c", measure, *command, "--configfile", configuration]
        done = subprocess.run(wrapped, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
        code, cpu, megabytes = json.loads(done.stdout)
        assert code == 0, done.stderr
        return cpu, megabytes

    # Machines differ threefold, so a few fits are planned beside it: measured 10.3 for 7.0 CPU s, a ratio of 1.5.
    # Before and after it, since the speed of a machine with other work changes meanwhile.
    tiny = str(ROOT / "config" / "tiny.yaml")
    (few, _), (cpu, megabytes), (again, _) = planned(tiny), planned("big.yaml"), planned(tiny)
    assert cpu <= LIMIT_RATIO * max(few, again)
    assert megabytes <= LIMIT_MB


def test_parsing_imports_nothing_heavy():
    """What Snakemake reads before the first job, and again in every cluster job: numpy at most."""
    code = (
        f"import pathlib, sys; sys.path[:0] = [{str(ROOT / 'lib')!r}, {str(ROOT / 'workflow')!r}];"
        "import fingerprint; from partywise.experiment.plans import plans, read_configuration;"
        f"plans(read_configuration(pathlib.Path({str(ROOT / 'config.yaml')!r})));"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    tops = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert not tops & {"scipy", "xarray", "netCDF4", "matplotlib", "pandas"}


def readable_rule_graph(printed: str) -> str:
    """The arrows of ``snakemake --rulegraph mermaid-js`` with the rules' names, in the order of the work.

    Snakemake numbers and colours the rules in an order that differs from call to call.
    """
    names = dict(re.findall(r"^\t(id\d+)\[(\w+)\]$", printed, re.M))
    arrows = [(names[start], names[end]) for start, end in re.findall(r"^\t(id\d+) --> (id\d+)$", printed, re.M)]
    needed: dict[str, list[str]] = {}
    for start, end in sorted(arrows):
        needed.setdefault(end, []).append(start)
    order = list(TopologicalSorter(needed).static_order())
    arrows.sort(key=lambda arrow: (order.index(arrow[0]), order.index(arrow[1])))
    return "\n".join(["flowchart LR", *(f"    {start} --> {end}" for start, end in arrows)])


def test_the_rule_graph_of_the_page_is_current(tmp_path):
    words = ("--snakefile", str(ROOT / "Snakefile"), "--configfile", str(ROOT / "config.yaml"))
    done = snakemake(tmp_path, *words, "--rulegraph", "mermaid-js")
    assert done.returncode == 0, done.stderr
    current = readable_rule_graph(done.stdout)
    section = PAGE.read_text(encoding="utf-8").partition("\n## Pipeline\n")[2].partition("\n## ")[0]
    assert re.findall(r"^```mermaid\n(.*?)\n```$", section, re.M | re.S) == [current]
    # One row per rule, in the order of the work.
    rules = dict.fromkeys(re.findall(r"[a-z]+(?= --> )|(?<= --> )[a-z]+", current))
    assert re.findall(r"^\| `(\w+)` \| \S", section, re.M) == list(rules)


def test_lint_passes(finished):
    done = snakemake(finished, "--lint", "--configfile", "config/tiny.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
