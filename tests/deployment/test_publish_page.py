"""The page that publishes a result does: every command of it, pasted into an empty folder."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from crate.metadata import FEDERATED, METADATA
from crate_contexts import issues
from pasted_page import paste
from pipeline import ROOT

PAGE = ROOT / "docs" / "publish_a_result.md"


@pytest.mark.runs
def test_every_command_of_the_page_works_when_it_is_pasted(tmp_path):
    page, folder = PAGE.read_text(encoding="utf-8"), tmp_path / "empty"
    told = paste(page, folder)
    assert told.returncode == 0, told.stderr
    printed = told.stdout + told.stderr
    for line in "".join(re.findall(r"```text\n(.*?)```", page, re.DOTALL)).splitlines():
        # The time of the run is another one each time.
        assert re.sub(r"\d{4}-\S+Z", "", line) in re.sub(r"\d{4}-\S+Z", "", printed), line
    assert {path.name for path in published_folder(folder).iterdir()} >= {"statement.md"}
    check_crate(folder, folder / "results" / "study" / "study.crate.zip")


def published_folder(folder: Path) -> Path:
    """The folder that the server wrote of its one run."""
    (release,) = (folder / "results" / "server").glob("*/release")
    return release


def check_crate(folder: Path, path: Path) -> None:
    """It keeps the profile of federated learning, and holds nothing of a clinic but what was published."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    entities = {one["@id"]: one for one in json.loads(files[METADATA])["@graph"]}
    assert {"@id": FEDERATED} in entities["./"]["conformsTo"]
    run = json.loads(files["release/statement.json"])["run"]
    action = entities[f"#{run}"]
    assert action["object"][:3] == [{"@id": f"#records/{name}"} for name in ("north", "river", "hill")]
    assert entities["#records/north"]["@type"] == "Dataset"
    assert entities[action["instrument"]["@id"]]["version"]
    assert (
        action["result"][0] == {"@id": "release/estimate.csv"} and {"@id": "release/statement.json"} in action["result"]
    )
    assert [one["@id"] for one in action["agent"]] == [
        f"#party/{name}" for name in ("north", "river", "hill", "server")
    ]
    assert action["description"].startswith("certified for the unit row: epsilon ")
    everything = b"".join(files.values())
    for name in ("north", "river", "hill"):
        table = next(folder.glob(f"{name}/*.csv"))
        rows = table.read_bytes().splitlines()[1:]
        assert len(rows) > 200 and not [row for row in rows if row in everything], table
    published = {path.read_bytes() for path in published_folder(folder).rglob("*") if path.is_file()}
    private = {
        path.read_bytes()
        for name in ("north", "river", "hill", "server")
        for path in (folder / "results" / name).rglob("*")
        if path.is_file()
    }
    assert len(private - published) > 10 and not (private - published) & set(files.values())
    assert issues(path, folder) == []
