"""What methods publish: estimates of own data, coefficients, tables, codes, shapes; and what none may publish."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from deployment_cases import Apart
from deployment_processes import Parties
from partywise.core.errors import ConfigError
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.publication.release_folder import rebuild, terms_of
from partywise.deployment.rehearsal import _trial_measurements, publication_problem, rehearse
from partywise.deployment.running import dry_run
from partywise.deployment.start import PartyStart
from partywise.deployment.statement.measurements import values_in
from partywise.deployment.statement.statement import RunFacts
from partywise.federation.account.account import Account
from release_folders import checked, json_of, pin, publish


def test_an_estimate_made_of_the_publishers_own_data_needs_units_that_were_named(tmp_path, capsys):
    """Codes of labels are published; what the holder of the features makes of them is not."""
    for run, units in (("first", []), ("second", ["features"])):
        case = Apart("label_private")
        case.method = {"protocol": "walr", "noise": "rr", "ridge": "fixed"}
        case.network |= {"mode": "release", "publisher": "shop", "unprotected_units": units}
        folder = tmp_path / run
        release = publish(case, folder)
        assert (release / "estimate.csv").exists() == bool(units)
        stated = json_of(release, "statement.json")
        assert stated["unprotected_units"] == units and 0 < stated["epsilon"]["label"] <= 2
        assert stated["epsilon"]["features"] == "inf" or not units
        assert checked(release, folder, capsys)[0] == 0


def test_coefficients_are_published_by_their_names_with_the_noise_in_them_and_checked(tmp_path, capsys):
    """The table that the publisher has for itself: who checks it makes the same of the measurements."""
    case = Apart("vertical_glm")
    case.network |= {"mode": "release", "trusted": {"dealer": "Statistics Office"}, "publisher": "analyst"}
    release = publish(case, tmp_path)
    own = release.parent
    estimate = (release / "estimate.csv").read_text()
    assert estimate == (own / "estimate.csv").read_text()
    rows = list(csv.reader(estimate.splitlines()))
    assert rows[0] == ["name", "estimate", "noise_sd", "lower", "upper", "note", "centre", "interval"]
    model = json_of(own, "outcome.json")["estimate"]["model"]
    reason = model["no_intervals"]
    assert "'c = y' is of a category of several levels" in reason and {row[5] for row in rows[1:6]} == {reason}
    stated = json_of(release, "statement.json")["intervals"]
    assert (stated["kind"], stated["numbers"]) == ("none", 0) and stated["reasons"][reason] == len(rows) - 1
    assert {tuple(row[6:]) for row in rows[1:]} == {("", "later")}
    assert reason in " ".join((release / "statement.md").read_text().split())
    assert [row[0] for row in rows[1:6]] == ["intercept", "a", "c = y", "c = z", "b"]
    # At this epsilon no deviation of the noise can be stated, and the outcome has the reason.
    assert {row[2] for row in rows[1:6]} == {""} and "noise" in model["no_noise_sd"]
    assert checked(release, tmp_path, capsys)[0] == 0
    (release / "estimate.csv").write_text(estimate.replace(rows[2][2], "0.001", 1))
    assert checked(release, tmp_path, capsys)[0] == 1


def published_tables(units: list[str]) -> Apart:
    """Tables of the shop's columns under the bank's key, which the bank publishes."""
    case = Apart("vertical_trees")
    case.method = {"protocol": "tables", "cipher": "paillier", "num_of_trees": 1}
    case.network |= {"mode": "release", "publisher": "bank", "unprotected_units": units}
    case.network["certificates"] = dict.fromkeys(case.names, "0" * 64)
    return case


def test_a_publisher_needs_the_certificates_of_all_owners():
    case = published_tables(["label", "features"])
    del case.network["certificates"]["shop"]
    with pytest.raises(ConfigError, match=r"network.certificates lacks 'shop': .* network.publisher publishes"):
        case.deployment()


def test_tables_whose_publication_costs_the_label_holder_everything_need_units_that_were_named():
    words = "made of features and label of bank, .*unprotected_units does not name features"
    with pytest.raises(ConfigError, match=words):
        rehearse(published_tables(["label"]).deployment(), 60)


def test_a_budget_of_the_label_holder_refuses_to_publish_tables_before_anything_is_paid(tmp_path):
    case = published_tables(["label", "features"])
    case.network["budget"] = {"epsilon": 50.0, "delta": 1e-5, "unit": "row", "numeric_reserve": 1e-8}
    case.write(tmp_path)
    start = PartyStart(case.deployments(), "c" * 64, "bank", tmp_path / "bank", tmp_path, tmp_path / "out")
    found = {}
    for name in ("bank", "shop"):
        [line] = dry_run(replace(start, me=name, data=tmp_path / name)).left
        found[name] = "REFUSES" in line
    assert found == {"bank": True, "shop": False}


def test_noise_under_encryption_is_published_as_the_integers_that_the_key_holder_opens(tmp_path, capsys):
    """Whoever adds the noise cannot read what it releases; the folder is checked from what was opened."""
    case = published_tables(["label", "features"])
    case.write(tmp_path)
    pin(case, tmp_path)
    told = Parties(case, tmp_path).succeeded()
    release = last_run(tmp_path / "out" / "bank") / "release"
    assert "signed by" in told["bank"].out and "signed what bank writes" in told["shop"].out
    assert checked(release, tmp_path, capsys)[0] == 0
    before = (release / "measurements.csv").read_text()
    rows = [row.split(",") for row in before.splitlines()[1:]]
    assert {row[0] for row in rows} == {"tables of shop"} and (release / "estimate.csv").exists()
    # Sums of gradients tell the label holder of the shop alone, and everybody else of the bank.
    stated = json_of(release, "statement.json")
    assert stated["epsilon"] == dict.fromkeys(("label", "features", "row"), "inf") == stated["owners"]["bank"]
    assert stated["unprotected_units"] == ["features", "label"]
    assert "encryption under the key of bank holds" in stated["trust"]
    assert stated["owners"]["shop"]["label"] == 0 < stated["owners"]["shop"]["features"] <= 2
    assert stated["owners"]["shop"]["row"] == stated["owners"]["shop"]["features"]
    assert "data of bank alone: features inf, label inf, row inf" in (release / "statement.md").read_text()
    with Account(tmp_path / "bank" / "ledger.jsonl", party="bank") as account:
        assert {unit: cost.epsilon for unit, cost in account.costs_by_unit(1e-5).items()} == dict.fromkeys(
            ("row", "label", "features"), float("inf")
        )
    with Account(tmp_path / "shop" / "ledger.jsonl", party="shop") as account:
        assert account.costs_by_unit(1e-5)["features"].epsilon <= 2
    assert all(float(row[2]) / float(row[4]) == pytest.approx(round(float(row[2]) / float(row[4]))) for row in rows)
    (release / "measurements.csv").write_text(before.replace(rows[0][2], "0.25", 1))
    assert checked(release, tmp_path, capsys)[0] == 1


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"noise": "shaped"}, "the noise depends on features"),
        ({"noise": "auto"}, "the noise depends on features"),
        ({"noise": "iid", "ridge": "fixed"}, "the noise depends on the longest row, which"),
    ],
    ids=["shaped", "auto", "iid"],
)
def test_noise_that_depends_on_records_is_refused_before_anybody_connects(method, words, tmp_path):
    """Nobody else could make the statement again: nothing is paid, no file of data is opened."""
    case = Apart("label_private")
    case.method = {"protocol": "walr"} | method
    case.network |= {"mode": "release", "publisher": "shop", "rows": 60}
    case.write(tmp_path)
    pin(case, tmp_path)
    parties = Parties(case, tmp_path)
    parties.start("bank")
    told = parties.ended("bank")["bank"]
    assert told.code == 1 and words in told.err and "no reader has" in told.err
    assert not [name for name in told.open if name.endswith(".csv")]
    assert not (tmp_path / "bank" / "ledger.jsonl").exists()


def test_what_a_trusted_aggregator_draws_is_published(tmp_path, capsys):
    """The noise of a place without data is a measurement as well; that place signs nothing."""
    case = Apart("vertical_glm")
    case.take_newton_steps()
    case.network["mode"] = "release"
    case.write(tmp_path)
    told = Parties(case, tmp_path).succeeded()
    assert "(signed by" in told["analyst"].out and "signed" not in told["aggregator"].out
    release = last_run(tmp_path / "out" / "analyst") / "release"
    assert set(json_of(release, "signatures.json")) == {"shop", "bank"}
    assert checked(release, tmp_path, capsys)[0] == 0


# Methods of labels whose noise is public, or shown: options, and the units that publishing leaves unprotected.
PUBLISHABLE = {
    "published_newton": ({"noise": "iid", "sigma": "classic", "bound": "sqrt_k", "ridge": "fixed"}, []),
    "analytic": ({"noise": "iid", "bound": "declared", "row_radius": 1.7, "ridge": "fixed"}, []),
    "planned": ({"noise": "shaped", "publish_shape": True}, ["features"]),
    "auto": ({"noise": "auto", "publish_shape": True}, ["features"]),
    "noisy_gd": ({"protocol": "noisy_gradient", "rounds": 4, "bound": "declared", "row_radius": 1.7}, []),
    "label_sgd": ({"protocol": "label_sgd", "rounds": 4, "rate": 0.5, "bound": "declared", "row_radius": 1.7}, []),
    "buckets": ({"protocol": "buckets", "bins": 3}, []),
    "planned buckets": (
        {"protocol": "buckets", "bins": 3, "shape": "planned", "publish_shape": True},
        ["features"],
    ),
    "holders": ({"protocol": "buckets", "bins": 3, "holders": "rows"}, []),
}


def publishable(name: str) -> Apart:
    """A case of labels whose release the shop publishes."""
    method, units = PUBLISHABLE[name]
    case = Apart("label_private")
    case.method = {"protocol": "walr"} | method
    case.network |= {"mode": "release", "publisher": "shop", "rows": 60, "unprotected_units": units}
    if name == "holders":
        case.network["parties"]["server"] = {"host": "localhost", "port": 47190}
        case.protect_labels_alone()
    case.network["certificates"] = dict.fromkeys(case.network["parties"], "0" * 64)
    return case


@pytest.mark.parametrize("name", PUBLISHABLE)
def test_a_reader_without_features_makes_the_same_statement(name):
    """What was measured on some records makes, on made-up ones, the same files byte for byte."""
    deployment = publishable(name).deployment()
    facts = RunFacts(run="", began="", end_day="", code="", accounts={}, runs={}, fingerprints={}, registrations=())
    assert publication_problem(deployment, 60) == ""
    recorder = _trial_measurements(deployment, 60)
    first = rebuild(deployment, b"", recorder.values, facts, {}, 60, b"", None)
    values = values_in(first.files["measurements.csv"].value)
    again = rebuild(deployment, b"", values, facts, {}, 60, b"", None)
    for file in ("statement.json", "statement.md", "measurements.csv"):
        assert first.files[file].value == again.files[file].value
    for name, event in recorder.events.items():
        assert terms_of(first.events[name]) == terms_of(event)
        (row,) = [row for row in first.statement["releases"] if row["id"] == name]
        assert row["formula"] == ("entries" if event.mu is None else "dots")


@pytest.mark.parametrize("name", ["planned", "auto", "planned buckets"])
def test_a_shape_is_published_by_two_consents_only(name):
    case = publishable(name)
    case.network["unprotected_units"] = []
    assert "made of features of shop" in publication_problem(case.deployment(), 60)
    case = publishable(name)
    del case.method["publish_shape"]
    assert "publish_shape: true consents" in publication_problem(case.deployment(), 60)


def test_a_published_shape_is_checked_from_the_folder_and_edits_are_refused(tmp_path, capsys):
    case = publishable("planned")
    release = publish(case, tmp_path)
    assert checked(release, tmp_path, capsys)[0] == 0
    stated = json_of(release, "statement.json")
    (shape,) = [row for row in stated["public"] if row["name"] == "noise shape"]
    assert shape["because"] == "made from the features, which are public for the unit label"
    assert stated["epsilon"]["label"] <= 2 and stated["epsilon"]["features"] == "inf"
    (row,) = stated["releases"]
    assert row["inputs"]["squared_length"] == str(4**20) and row["formula"] == "dots"
    for file, before, after in (
        ("statement.json", f'"mu": {row["mu"]!r}', f'"mu": {row["mu"] / 2!r}'),
        ("statement.json", f'"step": {row["inputs"]["step"]!r}', f'"step": {row["inputs"]["step"] * 2!r}'),
        ("statement.json", str(4**20), str(4**19)),
        ("measurements.csv", "noise shape,4,", "noise shape,4,1"),
    ):
        text = (release / file).read_text()
        assert before in text
        (release / file).write_text(text.replace(before, after))
        assert checked(release, tmp_path, capsys)[0] == 1
        (release / file).write_text(text)
    assert checked(release, tmp_path, capsys)[0] == 0
