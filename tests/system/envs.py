"""The environments of the steps for real: their pins alone, in an empty environment, run the scripts of their rules.

Every rule's script is given what Snakemake gave it in a run of config/tiny.yaml and must write the same bytes.  With
``--sdm conda`` the same pins come from conda-forge; here they come from the package index (``./run test --system``,
over the network), under the names of NAMES.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import machine  # noqa: F401 - ends also when the tests are ended
from pipeline import ROOT, TINY, copy_project, snakemake

pytestmark = pytest.mark.system

# Names of conda-forge that are others on the package index.
NAMES = {"matplotlib-base": "matplotlib"}
RULE = (
    r'^rule (\w+):(?:(?!^rule ).)*?conda:\s+"[./]*(envs/\w+\.yaml)"(?:(?!^rule ).)*?script:\s+"[./]*(scripts/\w+\.py)"'
)
RULES = {
    name: (environment, script)
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk"))
    for name, environment, script in re.findall(RULE, path.read_text(), re.M | re.S)
}
# A table that is small, and whose package file is for any machine.
FETCHED = "resources/body_fat/provenance.json"
# config/tiny.yaml has no figure that is a table.
TABLE = ("results/smoke/figures/sliced_inverse_regression/table_1.html", "--configfile", "config/smoke.yaml")
PARTS = ("input", "output", "params", "log")
# Written before a script: what Snakemake tells it, as JSON.
RECORD = """
import json as _json, pathlib as _pathlib
_told = {{part: [list(getattr(snakemake, part)), dict(getattr(snakemake, part).items())] for part in {parts}}}
_told["scriptdir"] = str(snakemake.scriptdir)
if snakemake.rule == {name!r}:
    _pathlib.Path({name!r} + ".json").write_text(_json.dumps(_told))
"""
# Stands before a script in place of the lines that Snakemake puts there, and ends as they do.
REPLAY = """
import json, sys
from types import SimpleNamespace

class Items(list):
    def __init__(self, values, named):
        super().__init__(values)
        self.__dict__.update(named)
        self.named, self.items, self.keys = named, named.items, named.keys

    def __getitem__(self, where):
        return self.named[where] if isinstance(where, str) else super().__getitem__(where)

told = json.load(open(sys.argv[1]))
scriptdir = told.pop("scriptdir")
snakemake = SimpleNamespace(rule="", scriptdir=scriptdir, **{part: Items(*words) for part, words in told.items()})
######## snakemake preamble end #########
"""


def pins(environment: str) -> list[str]:
    """What the package index is asked for; conda-forge leaves out the suffix .postN."""
    described = yaml.safe_load((ROOT / environment).read_text())["dependencies"]
    entries = dict(entry.split("=", 1) for entry in described)
    assert entries.pop("python").startswith("3.11")
    return [f"{NAMES.get(name, name)}=={version.lstrip('=')}.*" for name, version in entries.items()]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose scripts write down what they were told: for each rule, of its last job."""
    folder = copy_project(tmp_path_factory.mktemp("told") / "project")
    for name, (_, script) in RULES.items():
        path = folder / script
        path.write_text(RECORD.format(parts=PARTS, name=name) + path.read_text())
    for words in (TABLE, ("all", FETCHED, *TINY)):
        done = snakemake(folder, *words)
        assert done.returncode == 0, done.stderr
    # They stay: a job is planned with the bytes of its script.
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The interpreters of the environments that were made so far."""
    return {}


def interpreter(environment: str, made: dict[str, Path], folder: Path) -> Path:
    """Python in an environment that holds the pins of one, what they need, and nothing else."""
    if environment not in made:
        begun = time.monotonic()
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if wanted := pins(environment):
            subprocess.run([*install, *wanted], check=True, timeout=600)
        print(f"{environment}: {time.monotonic() - begun:.0f} s to set up")
        made[environment] = folder / "bin" / "python"
    return made[environment]


def test_every_rule_is_tried():
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    assert set(RULES) == set(re.findall(r"^rule (\w+):", rules, re.M))
    assert {environment for environment, _ in RULES.values()} == {
        f"envs/{path.name}" for path in (ROOT / "envs").iterdir()
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_pins_alone_run_the_script_of_a_rule(rule, told, made, tmp_path_factory):
    environment, script = RULES[rule]
    python = interpreter(environment, made, tmp_path_factory.mktemp("environment"))
    outputs = [told / name for name in json.loads((told / f"{rule}.json").read_text())["output"][0]]
    before = {path: path.read_bytes() for path in outputs}
    for path in outputs:
        path.unlink()
    (told / "replay.py").write_text(REPLAY + (told / script).read_text())
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environ |= {"PYTHONPATH": str(told / "lib"), "PYTHONNOUSERSITE": "1", "MPLCONFIGDIR": str(told / "matplotlib")}
    environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [python, "replay.py", f"{rule}.json"]
    begun = time.monotonic()
    done = subprocess.run(command, cwd=told, env=environ, capture_output=True, text=True, timeout=600)
    print(f"{rule} with the pins of {environment} alone: {time.monotonic() - begun:.1f} s")
    assert done.returncode == 0, done.stderr
    # CPU seconds are those of this run.
    different = [path.name for path in outputs if path.read_bytes() != before[path]]
    assert [name for name in different if not name.endswith("timings.csv")] == []
