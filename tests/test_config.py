"""Every key of a configuration is checked before any job: one sentence names the key, its value and what is allowed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from config_check import checked_plans, schema
from partywise.errors import ConfigError
from pipeline import ROOT, launch, snakemake

INF = math.inf
SHIPPED = sorted([ROOT / "config.yaml", *(ROOT / "config").glob("*.yaml")])
TINY = yaml.safe_load((ROOT / "config" / "tiny.yaml").read_text())
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
    (top("rootseed", 1), "rootseed is unknown: did you mean root_seed? allowed here: root_seed, studies."),
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
    (drop("cases", "simulated", "grid"), f"{S}.cases.simulated.grid is missing: give a block of keys."),
    (drop("cases", "simulated", "grid", "epsilon"), f"{G}.epsilon is missing: give a list."),
    (drop("cases", "simulated", "grid", "replicates"), f"{G}.replicates is missing: give a whole number."),
    (drop("methods", "moments", "protocol"), f"{S}.methods.moments.protocol is missing: give a name."),
    # empty blocks
    (lambda c: c.update(studies={}), "studies is empty: give at least one."),
    (put("methods", value={}), f"{S}.methods is empty: give at least one."),
    (put("cases", value={}), f"{S}.cases is empty: give at least one."),
    (grid("methods", []), f"{G}.methods is empty: give at least one."),
    (grid("epsilon", []), f"{G}.epsilon is empty: give at least one."),
    # mistyped values
    (top("root_seed", "seven"), "root_seed is 'seven': it must be a whole number."),
    (top("root_seed", True), "root_seed is True: it must be a whole number."),
    (top("root_seed", [7, 0]), "root_seed is [7, 0]: it must be a whole number."),
    (top("studies", ["functional_boosting"]), "studies is ['functional_boosting']: it must be a block of keys."),
    (grid("replicates", 2.5), f"{G}.replicates is 2.5: it must be a whole number."),
    (grid("parties", 2), f"{G}.parties is 2: it must be a list."),
    (grid("parties", ["two"]), f"{G}.parties.0 is 'two': it must be a whole number."),
    (grid("epsilon", ["1e1"]), f"{G}.epsilon.0 is '1e1': it must be a number (numbers with an exponent need a point"),
    (grid("methods", "moments"), f"{G}.methods is 'moments': it must be a list."),
    (put("spec", value=3), f"{S}.spec is 3: it must be a block of keys."),
    (put("spec", "delta", value="1e-5"), f"{S}.spec.delta is '1e-5': it must be a number (YAML reads 1e-5 as text;"),
    (put("figures", value="all"), f"{S}.figures is 'all': it must be a list."),
    (settings("n", 400.0), f"{D}.n is 400.0: it must be a whole number."),
    (settings("active", 3), f"{D}.active is 3: it must be a list of whole numbers."),
    (settings("active", ["a"]), f"{D}.active[0] is 'a': it must be a whole number."),
    (settings("domain", [0.0, 1.0, 2.0]), f"{D}.domain is [0.0, 1.0, 2.0]: it must be a list of 2 numbers."),
    (option("s", "much"), f"{M}.s is 'much': it must be a number or a list of numbers."),
    (option("max_steps", None), f"{M}.max_steps is None: it must be a whole number."),
    # out of range
    (top("root_seed", -1), "root_seed is -1: it must be at least 0."),
    (grid("replicates", 0), f"{G}.replicates is 0: it must be at least 1."),
    (grid("folds", 0), f"{G}.folds is 0: it must be at least 1."),
    (grid("folds", 101), f"{G}.folds is 101: it must be at most 100."),
    (grid("parties", [0]), f"{G}.parties.0 is 0: it must be at least 1."),
    (grid("parties", [2, 2]), f"{G}.parties is [2, 2]: no value may be given twice."),
    (grid("epsilon", [0.0]), f"{G}.epsilon.0 is 0.0: it must be greater than 0."),
    (grid("epsilon", [-INF]), f"{G}.epsilon.0 is -inf: it must be greater than 0."),
    (put("batch", "folds_per_job", value=0), f"{S}.batch.folds_per_job is 0: it must be at least 1."),
    (put("spec", "delta", value=1.5), f"{S}.spec.delta is 1.5: "),
    (put("spec", "unit", value="person"), f"{S}.spec.unit is 'person': "),
    (settings("snr", 0.0), f"{D}.snr is 0.0: "),
    (settings("active", [0, 6]), f"{D}.active is (0, 6): give distinct indices within 0..5."),
    (option("nu", 2.0), f"{M}.nu is 2.0: "),
    (option("stop", "early"), f"{M}.stop is 'early': it must be one of "),
    (option("max_steps", 0), f"{M}.max_steps is 0: "),
    # names
    (put("cases", "Simulated", value={}), f"{S}.cases is 'Simulated': a name has a-z, 0-9 and _, a letter first."),
    (put("methods", "a-b", value={"protocol": "moments"}), f"{S}.methods is 'a-b': a name has a-z"),
    # contradictions between keys
    (new_method(protocol="forest"), f"{S}.methods.extra.protocol is 'forest': "),
    (grid("methods", ["moment"]), f"{G}.methods lists 'moment': did you mean moments? allowed here: "),
    (put("cases", "simulated", "source", value="nycc"), f"{S}.cases.simulated.source is 'nycc': did you mean nyc?"),
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
    plans = checked_plans(yaml.safe_load(path.read_text()))
    assert plans
    assert all(plan.cases and plan.methods for plan in plans.values())


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


def test_schema_is_valid_and_closed():
    Draft202012Validator.check_schema(schema())
    free = {"spec", "settings"}

    def walk(node: Any, name: str) -> None:
        if isinstance(node, dict):
            if node.get("type") == "object" and name not in free:
                # Options of a method are left to its dataclass; everything else is closed.
                closed = "additionalProperties" in node or "protocol" in node.get("properties", {})
                assert closed, name
            for key, value in node.items():
                walk(value, key)

    walk(schema(), "configuration")


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
    done = run(finished, "--configfile", str(broken))
    assert done.returncode == 1
    assert f"Configuration error: {G}.folds is 0: it must be at least 1." in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "File " not in done.stderr


def test_a_configuration_on_the_command_line_replaces_the_default(finished):
    """It is not merged into config.yaml: the cases of that file would run too."""
    done = snakemake(finished, "--configfile", "config/tiny.yaml", "-n", "--forceall")
    assert "sweep" not in done.stdout + done.stderr
    assert "predictor_none" in done.stdout + done.stderr
