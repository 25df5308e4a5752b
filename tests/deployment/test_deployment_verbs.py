"""The verbs of parties apart: what is wrong ends in one sentence before anybody is met; where files go by default."""

from __future__ import annotations

import math
import socket
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from cryptography import x509

from deployment_cases import Apart
from partywise.__main__ import main
from partywise.deployment import running, verbs
from partywise.deployment import start as stage
from partywise.deployment.outcomes.joint_results import JointResults
from partywise.deployment.running import PartyRunError
from partywise.deployment.screen import files_of
from partywise.deployment.settings import digest
from partywise.deployment.start import PartyStart
from partywise.deployment.verbs import certified
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.credential import Credential
from partywise.federation.account.account import FILE
from pipeline import ROOT

CLIENTS = "sliced_inverse_regression"


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A case whose files and configuration are in the working folder; nobody is there to be told anything."""
    monkeypatch.setattr(verbs, "tell_others", lambda *_: None)
    made = Apart(CLIENTS)
    made.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(made.config, sort_keys=False))
    return made


def told(capsys, *words: str) -> str:
    """The one sentence of a verb that ends with 1."""
    assert main(words) == 1
    printed = capsys.readouterr()
    lines = [line for line in printed.err.splitlines() if not line.startswith(("WARNING", "estimate: "))]
    assert printed.out == "" and len(lines) == 1, printed
    return lines[0]


def party(me: str = "north", config: str = "mine.yaml", *more: str) -> tuple[str, ...]:
    return "network", "party", "--config", config, "--me", me, "--data", "north", "--into", "out", *more


def test_what_is_wrong_with_a_configuration(case, capsys):
    found = told(capsys, *party(config="nowhere.yaml"))
    assert "nowhere.yaml is not there: name a configuration file" in found
    for text, sentence in (
        ("root_seed: 1\nroot_seed: 2\n", "line 2 gives the key 'root_seed' twice, first in line 1: keep one."),
        ("root_seed: 010\n", "line 1 has the number 010, which YAML reads to the base 8: write a number without"),
        ("studies: {yes: 1}\n", "line 1 has the key yes, which YAML takes for no text: put it in quotes."),
        ("- 1\n", "wrong.yaml is not a block of keys: begin with `root_seed:` and `studies:`."),
        ("a: [\n", "wrong.yaml line 2 column 1 is not valid YAML: "),
        ("root_seed: 1\nstudies: {}\n", "party: studies is empty: give at least one."),
    ):
        Path("wrong.yaml").write_text(text)
        assert sentence in told(capsys, *party(config="wrong.yaml"))
    without = case.config
    del without["network"]
    Path("wrong.yaml").write_text(yaml.safe_dump(without))
    for words in (party(config="wrong.yaml"), ("network", "certificates", "--config", "wrong.yaml")):
        assert "wrong.yaml has no block network: state there which fits are run" in told(capsys, *words)


def test_keys_and_accounts_in_a_clone_are_in_no_commit_and_in_no_image():
    """Where the commands of the page put them, with their default folders."""
    kept = ["certificates/authority.key", "certificates/north.key", "office/authority.key", "mine/north.key"]
    kept += ["ledger.jsonl", "data/ledger.journal", "data/ledger.ended", "registration/north.json"]
    asked = subprocess.run(["git", "check-ignore", "--no-index", *kept], cwd=ROOT, capture_output=True, text=True)
    assert asked.stdout.split() == kept
    lines = (ROOT / "packaging" / "Dockerfile").read_text().splitlines()
    sources = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    (search,) = (line for line in lines if "find ." in line)
    assert all(f"'{name}'" in search for name in ("*.key", "ledger.jsonl", "ledger.journal", "ledger.ended"))
    assert sources >= {"lib", "run"} and not sources & {".", *kept, *(path.partition("/")[0] for path in kept)}


def test_who_is_nobody_has_no_certificate_or_no_place_to_listen(case, capsys):
    assert "party: --me is 'nord': did you mean north? allowed here: north, server, south." in told(
        capsys, *party("nord")
    )
    assert "certificates=certificates has no file authority.pem" in told(capsys, *party())
    make("certificates", case.names)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        case.network["parties"]["north"] |= {"host": "127.0.0.1", "port": taken.getsockname()[1]}
        Path("mine.yaml").write_text(yaml.safe_dump(case.config))
        assert "another process listens there; end it, or choose another port." in told(capsys, *party())
    Path("file").write_text("")
    assert "--into is file/out: it cannot be made" in told(capsys, *party()[:-1], "file/out")


def test_certificates_are_made_once(case, capsys):
    assert main(["network", "certificates", "--config", "mine.yaml"]) == 0
    assert "certificates: authority.pem, and NAME.pem with NAME.key of north, south, server." in capsys.readouterr().out
    assert "holds authority.pem already" in told(capsys, "network", "certificates", "--config", "mine.yaml")


@pytest.mark.parametrize(("name", "folder"), [(None, "mine"), ("pilot", "pilot")])
def test_files_go_to_the_results_of_the_configuration(case, monkeypatch, capsys, name, folder):
    config = case.config | ({} if name is None else {"name": name})
    Path("mine.yaml").write_text(yaml.safe_dump(config))
    starts: list[PartyStart] = []

    def stop(start: PartyStart) -> None:
        starts.append(start)
        raise PartyRunError("stopped here.")

    monkeypatch.setattr(running, "run", stop)
    assert told(capsys, "network", "party", "--config", "mine.yaml", "--me", "north") == "party: stopped here."
    [start] = starts
    assert start.into == Path("results", folder, "parties", "north") and start.configuration == digest(config)
    assert (start.data, start.certificates) == (Path(), Path("certificates"))


def test_keys_are_made_where_they_stay_and_an_authority_signs_for_the_parties_alone(case, capsys):
    """Requests of all, signed at an office that makes its authority with the first; only their parties ask."""
    for name in case.names:
        assert main(["network", "certificates", "--config", "mine.yaml", "--into", name, "--request", name]) == 0
        assert f"{name}.key, stays here and is kept secret" in capsys.readouterr().out
    requests = [f"{name}/{name}.csr" for name in case.names]
    sign = ["network", "certificates", "--config", "mine.yaml", "--into", "office", "--days", "90", "--sign", *requests]
    assert main(sign) == 0
    printed = capsys.readouterr().out
    for name in case.names:
        digest = Credential.fingerprint(Path("office", f"{name}.pem").read_text())
        assert f'"{name}": {digest}' in printed
    assert {path.name for path in Path("office").glob("*.key")} == {"authority.key"}
    left = x509.load_pem_x509_certificate(Path("office/north.pem").read_bytes()).not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=89) < left < timedelta(days=90)
    assert "--request is 'nord': did you mean north?" in told(
        capsys, "network", "certificates", "--config", "mine.yaml", "--request", "nord"
    )
    Path("mallory.csr").write_text("nothing")
    assert "certificates: mallory.csr is not a request for a certificate" in told(capsys, *sign[:-3], "mallory.csr")


def test_an_error_of_the_program_leaves_its_trace_in_a_file(case, monkeypatch, capsys):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nothing left")

    # What closes the connections is replaced: none is opened.
    monkeypatch.setattr(stage, "connect", lambda *_, **__: None)
    monkeypatch.setattr(running, "run_party", broken)
    sentence = told(capsys, *party())
    assert "party 'north' ended with ZeroDivisionError: nothing left (where it happened: out/error.txt)" in sentence
    assert "ZeroDivisionError" in Path("out/error.txt").read_text()


def test_others_on_the_machine_cannot_read_what_a_party_keeps(case, monkeypatch, capsys):
    monkeypatch.setattr(stage, "connect", lambda *_, **__: None)
    monkeypatch.setattr(running, "run_party", lambda *_, **__: 1 / 0)
    told(capsys, *party())
    assert Path("out").stat().st_mode & 0o077 == 0


def test_the_account_lies_with_the_data_whatever_the_configuration_is_called(tmp_path):
    """A copy of the file under another name had a fresh budget. A place without data has no other folder."""
    deployment = SimpleNamespace(holders=("north", "south"))
    for name in ("study", "copy"):
        into = tmp_path / "results" / name
        start = PartyStart((deployment,), "c" * 64, "north", tmp_path / "data", tmp_path, into)
        assert start.ledger == tmp_path / "data" / FILE
        assert replace(start, me="server").ledger == into / FILE
        assert replace(start, account=tmp_path).ledger == tmp_path / FILE


def test_a_union_certifies_what_was_released_by_secret_noise_alone():
    total = SimpleNamespace(epsilon_certified=4.0, view_worst="server", trust="nobody")
    for mode, epsilon, words in (
        ("release", 4.0, "unit row: epsilon 4 at delta 1e-05"),
        ("experiment", math.inf, "unit row: epsilon inf (mode experiment: all parties know the seeds of all noise)"),
    ):
        record = SimpleNamespace(mode=mode, unit="row", delta=1e-5)
        found = JointResults({"north": record}, None, total, "")
        assert found.epsilon_certified == epsilon and words in certified(found)


def test_the_last_screen_lists_every_file_that_is_there(tmp_path):
    """It listed four, whatever else a party had."""
    assert files_of(tmp_path) == []
    for name in ("run.json", "cell.npz", "model.json", "estimate.csv", "outcome.json", "other.txt"):
        (tmp_path / name).touch()
    assert files_of(tmp_path) == ["outcome.json", "estimate.csv", "cell.npz", "model.json", "run.json"]
