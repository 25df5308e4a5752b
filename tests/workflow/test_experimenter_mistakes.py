"""Mistakes of experimenters with configurations, verbs and own files: each ends in one sentence before any job."""

from __future__ import annotations

import copy
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import launch
from launching.words import Refused, configuration, options
from mistakes import Mistake, faults
from partywise.__main__ import main
from partywise.core.errors import ConfigError, DataMissing
from partywise.experiment.configuration.text import read_file
from partywise.experiment.plans import plans, read_configuration
from pipeline import ROOT, STUDY
from verbs import report

TINY = (ROOT / "config" / "tiny.yaml").read_text(encoding="utf-8")
CONFIG = read_configuration(ROOT / "config" / "tiny.yaml")
Break = Callable[[dict[str, Any]], object]
INF = math.inf
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


def study(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["functional_boosting"]


def case(config: dict[str, Any]) -> dict[str, Any]:
    return study(config)["cases"]["simulated"]


def put(*path: str | int, value: Any) -> Break:
    """Set a key below the study; numbers index lists."""

    def change(config: dict[str, Any]) -> None:
        block: Any = study(config)
        for key in path[:-1]:
            block = block[key]
        block[path[-1]] = value

    return change


def top(key: str, value: Any) -> Break:
    return lambda config: config.update({key: value})


def drop(*path: str) -> Break:
    def change(config: dict[str, Any]) -> None:
        block: Any = study(config)
        for key in path[:-1]:
            block = block[key]
        del block[path[-1]]

    return change


def grid(key: str, value: Any) -> Break:
    return put("cases", "simulated", "grid", key, value=value)


def settings(key: str, value: Any) -> Break:
    return put("cases", "simulated", "settings", key, value=value)


def option(key: str, value: Any, method: str = "predictor_fixed") -> Break:
    return put("methods", method, key, value=value)


def new_method(**keys: Any) -> Break:
    return put("methods", "extra", value=keys)


def many(*changes: Break) -> Break:
    def change(config: dict[str, Any]) -> None:
        for one in changes:
            one(config)

    return change


S = "studies.functional_boosting"
G = f"{S}.cases.simulated.grid"
D = f"{S}.cases.simulated.settings"
M = f"{S}.methods.predictor_fixed"
BROKEN: list[tuple[Break, str]] = [
    # unknown keys, with the nearest known one
    (top("rootseed", 1), "rootseed is unknown: did you mean root_seed? allowed here: name, network, root_seed, "),
    (put("case", value={}), f"{S}.case is unknown: did you mean cases?"),
    (put("batch", "replicates", value=1), f"{S}.batch.replicates is unknown"),
    (put("cases", "simulated", "seed", value=1), f"{S}.cases.simulated.seed is unknown: "),
    (grid("fold", 2), f"{G}.fold is unknown: did you mean folds?"),
    (put("spec", "detla", value=1e-5), f"{S}.spec.detla is unknown: did you mean delta? allowed here: delta, unit."),
    (settings("N", 3), f"{D}.N is unknown: "),
    (settings("radios", 3.0), f"{D}.radios is unknown: did you mean radius?"),
    (option("learnr", "party"), f"{M}.learnr is unknown: did you mean learner?"),
    (option("memory", "last"), f"{M}.memory is unknown: "),
    (lambda c: c["studies"].update(boosting=study(c)), "studies.boosting is unknown: the studies are "),
    # missing keys
    (lambda c: c.pop("root_seed"), "root_seed is missing: give a whole number."),
    (lambda c: c.pop("studies"), "studies is missing: give a block of keys."),
    (drop("methods"), f"{S}.methods is missing: give a block of keys."),
    (drop("cases"), f"{S}.cases is missing: give a block of keys."),
    (
        drop("cases", "simulated", "grid"),
        f"{S}.cases.simulated.grid is missing: give methods, replicates, parties, folds and epsilon, here or for all",
    ),
    (drop("cases", "simulated", "grid", "epsilon"), f"{G}.epsilon is missing: give a list of numbers."),
    (drop("cases", "simulated", "grid", "replicates"), f"{G}.replicates is missing: give a whole number."),
    (drop("methods", "moments", "protocol"), f"{S}.methods.moments.protocol is missing: it must be one of boosting, "),
    # empty blocks
    (lambda c: c.update(studies={}), "studies is empty: give at least one."),
    (put("methods", value={}), f"{S}.methods is empty: give at least one."),
    (put("cases", value={}), f"{S}.cases is empty: give at least one."),
    (grid("methods", []), f"{G}.methods is []: give at least one value and none twice."),
    (grid("epsilon", []), f"{G}.epsilon is []: give at least one value and none twice."),
    # mistyped values
    (top("root_seed", "seven"), "root_seed is 'seven': it must be a whole number."),
    (top("root_seed", True), "root_seed is True: it must be a whole number."),
    (top("root_seed", [7, 0]), "root_seed is [7, 0]: it must be a whole number."),
    (top("studies", ["functional_boosting"]), "studies is ['functional_boosting']: a block of keys is needed here."),
    (grid("replicates", 2.5), f"{G}.replicates is 2.5: it must be a whole number."),
    (grid("parties", 2), f"{G}.parties is 2: it must be a list of whole numbers (write it in brackets, as [2])."),
    (grid("parties", ["two"]), f"{G}.parties[0] is 'two': it must be a whole number."),
    (
        grid("epsilon", ["1e1"]),
        f"{G}.epsilon[0] is '1e1': it must be a number (YAML reads 1e1 as text; write it with a point",
    ),
    (
        grid("methods", "moments"),
        f"{G}.methods is 'moments': it must be a list of texts (write it in brackets, as [moments]).",
    ),
    (put("spec", value=3), f"{S}.spec is 3: a block of keys is needed here."),
    (put("spec", "delta", value="1e-5"), f"{S}.spec.delta is '1e-5': it must be a number (YAML reads 1e-5 as text;"),
    (
        put("figures", value="all"),
        f"{S}.figures is 'all': it must be a list of texts (write it in brackets, as [all]).",
    ),
    (settings("n", 400.0), f"{D}.n is 400.0: it must be a whole number."),
    (settings("active", 3), f"{D}.active is 3: it must be a list of whole numbers (write it in brackets, as [3])."),
    (settings("active", ["a"]), f"{D}.active[0] is 'a': it must be a whole number."),
    (settings("domain", [0.0, 1.0, 2.0]), f"{D}.domain is [0.0, 1.0, 2.0]: it must be a list of 2 numbers."),
    (option("s", "much"), f"{M}.s is 'much': it must be a number or a list of numbers."),
    (option("max_steps", None), f"{M}.max_steps is None: it must be a whole number."),
    # out of range
    (top("root_seed", -1), "root_seed is -1: it must be at least 0."),
    (grid("replicates", 0), f"{G}.replicates is 0: it must lie in [1, 10000]."),
    (grid("folds", 0), f"{G}.folds is 0: it must lie in [1, 100]."),
    (grid("folds", 101), f"{G}.folds is 101: it must lie in [1, 100]."),
    (grid("parties", [0]), f"{G}.parties[0] is 0: it must be at least 1."),
    (grid("parties", [2, 2]), f"{G}.parties is [2, 2]: give at least one value and none twice."),
    (grid("epsilon", [0.0]), f"{G}.epsilon[0] is 0.0: it must be greater than 0."),
    (grid("epsilon", [-INF]), f"{G}.epsilon[0] is -inf: it must be greater than 0."),
    (put("batch", "folds_per_job", value=0), f"{S}.batch.folds_per_job is 0: it must lie in [1, 100]."),
    (put("spec", "delta", value=1.5), f"{S}.spec.delta is 1.5: "),
    (put("spec", "unit", value="person"), f"{S}.spec.unit is 'person': "),
    (settings("snr", 0.0), f"{D}.snr is 0.0: "),
    (settings("active", [0, 6]), f"{D}.active is (0, 6): give distinct indices within 0..5."),
    (option("nu", 2.0), f"{M}.nu is 2.0: "),
    (option("stop", "early"), f"{M}.stop is 'early': it must be one of "),
    (option("max_steps", 0), f"{M}.max_steps is 0: "),
    # names
    (
        put("cases", "Simulated", value={}),
        f"{S}.cases.Simulated is not a name: a name has a-z, 0-9 and _, a letter first.",
    ),
    (put("methods", "a-b", value={"protocol": "moments"}), f"{S}.methods.a-b is not a name: a name has a-z"),
    # contradictions between keys
    (new_method(protocol=["forest"]), f"{S}.methods.extra.protocol is ['forest']: "),
    (put("cases", "simulated", "source", value=[1]), f"{S}.cases.simulated.source is [1]: "),
    (new_method(protocol="forest"), f"{S}.methods.extra.protocol is 'forest': "),
    (grid("methods", ["moment"]), f"{G}.methods lists 'moment': did you mean moments? allowed here: "),
    (
        put("cases", "simulated", "source", value="nyc"),
        f"{S}.cases.simulated.source is 'nyc': write source: dataset now",
    ),
    (put("figures", value=["error_by_party"]), f"{S}.figures lists 'error_by_party': did you mean error_by_parties?"),
    (grid("parties", [2, 7]), f"{G}.parties is 7: the number of parties must lie in 1..6, the number of predictors."),
    (many(settings("n", 10), grid("folds", 11)), f"{G}.folds is 11: "),
    (option("min_steps", 31), f"{M}.min_steps is 31: it must not exceed max_steps (30)."),
    (option("s", [0.5, 0.5]), f"{G}.methods lists predictor_fixed, whose s has 2 entries: this case has 6 predictors."),
    (settings("groups", [[0, 1], [2]]), f"{D}.groups is ((0, 1), (2,)): "),
    (many(settings("split", "explicit"), settings("groups", [[0, 1], [2]])), f"{D}.groups is ((0, 1), (2,)): "),
]


HEAD = "root_seed: 7\nstudies: {functional_boosting: {}}\n"
BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
# Text of a file, and the sentence after its name.
NO_DATA = {
    "program": (
        "__use_yte__: true\n",
        " line 1 has the key __use_yte__, which lets Snakemake run the file as a program",
    ),
    "program, quoted": ('"\\x5f_use_yte__": true\n', " line 1 has the key __use_yte__, which lets"),
    "program, in JSON": ('{"__use_yte__": true, "root_seed": 7}', " has the key __use_yte__, which lets"),
    "program, merged": ("a: &a {__use_yte__: true}\n<<: *a\n", " line 1 has the key __use_yte__, which lets"),
    "definitions": ("__definitions__: [import os]\n", " line 1 has the key __definitions__, which lets"),
    "key twice": (HEAD + "root_seed: 8\n", " line 3 gives the key 'root_seed' twice, first in line 1: keep one."),
    "key twice, deep": ("a: {b: 1, c: 2, b: 3}\n", " line 1 gives the key 'b' twice, first in line 1: keep one."),
    "key twice, in JSON": ('{"a": 1, "a": 2}', " gives the key 'a' twice: keep one of them."),
    "object": (
        "root_seed: !!python/object/apply:os.system ['touch made']\n",
        " line 1 has the YAML tag !!python/object/",
    ),
    "function": (
        "root_seed: !!python/name:os.system\n",
        " line 1 has the YAML tag !!python/name:os.system, which is unkn",
    ),
    "own tag": ("root_seed: !include other.yaml\n", " line 1 has the YAML tag !include, which is unknown: a configu"),
    "binary": ("root_seed: !!binary c2V2ZW4=\n", " line 1 has the YAML tag !!binary, which is unknown"),
    "date": ("root_seed: 2024-06-01\n", " line 1 has the YAML tag !!timestamp, which is a date: put it in quotes."),
    "tab": ("studies:\n\ta: 1\n", " line 2 column 1 is not valid YAML: while scanning for the next token found"),
    "bomb": (BOMB, " line 6 stands for more than 1000000 values: write fewer aliases."),
    "circle": ("a: &a [1, *a]\n", " line 1 holds itself: an alias (*name) may not be inside its anchor."),
    "deep": ("a: " + "[" * 60 + "]" * 60, " line 1 is nested too deeply: at most 50 levels."),
    "very deep": ("[" * 100_000, " is nested too deeply: at most 50 levels."),
    "very deep, in JSON": ('{"a":' * 100_000, " is nested too deeply: at most 50 levels."),
    "list": ("[1, 2]\n", " is not a block of keys: begin with `root_seed:` and `studies:`."),
    "key that is a list": ("[a, b]: 1\n", " line 1 has a list or a block as a key: a key is a name."),
    "key that is a number": (
        "studies: {1: 2}\n",
        " line 1 has the key 1, which YAML takes for no text: put it in quotes.",
    ),
    "two documents": (
        "a: 1\n---\nb: 2\n",
        " line 2 column 1 is not valid YAML: expected a single document in the stream",
    ),
    "empty": ("# nothing\n", " is empty: begin with `root_seed:` and `studies:`."),
    "octal": (
        "root_seed: 010\n",
        " line 1 has the number 010, which YAML reads to the base 8: write a number without zeros before it and ",
    ),
    "octal, deep": (
        "root_seed: 1\na: {b: [1, -0_17]}\n",
        " line 2 has the number -0_17, which YAML reads to the base 8:",
    ),
    "sexagesimal": ("root_seed: 1:30\n", " line 1 has the number 1:30, which YAML reads to the base 60: write"),
    "sexagesimal, a fraction": ("a: 1:30.5\n", " line 1 has the number 1:30.5, which YAML reads to the base 60"),
    "long number": ("root_seed: " + "9" * 5000, " is not valid YAML: "),
}


def configuration_of(change: Break) -> Callable[[], object]:
    """A configuration with a change, checked as every job plan checks it."""

    def check() -> object:
        config = copy.deepcopy(CONFIG)
        change(config)
        return plans(config)

    return check


def text_of(text: str) -> Callable[[], object]:
    """A file of a configuration, read before Snakemake reads it."""

    def read() -> object:
        write({"mine__yaml": text})
        return read_file(Path("mine.yaml"))

    return read


def study_in_file(text: str | None, entry: object = None) -> Callable[[], object]:
    """A study in a file of its own, of which a configuration has the name; without a text there is no such file."""

    def check() -> object:
        Path("parts").mkdir()
        if text is not None:
            Path("parts/boosting.yaml").write_text(text)
        entry_of = {"file": "parts/boosting.yaml"} if entry is None else entry
        write({"mine__yaml": yaml.safe_dump({"root_seed": 7, "studies": {STUDY: entry_of}})})
        return plans(read_configuration(Path("mine.yaml")), [Path("mine.yaml")])

    return check


AT = f"studies.{STUDY}"
IN_FILES = (
    (study_in_file("methods: {}\ncases: [1]\n"), f"{AT}.cases is [1]: a block of keys is needed here."),
    (study_in_file("methods: {}\nmethods: {}\n"), f"{AT}.file is 'parts/boosting.yaml': parts/boosting.yaml line 2"),
    (study_in_file("file: other.yaml\n"), "parts/boosting.yaml: file is 'other.yaml': a file that is named holds"),
    (study_in_file("a: !!python/name:os.system\n"), f"{AT}.file is 'parts/boosting.yaml': parts/boosting.yaml line 1"),
    (study_in_file(None, "parts/boosting.yaml"), f"{AT} is 'parts/boosting.yaml': parts/boosting.yaml is not there: "),
    (study_in_file(None, ""), f"{AT} is '': it must be the name of a file with the block of the study."),
)
MISTAKES |= {sentence: Mistake(configuration_of(change), sentence, ()) for change, sentence in BROKEN}
MISTAKES |= {
    f"text: {name}": Mistake(text_of(text), f"mine.yaml{sentence}", ()) for name, (text, sentence) in NO_DATA.items()
}
MISTAKES |= {sentence: Mistake(check, sentence, ()) for check, sentence in IN_FILES}
RAISED = (ConfigError, DataMissing, Refused)


@pytest.mark.parametrize("name", MISTAKES, ids=[name[:60] for name in MISTAKES])
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
    assert {path.name for path in tmp_path.iterdir()} & {"results", ".snakemake", "made"} == set(), "nothing was begun"


def test_snakemake_is_not_given_what_it_could_not_read():
    words = ["--configfile", "config/tiny.yaml", "--cores", "all"]
    assert configuration(words, options(words), ROOT)[0].name == "tiny"
