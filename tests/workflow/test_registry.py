"""A draft for the public registry has the fields of its template, and no others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from partywise.federation.publication.files import encode_json
from pipeline import ROOT

VERB, TEMPLATE = ROOT / "workflow" / "verbs" / "registry.py", ROOT / "workflow" / "verbs" / "registry_2026_11.yaml"


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Names of all fields; those of a list's first entry."""
    if isinstance(value, list):
        yield from keys(value[0], path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}"
            yield from keys(item, f"{path}.{key}")


def drafted(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, VERB, folder], capture_output=True, text=True, check=False)


def test_a_draft_has_the_fields_of_the_template(tmp_path):
    release = {"mechanism": "rounded_gaussian", "sampler": "secure", "shares": {"north": "1/2"}}
    told = {"study": "s", "method": "m", "unit": "row", "accounts": {"north": {}, "river": {}}, "end_day": "2026-11-27"}
    told |= {
        "relation": "replace_one",
        "unprotected_units": [],
        "not_protected": ["sizes"],
        "colluders": 1,
        "trust": "nobody",
    }
    told |= {"n_protected": 720, "epsilon": {"row": 4.0}, "epsilon_public": 3.1, "epsilon_any": "inf", "delta": 1e-5}
    told |= {"releases": [release], "estimator": {"function": "a:fit"}, "intervals": "none", "run": "r"}
    told |= {"configuration": "c", "code": "d"}
    (tmp_path / "statement.json").write_bytes(encode_json(told))
    made = drafted(tmp_path)
    assert made.returncode == 0
    found = yaml.safe_load(made.stdout)
    assert set(keys(found)) == set(keys(yaml.safe_load(TEMPLATE.read_text())))
    assert found["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 4.0, "delta": 1e-5}
    assert [one["data_curator_name"] for one in found["deployment"]["basic"]["data_curators"]] == ["north", "river"]
    assert "url_slug" in made.stderr and "privacy_parameters" not in made.stderr


def test_a_folder_that_is_none_is_said(tmp_path):
    made = drafted(tmp_path)
    assert made.returncode == 2 and "is no published folder" in made.stderr
