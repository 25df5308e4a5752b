"""Studies in files of their own: keys next to the name of a file override it, and errors name that file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from partywise.core.errors import ConfigError
from partywise.experiment.plans import plans, read_configuration
from pipeline import ROOT

STUDY = "functional_boosting"
BLOCK = read_configuration(ROOT / "config" / "tiny.yaml")["studies"][STUDY]


def written(folder: Path, entry: Any, name: str = "mine.yaml") -> Path:
    """A configuration in a folder, beside a folder with the block of its study."""
    (folder / "parts").mkdir(exist_ok=True)
    (folder / "parts" / "boosting.yaml").write_text(yaml.safe_dump(BLOCK, sort_keys=False))
    path = folder / name
    path.write_text(yaml.safe_dump({"root_seed": 7, "studies": {STUDY: entry}}))
    return path


@pytest.mark.parametrize("entry", ["parts/boosting.yaml", {"file": "parts/boosting.yaml"}])
def test_a_study_in_a_file_is_the_study_that_could_be_typed(tmp_path, entry):
    """Also where Snakemake merges the files, which does not know of them."""
    path = written(tmp_path, entry)
    config = read_configuration(path)
    assert config == {"root_seed": 7, "studies": {STUDY: BLOCK}}
    assert list(config["studies"][STUDY]["methods"]) == list(BLOCK["methods"])
    given = {"root_seed": 7, "studies": {STUDY: entry}}
    assert plans(given, [path])[STUDY].whole() == plans(config)[STUDY].whole()


def test_keys_next_to_the_name_of_a_file_override_it(tmp_path):
    grid = {"cases": {"simulated": {"grid": {"epsilon": [8.0]}}}, "figures": []}
    made = plans(read_configuration(written(tmp_path, {"file": "parts/boosting.yaml"} | grid)))[STUDY]
    assert made.cases["simulated"].epsilon == (8.0,) and made.figures == ()
    assert made.cases["simulated"].parties == (2, 4) and made.cases["simulated"].settings.n == 400


def test_an_error_names_the_keys_next_to_the_name_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, {"file": "parts/boosting.yaml", "batch": {"folds_per_job": 0}})
    with pytest.raises(ConfigError) as told:
        plans(yaml.safe_load(path.read_text()), [path])
    sentence = f"parts/boosting.yaml and batch next to its name: studies.{STUDY}.batch.folds_per_job is 0: it must lie"
    assert str(told.value).startswith(sentence), told.value


def test_names_of_files_begin_in_the_folder_of_the_last_file_that_names_them(tmp_path):
    entry = {"file": "parts/boosting.yaml"}
    for folder in ("first", "last"):
        (tmp_path / folder).mkdir()
    first, last = written(tmp_path / "first", entry), written(tmp_path / "last", entry)
    changed = BLOCK | {"batch": {"replicates_per_job": 1}}
    (tmp_path / "last" / "parts" / "boosting.yaml").write_text(yaml.safe_dump(changed))
    config = {"root_seed": 7, "studies": {STUDY: entry}}
    assert plans(config, [first, last])[STUDY].batch.replicates_per_job == 1
    assert plans(config, [last, first])[STUDY].batch.replicates_per_job == 2


def test_a_factor_multiplies_the_replicates_of_every_case_and_a_cube_tells_of_it():
    once, thrice = (plans({"root_seed": 7, "studies": {STUDY: BLOCK | more}})[STUDY] for more in ({}, _times(3)))
    assert (once.cases["simulated"].replicates, thrice.cases["simulated"].replicates) == (2, 6)
    again = thrice.whole()["block"]
    assert plans({"root_seed": 7, "studies": {STUDY: again}})[STUDY].cases["simulated"].replicates == 6
    one = plans({"root_seed": 7, "studies": {STUDY: BLOCK | _times(1)}})[STUDY]
    assert one.whole() == once.whole()
    part = {"simulated": ["moments"]}
    assert thrice.part(part) == once.part(part)


def _times(factor: int) -> dict[str, int]:
    return {"replicate_factor": factor}
