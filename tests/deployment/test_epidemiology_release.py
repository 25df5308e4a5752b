"""Table 1 of three hospitals, released by processes with TLS: shared, local and geometric noise, and forged folders."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deployment_cases import Apart
from deployment_processes import Parties
from partywise.core import documents
from partywise.deployment.outcomes.run_files import last_run
from release_folders import checked, json_of, pin, sealed, write_json

STUDY, EPSILON = "federated_epidemiology", 4.0
WAYS = {
    "shared": {"noise": "shared"},
    "local": {"noise": "local", "distribution": "gaussian"},
    "geometric": {"noise": "local", "distribution": "laplace"},
}


class ThreeWays(Apart):
    """Tables without means, which may have geometric noise."""

    @property
    def config(self) -> dict[str, Any]:
        config = super().config
        block = config["studies"][self.study]
        block["methods"] = {name: {"protocol": "tables"} | options for name, options in WAYS.items()}
        block["cases"]["own"]["grid"]["methods"] = list(WAYS)
        return config


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a session that released all three."""
    folder, case = tmp_path_factory.mktemp("released"), ThreeWays(STUDY)
    del case.network["method"], case.network["epsilon"], case.settings["questions"]["means"]
    case.settings["columns"] = [column for column in case.settings["columns"] if column["name"] != "age"]
    case.write(folder)
    pin(case, folder)
    case.network |= {"mode": "release", "fits": "grid"}
    case.network |= {"data_version": dict.fromkeys(("north", "south", "west"), "2026-11")}
    Parties(case, folder).succeeded()
    return folder


def folder_of(released: Path, way: str) -> Path:
    return last_run(released / "out" / "server" / f"{way}_epsilon{EPSILON}_fold0") / "release"


@pytest.mark.parametrize("way", WAYS)
def test_the_folder_has_every_number_with_its_interval_and_is_checked_without_data(released, way, capsys):
    folder = folder_of(released, way)
    assert checked(folder, released, capsys)[0] == 0
    stated = json_of(folder, "statement.json")
    # A pure epsilon costs a little less at a delta.
    assert stated["epsilon"]["row"] == pytest.approx(EPSILON, rel=1e-9 if way != "geometric" else 1e-5)
    assert stated["n_protected"] == 700
    assert {"table1.html", "table1.csv"} < stated["files"].keys()
    assert stated["releases"][0]["mechanism"] == ("rounded_gaussian" if way != "geometric" else "geometric")
    with (folder / "estimate.csv").open(newline="") as handle:
        rows = {row["name"]: row for row in csv.DictReader(handle)}
    numbers = [row for name, row in rows.items() if "p-value" not in name]
    assert len(numbers) == 12 and "odds ratio" in rows
    for row in numbers:
        assert float(row["lower"]) <= float(row["estimate"]) <= float(row["upper"]) and row["interval"] == "95 %"
    page = (folder / "table1.html").read_text()
    assert "<th>variable</th>" in page and "epsilon 4 at delta 1e-05, for one row" in page
    assert re.search(r"<td>\d+ \(\d+\.\d\) \[[\d.]+ to [\d.]+\]</td>", page)
    # No number of the page is an exact count of the hospitals, and comparisons with pooled records are not there.
    assert not any(word in json.dumps(stated) for word in ("width_ratio", "records_read"))


def text(file: str, pattern: str, new: str) -> Callable[[Path], None]:
    """The first place of a file that fits is another one."""

    def forge(folder: Path) -> None:
        content = (folder / file).read_text()
        changed = re.sub(pattern, new, content, count=1, flags=re.M)
        assert changed != content
        (folder / file).write_text(changed)

    return forge


def statement(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """The statement has another field."""

    def forge(folder: Path) -> None:
        stated = json_of(folder, "statement.json")
        change(stated)
        write_json(folder, "statement.json", stated)

    return forge


def without_page(folder: Path) -> None:
    (folder / "table1.html").unlink()
    statement(lambda stated: stated["files"].pop("table1.html"))(folder)


def with_another_page(folder: Path) -> None:
    (folder / "table2.html").write_text("<table></table>")
    statement(lambda stated: stated["files"].update({"table2.html": ""}))(folder)


def with_an_unlisted_page(folder: Path) -> None:
    (folder / "table2.html").write_text("<table></table>")


def with_a_foreign_file(folder: Path) -> None:
    (folder / "run.sh").write_text("true")
    statement(lambda stated: stated["files"].update({"run.sh": ""}))(folder)


def without_a_row(folder: Path) -> None:
    lines = (folder / "estimate.csv").read_text().splitlines(keepends=True)
    (folder / "estimate.csv").write_text("".join([*lines[:2], *lines[3:]]))


def with_rows_turned(folder: Path) -> None:
    lines = (folder / "estimate.csv").read_text().splitlines(keepends=True)
    (folder / "estimate.csv").write_text("".join([lines[0], lines[2], lines[1], *lines[3:]]))


def with_other_questions(folder: Path) -> None:
    configuration = json_of(folder, "configuration.json")
    settings = configuration["studies"][STUDY]["cases"]["own"]["settings"]
    settings["questions"]["cross"] = [["died", "arm"]]
    write_json(folder, "configuration.json", configuration)
    digest = documents.digest_of((folder / "configuration.json").read_bytes())
    statement(lambda stated: stated.update(configuration=digest))(folder)


PAGE, TABLE = "table1.html is not as the program writes it", "table1.csv is not as the program writes it"
ESTIMATE = "estimate.csv is not what the program makes"
FORGERIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a count of the page": (text("table1.html", r"<td>(\d+) \(", r"<td>1\1 ("), PAGE),
    "an interval of the page": (text("table1.html", r" to (\d+)\.", r" to 1\1."), PAGE),
    "epsilon of the page": (text("table1.html", "epsilon 4 at", "epsilon 1 at"), PAGE),
    "a script on the page": (text("table1.html", "<table>", "<script></script><table>"), PAGE),
    "a p-value of the table": (text("table1.csv", r",(\d)\.(\d+)$", r",\1.9\2"), TABLE),
    "a note of the table": (text("table1.csv", "count the noise", "count no noise"), TABLE),
    "no page": (without_page, "table1.html"),
    "another page": (with_another_page, "table2.html"),
    "a page that is not listed": (with_an_unlisted_page, "table2.html is not listed"),
    "a file of another kind": (with_a_foreign_file, "run.sh"),
    "a released count": (text("measurements.csv", r"^tables,0,(-?\d+)", r"tables,0,1\1"), "not|another"),
    "the noise of a count": (text("measurements.csv", r"^(tables,0,[^,]+),[^,]+", r"\1,0.5"), "noise of deviation"),
    "a number": (text("estimate.csv", "^odds ratio,", "odds ratio,1"), ESTIMATE),
    "a bound": (text("estimate.csv", r"^(odds ratio,[^,]+,,)", r"\g<1>9"), ESTIMATE),
    "a number left out": (without_a_row, ESTIMATE),
    "another order": (with_rows_turned, ESTIMATE),
    "epsilon": (statement(lambda stated: stated["epsilon"].update(row=1.0)), "row of epsilon"),
    "the number of records": (statement(lambda stated: stated.update(n_protected=7000)), "n_protected"),
    "delta": (statement(lambda stated: stated.update(delta=1e-9)), "delta"),
    "the noise": (statement(lambda stated: stated["options"].update(noise="central")), "noise of options"),
    "the sensitivity": (statement(lambda stated: stated["releases"][0].update(sensitivity=1.0)), "sensitivity"),
    "mu": (statement(lambda stated: stated["releases"][0].update(mu=0.1)), "noise of deviation"),
    "the coalitions": (statement(lambda stated: stated["coalitions"][1].update(epsilon=0.1)), "epsilon of 1 of coal"),
    "the trust": (statement(lambda stated: stated.update(trust="nobody must be trusted")), "trust"),
    "a version of data": (statement(lambda stated: stated["data_version"].update(north="2026-12")), "north of data"),
    "the questions": (with_other_questions, "is not|another"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_found_though_all_owners_signed_them(name, released, tmp_path, capsys):
    forge, words = FORGERIES[name]
    folder = Path(shutil.copytree(folder_of(released, "shared"), tmp_path / "copy"))
    forge(folder)
    if name != "a page that is not listed":
        sealed(folder, released / "certificates", json_of(folder, "statement.json"))
    code, _, complaint = checked(folder, released, capsys)
    assert code == 1 and complaint.startswith("FAILED: ")
    assert re.search(words, complaint), complaint
