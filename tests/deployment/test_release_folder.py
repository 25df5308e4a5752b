"""A published folder: written after a run of processes with TLS, checked without data."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest

from deployment_cases import Apart
from partywise.__main__ import main
from partywise.core import documents
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.publication import publishing
from partywise.deployment.statement import files
from partywise.deployment.statement.statement import text_of
from partywise.deployment.wire.credential import Credential
from partywise.federation.account.account import Account
from partywise.federation.account.reading import opened_account
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.rounding import upward
from partywise.privacy.statistics.whole import whole
from plain_digests import artifacts_with, digests_of_file
from release_folders import CLIENTS, FRAMES, checked, json_of, prepared

pytest_plugins = ["release_fixtures"]


def test_each_fit_of_a_session_publishes_a_folder_of_its_own(tmp_path, capsys):
    told = prepared(tmp_path, 1.0, 2.0).succeeded()
    statements = []
    for epsilon in (1.0, 2.0):
        folder = last_run(tmp_path / "out" / "server" / f"m_epsilon{epsilon}_fold0") / "release"
        assert f"wrote {folder.relative_to(tmp_path)} (signed by north, south)" in told["server"].out
        assert checked(folder, tmp_path, capsys)[0] == 0
        statements.append(json.loads((folder / "statement.json").read_text()))
    assert [one["options"]["epsilon"] for one in statements] == [1.0, 2.0]
    # What others may know of the fits before it stands in the statement of each.
    assert [one["runs"]["north"]["begun"] for one in statements] == [1, 2]
    folder = last_run(tmp_path / "out" / "server" / "m_epsilon1.0_fold0") / "release"
    other = last_run(tmp_path / "out" / "server" / "m_epsilon2.0_fold0") / "release"
    shutil.copy(other / "measurements.csv", folder)
    assert checked(folder, tmp_path, capsys)[0] == 1


def test_a_copy_without_data_passes_in_less_than_two_seconds(copied, published, capsys, tmp_path):
    begun = process_time()
    code, out, err = checked(copied, published, capsys)
    assert (code, err) == (0, "") and process_time() - begun < 2
    assert len(out.splitlines()) == 10 and out.splitlines()[-1].startswith("signers:")
    names = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
    rooms = {f"certificates/{name}.pem" for name in (*CLIENTS, "authority")}
    assert {name for name in names if "/" in name} == rooms | {f"registration/{name}.json" for name in CLIENTS}
    words = ["publish", "check-release", str(copied), "--authority", str(published / "certificates" / "authority.pem")]
    blocked = (
        "import sys; sys.modules['yaml'] = None; from partywise.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    assert subprocess.run([sys.executable, "-c", blocked, *words], cwd=tmp_path, check=False).returncode == 0


def test_a_folder_that_names_the_verb_of_before_is_checked(copied, published, capsys):
    """And the call that it names ends in a sentence with the present one."""
    text = (copied / "statement.md").read_text()
    assert text.count("python -m partywise publish check-release FOLDER") == 1
    (copied / "statement.md").write_text(text.replace("publish check-release", "check-release"))
    assert checked(copied, published, capsys)[0] == 0
    assert main(["check-release", str(copied)]) == 2
    assert "publish check-release" in capsys.readouterr().err


def test_nobody_who_vouches_for_the_signers_is_said(copied, published, capsys):
    prints = json.loads((copied / "statement.json").read_text())["fingerprints"]
    code, out, _ = checked(copied, published, capsys, "--fingerprint", f"north={prints['north']}")
    assert code == 2 and "UNKNOWN authority, sha256" in out.splitlines()[-1]
    both = [word for name in CLIENTS for word in ("--fingerprint", f"{name}={prints[name]}")]
    assert checked(copied, published, capsys, *both)[0] == 0
    assert checked(copied, published, capsys, *both[:3], f"south={'0' * 64}")[0] == 1


def test_the_statement_says_what_the_parties_paid_and_nothing_else_of_their_data(published):
    folder = last_run(published / "out" / "server") / "release"
    told = json.loads((folder / "statement.json").read_text())
    found = join_results([last_run(published / "out" / name) for name in (*CLIENTS, "server")])
    assert told["epsilon"][told["unit"]] == pytest.approx(found.total.epsilon_certified, rel=1e-9)
    assert told["epsilon_public"] == pytest.approx(found.total.epsilon_public, rel=1e-9)
    assert {one["members"]: one["epsilon"] for one in told["coalitions"]}["the public"] == told["epsilon_public"]
    text = (folder / "statement.md").read_text()
    assert len(text.splitlines()) <= 100 and max(map(len, text.splitlines())) <= 100
    plain = (folder / "statement.json").read_text()
    numbers = re.compile(r"\d+\.\d+(?:e-?\d+)?")
    known = {printed for number in numbers.findall(plain) for printed in (number, upward(number))}
    assert not [number for number in numbers.findall(text) if number not in known and number not in plain]
    for name in CLIENTS:
        rows = opened_account(published / name / "ledger.jsonl").rows
        kinds = [row.kind for row in rows]
        assert kinds.index("registered") < kinds.index("began") < kinds.index("published") < kinds.index("ended")
        row = next(row for row in rows if row.kind == "published")
        committed = files.commitment(bytes.fromhex(row.fields["nonce"]), row.digest)
        assert committed == told["accounts"][name]["commitment"]
        assert row.fields["event"]["audience"] == "*" and row.fields["event"]["mechanism"] == "post_processing"
        outcome = next(row.fields["outcome"] for row in rows if row.kind == "ended")
        assert outcome not in plain and row.digest not in plain and row.fields["nonce"] not in plain


def test_no_file_of_a_run_has_a_plain_digest_of_private_data(published):
    """An account, a log, a screen, a journal's end: whoever guesses a file, a column or a message confirms nothing."""
    frames = {digest: "a frame" for digest in (published / FRAMES).read_text().split()}
    own = [path for name in CLIENTS for path in (published / name).glob("*.csv")]
    digests = {digest: what for path in own for digest, what in digests_of_file(path).items()}
    assert len(own) == len(CLIENTS) and len(frames) > len(CLIENTS) and len(digests) > 10
    written = [path for path in published.rglob("*") if path not in own and path.name != FRAMES]
    assert {"run.jsonl", "ledger.jsonl", "ledger.ended", "north.err", "statement.json"} <= {one.name for one in written}
    assert artifacts_with(digests | frames, written) == []


def test_how_often_a_study_was_run_is_said(copied):
    told = json_of(copied, "statement.json")
    assert {one["begun"] for one in told["runs"].values()} == {1} and "was run" not in text_of(told).decode()
    told["runs"]["north"] = {"begun": 3, "epsilon": 5.5}
    assert (
        "north: this study was run 3 times, at epsilon 5.5 together; the owners could choose" in text_of(told).decode()
    )


def test_what_an_owner_says_of_its_account_is_no_function_of_what_nobody_paid_for(published, tmp_path):
    """Two accounts that differ in what the party held and received only: the same facts, but for the commitment."""
    case = Apart("sliced_inverse_regression")
    event = IntegerGaussian(mu=0.5)(whole(np.array([3]), 4, 1.0, "slice sums"), SecureRandom(), owner="north").event
    credential = Credential(published / "certificates", "north")
    second = SimpleNamespace(id="second", credential=credential, choose=lambda _, make: make())
    found = []
    for held in ("a", "b"):
        with Account(tmp_path / f"{held}.jsonl", party="north") as account:
            for run in ("first", "second"):
                account.began(run, "c", "release", "sliced_inverse_regression")
                account.charge(replace(event, release_id=f"sums of {run}"))
                account.record_received(0, "server", "x", {"kind": held, "made_of": []}, held * 64)
                if run == "first":
                    account.record_end(held * 64)
            given = account, tmp_path, 60, None, "2026-01-01T00:00:00Z", {}
            part = publishing.Publication(case.deployment(), b"", "north", *given)
            found.append(part._account_facts(second))
    commitments = [one["account"].pop("commitment") for one in found]
    assert found[0] == found[1] and len(set(commitments)) == 2
    assert found[0]["runs"]["begun"] == 2 and found[0]["runs"]["epsilon"] > found[0]["account"]["paid"] > 0


def test_a_party_that_sees_other_files_does_not_sign_and_nobody_writes(tmp_path, monkeypatch):
    parties = prepared(tmp_path)
    original = publishing.Publication._rebuild

    def forged(self, *given):
        made = original(self, *given)
        if self.me == "server":
            told = dict(made.statement) | {"epsilon_public": 0.01}
            made.files[files.STATEMENT] = type(made.files[files.STATEMENT])(
                documents.encode_json(told), made.files[files.STATEMENT].event, made.files[files.STATEMENT].made_of
            )
        return made

    monkeypatch.setattr(publishing.Publication, "_rebuild", forged)
    told = parties.all()
    assert {one.code for one in told.values()} == {1}
    assert "does not sign: statement.json has another epsilon_public" in told["north"].err + told["south"].err
    assert not list((tmp_path / "out" / "server").rglob("release"))
    for name in CLIENTS:
        assert "published" in [row.kind for row in opened_account(tmp_path / name / "ledger.jsonl").rows]


def test_no_file_is_opened_before_all_have_registered(tmp_path):
    parties = prepared(tmp_path)
    (tmp_path / "registration" / "south.json").unlink()
    parties.start("north")
    told = parties.ended("north")["north"]
    assert told.code == 1 and "registration/south.json is missing: no data are opened" in told.err
    assert not [name for name in told.open if name.endswith("clients.csv")]
    assert not (tmp_path / "north" / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.999999999998649, "4"), (4.00001, "4.001"), (18.7, "18.7"), (123456.0, "123500"), ("inf", "inf"), (0.0, "0")],
)
def test_a_printed_epsilon_has_four_digits_and_is_never_below_the_certified_one(value, text):
    assert upward(value) == text and float(upward(value)) >= float(value)
