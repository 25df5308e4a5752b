"""Parties as processes with TLS and own files: what crosses, what is paid and what each holds is the simulation's."""

from __future__ import annotations

import csv
import json
import logging
import math
import os
import re
import shutil
import signal
import socket
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest

from deployment_cases import PEOPLE, STUDIES, Apart
from deployment_processes import PartyOutput
from forgeries import both_less, paid_less, rewritten, sent_as_public, sent_less
from partywise.__main__ import main
from partywise.core.errors import BudgetExceeded, PartyError
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import fit_folders, last_run, read_record
from partywise.deployment.rehearsal import foresee
from partywise.deployment.running import PartyRunError, end_in_a_sentence
from partywise.deployment.session import session
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.deployment.session.platforms import platform_of_process
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import Row, line_of
from partywise.federation.account.reading import event_of, opened_account, opened_extract, runs_of
from partywise.federation.account.spending import AccountBudget
from partywise.privacy.ledger.event import Event

GLM, TREES, CLIENTS = "vertical_glm", "vertical_trees", "sliced_inverse_regression"


def sentence(told: PartyOutput) -> str:
    """The one sentence of a party that ended early."""
    assert told.code == 1 and told.out == ""
    beside = re.compile(
        r"WARNING: every party|estimate: |\d\d:\d\d:\d\d (all parties are there|waiting for|notifying )"
    )
    lines = [line for line in told.err.splitlines() if not beside.match(line)]
    assert len(lines) == 1, told.err
    return lines[0]


def simulation(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The run of the whole data with the digests of what every place would hold."""
    monkeypatch.chdir(folder / "whole")
    found = case.deployment()
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
        assert not [path for path in one.open if path.startswith(tuple(f"{place}/" for place in others))]
        if name in case.files:
            own = next(iter(case.files[name]))
            assert str(tmp_path / name / own) in one.open
    channel, digests = simulation(case, tmp_path, monkeypatch)
    found = join_results([last_run(tmp_path / "out" / name) for name in case.names])
    assert found.channel.transcript() == channel.transcript() and channel.messages
    assert found.channel.ledger.digest == channel.ledger.digest
    for name, record in found.records.items():
        own = last_run(tmp_path / "out" / name)
        salt = json.loads((own / "outcome.json").read_text())["salt"]
        assert record.outcome == commitment_to(digests[name], salt) and len(salt) == 64
        # What is handed over: nobody finds a count of records in it by trying all.
        given = "".join((own / file).read_text() for file in ("run.json", "run.jsonl", "transcript.csv"))
        assert digests[name] not in given and salt not in given
    before = set[int]()
    for name in case.names:
        with (last_run(tmp_path / "out" / name) / "transcript.csv").open() as handle:
            rows = list(csv.DictReader(handle))
        own = [message for message in channel.messages if message.sender == name]
        assert [(r["kind"], r["argument"], int(r["bytes"])) for r in rows] == [
            (m.kind, m.argument, m.bytes) for m in own
        ]
        before |= {int(r["step"]) - m.step for r, m in zip(rows, own, strict=True)}
        written = json.loads((last_run(tmp_path / "out" / name) / "outcome.json").read_text())
        assert written["digest"] == found.records[name].outcome
        assert f"sent to {own[0].receiver}: " in told[name].out if own else "sent: nothing" in told[name].out
        # A dry run had foreseen what each paid, and every message.
        account = opened_account((tmp_path if name in case.files else tmp_path / "out") / name / FILE)
        messages, events = foresee(case.deployment(), name, PEOPLE)
        assert sorted(map(terms, events)) == sorted(terms(event_of(row)) for row in account.rows if row.kind == "paid")
        assert [(m.sender, m.name, m.kind) for m in messages] == [(m.sender, m.name, m.kind) for m in channel.messages]
    # Rows of the ledger that are reserved are steps of the program as well: before the first message, or each sum.
    sums = {event.release_id for event in channel.ledger.rows if "/" not in event.release_id}
    assert len(before) == (1 + len(sums) if study in ("federated_epidemiology", "federated_survival") else 1)
    paths = [str(last_run(tmp_path / "out" / name)) for name in case.names]
    assert main(["network", "union", *paths, "--transcript", str(tmp_path / "all.csv")]) == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + len(channel.messages)


def terms(event: Event) -> tuple[str, ...]:
    """What a payment is for and what it costs."""
    return event.release_id, event.mechanism, event.unit, *map(str, (event.mu, event.rho, event.epsilon, event.count))


def test_another_platform_is_on_every_screen_and_ends_the_run_where_that_is_asked_for(started, monkeypatch):
    """Each process says its number for the version of Python."""
    own, case = platform_of_process(), Apart(TREES)
    monkeypatch.setattr(session, "platform_of_process", lambda: own | {"Python": f"3.{os.getpid()}"})
    told = started(case).all()
    lines = {line for one in told.values() for line in one.out.splitlines() if line.startswith("platforms differ, ")}
    assert {one.code for one in told.values()} == {0} and len(lines) == 1
    (line,) = lines
    assert all(re.search(rf"\b3\.\d+ \({name}\)", line) for name in case.names)
    case.network["same_platform"] = True
    for one in started(case).all().values():
        assert "the platforms of the parties differ, and same_platform is true: Python 3." in sentence(one)


def test_a_budget_refuses_a_third_run_and_keeps_what_was_paid(started, tmp_path):
    """Randomised response at epsilon 2 under a budget of 5: screen, account and union say the same number."""
    case = released(budget={"epsilon": 5.0, "delta": 1e-5, "unit": "features"})
    parties = started(case)
    first = parties.succeeded()
    found = join_results([last_run(tmp_path / "out" / name) for name in case.names])
    number = f"{found.total.epsilon_certified:.6g}"
    assert f"features {number} (epsilon at delta 1e-05, by unit)" in first["shop"].out
    assert f"budget: epsilon {number} of 5 (unit features, delta 1e-05, composed exactly; left" in first["shop"].out
    assert f"epsilon {found.epsilon_certified:.6g} at delta" in union(tmp_path, case)
    ended = parties.all()
    assert all(f"run {found.records[name].run[:12]} of this" in one.out for name, one in ended.items()), ended
    assert {one.code for one in ended.values()} == {0} and len(list((tmp_path / "out" / "shop").glob("*/"))) == 1
    second = parties.succeeded(more=["--again"])
    assert len(list((tmp_path / "out" / "shop").glob("*/run.json"))) == 2
    paid = re.search(r"budget: epsilon (\S+) of 5 \(unit features, delta 1e-05, 2 runs added; ", second["shop"].out)
    left = re.search(r"or epsilon (\S+) of pure profiles\)", second["shop"].out)
    # What was spent is rounded upward to four digits, what is left downward.
    assert paid and left and paid[1] in ("4", "4.001")
    assert 0.9998 <= float(left[1]) <= 1
    before = read_record(last_run(tmp_path / "out" / "shop"))
    third = parties.all(more=["--again"])
    assert "network.budget (epsilon = 5, delta = 1e-05 of unit features by rule gdp) REFUSES" in sentence(third["shop"])
    assert "ended with an error of its own" in sentence(third["bank"])
    assert read_record(last_run(tmp_path / "out" / "shop")) == before


@pytest.mark.parametrize(
    ("method", "place", "words"),
    [
        ({"protocol": "noisy_newton"}, "aggregator", "sees every record"),
        ({"protocol": "moments", "dealer": "dealer"}, "dealer", "knows the noise"),
    ],
)
def test_a_trusted_place_is_on_every_screen_and_nothing_is_proved_against_it(
    method, place, words, started, tmp_path, monkeypatch
):
    case = Apart(GLM)
    places = (*case.files, "analyst", place)
    monkeypatch.setattr(Apart, "names", places)
    case.method = method
    case.network["parties"][place] = case.network["parties"].pop("dealer")
    case.network |= {"mode": "release", "trusted": {place: "Statistics Office"}}
    told = started(case).all()
    for name, one in told.items():
        assert one.code == 0, f"{name}: {one.err}"
        assert f"Statistics Office runs the {place}, which {words}: epsilon inf against it" in one.out
    total = join_results([last_run(tmp_path / "out" / name) for name in places]).total
    assert total.epsilon_certified == pytest.approx(2.0, abs=1e-9) and total.epsilon_any == math.inf
    assert total.trust == f"{place} does not collude" and total.sampler == "secure"


def released(**keys: Any) -> Apart:
    """Trees on randomised bins, with noise of the operating system."""
    case = Apart(TREES)
    case.network |= {"mode": "release", **keys}
    return case


def union(folder: Path, case: Apart) -> str:
    """What the verb prints of the last run."""
    with redirect_stdout(StringIO()) as told:
        assert main(["network", "union", *(str(folder / "out" / name) for name in case.names)]) == 0
    return told.getvalue()


def test_an_experiment_certifies_infinity_wherever_it_is_told(started, tmp_path):
    case = Apart(TREES)
    told = started(case).succeeded()
    assert "features without limit" in told["shop"].out and "nothing here protects anyone" in told["shop"].out
    together = union(tmp_path, case)
    assert ", mode experiment; parties" in together and "certified for the unit features: epsilon inf (mode" in together
    found = join_results([last_run(tmp_path / "out" / name) for name in case.names])
    assert found.epsilon_certified == math.inf and found.total.epsilon_certified < 2.1
    for name in case.names:
        for file in ("run.json", "outcome.json"):
            assert json.loads((last_run(tmp_path / "out" / name) / file).read_text())["mode"] == "experiment"
    assert main(["network", "ledger", str(tmp_path / "shop")]) == 0
    with Account(tmp_path / "shop", party="shop", budget=AccountBudget(50.0, 1e-5, "features")) as account:
        assert account.costs_by_unit()["features"].epsilon == math.inf and account.left == 0
        with pytest.raises(BudgetExceeded, match="mode 'experiment' under a budget: all parties know the seeds"):
            account.began("another", "c", "experiment")


def test_a_copy_of_the_configuration_under_another_name_has_no_fresh_budget(started, tmp_path):
    case = released(budget={"epsilon": 3.0, "delta": 1e-5, "unit": "features"})
    parties = started(case)
    parties.succeeded("first")
    parties.configs = {name: {"name": "copy", **config} for name, config in parties.configs.items()}
    assert "network.budget (epsilon = 3, " in sentence(parties.all("second")["shop"])


def test_union_refuses_folders_of_different_runs_and_a_missing_one(started, tmp_path, capsys):
    case = Apart(CLIENTS)
    parties = started(case)
    for runs in ("first", "second"):
        parties.succeeded(runs, ["--again"])
    mixed = [last_run(tmp_path / "first" / name) for name in ("north", "south")]
    mixed.append(last_run(tmp_path / "second" / "server"))
    assert main(["network", "union", *map(str, mixed)]) == 1
    assert "union: no folder is of server: give those of all parties" in capsys.readouterr().err
    with pytest.raises(PartyError, match=r"is of run .* and .* of run .*: give the folders of one run"):
        join_results(mixed)
    assert main(["network", "union", *map(str, mixed[:2])]) == 1
    assert "union: no folder is of server: give those of all parties, north, south, server." in capsys.readouterr().err
    assert main(["network", "union", str(tmp_path)]) == 1
    assert "has no run.json of a run that ended" in capsys.readouterr().err
    assert main(["network", "union", str(mixed[0]), str(mixed[0])]) == 1
    assert "are both of 'north': give each party once." in capsys.readouterr().err


FORGERIES = {
    "delta": ({"delta": 0.5}, None, "has delta 0.5 and"),
    "unit": ({"unit": "label"}, None, "has unit 'label' and"),
    "steps without end": ({"steps": 10**15}, None, "has steps 1000000000000000 and"),
    "mode": ({"mode": "release"}, None, "has mode 'release' and"),
    "outcome": ({"outcome": "0" * 64}, None, "one of them was changed"),
    "what a terminal obeys": ({"outcome": "\x1b[2J"}, None, "has no run.json of a run that ended"),
    "a step that is none": ({}, {"step": [1]}, "row 5 (sent) is none that an account writes: it was changed"),
    "a payload that is none": ({}, {"payload": [1]}, "row 5 (sent) of "),
    "a part that is none": (
        {},
        {"payload": {"kind": "Public", "value": 0, "because": "x", "made_of": [[]]}},
        "row 5 (sent) of ",
    ),
    "a distribution beyond numbers": ({}, {"event": {"mu": 10**400}}, "row 5 (sent) of "),
    "a release of another name": ({}, {"event": {"release_id": "\x1b[2J"}}, "sends release '\\x1b[2J', which no row"),
    "a receiver that is nobody": (
        {},
        {"receiver": "nobody"},
        "the account of 'south' is not the one whose end 'north' saw",
    ),
}


def forged(folder: Path, record: dict, sent: dict | None) -> None:
    """Another record, and rows with other messages, all of whose digests are made anew."""
    told = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(told | record))

    def edit(row: Row, fields: dict[str, Any]) -> dict[str, Any]:
        if row.kind != "sent" or sent is None:
            return fields
        payload = fields["payload"]
        fields |= {key: value for key, value in sent.items() if key != "event"}
        return fields | ({"payload": payload | {"event": payload["event"] | sent["event"]}} if "event" in sent else {})

    if sent is not None:
        rows = opened_extract(folder / "run.jsonl").rows
        (folder / "run.jsonl").write_bytes(rewritten(rows, edit))


def test_a_forged_folder_is_refused_in_one_sentence_and_decides_nothing(started, tmp_path, capsys):
    """No total rests on what the folder of one party says of the run; no row of others ends in a traceback."""
    started(Apart(CLIENTS)).succeeded()
    for what, (record, sent, words) in {"nothing": ({}, None, ""), **FORGERIES}.items():
        shutil.copytree(tmp_path / "out", tmp_path / what)
        forged(last_run(tmp_path / what / "south"), record, sent)
        code = main(["network", "union", *(str(tmp_path / what / name) for name in ("north", "server", "south"))])
        told = capsys.readouterr()
        assert (code, told.err == "") == ((0, True) if what == "nothing" else (1, False)), what
        assert words in told.err, (what, told.err)
        assert len(told.err.splitlines()) == (what != "nothing") and told.out.count("\x1b") == 0


EDITS = {
    "the payments": (paid_less, "sends release 'slice means of north' with mu"),
    "the messages": (sent_less, "sends release 'slice means of north' with mu"),
    "messages to be free": (sent_as_public, "lists other payments without a message than there are, ["),
    "both": (both_less, ""),
}


@pytest.mark.parametrize("mode", ["the own head too", "not the own head"])
def test_an_account_that_its_owner_wrote_anew_is_seen(mode, started, tmp_path, capsys):
    """Digests that are right hide nothing: payments and messages disagree, or the other parties saw another end."""
    started(Apart(CLIENTS)).succeeded()
    folders = [str(tmp_path / "out" / name) for name in ("south", "server", "north")]
    account, extract = tmp_path / "north" / "ledger.jsonl", last_run(tmp_path / "out" / "north") / "run.jsonl"
    whole, run = opened_account(account).rows, opened_extract(extract).rows
    for edit, words in EDITS.values():
        account.write_bytes(rewritten(whole, edit, heads=mode == "the own head too"))
        extract.write_bytes(rewritten(run, edit, heads=mode == "the own head too"))
        code = main(["network", "ledger", str(account)])
        head = mode != "the own head too" and edit in (sent_as_public, both_less)
        seen = "has another digest of the row before" if head else words
        told = capsys.readouterr().err
        assert (code, seen in told, told == "") == (2 if seen else 0, True, not seen), told
        assert main(["network", "union", *folders]) == 1
        told = capsys.readouterr().err
        seen = seen or "the account of 'north' is not the one whose end 'south' saw"
        assert seen in told and len(told.splitlines()) == 1
    account.write_bytes(b"")
    extract.write_bytes(b"".join(line_of(row.number, "0" * 64, row.kind, row.run, row.fields)[0] for row in run[:1]))
    assert main(["network", "union", *folders]) == 1
    assert "run.json has outcome" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whoever_is_stopped_is_named_by_all_others(number, started):
    """The one that is stopped waits until its patience ends for those that come late, to tell them."""
    case = Apart(CLIENTS)
    case.network["patience"] = 4.0
    parties = started(case)
    parties.start("north", "server")
    while not (_listens(case, "north") and _listens(case, "server")):
        parties.processes["north"].join(0.05)
        assert parties.processes["north"].is_alive()
    parties.processes["north"].join(0.5)
    os.kill(parties.processes["north"].pid, number)
    for told in parties.ended().values():
        assert f"'north' was stopped ({number.name})." in sentence(told)


def test_a_signal_in_the_middle_of_a_log_line_is_not_lost(tmp_path):
    """Logging, as much else, goes on after any `Exception` of a stream."""

    class StoppedWhileWriting(StringIO):
        def write(self, text: str) -> int:
            os.kill(os.getpid(), signal.SIGTERM)
            return super().write(text)

    logger = logging.getLogger("partywise.tests.stopped")
    handler = logging.StreamHandler(StoppedWhileWriting())
    logger.addHandler(handler)
    try:
        with pytest.raises(PartyRunError, match=r"^'north' was stopped \(SIGTERM\)\.$"):
            end_in_a_sentence(
                SimpleNamespace(me="north", where="here", into=tmp_path), lambda _: logger.warning("line")
            )
    finally:
        logger.removeHandler(handler)


def test_whoever_is_killed_and_stays_away_is_named_and_a_new_run_begins_with_whole_accounts(started, tmp_path):
    case = Apart("vertical_linear")
    case.network["patience"] = 6.0
    case.method["total_round_num"] = 400
    parties = started(case)
    parties.start()
    ledger = tmp_path / "shop" / "ledger.jsonl"
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
    assert not fit_folders(tmp_path / "out" / "shop")
    for name in case.names:
        assert runs_of(opened_account(account(tmp_path, case, name)).rows)
    case.method["total_round_num"] = 2
    parties.configs = {name: dict(case.config) for name in case.names}
    parties.succeeded()
    for name in case.names:
        assert len(runs_of(opened_account(account(tmp_path, case, name)).rows)) == 2
    assert len(join_results([last_run(tmp_path / "out" / name) for name in case.names]).records) == 3


@pytest.mark.parametrize("moment", ["before all are done", "after all are done"])
def test_what_is_estimated_is_on_disk_before_anybody_says_done_and_the_next_start_ends_the_run(
    started, tmp_path, moment, monkeypatch
):
    """The party with the estimate is killed at the end: nothing is lost, and nothing is paid twice."""
    case = Apart(CLIENTS)
    case.network["patience"] = 5.0
    parties, end = started(case), session.SessionRun.end

    def dying_end(self, *given):
        if self.me == "server" and moment == "before all are done":
            os.kill(os.getpid(), signal.SIGKILL)
        heads = end(self, *given)
        if self.me == "server":
            sleep(60)
        return heads

    others = [name for name in case.names if name != "server"]
    with monkeypatch.context() as patched:
        patched.setattr(session.SessionRun, "end", dying_end)
        parties.start()
        if moment == "after all are done":
            # No earlier: who is not told that its last frame arrived cannot know that all are done.
            for name in others:
                parties.processes[name].join(30)
            os.kill(parties.processes["server"].pid, signal.SIGKILL)
        told = parties.ended()
    assert told["server"].code == -signal.SIGKILL
    held = json.loads(next((tmp_path / "out" / "server").glob("*/outcome.json")).read_text())["digest"]
    if moment == "before all are done":
        assert {told[name].code for name in others} == {1}
        parties.succeeded()
    else:
        assert {told[name].code for name in others} == {0}
        parties.start("server")
        assert parties.ended()["server"].code == 0
    for name in case.names:
        rows = opened_account(account(tmp_path, case, name)).rows
        assert len(runs_of(rows)) == 1 and rows[-1].kind == "ended"
    assert rows[-1].fields["outcome"] == held and read_record(last_run(tmp_path / "out" / "server")).outcome == held
    assert len(join_results([last_run(tmp_path / "out" / name) for name in case.names]).records) == 3


def account(folder: Path, case: Apart, name: str) -> Path:
    """The account of a party: beside its data, or its outputs where it has none."""
    return (folder / name if name in case.files else folder / "out" / name) / "ledger.jsonl"


def _listens(case: Apart, name: str) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", case.network["parties"][name]["port"])) == 0


@pytest.mark.parametrize("study", [TREES, CLIENTS])
def test_secret_noise_differs_from_run_to_run_and_is_discrete(study, started, tmp_path):
    case = Apart(study)
    case.network["mode"] = "release"
    parties = started(case)
    for runs in ("first", "second"):
        for name, told in parties.all(runs, ["--again"]).items():
            assert told.code == 0, f"{name}: {told.err}"
            assert "WARNING" not in told.out + told.err
    found = [join_results([last_run(tmp_path / runs / name) for name in case.names]) for runs in ("first", "second")]
    assert found[0].channel.ledger.digest != found[1].channel.ledger.digest
    assert {event.sampler for event in found[0].channel.ledger.rows if event.profile is not None} == {"secure"}
    assert [m.shape for m in found[0].channel.messages[:2]] == [m.shape for m in found[1].channel.messages[:2]]
