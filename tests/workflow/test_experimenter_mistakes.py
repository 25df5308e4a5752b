"""Mistakes of experimenters with configurations, verbs and own files: each ends in one sentence before any job."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import launch
from launching.words import Refused, configuration, options
from mistakes import Mistake, faults
from partywise.__main__ import main
from partywise.core.errors import ConfigError, DataMissing
from partywise.experiment.configuration.text import read_file
from partywise.experiment.plans import plans
from pipeline import ROOT, STUDY
from verbs import report

TINY = (ROOT / "config" / "tiny.yaml").read_text(encoding="utf-8")
TABLE = "id,age,late\n" + "".join(f"r{i},{20 + i % 50},{i % 2}\n" for i in range(60))


def verb(*words: str, **files: str | bytes) -> Callable[[], int]:
    """A call of a verb next to some files, whose names have ``__`` for the dot."""

    def call() -> int:
        write(files)
        return main(words)

    return call


def run(*words: str, **files: str | bytes) -> Callable[[], int]:
    """A call of `./run`, which ends before Snakemake starts."""

    def call() -> int:
        write(files)
        return launch.main(words)

    return call


def report_of(*words: str) -> Callable[[], int]:
    return lambda: report.main(words)


def key(old: str, new: str) -> Callable[[], object]:
    """A configuration with another text in one place, read and checked."""

    def check() -> object:
        assert old in TINY
        write({"mine__yaml": TINY.replace(old, new)})
        return plans(read_file(Path("mine.yaml")))

    return check


def write(files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        Path(name.replace("__", ".")).write_bytes(content.encode() if isinstance(content, str) else content)


def folder(name: str, call: Callable[[], int]) -> Callable[[], int]:
    def make() -> int:
        Path(name).mkdir()
        return call()

    return make


EPSILON, GRID = "epsilon: [8.0, 64.0]", f"studies.{STUDY}.cases.simulated.grid"
MINE = ("--configfile", "mine.yaml")
MISTAKES = {
    "verb misspelt": Mistake(verb("sumary"), "did you mean ./run summary?", ("'sumary'",)),
    "verb of before": Mistake(verb("verify", "a.nc"), "type ./run compare --recompute", ("'verify'",)),
    "second word misspelt": Mistake(verb("network", "partys"), "did you mean ./run network party?", ("'partys'",)),
    "another ending": Mistake(
        run("--configfile", "mine.yml", mine__yaml=TINY), "did you mean mine.yaml?", ("mine.yml",)
    ),
    "a folder": Mistake(
        folder("mine", run("--configfile", "mine")), "name a configuration file", ("mine is a folder",)
    ),
    "a table": Mistake(run("--configfile", "mine.csv", mine__csv=TABLE), "./run check-data mine.csv", ("mine.csv",)),
    "UTF-16": Mistake(run(*MINE, mine__yaml=TINY.encode("utf-16")), "save it as UTF-8", ("mine.yaml", "byte 0")),
    "tabs": Mistake(
        run(*MINE, mine__yaml="root_seed: 1\nstudies:\n\tvertical_glm:\n"), "not with tabs", ("mine.yaml line 3",)
    ),
    "empty": Mistake(run(*MINE, mine__yaml="# later\n"), "begin with `root_seed:`", ("mine.yaml is empty",)),
    "decimal comma": Mistake(key(EPSILON, 'epsilon: ["1,0"]'), "with a decimal point", (f"{GRID}.epsilon[0]", "'1,0'")),
    "comma of a list": Mistake(key(EPSILON, "epsilon: [1,0]"), "greater than 0", (f"{GRID}.epsilon[1]", "0")),
    "epsilon nan": Mistake(key(EPSILON, "epsilon: [.nan]"), "greater than 0", (f"{GRID}.epsilon[0]", "nan")),
    "key misspelt": Mistake(key("replicates: 2", "replicats: 2"), "did you mean replicates?", (f"{GRID}.replicats",)),
    "more parties than columns": Mistake(
        key("parties: [2, 4]", "parties: [7]"), "must lie in 1..6", (f"{GRID}.parties", "7")
    ),
    "method misspelt": Mistake(
        key("party_fixed, moments]", "party_fixed, momnets]"), "did you mean moments?", (f"{GRID}.methods", "'momnets'")
    ),
    "configuration as a target": Mistake(
        run("mine.yaml", mine__yaml=TINY), "./run --configfile mine.yaml", ("mine.yaml",)
    ),
    "configuration as a key": Mistake(
        run("--config", "mine.yaml", mine__yaml=TINY), "named by --configfile mine.yaml", ("--config is 'mine.yaml'",)
    ),
    "no cores": Mistake(
        run(*MINE, "--cores", "0", mine__yaml=TINY), "a whole number from 1, or all", ("--cores is '0'",)
    ),
    "cores as a word": Mistake(run(*MINE, "--cores", "two", mine__yaml=TINY), "from 1, or all", ("--cores is 'two'",)),
    "file misspelt": Mistake(verb("check-data", "dta.csv", data__csv=TABLE), "did you mean data.csv?", ("dta.csv",)),
    "a workbook": Mistake(verb("check-data", "a.xlsx", a__xlsx=b"PK\3\4" + bytes(200)), "save it as CSV", ("a.xlsx",)),
    "an empty file": Mistake(verb("check-data", "a.csv", a__csv=""), "export it", ("a.csv is empty",)),
    "study misspelt": Mistake(
        verb("check-data", "a.csv", "--study", "labelprivate", a__csv=TABLE),
        "did you mean label_private?",
        ("--study",),
    ),
    "response misspelt": Mistake(
        verb("check-data", "a.csv", "--study", "label_private", "--response", "lat", a__csv=TABLE),
        "did you mean 'late'?",
        ("--response is 'lat'",),
    ),
    "a file as a module": Mistake(
        verb("check-method", "mine.py", mine__py="x = 1\n"), "write mine:PROTOCOL", ("mine.py",)
    ),
    "no protocol": Mistake(
        verb("check-method", "empty_one", empty_one__py="x = 1\n"), "give what is meant", ("'PROTOCOL'",)
    ),
    "half a file": Mistake(
        verb("from-source", "x.json", x__json='{"a": 1'), "correct that place", ("x.json", "line 1")
    ),
    "a table of another kind": Mistake(verb("from-source", "x.csv", x__csv=TABLE), "name the YAML file", ("x.csv",)),
    "a table as a model": Mistake(
        verb("score", "m.json", "t.csv", "--into", "o.csv", m__json=TABLE), "save the model again", ("m.json",)
    ),
    "text as a cube": Mistake(verb("compare", "a.nc", "b.nc", a__nc="x", b__nc="y"), "name the cube.nc", ("a.nc",)),
    "report of a word": Mistake(report_of("tiny"), "name a configuration by --configfile", ("tiny",)),
    "report before a run": Mistake(
        report_of("--configfile", str(ROOT / "config" / "tiny.yaml")), "run", ("results/tiny",)
    ),
}
RAISED = (ConfigError, DataMissing, Refused)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_key_value_and_remedy(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        code = MISTAKES[name].make()
        assert code in (1, 2)
        printed = capsys.readouterr()
        lines = (printed.err or printed.out).splitlines()
        # check-data lists what is wrong in a file.
        answer = next((line.removeprefix("- ") for line in lines if line.startswith("- ")), "\n".join(lines))
    except RAISED as error:
        answer = str(error)
    assert faults(answer, MISTAKES[name]) == [], answer
    assert {path.name for path in tmp_path.iterdir()} & {"results", ".snakemake"} == set(), "nothing was begun"


def test_snakemake_is_not_given_what_it_could_not_read():
    words = ["--configfile", "config/tiny.yaml", "--cores", "all"]
    assert configuration(words, options(words), ROOT)[0].name == "tiny"
