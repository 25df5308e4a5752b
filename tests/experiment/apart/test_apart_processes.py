"""Parties as processes with TLS and own files: what crosses, what is paid and what each holds is the simulation's."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import socket
from pathlib import Path
from time import monotonic

import pytest

from apart_cases import STUDIES, Apart
from apart_processes import Parties, Told
from partywise.__main__ import main
from partywise.experiment.apart.joined import joined
from partywise.experiment.apart.written import read_record
from partywise.experiment.cells import execution, generate
from partywise.federation.account.chain import GENESIS, line_of
from partywise.federation.account.reading import opened_account, runs_of
from partywise.federation.apart.outcome import outcomes

GLM, TREES, CLIENTS = "vertical_glm", "vertical_trees", "sliced_inverse_regression"


@pytest.fixture
def started(tmp_path, request):
    """Parties of a case in a folder; those left over end with the test."""
    made: list[Parties] = []

    def start(case: Apart) -> Parties:
        case.write(tmp_path)
        made.append(Parties(case, tmp_path))
        return made[-1]

    yield start
    for parties in made:
        for process in parties.processes.values():
            process.kill()
            process.join()


def sentence(told: Told) -> str:
    """The one sentence of a party that ended early."""
    assert told.code == 1 and told.out == ""
    lines = [line for line in told.err.splitlines() if not line.startswith("WARNING: every party")]
    assert len(lines) == 1, told.err
    return lines[0]


def simulation(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The run of the whole data with the digests of what every place would hold."""
    monkeypatch.chdir(folder / "whole")
    found = case.shared()
    network = found.network
    data = generate(found.plan, network.case, [0], "resources")[0]
    run = execution(found.plan, network.case, network.method, found.n_parties, network.fold, found.epsilon, data)
    held = outcomes(found.plan.methods[network.method].protocol.fit, run)
    monkeypatch.chdir(folder)
    return run.channel, {name: one.digest for name, one in held.items()}


@pytest.mark.parametrize("study", STUDIES)
def test_parties_apart_are_the_simulation(study, tmp_path, monkeypatch, started):
    case = Apart(study)
    told = started(case).all()
    for name, one in told.items():
        assert one.code == 0, f"{name}: {one.err}"
        assert len(one.out.splitlines()) <= 20
        others = [str(tmp_path / other) for other in ("whole", *case.names) if other != name]
        assert not [path for path in one.opened if path.startswith(tuple(f"{place}/" for place in others))]
        if name in case.files:
            own = next(iter(case.files[name]))
            assert str(tmp_path / name / own) in one.opened
    channel, digests = simulation(case, tmp_path, monkeypatch)
    found = joined([tmp_path / "out" / name for name in case.names])
    assert found.channel.transcript() == channel.transcript() and channel.messages
    assert found.channel.ledger.digest == channel.ledger.digest
    assert {name: record.outcome for name, record in found.records.items()} == digests
    for name in case.names:
        with (tmp_path / "out" / name / "transcript.csv").open() as handle:
            rows = list(csv.DictReader(handle))
        own = [message for message in channel.messages if message.sender == name]
        assert [(int(r["step"]), r["kind"], r["argument"], int(r["bytes"])) for r in rows] == [
            (m.step, m.kind, m.argument, m.bytes) for m in own
        ]
        assert json.loads((tmp_path / "out" / name / "outcome.json").read_text())["digest"] == digests[name]
        assert f"sent to {own[0].receiver}: " in told[name].out if own else "sent: nothing" in told[name].out
    paths = [str(tmp_path / "out" / name) for name in case.names]
    assert main(["union", *paths, "--transcript", str(tmp_path / "all.csv")]) == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + len(channel.messages)


def test_a_budget_refuses_the_second_run_and_keeps_what_was_paid(started, tmp_path):
    case = Apart(CLIENTS)
    case.network |= {"budget": {"epsilon": 3.5, "delta": 0.003, "unit": "user"}}
    parties = started(case)
    first = parties.all()
    assert {one.code for one in first.values()} == {0}
    assert "budget: epsilon" in first["north"].out and " of 3.5 (unit user; " in first["north"].out
    before = read_record(tmp_path / "out" / "north")
    second = parties.all()
    assert "Of the budget over all runs (epsilon = 3.5" in sentence(second["north"]) + sentence(second["south"])
    assert "ended with an error of its own" in sentence(second["server"])
    assert read_record(tmp_path / "out" / "north") == before


def test_union_refuses_folders_of_different_runs_and_a_missing_one(started, tmp_path, capsys):
    case = Apart(CLIENTS)
    parties = started(case)
    for runs in ("first", "second"):
        assert {one.code for one in parties.all(runs).values()} == {0}
    mixed = [tmp_path / "first" / "north", tmp_path / "first" / "south", tmp_path / "second" / "server"]
    assert main(["union", *map(str, mixed)]) == 1
    assert "second/server is of run" in capsys.readouterr().err
    assert main(["union", *map(str, mixed[:2])]) == 1
    assert "union: no folder is of server: give those of all parties, north, south, server." in capsys.readouterr().err
    assert main(["union", str(tmp_path)]) == 1
    assert "has no run.json of a run that ended" in capsys.readouterr().err
    assert main(["union", str(mixed[0]), str(mixed[0])]) == 1
    assert "are both of 'north': give each party once." in capsys.readouterr().err


FORGERIES = {
    "delta": ({"delta": 0.5}, None, "has delta 0.5 and"),
    "unit": ({"unit": "label"}, None, "has unit 'label' and"),
    "steps without end": ({"steps": 10**15}, None, "has steps 1000000000000000 and"),
    "what a terminal obeys": ({"outcome": "\x1b[2J"}, None, "has no run.json of a run that ended"),
    "a step that is none": ({}, {"step": [1]}, "row 4 (sent) is none that an account writes: it was changed"),
    "a payload that is none": ({}, {"payload": [1]}, "row 4 (sent) is none that an account writes: it was changed"),
    "a part that is none": ({}, {"payload": {"kind": "Public", "value": 0, "because": "x", "made_of": [[]]}}, "step "),
    "a law beyond numbers": ({}, {"event": {"mu": 10**400}}, "is no message (int too large to convert to float)"),
    "a release of another name": ({}, {"event": {"release_id": "\x1b[2J"}}, "release_id='\\x1b[2J' is in the ledger"),
    "a receiver that is nobody": ({}, {"receiver": "nobody"}, "receiver='nobody' is not on this channel"),
}


def forged(folder: Path, record: dict, sent: dict | None) -> None:
    """Another record, and an account with other messages whose digests are made anew."""
    told = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(told | record))
    lines, digest = b"", GENESIS
    for row in opened_account(folder / "ledger.jsonl").rows:
        fields = dict(row.fields)
        if row.kind == "sent" and sent is not None:
            payload = fields["payload"]
            fields |= {key: value for key, value in sent.items() if key != "event"}
            if "event" in sent:
                fields["payload"] = payload | {"event": payload["event"] | sent["event"]}
        line, again = line_of(row.number, digest, row.kind, row.run, fields)
        lines, digest = lines + line, again.digest
    (folder / "ledger.jsonl").write_bytes(lines)


def test_a_forged_folder_is_refused_in_one_sentence_and_decides_nothing(started, tmp_path, capsys):
    """No total rests on what the folder of one party says of the run; no row of others ends in a traceback."""
    assert {one.code for one in started(Apart(CLIENTS)).all().values()} == {0}
    for what, (record, sent, words) in {"nothing": ({}, {}, ""), **FORGERIES}.items():
        shutil.copytree(tmp_path / "out", tmp_path / what)
        forged(tmp_path / what / "south", record, sent)
        code = main(["union", *(str(tmp_path / what / name) for name in ("north", "server", "south"))])
        told = capsys.readouterr()
        assert (code, told.err == "") == ((0, True) if what == "nothing" else (1, False)), what
        assert words in told.err and len(told.err.splitlines()) == (what != "nothing") and told.out.count("\x1b") == 0


def test_a_party_that_does_not_come_is_named_by_all_others(started):
    case = Apart(CLIENTS)
    case.network["patience"] = 1.5
    parties = started(case)
    parties.start("north", "server")
    begun = monotonic()
    for told in parties.ended().values():
        assert "'south' has not come within patience=1.5 s" in sentence(told)
    assert monotonic() - begun < 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whoever_is_stopped_is_named_by_all_others(number, started):
    case = Apart(CLIENTS)
    parties = started(case)
    parties.start("north", "server")
    while not (_listens(case, "north") and _listens(case, "server")):
        parties.processes["north"].join(0.05)
        assert parties.processes["north"].is_alive()
    parties.processes["north"].join(0.5)
    os.kill(parties.processes["north"].pid, number)
    for told in parties.ended().values():
        assert f"'north' was stopped ({number.name})." in sentence(told)


def test_whoever_is_killed_in_between_is_named_and_a_new_run_begins_with_whole_accounts(started, tmp_path):
    case = Apart("vertical_linear")
    case.method["total_round_num"] = 400
    parties = started(case)
    parties.start()
    ledger = tmp_path / "out" / "shop" / "ledger.jsonl"
    while not ledger.exists() or ledger.read_bytes().count(b"\n") < 20:
        parties.processes["shop"].join(0.05)
        assert parties.processes["shop"].is_alive()
    os.kill(parties.processes["bank"].pid, signal.SIGKILL)
    begun = monotonic()
    told = parties.ended()
    assert monotonic() - begun < 10
    assert told["bank"].code == -signal.SIGKILL
    for name in ("shop", "server"):
        assert "'bank' is gone" in sentence(told[name])
    assert not (tmp_path / "out" / "shop" / "run.json").exists()
    for name in case.names:
        assert runs_of(opened_account(tmp_path / "out" / name / "ledger.jsonl").rows)
    case.method["total_round_num"] = 2
    parties.configs = {name: dict(case.config) for name in case.names}
    assert {one.code for one in parties.all().values()} == {0}
    for name in case.names:
        assert len(runs_of(opened_account(tmp_path / "out" / name / "ledger.jsonl").rows)) == 2
    assert len(joined([tmp_path / "out" / name for name in case.names]).records) == 3


def _listens(case: Apart, name: str) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", case.network["parties"][name]["port"])) == 0


def test_another_configuration_or_another_list_of_records_is_named(started, tmp_path):
    case = Apart("label_private")
    parties = started(case)
    other = dict(case.config)
    other["root_seed"] = 6
    parties.configs["bank"] = other
    for told in parties.all().values():
        assert "has another configuration (" in sentence(told)
    parties.configs["bank"] = case.config
    _, rows = case.files["bank"]["orders.csv"]
    rows.pop()
    case.write(tmp_path)
    for told in parties.all().values():
        assert "has another list of records than" in sentence(told)


def test_what_is_wrong_here_ends_before_anybody_is_met(started, tmp_path):
    case = Apart(GLM)
    parties = started(case)
    (tmp_path / "shop" / "shop.csv").write_text("id;a;c\n1;2;x\n")
    parties.start("shop", "bank", "analyst")
    told = parties.ended("shop")["shop"]
    assert "shop.csv has the one column 'id;a;c' when it is split at ','" in sentence(told)
    for process in parties.processes.values():
        process.kill()
        process.join()


def test_secret_noise_differs_from_run_to_run_and_is_discrete(started, tmp_path):
    case = Apart(TREES)
    case.network["mode"] = "release"
    parties = started(case)
    for runs in ("first", "second"):
        for name, told in parties.all(runs).items():
            assert told.code == 0, f"{name}: {told.err}"
            assert "WARNING" not in told.out + told.err
    found = [joined([tmp_path / runs / name for name in case.names]) for runs in ("first", "second")]
    assert found[0].channel.ledger.digest != found[1].channel.ledger.digest
    assert {event.sampler for event in found[0].channel.ledger.rows if event.law is not None} == {"secure"}
    assert [m.shape for m in found[0].channel.messages[:2]] == [m.shape for m in found[1].channel.messages[:2]]


@pytest.mark.parametrize("study", [CLIENTS, "label_private"])
def test_floating_point_noise_is_refused_before_anybody_is_met(study, started):
    case = Apart(study)
    case.network["mode"] = "release"
    if study == "label_private":
        case.method |= {"noise": "iid", "ridge": "fixed"}
    parties = started(case)
    parties.start(case.names[0])
    told = sentence(parties.ended()[case.names[0]])
    assert "network.mode is 'release': method m draws in floating point (rng=SecureRandom of" in told
