"""Parties that are killed around the last messages of a run, stay away until the others have given up, and come back.

Each has a network with TLS, an account and a journal, as the verb `network party` has.
"""

from __future__ import annotations

import gc
import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

from deployment_driver import CONFIGURATION
from forked import FORK
from meddling import Meddling
from network_driver import addresses
from partywise.deployment.session.last_frames import LastFrames
from partywise.deployment.session.party import Program, run_party
from partywise.deployment.wire.interface import split_tag
from partywise.deployment.wire.journal import Journal
from partywise.deployment.wire.network import Network
from partywise.federation.account.account import Account
from partywise.federation.account.reading import opened_account, paid_events, runs_of
from toy_rounds import program, run

NAMES = run().names
# Seconds that others wait for who was killed: twice as many at the next start where a machine is too busy for that.
PATIENCE = 4.0
# Seconds that a start waits in which all take part: it ends when all have ended.
LATE = 60.0
STARTS = 5
# Of all moments: the runs of a part go on at once, with four processes each.
PARTS = 5
# Who is killed at which `done`, and whether before that has left.
Moment = tuple[str, int, bool]


def mortal(end: Any, frame: int, before: bool) -> Meddling:
    """A transport that kills its process at its n-th `done`, before or after that has left; or when it asks for one."""
    left = [frame]

    def die(tag: str) -> None:
        if split_tag(tag)[1] == "done":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    made = Meddling(end, lambda receiver, tag, data: [(tag, data)])

    def put(receiver: str, tag: str, data: bytes) -> None:
        if before:
            die(tag)
        end.put(receiver, tag, data)
        if not before:
            die(tag)

    def get(sender: str, tag: str, wait: float) -> bytes | None:
        die(tag)
        return end.get(sender, tag, wait)

    made.put, made.get = put, get
    return made


def party(case: Case, name: str, patience: float, is_mortal: bool) -> None:
    """One start of a party by the same command: its exit code is 0 where it has its result."""
    # A process of a moment: to collect garbage it would copy all that the tests have loaded.
    gc.disable()
    code, ended = 1, case.folder / f"{name}.ended"
    try:
        last = LastFrames.read(ended, CONFIGURATION)
        if last is not None:
            with closing(Network(name, case.places, case.certificates)) as network:
                last.offer(network, patience)
        else:
            with Account(case.folder / f"{name}.jsonl", party=name) as account:
                journal = Journal(case.folder / f"{name}.journal", CONFIGURATION)
                network = Network(name, case.places, case.certificates, journal=journal)
                given: dict[str, Any] = {"account": account, "journal": journal, "patience": patience, "ended": ended}
                end = mortal(network, *case.moment[1:]) if is_mortal else network
                run_party([Program(fit=program, run=run())], name, end, configuration=CONFIGURATION, **given)
                journal.discard()
        code = 0
    except Exception as error:
        (case.folder / f"{name}.error").write_text(str(error))
    os._exit(code)


class Case:
    """A run with one kill; the parties keep what they have in a folder."""

    def __init__(self, folder: Path, certificates: Path, moment: Moment) -> None:
        folder.mkdir(parents=True)
        self.folder, self.certificates, self.moment = folder, certificates, moment
        self.victim, self.places = moment[0], addresses(NAMES)
        self.workers: dict[str, Any] = {}

    def start(self, patience: float, *, kill: bool = False) -> None:
        """Start all parties by the same command; with ``kill`` one of them dies at its moment."""
        for name in NAMES:
            given = self, name, patience, kill and name == self.victim
            self.workers[name] = FORK.Process(target=party, args=given, daemon=True)
            self.workers[name].start()

    def join(self) -> dict[str, int | None]:
        """Exit codes of all parties: nobody waits any longer."""
        for worker in self.workers.values():
            worker.join(3 * LATE)
        return {name: worker.exitcode for name, worker in self.workers.items()}

    def error(self, codes: object) -> str:
        """What the parties said, for a check that fails."""
        said = {path.name: path.read_text() for path in self.folder.glob("*.error")}
        return f"{self.moment}: {codes}, {said}"


def check_kills(folder: Path, certificates: Path, kills: list[Moment]) -> list[int]:
    """Kill a party of each run, let all others give up, start all again until all end, and check the accounts.

    How many others had ended by then, by run. All runs go on at once, forked from this one thread.
    """
    cases = [
        Case(folder / f"{victim} {at} {before}", certificates, (victim, at, before)) for victim, at, before in kills
    ]
    ended, left = dict[Moment, int](), cases
    for attempt in range(STARTS):
        # Where a machine is too busy for this patience the run breaks off before, and goes on at the next start.
        codes = _started(left, PATIENCE * 2**attempt, kill=True)
        for case in left:
            if codes[case.moment][case.victim] == -signal.SIGKILL:
                ended[case.moment] = sum(code == 0 for code in codes[case.moment].values())
        left = [case for case in left if case.moment not in ended]
    assert not left, [case.error(codes[case.moment]) for case in left]
    left = cases
    for _ in range(STARTS):
        codes = _started(left, LATE)
        left = [case for case in left if set(codes[case.moment].values()) != {0}]
    assert not left, [case.error(codes[case.moment]) for case in left]
    for case in cases:
        check_paid_once(case.folder)
    return [ended[moment] for moment in kills]


def _started(cases: list[Case], patience: float, *, kill: bool = False) -> dict[Moment, dict[str, int | None]]:
    """Exit codes of one start of all parties of each run, when all of them have ended."""
    for case in cases:
        case.start(patience, kill=kill)
    return {case.moment: case.join() for case in cases}


def check_paid_once(folder: Path) -> None:
    """Every account has the one run, which ended once with an outcome, and no payment twice."""
    ids = set()
    for name in NAMES:
        rows = opened_account(folder / f"{name}.jsonl").rows
        ids.add(runs_of(rows))
        assert [bool(row.fields["outcome"]) for row in rows if row.kind == "ended"] == [True]
        paid = [event.release_id for _, event in paid_events(rows)]
        assert len(paid) == len(set(paid))
    assert len(ids) == 1 and len(*ids) == 1 and not list(folder.glob("*.journal"))


def moments() -> list[Moment]:
    """Thirty moments around the last messages: each party, at its puts and its first looks for those of others."""
    others = len(NAMES) - 1
    puts = [(name, frame, before) for name in NAMES for frame in range(1, others + 1) for before in (True, False)]
    looks = [(name, others + look, True) for look in range(1, 7) for name in NAMES]
    return [*puts, *looks][: max(30, len(puts))]
