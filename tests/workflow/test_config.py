"""Every key of a configuration is checked before any job: one sentence names the key, its value and what is allowed."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from snakemake.common.configfile import load_configfile

from config_check import check_network
from last_run import read
from partywise.core.errors import ConfigError
from partywise.experiment.configuration.text import read_file
from partywise.experiment.plans import plans as checked_plans
from partywise.experiment.plans import read_configuration
from pipeline import ROOT, copy_run, launch, snakemake

INF = math.inf
SHIPPED = sorted([ROOT / "config.yaml", *(ROOT / "config").glob("*.yaml")])
TINY = read_configuration(ROOT / "config" / "tiny.yaml")
Break = Callable[[dict[str, Any]], object]


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


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configurations_pass(path):
    config = read_configuration(path)
    plans = checked_plans(config)
    assert plans
    assert all(plan.cases and plan.methods for plan in plans.values())
    check_network(config, plans)


def test_there_are_at_least_sixty_broken_configurations():
    assert len(BROKEN) >= 60


@pytest.mark.parametrize(("change", "sentence"), BROKEN, ids=[sentence[:60] for _, sentence in BROKEN])
def test_a_broken_configuration_is_told_in_one_sentence(change, sentence):
    config = copy.deepcopy(TINY)
    change(config)
    with pytest.raises(ConfigError) as told:
        checked_plans(config)
    message = str(told.value)
    assert message.startswith(sentence), message
    assert "\n" not in message
    assert message.endswith(".")


def test_infinity_survives_to_the_plan():
    config = copy.deepcopy(TINY)
    case(config)["grid"]["epsilon"] = [1, INF]
    plan = checked_plans(config)["functional_boosting"]
    assert plan.cases["simulated"].epsilon == (1.0, INF)
    assert plan.epsilons("simulated", "moments") == (1.0, INF)
    assert plan.epsilons("simulated", "predictor_none") == (INF,)


@pytest.mark.parametrize("run", [snakemake, launch])
def test_the_user_sees_the_sentence_and_no_traceback(finished, tmp_path, run):
    broken = tmp_path / "broken.yaml"
    config = copy.deepcopy(TINY)
    case(config)["grid"]["folds"] = 0
    broken.write_text(yaml.safe_dump(config))
    folder = copy_run(finished, tmp_path / "copy")
    done = run(folder, "--configfile", str(broken))
    assert done.returncode == 1
    assert read(folder) == read(finished)
    assert f"Configuration error: {G}.folds is 0: it must lie in [1, 100]." in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "File " not in done.stderr


def test_a_configuration_on_the_command_line_replaces_the_default(finished):
    """It is not merged into config.yaml: the cases of that file would run too."""
    done = snakemake(finished, "--configfile", "config/tiny.yaml", "-n", "--forceall")
    assert "sweep" not in done.stdout + done.stderr
    assert "predictor_none" in done.stdout + done.stderr


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


@pytest.mark.parametrize("name", NO_DATA)
def test_a_configuration_that_is_no_data_is_told_in_one_sentence(tmp_path, monkeypatch, name):
    text, sentence = NO_DATA[name]
    path = tmp_path / "given.yaml"
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as told:
        read_configuration(path)
    message = str(told.value)
    assert message.startswith(f"{path}{sentence}"), message
    assert "\n" not in message and message.endswith(".")
    assert not (tmp_path / "made").exists()


def test_a_file_that_is_no_text_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("partywise.experiment.configuration.text.LONGEST", 10)
    (tmp_path / "long.yaml").write_text(HEAD)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    os.mkfifo(tmp_path / "pipe.yaml")
    sentences = {
        "": "is a folder: name a configuration file",
        "absent.yaml": "is not there: name a configuration file",
        "long.yaml": f"has {len(HEAD)} bytes: a configuration has at most 10",
        "latin.yaml": "is not text in UTF-8 (byte 3): save it as UTF-8",
        "pipe.yaml": "is not a file: name a configuration file",
    }
    for name, sentence in sentences.items():
        with pytest.raises(ConfigError) as told:
            read_configuration(tmp_path / name)
        assert str(told.value).startswith(f"{tmp_path / name} {sentence}"), told.value


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configurations_are_read_as_snakemake_reads_them(path):
    """Their anchors, aliases and merges included."""
    assert read_file(path) == load_configfile(path)


def test_a_key_beside_a_merged_block_has_the_last_word(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("one: &one {a: 1, b: 2}\ntwo: {<<: *one, b: 3}\n")
    assert read_file(path)["two"] == {"a": 1, "b": 3}


@pytest.mark.parametrize("words", [("-n",), (), ("--report", "report.html"), ("--unlock",)], ids=" ".join)
def test_a_program_in_a_configuration_is_refused_and_not_run(finished, tmp_path, words):
    """Also in a second file, and in the default one of another folder; nothing is written, before or after."""
    program = f"__use_yte__: true\n? __import__('pathlib').Path({str(tmp_path / 'made')!r}).touch()\n: 1\n"
    (tmp_path / "config.yaml").write_text(program + HEAD)
    given = str(tmp_path / "config.yaml")
    for place in (("--configfile", "config/tiny.yaml", given), (f"--configfile={given}",), ("-d", str(tmp_path))):
        done = launch(finished, *place, *words)
        assert done.returncode == 2, place
        assert done.stderr.startswith("Configuration error: ") and done.stderr.count("\n") == 1
        assert "has the key __use_yte__" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_a_word_that_is_cut_short_does_not_pass_a_configuration_by(finished):
    done = launch(finished, "--configfi", "config/tiny.yaml", "-n")
    assert done.returncode == 2
    assert done.stderr == "--configfi is an abbreviation of an option that is checked: write --configfile.\n"
