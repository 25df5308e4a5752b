"""Clients that share noise, as processes with TLS: what is paid and signed before a word leaves, and who is missing."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import monotonic

import pytest

from deployment_cases import Apart
from deployment_processes import Parties, PartyOutput
from partywise.core.errors import ConfigError
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.session.link import SessionLink
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.credential import Credential
from partywise.federation.account.reading import opened_account, runs_of

PATIENCE = 5.0
CLIENTS = ("north", "south")


@pytest.fixture
def shared(started, tmp_path):
    """Parties whose certificates the configuration names, and who draw their noise together."""

    def start(**options) -> Parties:
        case = Apart("sliced_inverse_regression")
        case.method = {"protocol": "certified", "noise": "shared"} | options
        make(tmp_path / "certificates", case.names)
        case.network |= {"mode": "release", "patience": PATIENCE, "certificates": prints(tmp_path, case)}
        return started(case)

    return start


def prints(folder: Path, case: Apart) -> dict[str, str]:
    """SHA-256 of all certificates."""
    texts = {name: (folder / "certificates" / f"{name}.pem").read_text() for name in case.names}
    return {name: Credential.fingerprint(text) for name, text in texts.items()}


def sentence(told: PartyOutput) -> str:
    """The one sentence of a party that ended early."""
    assert told.code == 1 and told.out == ""
    return told.err


def rows(folder: Path, name: str):
    """The account of a party."""
    return opened_account((folder / name if name in CLIENTS else folder / "out" / name) / "ledger.jsonl").rows


def test_every_client_pays_each_sum_once_before_its_words_and_all_see_what_it_costs(shared, tmp_path):
    parties = shared()
    told = parties.succeeded()
    for name in CLIENTS:
        seen = [
            (row.kind, row.fields.get("name") or row.fields.get("event", {}).get("release_id", ""))
            for row in rows(tmp_path, name)
        ]
        order = [
            ("sent", "public key"),
            ("received", "public keys"),
            *(
                pair
                for sum_ in ("slice means", "second moment")
                for pair in (("paid", sum_), ("reserved", sum_), ("sent", sum_))
            ),
        ]
        assert [one for one in seen if one in order] == order
        assert "noise: 1 of the full variance from each of 2 parties" in told[name].out
    found = join_results([last_run(tmp_path / "out" / name) for name in parties.case.names])
    delta = 100**-1.5
    assert found.total.delta == pytest.approx(delta, rel=1e-12)
    # Two records of a person: twice mu.
    assert found.total.epsilon_certified == pytest.approx(2.0, abs=1e-6)
    assert (found.total.colluders, found.total.sampler) == (1, "secure")


def test_a_key_with_another_certificate_than_the_configuration_names_ends_the_run_before_a_word(shared, tmp_path):
    """Whoever holds the key of the authority could make one: the fingerprint is part of what all parties share."""
    parties = shared()
    names = parties.case.network["certificates"]
    names["north"], names["south"] = names["south"], names["north"]
    parties.configs = {name: dict(parties.case.config) for name in parties.case.names}
    told = parties.all()
    assert "is not the one that network.certificates has of" in sentence(told["north"]) + sentence(told["south"])
    for name in CLIENTS:
        assert not {"paid", "reserved"} & {row.kind for row in rows(tmp_path, name)}


def test_what_noise_in_shares_needs_is_asked_for_before_anybody_connects():
    case = Apart("sliced_inverse_regression")
    case.method = {"protocol": "certified", "noise": "shared"}
    case.network["mode"] = "release"
    with pytest.raises(ConfigError, match=r"network\.certificates lacks 'north': in mode release clients that share"):
        case.deployment()
    case.network["certificates"] = {"north": "0" * 64, "south": "1" * 64}
    assert case.deployment().delta == pytest.approx(100**-1.5, rel=1e-12)
    for changed, words in (
        ({"east": "0" * 64}, "has 'east'"),
        ({"north": "0" * 63}, "north is '0{63}': give the SHA-256"),
    ):
        case.network["certificates"] = changed
        with pytest.raises(ConfigError, match=rf"network\.certificates[. ]{words}"):
            case.deployment()
    case.network["certificates"] = {"north": "0" * 64, "south": "1" * 64}
    case.method["colluders"] = 0
    with pytest.raises(ConfigError, match=r"methods\.m\.colluders is 0 with network\.mode 'release'"):
        case.deployment()
    case.network["mode"] = "experiment"
    assert case.deployment()


@pytest.mark.parametrize("moment", ["before its words", "after its words"])
def test_a_run_whose_client_was_killed_goes_on_when_all_start_again_and_is_paid_once(
    shared, tmp_path, moment, monkeypatch
):
    """Without it the others end after their patience, and nothing is published; with it keys and noise are the same."""
    parties, put = shared(), SessionLink.put

    def dying_put(self, step, sender, receiver, name, payload):
        mine = (sender, name) == ("north", "slice means")
        if not (mine and moment == "before its words"):
            put(self, step, sender, receiver, name, payload)
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(SessionLink, "put", dying_put)
        begun = monotonic()
        told = parties.all()
    assert told["north"].code == -signal.SIGKILL and monotonic() - begun < 2 * PATIENCE + 10
    for name in ("south", "server"):
        assert "'north'" in sentence(told[name])
        folder = tmp_path / "out" / name
        assert not list(folder.rglob("*.csv")) and not list(folder.rglob("release"))
    paid = [row for row in rows(tmp_path, "north") if row.kind == "paid"]
    assert [row.fields["event"]["release_id"] for row in paid] == ["slice means"]
    parties.succeeded()
    every = rows(tmp_path, "north")
    assert len(runs_of(every)) == 1
    paid = [row.fields["event"]["release_id"] for row in every if row.kind == "paid"]
    assert paid == ["slice means", "second moment"]
    assert [row.fields["name"] for row in every if row.kind == "sent"].count("public key") == 1
    assert not list(tmp_path.glob("**/*.journal"))
