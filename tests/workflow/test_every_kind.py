"""Every verb on every kind of configuration: studies in one file, in files of their own, own data, copied results."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
import yaml

from captions import case_titles
from partywise.experiment.plans import read_configuration
from pipeline import PARTS, RESULTS, ROOT, STUDY, copy_project, copy_run, launch, python
from shipped import SHIPPED, shipped_plans

FIGURE = ROOT / "workflow" / "report" / "figure.rst"
KINDS = ("inline", "file", "copied", "own")
# The verbs that read a finished run: their words, where {results} and {cube} stand for its folder and its cube.
VERBS = {
    "report": ["workflow/verbs/report.py", "--configfile", "{configuration}"],
    "summary": ["workflow/verbs/summary.py", "--folder", "{results}"],
    "verify": ["-m", "partywise", "compare", "--recompute", "{cube}", "--cells", "2"],
    "provenance": ["-m", "partywise", "provenance", "{cube}"],
    "compare": ["-m", "partywise", "compare", "{results}", "{results}"],
    "diff": ["-m", "partywise", "compare", "--findings", "{results}", "{results}"],
    "crate": ["workflow/verbs/crate.py", "{results}", "--into", "run.crate.zip"],
    "clean": ["workflow/verbs/clean.py", "{name}", "--yes"],
}


def by_file(folder: Path) -> None:
    """Move the studies of config/tiny.yaml into files of their own, which the configuration then names."""
    path = folder / "config" / "tiny.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for study, block in config["studies"].items():
        (folder / "config" / f"tiny_{study}.yaml").write_text(yaml.safe_dump(block, sort_keys=False))
        config["studies"][study] = {"file": f"tiny_{study}.yaml"}
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def copied(source: Path, target: Path) -> Path:
    """A project into which the results of another one were copied, without what Snakemake keeps of them."""
    target.mkdir(parents=True)
    subprocess.run(["cp", "-a", *(str(source / part) for part in PARTS), str(target)], check=True)
    shutil.copytree(source / RESULTS, target / RESULTS)
    return target


def own(target: Path) -> Path:
    """One fit on the shipped table of a web shop."""
    folder = copy_project(target)
    config = read_configuration(ROOT / "config" / "my_labels.example.yaml")
    block = config["studies"]["label_private"]
    block["methods"] = {"planned_release": block["methods"]["planned_release"]}
    del block["methods"]["planned_release"]["without_noise"]
    block["cases"]["my_orders"]["grid"] |= {"methods": ["planned_release"], "replicates": 1, "epsilon": [4.0]}
    (folder / "config" / "my_own.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    done = launch(folder, "--configfile", "config/my_own.yaml")
    assert done.returncode == 0, done.stderr
    return folder


def of_kind(kind: str, finished: Path, target: Path) -> Path:
    """A project with the results of one kind of configuration."""
    if kind == "own":
        return own(target)
    folder = copied(finished, target) if kind == "copied" else copy_run(finished, target)
    if kind != "inline":
        by_file(folder)
    return folder


def call(folder: Path, verb: str, kind: str) -> subprocess.CompletedProcess[str]:
    """One verb on the results of a kind."""
    name, study = ("my_own", "label_private") if kind == "own" else ("tiny", STUDY)
    places = {"results": f"results/{name}", "name": name, "configuration": f"config/{name}.yaml"}
    places["cube"] = f"{places['results']}/{study}/cube.nc"
    return python(folder, *(word.format(**places) for word in VERBS[verb]))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_caption_of_a_figure_names_the_cases_of_every_shipped_configuration(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(FIGURE.read_text(encoding="utf-8"))
    config = read_configuration(path)
    for study, plan in shipped_plans(path).items():
        titles = [case.title for case in plan.cases.values()]
        params = SimpleNamespace(caption="What it shows.", cases=case_titles(plan))
        wildcards = SimpleNamespace(study=study, figure=next(iter(plan.study.figures)))
        job = SimpleNamespace(params=params, wildcards=wildcards, config=config)
        text = template.render(snakemake=job)
        assert all(title in text for title in titles[:3]), text
        assert (f"and {len(titles) - 3} more" in text) == (len(titles) > 3)


def test_the_report_of_copied_results_whose_studies_are_files_is_complete_and_silent(finished, tmp_path):
    """The two kinds at once: the default configuration names files, and results travel without Snakemake's records."""
    folder = of_kind("copied", finished, tmp_path / "project")
    done = call(folder, "report", "copied")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Report of config/tiny.yaml: {RESULTS}/report.html\n"
    assert done.stderr == ""
    page = (folder / RESULTS / "report.html").read_text(encoding="utf-8")
    assert "Cases of this configuration: simulated." in page


@pytest.mark.runs
@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_works_on_every_kind_of_configuration(kind, finished, tmp_path):
    folder = of_kind(kind, finished, tmp_path / "project")
    for verb in VERBS:
        done = call(folder, verb, kind)
        assert done.returncode == 0, f"{verb}: {done.stdout}{done.stderr}"
        assert "Error" not in done.stderr and "Missing metadata" not in done.stderr, f"{verb}: {done.stderr}"
