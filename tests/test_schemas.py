"""The JSON schemas of configurations are those of the code, and every shipped configuration keeps its own."""

from __future__ import annotations

import copy
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

from partywise.experiment.configuration.text import read_file
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.study import available
from pipeline import ROOT
from shipped import shipped_plans

sys.path.insert(0, str(ROOT / "docs"))
from _schema import FOLDER, schemas

MAIN = [ROOT / "config.yaml", *sorted((ROOT / "config").glob("*.yaml"))]
SHIPPED = [*MAIN, *sorted((ROOT / "config").glob("*/*.yaml"))]
DESIGNS = sorted((ROOT / "config" / "design").glob("*.yaml"))
FIRST = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")
SCHEMAS = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
REGISTRY = Registry().with_resources((name, DRAFT7.create_resource(one)) for name, one in SCHEMAS.items())
# The smallest configuration, as one block.
TINY = read_configuration(ROOT / "config" / "tiny.yaml")
STUDY = "functional_boosting"


def faults(content: Any, schema: str) -> list[str]:
    """What a schema refuses, by the paths of the keys."""
    found = Draft7Validator({"$ref": schema}, registry=REGISTRY).iter_errors(content)
    return [f"{error.json_path}: {error.message}"[:200] for error in found]


def test_the_schemas_are_those_of_the_dataclasses():
    """After a change of options or settings: .venv/bin/python docs/_schema.py."""
    stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert [name for name, text in schemas().items() if stored.get(name) != text] == []
    assert set(stored) == {
        "configuration.json",
        "site.json",
        "design.json",
        *(f"{study}.json" for study in available()),
    }
    for one in SCHEMAS.values():
        Draft7Validator.check_schema(one)


def test_every_shipped_file_names_its_schema_and_keeps_it():
    found = []
    for path in SHIPPED:
        named = FIRST.match(path.read_text(encoding="utf-8"))
        schema = path.parent / named[1] if named else None
        if schema is None or schema.resolve().parent != FOLDER or schema.name not in SCHEMAS:
            found.append(f"{path.relative_to(ROOT)} does not begin with the schema that it keeps")
            continue
        of_folder = "design.json" if path in DESIGNS else f"{path.stem}.json"
        wanted = "configuration.json" if path in MAIN else of_folder
        found += [] if schema.name == wanted else [f"{path.relative_to(ROOT)} names {schema.name}, not {wanted}"]
        found += [f"{path.relative_to(ROOT)}: {one}" for one in faults(read_file(path), schema.name)]
    assert found == []


def test_the_site_of_the_example_keeps_its_schema():
    path = ROOT / "config" / "example_data" / "network" / "site.yaml"
    assert faults(read_file(path), "site.json") == []
    assert faults({"files": [], "modes": ["open"]}, "site.json") != []


def test_every_shipped_file_is_read_and_every_file_of_a_study_is_named_once():
    named: list[Path] = []
    for path in MAIN:
        assert shipped_plans(path)
        blocks = read_file(path)["studies"].values()
        named += [(path.parent / block["file"]).resolve() for block in blocks if "file" in block]
    assert sorted(named) == [path for path in SHIPPED if path not in [*MAIN, *DESIGNS]]


def test_shipped_files_are_in_block_style_with_one_setting_a_line():
    """Lists of plain values may stand on a line.  The default configuration is one screen; products are swept."""
    found = []
    for path in SHIPPED:
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT)
        found += [f"{name}:{i}: {len(one)} columns" for i, one in enumerate(text.splitlines(), 1) if len(one) > 99]
        found += [f"{name} has {n} lines: sweep, or name a file"] if (n := text.count("\n")) > 330 else []
        blocks = [event for event in yaml.parse(text) if isinstance(event, yaml.MappingStartEvent)]
        found += [f"{name}:{event.start_mark.line + 1}: a block in braces" for event in blocks if event.flow_style]
    assert found == []
    assert len((ROOT / "config.yaml").read_text(encoding="utf-8").splitlines()) <= 40


def changed(*path: Any, value: Any) -> dict[str, Any]:
    """The smallest configuration with another value below its study."""
    config = copy.deepcopy(TINY)
    block = config["studies"][STUDY]
    for key in path[:-1]:
        block = block[key]
    block[path[-1]] = value
    return config


SIMULATED = ("cases", "simulated")
WRONG = {
    "key of a study": (("case",), {}),
    "constant": (("spec", "unit"), "person"),
    "option": (("methods", "predictor_fixed", "learnr"), "party"),
    "type of an option": (("methods", "predictor_fixed", "s"), "much"),
    "range of an option": (("methods", "moments", "max_steps"), 0),
    "option of another protocol": (("methods", "mean_curve", "s"), 0.5),
    "protocol": (("methods", "moments", "protocol"), "moment"),
    "label of a method": (("methods", "A-b"), {"protocol": "moments"}),
    "source": ((*SIMULATED, "source"), "simulation"),
    "key of a case": ((*SIMULATED, "seed"), 1),
    "setting": ((*SIMULATED, "settings", "radios"), 1.0),
    "type of a setting": ((*SIMULATED, "settings", "active"), 3),
    "length of a list": ((*SIMULATED, "settings", "domain"), [0.0, 1.0, 2.0]),
    "range of the grid": ((*SIMULATED, "grid", "folds"), 0),
    "epsilon": ((*SIMULATED, "grid", "epsilon"), [0.0]),
    "empty sweep": ((*SIMULATED, "sweep"), {"n": []}),
    "figure": (("figures",), ["error_by_party"]),
    "batch": (("batch", "replicates"), 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_schema_refuses_what_the_reader_refuses(name):
    path, value = WRONG[name]
    assert faults(TINY, "configuration.json") == []
    assert faults(changed(*path, value=value), "configuration.json")
    with pytest.raises(ValueError):
        plans(changed(*path, value=value))


def test_a_block_with_a_file_may_leave_out_what_the_file_holds():
    config = {"root_seed": 7, "studies": {STUDY: {"file": "x.yaml", "methods": {"moments": {"max_steps": 3}}}}}
    assert faults(config, "configuration.json") == []
    assert faults({"root_seed": 7, "studies": {STUDY: {"methods": {}}}}, "configuration.json")
    assert faults({"root_seed": 7, "studies": {"mine": {"address": "a:B", "methods": {}}}}, "configuration.json") == []
