"""Tables of two organisations with different columns, released by processes with TLS and real ciphers, and checked."""

from __future__ import annotations

import csv
import json

import pytest

from deployment_cases import HELD, Columns
from partywise.core.errors import ConfigError, DataMissing
from partywise.deployment.deployments import Deployment
from partywise.experiment.data import generate
from release_folders import checked, json_of, publish


def test_the_folder_of_products_has_every_number_and_is_checked_without_data(tmp_path, capsys):
    release = publish(Columns(), tmp_path)
    assert checked(release, tmp_path, capsys)[0] == 0
    stated = json_of(release, "statement.json")
    assert stated["epsilon"]["row"] == pytest.approx(4.0, rel=1e-9) and stated["n_protected"] == 300
    assert "encryption under the key" in stated["trust"]
    with (release / "estimate.csv").open(newline="") as handle:
        rows = {row["name"]: row for row in csv.DictReader(handle)}
    # The noise is secret: some numbers of some draws are not determined.
    assert {"sex = m | arm = no", "mean of age | arm = yes", "risk difference"} <= set(rows) and len(rows) > 15
    ends = [float(rows["risk difference"][key]) for key in ("lower", "estimate", "upper")]
    assert -1 <= ends[0] < ends[1] < ends[2] <= 1
    with (release / "measurements.csv").open(newline="") as handle:
        copies = {(row["release"], row["copies"]) for row in csv.DictReader(handle)}
    assert copies == {("tables", "2"), ("tables of one organisation", "1")}
    text = (release / "measurements.csv").read_text()
    first = text.splitlines()[1].split(",")[2]
    (release / "measurements.csv").write_text(text.replace(first, "0.25", 1))
    assert checked(release, tmp_path, capsys)[0] == 1


WRONG = {
    "nobody": (
        lambda q: q.update(column_holders=HELD | {"clinic": ["arm", "sex"]}),
        "the column 'age' is held by none",
    ),
    "another party": (
        lambda q: q.update(column_holders=HELD | {"bank": []}),
        "give one entry for each party of tables",
    ),
    "apart": (
        lambda q: q.update(column_holders={"clinic": ["arm", "sex", "age", "years"], "office": ["died", "cause"]}),
        "one organisation must hold both",
    ),
    "by party": (lambda q: q.update(by_party=True), "leave by_party out"),
}


@pytest.mark.parametrize("name", WRONG)
def test_columns_that_contradict_the_questions_are_refused_in_the_plan(name):
    case, (change, words) = Columns(), WRONG[name]
    case.settings["questions"] = json.loads(json.dumps(case.settings["questions"]))
    change(case.settings["questions"])
    with pytest.raises(ConfigError, match=words):
        case.deployment()


def test_files_with_other_ids_are_refused(tmp_path, monkeypatch):
    case = Columns()
    header, rows = case.files["office"]["office.csv"]
    case.files["office"]["office.csv"] = (header, rows[::-1])
    case.network["mode"] = "experiment"
    case.network.pop("publisher")
    case.write(tmp_path)
    monkeypatch.chdir(tmp_path / "whole")
    deployment: Deployment = case.deployment()
    with pytest.raises(DataMissing, match=r"office.csv has other ids than clinic.csv, or another order"):
        generate(deployment.plan, "own", [0], "resources")
