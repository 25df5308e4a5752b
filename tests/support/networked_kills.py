"""Kills of parties at random moments of a run over a network with TLS, and a second process in their place.

Without a journal whoever is killed is gone, and named; with one the run goes on as if nothing had been.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any

from deployment_driver import CONFIGURATION, Notes
from forked import FORK, preload
from meddling import mortal
from network_driver import addresses
from partywise.audits.contract import same
from partywise.core.randomness import stream
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session.outcome import Outcome, estimate_of, outcomes
from partywise.deployment.session.party import Program, run_party
from partywise.deployment.wire.journal import Journal
from partywise.deployment.wire.network import Network
from partywise.federation.account.account import Account
from partywise.federation.account.reading import messages_of, opened_account, paid_events, runs_of
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from toy_rounds import program, run

PATIENCE = 8.0
# Frames that a party of the toy program puts and gets, at least.
FRAMES = 25


def killed(
    fit: Callable[[Any], Any],
    start: Callable[[], Run],
    certificates: Path,
    seed: int,
    restart: bool,
    journals: Path | None = None,
    frames: int = FRAMES,
    count: int = 1,
) -> tuple[str, dict[str, tuple[str, float]]]:
    """Who was killed; the digest of its outcome or the sentence of its error of everybody else, and how long after.

    Nobody was, where the party that was to die at one of so many ``frames`` had fewer. With ``restart`` another process
    takes the place of the one that was killed, and says what comes of it as well. Accounts and journals of the parties
    are kept in the folder ``journals``. A session has so many runs (``count``), of the last of which the digest is.
    """
    preload()
    names, rng = start().names, stream(seed, "kills over a network")
    victim, last = names[rng.integers(len(names))], int(rng.integers(1, frames))
    places = addresses(names)
    ends: dict[str, Connection] = {}
    workers = {}

    def started(name: str, life: int) -> None:
        ends[name], theirs = FORK.Pipe(duplex=False)
        workers[name] = FORK.Process(
            target=_party,
            args=(fit, [start() for _ in range(count)], name, places, certificates, life, theirs, journals),
        )
        workers[name].start()
        theirs.close()

    for name in names:
        started(name, last if name == victim else 0)
    workers[victim].join()
    begin, ended = monotonic(), workers[victim].exitcode == 0
    if restart and not ended:
        started(victim, 0)
    said = {}
    for name in names:
        if name != victim or restart or ended:
            what, when = ends[name].recv()
            said[name] = what, when - begin
    for name, worker in workers.items():
        worker.join()
        ends[name].close()
    return "" if ended else victim, said


def _party(
    fit: Callable[[Any], Any],
    runs: list[Run],
    name: str,
    places: dict[str, tuple[str, int]],
    certificates: Path,
    life: int,
    pipe: Connection,
    journals: Path | None,
) -> None:
    """One process: what comes of the run, and when."""
    with ExitStack() as stack:
        given: dict[str, Any] = {"configuration": CONFIGURATION, "account": Notes(name), "patience": PATIENCE}
        keep = None
        if journals is not None:
            account = stack.enter_context(Account(journals / f"{name}.jsonl", party=name))
            journal = Journal(journals / f"{name}.journal", CONFIGURATION)
            given |= {"account": account, "journal": journal, "patience": 60.0}
            keep = partial(_keep, journals)
        network = Network(name, places, certificates, journal=given.get("journal"))
        end = mortal(network, life) if life else network
        try:
            said = run_party([Program(fit=fit, run=run, keep=keep) for run in runs], name, end, **given).digest
            if journals is not None:
                journal.discard()
        except Exception as error:
            said = f"{type(error).__name__} {error}"
        pipe.send((said, monotonic()))


def _keep(folder: Path, outcome: Outcome) -> None:
    """Write what a party holds of a run to a file of its own, as the verb does."""
    (folder / f"{outcome.place}.{outcome.run}").write_bytes(pickle.dumps(outcome))


def check_kill(certificates: Path, seed: int, restart: bool) -> None:
    """All others say within 10 s who was killed; one in its place takes part, is refused, or finds nobody."""
    victim, said = killed(program, run, certificates, seed, restart)
    assert all(seconds < 10 for _, seconds in said.values()), said
    digests = {name: outcome.digest for name, outcome in outcomes(program, run()).items()}
    if restart and {name: what for name, (what, _) in said.items()} == digests:
        return
    again, _ = said.pop(victim, ("", 0.0))
    assert again not in digests.values()
    # One that died before anybody met it has never come.
    ways = ("is gone", "sent a second hello", "sent another hello to", "has not come within")
    sentences = [f"{victim!r} {way}" for way in ways]
    for name, (what, _) in said.items():
        assert any(sentence in what for sentence in sentences), (victim, name, what)


def check_resumed(
    fit: Callable[[Any], Any],
    start: Callable[[], Run],
    certificates: Path,
    folder: Path,
    seed: int,
    frames: int,
    count: int,
) -> bool:
    """Everybody ends, with the runs of one session in every account, paid once, and accounts that agree; whether one
    was killed at all.

    Where the noise is seeded, what parties hold and the estimate are the simulation's to the last bit; a run with
    secret noise has that of no other run. Every account has the outcome that its party held.
    """
    victim, said = killed(fit, start, certificates, seed, True, folder, frames, count)
    names, plain = start().names, start()
    rows = {name: opened_account(folder / f"{name}.jsonl").rows for name in names}
    assert {row.kind for name in names for row in rows[name] if not row.run} <= {"account", "budget", "dropped", "time"}
    ids = runs_of(rows[names[0]])
    assert len(ids) == count and all(runs_of(rows[name]) == ids for name in names), (victim, said)
    ends = {name: [row.fields["outcome"] for row in rows[name] if row.kind == "ended"] for name in names}
    assert all(len(own) == count for own in ends.values()), (victim, said)
    assert not list(folder.glob("*.journal"))
    secret = isinstance(plain.rng_for, SecureStreams)
    plain.rng_for = getattr(plain.rng_for, "_public", plain.rng_for)
    expected = simulate(fit, plain)
    simulated = {} if secret else {name: one.digest for name, one in outcomes(fit, start()).items()}
    for number, one in enumerate(ids):
        held = {name: pickle.loads((folder / f"{name}.{one}").read_bytes()) for name in names}
        assert {name: own[number] for name, own in ends.items()} == {
            name: outcome.commitment for name, outcome in held.items()
        }
        estimate = estimate_of(list(held.values()))
        assert type(estimate) is type(expected)
        whole = union(names, [message for name in names for message in messages_of(rows[name], one)])
        assert len(whole.ledger.rows) == len(plain.channel.ledger.rows)
        if not secret:
            assert whole.ledger.digest == plain.channel.ledger.digest
            assert same(expected, estimate), (victim, said)
            assert {name: outcome.digest for name, outcome in held.items()} == simulated, (victim, said)
    for name in names:
        paid = [(one, event.release_id) for one, event in paid_events(rows[name])]
        assert len(paid) == len(set(paid)), f"{name} paid twice"
    return bool(victim)
