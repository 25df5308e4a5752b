"""What ``./run demo`` deals: every record at one place, every file as the shared configuration says."""

from __future__ import annotations

import csv
import io

import pytest

from demonstration.cases import DemonstrationCase, clients, tables
from demonstration.deployment import deal, differences, simulation
from partywise.deployment.deployments import deployments_of
from partywise.deployment.part import parts
from partywise.deployment.session.outcome import commitment_to
from partywise.deployment.settings import digest
from partywise.experiment.plans import plans
from pipeline import ROOT
from verbs.demo import CASES

RECORDS = {"clients": 252, "tables": 569}


def rows(case: DemonstrationCase) -> dict[str, list[list[str]]]:
    """Rows of every file, without its header."""
    return {name: list(csv.reader(io.StringIO(content.decode())))[1:] for name, (_, content) in case.files.items()}


@pytest.fixture(params=sorted(CASES))
def dealt(request) -> DemonstrationCase:
    return CASES[request.param](ROOT / "resources")


def test_every_record_is_dealt_once(dealt):
    held = rows(dealt)
    if dealt.name == "clients":
        assert sum(map(len, held.values())) == RECORDS["clients"]
    else:
        assert [row[0] for row in held["hospital"]] == [row[0] for row in held["laboratory"]]
        assert {len(own) for own in held.values()} == {RECORDS["tables"]}
    assert f"{RECORDS[dealt.name]} " in dealt.description


def test_a_party_gets_its_file_and_certificate_and_no_other(dealt, tmp_path):
    case = deal(dealt, tmp_path)
    assert len(case.names) == 4 and len(deployments_of(dealt.config, plans(dealt.config))) == 1
    for name in case.names:
        own = {path.name for path in (tmp_path / name).rglob("*") if path.is_file()}
        file = {dealt.files[name][0]} if name in dealt.files else set()
        assert own == {"mine.yaml", "authority.pem", f"{name}.pem", f"{name}.key"} | file
        assert parts((case,), digest(dealt.config), name, tmp_path / name)[0].run.names == case.names
    channel, digests = simulation(case, tmp_path)
    assert len(channel.messages) > 4 and set(digests) == set(case.names)


def test_what_differs_is_named(tmp_path):
    class Other:
        def __init__(self, channel, records):
            self.channel, self.records = channel, records

    class Record:
        outcome = commitment_to("x", "salt")

    first, other = (simulation(deal(make(ROOT / "resources"), tmp_path), tmp_path) for make in (clients, tables))
    apart = Other(first[0], {"north": Record})
    salts = {"north": "salt"}
    assert list(differences(apart, other[0], {"north": "y"}, salts)) == ["transcript", "ledger", "what north holds"]
    assert list(differences(apart, first[0], {"north": "x"}, salts)) == []
