"""A draft for the public registry of deployments is valid by the registry's own schema."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from partywise.core.documents import encode_json
from pipeline import ROOT
from verbs.registry import CURATORS

VERB = ROOT / "workflow" / "verbs" / "registry.py"
SCHEMA = yaml.safe_load((ROOT / "workflow" / "verbs" / "registry_schema.yaml").read_text(encoding="utf-8"))
RELEASE = {"mechanism": "rounded_gaussian", "sampler": "secure", "shares": {"north": "1/2"}}
STATEMENT = {
    "study": "s",
    "method": "m",
    "unit": "row",
    "accounts": {"north": {}, "river": {}},
    "end_day": "2026-11-27",
    "relation": "replace_one",
    "unprotected_units": [],
    "not_protected": ["sizes"],
    "colluders": 1,
    "trust": "nobody",
    "n_protected": 720,
    "epsilon": {"row": 4.0},
    "epsilon_public": 3.1,
    "epsilon_any": "inf",
    "delta": 1e-5,
    "releases": [RELEASE],
    "estimator": {"function": "a:fit"},
    "intervals": "none",
    "run": "r",
    "configuration": "c",
    "code": "d",
}


def faults(content: Any) -> list[str]:
    """What the schema refuses."""
    validator = Draft7Validator(SCHEMA, format_checker=Draft7Validator.FORMAT_CHECKER)
    return [f"{'.'.join(map(str, one.absolute_path))}: {one.message}" for one in validator.iter_errors(content)]


def drafted(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, VERB, folder, *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def draft(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    folder = tmp_path_factory.mktemp("release")
    (folder / "statement.json").write_bytes(encode_json(STATEMENT))
    return drafted(folder, "--curator-type", "Nonprofit")


def test_a_draft_is_valid_by_the_schema_of_the_registry(draft):
    assert draft.returncode == 0
    found = yaml.safe_load(draft.stdout)
    assert faults(found) == []
    assert found["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 4.0, "delta": 1e-5}
    assert found["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"
    assert [one["data_curator_name"] for one in found["deployment"]["basic"]["data_curators"]] == ["north", "river"]
    assert "url_slug" in draft.stderr and "privacy_parameters" not in draft.stderr


def put(*path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("deployment", "dp_variant", "variant_name", value="(epsilon, delta)-differential privacy"),
        put("deployment", "deployment_model", "model_name", value="local to each curator"),
        put("deployment", "deployment_model", "release_type", value="static"),
        put("deployment", "administrative", "evidence_sources", value="the folder itself"),
        put("deployment", "administrative", "registry_authors", value="somebody"),
        put("deployment", "surprise", value="a key of its own"),
    ],
)
def test_what_a_draft_once_held_is_refused(change, draft):
    content = yaml.safe_load(draft.stdout)
    change(content)
    assert len(faults(content)) == 1


def test_the_words_of_the_registry_are_those_of_its_schema():
    basic = SCHEMA["properties"]["deployment"]["properties"]["basic"]["properties"]
    assert tuple(basic["data_curators"]["items"]["properties"]["data_curator_type"]["enum"]) == CURATORS


def test_a_folder_that_is_none_is_said(tmp_path):
    made = drafted(tmp_path, "--curator-type", "Industry")
    assert made.returncode == 2 and "is not a published folder" in made.stderr
