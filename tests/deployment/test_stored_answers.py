"""Stored answers: the same question to the same data has the same bits and is paid once; every other one is paid."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from deployment_cases import Apart
from deployment_processes import Parties, PartyOutput
from partywise.__main__ import main
from partywise.core.errors import ConfigError
from partywise.deployment.answers import FILE, StoredAnswer, answer_key, question_of, runs_that_paid
from partywise.deployment.outcomes.run_files import last_run
from partywise.federation.account.account import Account
from partywise.federation.account.reading import opened_account, paid_events
from partywise.federation.account.spending import spent_of
from partywise.privacy.accounting.calibration import gdp_mu
from release_folders import json_of, pin

STUDY, EPSILON, DELTA = "federated_epidemiology", 4.0, 1e-5


def versioned(**network: Any) -> Apart:
    case, owners = Apart(STUDY), ("north", "south", "west")
    case.network |= {"mode": "release", "data_version": dict.fromkeys(owners, "2026-11")}
    case.network |= {"certificates": {name: f"{k}" * 64 for k, name in enumerate(owners)}} | network
    return case


class Hospitals:
    """Three hospitals and a server that keep their accounts from run to run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.case = folder, versioned()
        self.case.write(folder)
        pin(self.case, folder)

    def ask(self, *changes: Callable[[Apart], object]) -> dict[str, PartyOutput]:
        """Run all parties on a changed copy of the case."""
        case = copy.deepcopy(self.case)
        for change in changes:
            change(case)
        return Parties(case, self.folder).all()

    @property
    def release(self) -> Path:
        return last_run(self.folder / "out" / "server") / "release"

    def texts(self, *names: str) -> list[str]:
        return [(self.release / name).read_text() for name in names]

    @property
    def measurements(self) -> list[str]:
        """Every released number to its last bit, in any order."""
        rows = csv.DictReader(self.texts("measurements.csv")[0].splitlines())
        return sorted(row["value"] for row in rows)

    @property
    def estimate(self) -> dict[str, tuple[str, ...]]:
        """Every number with its interval, to the last digit, by its name."""
        with (self.release / "estimate.csv").open(newline="") as handle:
            return {row["name"]: (row["estimate"], row["lower"], row["upper"]) for row in csv.DictReader(handle)}

    def paid(self, name: str = "north") -> int:
        return sum(row.kind == "paid" for row in opened_account(self.folder / name / "ledger.jsonl").rows)

    def epsilon(self) -> float:
        """What the records of one hospital have paid in all runs."""
        rows = opened_account(self.folder / "north" / "ledger.jsonl").rows
        return spent_of(paid_events(rows), DELTA, None, party="north")["row"].epsilon


def agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether numbers that two estimates name alike are the same but for the order in which they are added."""
    common = [name for name in one.keys() & other.keys() if "p-value" not in name]
    assert len(common) >= 16
    pairs = [(float(a), float(b)) for name in common for a, b in zip(one[name], other[name], strict=True)]
    return bool(np.allclose(*zip(*pairs, strict=True), rtol=1e-6, atol=1e-9))


def reordered(case: Apart) -> None:
    """The same question in another order of columns, levels, tables and items."""
    case.settings["columns"].reverse()
    case.settings["columns"][2]["levels"].reverse()
    case.settings["questions"] = dict(reversed(case.settings["questions"].items()))
    case.settings["tables"].reverse()


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory: pytest.TempPathFactory) -> Hospitals:
    """Hospitals whose first question was answered."""
    hospitals = Hospitals(tmp_path_factory.mktemp("hospitals"))
    outputs = hospitals.ask()
    assert {output.code for output in outputs.values()} == {0}, outputs
    assert "answer: new; to pay: row 4" in outputs["north"].err
    return hospitals


def test_the_same_question_has_the_same_bits_and_is_paid_once(hospitals, capsys):
    before, released, paid = hospitals.estimate, hospitals.measurements, hospitals.paid()
    names, run = ("estimate.csv", "measurements.csv", "table1.html", "table1.csv"), hospitals.release.parent.name
    texts = hospitals.texts(*names)
    assert "answer: stored" in hospitals.ask()["server"].err and hospitals.texts(*names) == texts
    outputs = hospitals.ask(reordered)
    assert {output.code for output in outputs.values()} == {0}, outputs
    assert f"answer: stored, of run {run}; nothing is drawn or paid" in outputs["north"].err
    assert "paid: nothing" in outputs["north"].out and "sent: nothing" in outputs["server"].out
    assert agree(before, hospitals.estimate) and hospitals.measurements == released
    # In another order the lines of the table are others.
    assert hospitals.texts("table1.csv") != texts[3:]
    assert hospitals.paid() == paid and hospitals.epsilon() == pytest.approx(EPSILON, rel=1e-9)
    statement = json_of(hospitals.release, "statement.json")
    assert [name[:12] for name in statement["answers_reused"]] == [run]
    assert statement["epsilon"]["row"] == pytest.approx(EPSILON, rel=1e-9)
    assert "A stored answer: run " in (hospitals.release / "statement.md").read_text()
    authority = str(hospitals.folder / "certificates" / "authority.pem")
    assert main(["publish", "check-release", str(hospitals.release), "--authority", authority]) == 0
    capsys.readouterr()
    paths = [str(last_run(hospitals.folder / "out" / name)) for name in (*hospitals.case.files, "server")]
    assert main(["network", "union", *paths]) == 1
    assert "returned a stored answer" in capsys.readouterr().err


def test_a_new_version_has_new_noise_and_adds_to_what_was_paid(hospitals):
    """After it the first versions are answered from the store as before."""
    first = hospitals.estimate
    outputs = hospitals.ask(lambda case: case.network["data_version"].update(north="2026-12"))
    assert {output.code for output in outputs.values()} == {0}, outputs
    assert "answer: new" in outputs["north"].err and not agree(first, hospitals.estimate)
    # mu^2 of both adds.
    assert gdp_mu(hospitals.epsilon(), DELTA) == pytest.approx(np.sqrt(2) * gdp_mu(EPSILON, DELTA), rel=1e-6)
    assert "answer: stored" in hospitals.ask()["north"].err and agree(first, hospitals.estimate)


def test_a_changed_file_under_an_old_version_is_refused_on_its_owners_screen(hospitals):
    file = hospitals.folder / "south" / "south.csv"
    content = file.read_bytes()
    file.write_bytes(content.replace(b"yes", b"no ", 1))
    try:
        outputs = hospitals.ask(lambda case: case.network.update(patience=3.0))
    finally:
        file.write_bytes(content)
    assert "south.csv is another file than the one of data_version '2026-11'" in outputs["south"].err
    assert outputs["south"].code != 0 and "another file" not in outputs["north"].err


def test_an_account_that_has_not_paid_stops_the_question(hospitals):
    """An older copy of it was put back: the others have not seen its end in a run yet, so that the answer tells."""
    ledger = hospitals.folder / "west" / "ledger.jsonl"
    content = ledger.read_bytes()
    with Account(hospitals.folder / "west" / "other.jsonl", party="west"):
        pass
    ledger.write_bytes((hospitals.folder / "west" / "other.jsonl").read_bytes())
    try:
        outputs = hospitals.ask()
    finally:
        ledger.write_bytes(content)
    assert {output.code for output in outputs.values()} != {0}
    assert "the account of 'west' has no payment for it" in outputs["server"].err
    assert "put back the newest ledger.jsonl of 'west'" in outputs["server"].err


def test_an_opener_that_lost_its_file_pays_again_with_new_noise(hospitals):
    """A question is never blocked, and never free without the stored values."""
    answers, first, paid = hospitals.folder / "out" / "server" / FILE, hospitals.estimate, hospitals.paid()
    answers.unlink()
    assert "answer: new" in hospitals.ask()["north"].err
    assert hospitals.paid() == paid + 1 and not agree(first, hospitals.estimate)


def test_a_question_whose_run_broke_off_between_payment_and_opening_is_paid_again(hospitals, monkeypatch):
    paid = hospitals.paid()

    def broken(*_: object) -> None:
        raise RuntimeError("the server stops before it keeps what it opened")

    def younger(case: Apart) -> None:
        case.settings["questions"]["where"] = {"sex": ["f"]}

    with monkeypatch.context() as patch:
        patch.setattr(StoredAnswer, "store", broken)
        assert hospitals.ask(younger)["server"].code != 0
    assert hospitals.paid() == paid + 1
    outputs = hospitals.ask(younger)
    assert "answer: new" in outputs["north"].err and hospitals.paid() == paid + 2
    assert "answer: stored" in hospitals.ask(younger)["north"].err and hospitals.paid() == paid + 2


def key_of(*changes: Callable[[Apart], object]) -> str:
    case = versioned()
    for change in changes:
        change(case)
    deployment = case.deployment()
    question = question_of(deployment)
    assert question is not None
    return answer_key(deployment, question)


def renamed(case: Apart) -> None:
    """Another hospital in the place of one, as large."""
    for key in ("parties", "rows", "data_version", "certificates"):
        case.network[key]["east"] = case.network[key].pop("west")
    case.settings["tables"][2] = {"party": "east", "file": "west.csv"}


def published_by(name: str) -> Callable[[Apart], object]:
    return lambda case: case.network.update(publisher=name)


OTHERS: dict[str, Callable[[Apart], object]] = {
    "another epsilon": lambda case: (case.network.update(epsilon=2.0), case.grid.update(epsilon=[2.0])),
    "another delta": lambda case: case.spec.update(delta=1e-6),
    "other noise": lambda case: case.method.update(noise="local"),
    "other colluders": lambda case: case.method.update(colluders=2),
    "another distribution": lambda case: case.method.update(noise="local", distribution="gaussian"),
    "other weights": lambda case: case.method.update(weights="equal"),
    "other owners of the same number": renamed,
    "another number of records": lambda case: case.network["rows"].update(west=159),
    "another version": lambda case: case.network["data_version"].update(west="2026-12"),
    "another subset": lambda case: case.settings["questions"].update(where={"sex": ["f"]}),
    "one table more": lambda case: case.settings["questions"]["cross"].append(["died", "sex"]),
    "another range": lambda case: case.settings["columns"][2].update(bounds=[40, 90]),
    "another reading of files": lambda case: case.settings.update(marks=["?"]),
    "a column that may be empty": lambda case: case.settings["questions"].update(complete=["arm"]),
    "another audience": published_by("north"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_question_has_another_key(name):
    assert key_of(OTHERS[name]) != key_of()


def test_the_same_question_has_one_key_in_any_order_and_for_any_target():
    assert key_of(reordered) == key_of() == key_of(lambda case: case.settings.update(target="cohort"))
    without = versioned()
    without.network.pop("data_version")
    assert question_of(without.deployment()) is None


def test_versions_are_of_every_owner_and_of_releases():
    for change, sentence in (
        ({"data_version": {"north": "1"}}, "network.data_version lacks 'south'"),
        ({"data_version": {"east": "1"}}, "network.data_version has 'east'"),
        ({"mode": "experiment"}, "network.data_version.north is '2026-11' with mode experiment"),
        ({"data_version": dict.fromkeys(("north", "south", "west"), 1)}, "network.data_version.north is 1: give text"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            versioned(**change).deployment()
    other = Apart("federated_survival")
    other.network |= {"mode": "release", "certificates": versioned().network["certificates"]}
    other.network |= {"data_version": dict.fromkeys(("north", "south", "west"), "1")}
    with pytest.raises(ConfigError, match="answers of study federated_survival are not stored"):
        other.deployment()


def test_certificates_are_made_before_a_release_names_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(versioned().config))
    assert main(["network", "certificates", "--config", "mine.yaml"]) == 0
    assert (tmp_path / "certificates" / "north.pem").exists() and "north" in capsys.readouterr().out


def test_an_account_knows_the_data_behind_a_version_by_a_salted_digest(tmp_path):
    with Account(tmp_path / "ledger.jsonl", party="north") as account:
        assert account.record_data("a.csv", "1", lambda salt: f"{salt} old")
        assert account.record_data("a.csv", "1", lambda salt: f"{salt} old")
        assert not account.record_data("a.csv", "1", lambda salt: f"{salt} new")
        assert account.record_data("a.csv", "2", lambda salt: f"{salt} new")
        rows = [row for row in account.rows() if row.kind == "data"]
    assert [row.fields["version"] for row in rows] == ["1", "2"]
    assert len({row.fields["salt"] for row in rows}) == 2
    assert runs_that_paid(rows, "key") == [] and json.dumps(rows[0].fields)
