"""Processes of all parties with accounts: one is killed at a random moment, all begin again on the same files."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from accounts import Marks
from deployment_driver import CONFIGURATION
from forked import FORK, preload
from partywise.core.errors import PartyError
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session import watch
from partywise.deployment.session.party import Program, run_party
from partywise.deployment.wire.pipes import Mesh
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import read_chain
from partywise.federation.account.reading import messages_of, paid_events, runs_of
from partywise.federation.run import simulate
from partywise.privacy.mechanisms.release import OBSERVER
from toy_rounds import program, run

NAMES = run().names
# Frames that a party puts before the last one, at least.
FRAMES = 14


class Mortal:
    """The end of a party whose process is killed as it puts a frame, before or after that has left."""

    def __init__(self, end: Any, marks: Marks, last: int, before: bool) -> None:
        self.end, self.marks, self.left, self.before = end, marks, last, before
        self.me, self.peers, self.get, self.is_there, self.close = end.me, end.peers, end.get, end.is_there, end.close
        self.credential = end.credential

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        self.left -= 1
        if self.left == 0 and self.before:
            os.kill(os.getpid(), signal.SIGKILL)
        if tag.startswith("message"):
            self.marks.mark(f"left {tag.split('/')[1]}")
        self.end.put(receiver, tag, data)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Numbered(Marks):
    """Marks that number the draws."""

    drawn = 0

    def draw(self, bounded: Any, mechanism: str, owner: str, draw: Any, rng: object = None) -> Any:
        self.mark(f"drawn {self.drawn}")
        self.drawn += 1
        return draw()


def place(name: str, mesh: Mesh, folder: Path, number: int, last: int, before: bool) -> None:
    """One party of one run."""
    marks = Numbered(folder / name / f"marks {number}")
    OBSERVER.set(marks)  # type: ignore[arg-type]
    with Account(folder / name / FILE, party=name) as account:
        end = Mortal(mesh.end(name), marks, last, before)
        try:
            given = {"configuration": CONFIGURATION, "account": account, "patience": 20.0}
            run_party([Program(fit=program, run=run())], name, end, **given)
        except PartyError:
            os._exit(3)
    os._exit(0)


def run_once(folder: Path, number: int, victim: str = "", last: int = 0, before: bool = False) -> dict[str, int]:
    """Exit codes of the processes of all parties."""
    mesh, workers = Mesh(NAMES), {}
    for name in NAMES:
        mortal = (last, before) if name == victim else (0, False)
        workers[name] = FORK.Process(target=place, args=(name, mesh, folder, number, *mortal), daemon=True)
        workers[name].start()
    mesh.close()
    for worker in workers.values():
        worker.join(30)
    codes = {name: worker.exitcode for name, worker in workers.items()}
    for worker in workers.values():
        worker.kill()
    return codes


def happened(folder: Path, name: str, number: int) -> tuple[int, list[int]]:
    """Number of draws, and steps of the messages that left."""
    path = folder / name / f"marks {number}"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    steps = [int(line.split()[1]) for line in lines if line.startswith("left")]
    return sum(line.startswith("drawn") for line in lines), steps


@pytest.mark.parametrize("kills", [8, pytest.param(30, marks=pytest.mark.statistical)])
def test_kills_and_restarts_lose_no_paid_release_and_pay_none_twice(tmp_path, monkeypatch, kills):
    monkeypatch.setattr(watch, "PULSE", 0.05)
    for name in NAMES:
        (tmp_path / name).mkdir()
    preload()
    chance, before = random.Random(30), dict.fromkeys(NAMES, 0)
    for number in range(kills):
        victim, last = chance.choice(NAMES), chance.randrange(1, FRAMES)
        codes = run_once(tmp_path, number, victim, last, chance.random() < 0.5)
        assert codes.pop(victim) == -signal.SIGKILL and set(codes.values()) == {3}, (victim, last, codes)
        for name in NAMES:
            rows = read_chain(tmp_path / name / FILE).rows[before[name] :]
            before[name] += len(rows)
            drawn, left = happened(tmp_path, name, number)
            paid = Counter(row.fields["event"]["release_id"] for row in rows if row.kind == "paid")
            # At most one was paid and not drawn, and none was drawn and not paid.
            profiles = [row for row in rows if row.kind == "paid" and row.fields["event"]["mechanism"] != "none"]
            assert set(paid.values()) <= {1} and drawn <= len(profiles) <= drawn + 1
            sent = [row.fields["step"] for row in rows if row.kind == "sent"]
            assert left == sent[: len(left)] and len(sent) <= len(left) + 1
            assert not any(row.kind == "ended" for row in rows)
    assert set(run_once(tmp_path, kills).values()) == {0}
    check_whole(tmp_path)


def check_whole(folder: Path) -> None:
    """The last run is the simulation, after all the others, and what the others paid stays paid."""
    rows = {name: read_chain(folder / name / FILE).rows for name in NAMES}
    (last,) = {runs_of(rows[name])[-1] for name in NAMES}
    plain = run()
    simulate(program, plain)
    whole = union(NAMES, [message for name in NAMES for message in messages_of(rows[name], last)])
    assert whole.ledger.digest == plain.channel.ledger.digest
    for name in NAMES[:-1]:
        by_run = Counter(one for one, event in paid_events(rows[name]) if event.mechanism != "none")
        assert by_run[last] == sum(row.owner == name and row.mu == 0.5 for row in plain.channel.ledger.rows)
        assert by_run.total() > by_run[last]
