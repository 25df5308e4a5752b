"""Ten mistakes of operators: each is answered at the right party with its remedy, and told to the others in time.

Processes with TLS and files of their own, at a patience of 15 s; what nobody can know before that has ended takes no
longer than 20 s.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest

import deployment_processes
from deployment_cases import Apart
from deployment_processes import Parties, PartyOutput
from network_driver import credentials, signers
from partywise.deployment.wire import network
from partywise.federation.account.file import AccountFile

CLIENTS, LABELS = "sliced_inverse_regression", "label_private"
PATIENCE, WITHIN = 15.0, 20.0
OWN_ERROR = "'north' ended with an error of its own; its output states which."


@dataclass(frozen=True)
class Mistake:
    """What north does wrong, what its operator reads, and what the others read.

    make : changes what is there before anybody starts
    study : of the case; in that of labels it is bank who errs
    """

    make: Callable[[Scene], None]
    here: str
    elsewhere: str
    study: str = CLIENTS


@dataclass
class Scene:
    """A case with its parties, about to start; what is open while they run."""

    case: Apart
    parties: Parties
    folder: Path
    open: ExitStack
    patch: pytest.MonkeyPatch

    def rewrite(self, party: str, change: Callable[[tuple[str, ...], list[list[str]]], None]) -> None:
        """Another file of a party: its header and rows are changed where they are."""
        ((file, (header, rows)),) = self.case.files[party].items()
        changed = list(header)
        change(changed, rows)
        self.case.files[party] = {file: (tuple(changed), rows)}
        self.case.write(self.folder)

    def certify(self, shown: str, begin: float, end: float, signer: object = None) -> None:
        """Another certificate of north, whose authority is that of all or not."""
        (own, other) = signers(2)
        for name in self.case.names:
            made = self.folder / f"certificates of {name}"
            wrong = {"shown": shown, "begin": begin, "end": end} if name == "north" else {}
            credentials(made, name, other if name == "north" and signer else own, **wrong)
        made = self.folder / "certificates"
        shutil.rmtree(made)
        run = deployment_processes.main

        def with_own(words: list[str]) -> int:
            return run([*words, "--certificates", f"certificates of {words[words.index('--me') + 1]}"])

        self.patch.setattr(deployment_processes, "main", with_own)


def other_configuration(scene: Scene) -> None:
    scene.parties.configs["north"] = {**scene.case.config, "root_seed": 6}


def other_port(scene: Scene) -> None:
    """In north's own copy: nothing of north reaches the server, and what the server sends tells why."""
    network = scene.case.network
    (free,) = deployment_processes.free_ports(1)
    moved = network["parties"] | {"server": network["parties"]["server"] | {"port": free}}
    scene.parties.configs["north"] = {**scene.case.config, "network": network | {"parties": moved}}


def taken_port(scene: Scene) -> None:
    """Another program of north's machine has the port, and says nothing."""
    place = "localhost", scene.case.network["parties"]["north"]["port"]
    scene.open.enter_context(socket.create_server(place))


def full_disk(scene: Scene) -> None:
    """Of north, once the run has begun."""
    run, write = deployment_processes.main, AccountFile._write

    def on_full_disk(words: list[str]) -> int:
        if "north" in words:
            scene.patch.setattr(AccountFile, "_write", lambda file, data: write_some(file, data))
        return run(words)

    def write_some(file: AccountFile, data: bytes) -> None:
        if b'"paid"' in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, data)

    scene.patch.setattr(deployment_processes, "main", on_full_disk)


def drop_column(header: list[str], _: object) -> None:
    header[1] = "years"


CONFIGURATION = r"has another configuration \(\w+\) than '\w+' \(\w+\): give all parties the same file"
EXPIRED = r"its certificate has expired \(on .* UTC; the clock here shows .* UTC\): ask for a new one"
EARLY = r"its certificate is not valid yet \(before .* UTC; the clock here shows .* UTC\): one of two clocks is wrong"
MISTAKES = {
    "another configuration": Mistake(other_configuration, CONFIGURATION, CONFIGURATION),
    "a clock that is wrong": Mistake(lambda s: s.certify("north", 1, 3), f"cannot take 'north': {EARLY}", EARLY),
    "an expired certificate": Mistake(lambda s: s.certify("north", -3, -1), f"cannot take 'north': {EXPIRED}", EXPIRED),
    "the certificate of another": Mistake(
        lambda s: s.certify("server", -1, 1),
        r"cannot take 'north': its certificate is not that of 'north' \(it is of server\)",
        r"'north' at \S+ is refused: its certificate is not that of 'north' \(it is of server\)",
    ),
    "another authority": Mistake(
        lambda s: s.certify("north", -1, 1, True),
        r"is refused: its certificate is not of the authority in authority.pem",
        r"is refused: its certificate is not of the authority in authority.pem",
    ),
    "another port in the own copy": Mistake(other_port, CONFIGURATION, CONFIGURATION),
    "a port that is taken": Mistake(
        taken_port,
        r"'north' cannot listen at localhost:\d+: another process listens there; end it, or choose another port",
        r"'north' (at localhost:\d+ does not answer|has not come within patience=15 s)",
    ),
    "a missing column": Mistake(
        lambda s: s.rewrite("north", drop_column), r"north.csv has no column 'age'.*years", OWN_ERROR
    ),
    "another number of rows": Mistake(
        lambda s: s.rewrite("north", lambda _, rows: rows.pop()),
        r"north.csv has 79 records that count, and rows of 'north' is 80 .*: bring the file that was meant",
        OWN_ERROR,
    ),
    "other records": Mistake(
        lambda s: s.rewrite("bank", lambda _, rows: rows[0].__setitem__(0, "c000")),
        r"has another list of records than '\w+': their digests differ, so compare the files",
        r"has another list of records than '\w+': their digests differ, so compare the files",
        LABELS,
    ),
    "records in another order": Mistake(
        lambda s: s.rewrite("bank", lambda _, rows: rows.reverse()),
        r"orders.csv.*ascend",
        "'bank' ended with an error of its own; its output states which.",
        LABELS,
    ),
    "a full disk": Mistake(
        full_disk, r"ledger.jsonl cannot be written \(No space left on device\), .*: free space", OWN_ERROR
    ),
}


@pytest.fixture
def scene(tmp_path, request, monkeypatch) -> Iterator[Scene]:
    """The parties of a mistake; those left over end with the test."""
    mistake = getattr(request, "param", None)
    case = Apart(CLIENTS if mistake is None else MISTAKES[mistake].study)
    case.network["patience"] = PATIENCE
    case.write(tmp_path)
    parties = Parties(case, tmp_path)
    monkeypatch.setattr(network, "SHOWN", 1.0)
    with ExitStack() as held:
        yield Scene(case, parties, tmp_path, held, monkeypatch)
    for process in parties.processes.values():
        process.kill()
        process.join()


def answer(told: PartyOutput) -> str:
    """The sentence of a party that ended early: one line."""
    assert told.code == 1 and told.out == ""
    (line,) = [line for line in told.err.splitlines() if line.startswith("party: ")]
    assert line.endswith(".")
    return line


# Nobody knows that a party cannot listen before patience has ended.
SLOW = {"a port that is taken"}


@pytest.mark.parametrize(
    "scene", [pytest.param(name, marks=pytest.mark.runs) if name in SLOW else name for name in MISTAKES], indirect=True
)
def test_a_mistake_is_answered_where_it_was_made_and_told_to_the_others_in_time(scene, request, record_property):
    mistake = MISTAKES[request.node.callspec.params["scene"]]
    mistake.make(scene)
    one = "bank" if mistake.study == LABELS else "north"
    others = [name for name in scene.case.names if name != one]
    begun = monotonic()
    scene.parties.start(*others)
    while not all(_listens(scene.case, name) for name in others):
        scene.parties.processes[others[0]].join(0.05)
        assert monotonic() - begun < WITHIN
    scene.parties.start(one)
    ended = scene.parties.ended()
    seconds = monotonic() - begun
    record_property("seconds", round(seconds, 1))
    answers = {name: answer(told) for name, told in ended.items()}
    assert re.search(mistake.here, answers[one]), answers
    for name in set(answers) - {one}:
        assert re.search(mistake.elsewhere, answers[name]), answers
    assert seconds < WITHIN, answers


def test_those_that_come_later_are_told_at_once(scene):
    """They need not wait for a party that said what was wrong before they were there."""
    scene.rewrite("north", drop_column)
    parties = scene.parties
    parties.start("north")
    while not _listens(scene.case, "north"):
        parties.processes["north"].join(0.05)
        assert parties.processes["north"].is_alive()
    begun = monotonic()
    parties.start("south", "server")
    told = parties.ended()
    assert "has no column 'age'" in answer(told["north"])
    assert all(OWN_ERROR in answer(told[name]) for name in ("south", "server"))
    assert monotonic() - begun < PATIENCE


def test_a_party_that_is_started_again_while_all_wait_is_welcome(scene):
    """Killed before the last one comes: nobody needs to do anything else."""
    parties = scene.parties
    parties.start("north", "south")
    while not _listens(scene.case, "north") or not _listens(scene.case, "south"):
        parties.processes["north"].join(0.05)
    os.kill(parties.processes["north"].pid, signal.SIGKILL)
    parties.processes.pop("north").join()
    begun = monotonic()
    parties.start("north", "server")
    assert {name: told.code for name, told in parties.ended().items()} == dict.fromkeys(scene.case.names, 0)
    assert monotonic() - begun < WITHIN


@pytest.mark.runs
def test_a_party_that_comes_too_late_is_named_by_those_who_waited_and_told_so_itself(scene):
    """Those who waited end within 20 s; the late one starts when they have gone."""
    parties, begun = scene.parties, monotonic()
    parties.start("south", "server")
    for told in parties.ended().values():
        assert "'north' has not come within patience=15 s" in answer(told) and "start every party" in answer(told)
    assert monotonic() - begun < WITHIN
    begun = monotonic()
    parties.start("north")
    told = parties.ended()["north"]
    assert re.search(r"'server' has not come within patience=15 s: 'north' waits for server, south", answer(told))
    assert monotonic() - begun < WITHIN


def _listens(case: Apart, name: str) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("localhost", case.network["parties"][name]["port"])) == 0
