"""Kills of parties at random moments of a run over a network with TLS, and a second process in their place."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any

from deployment_driver import CONFIGURATION, Notes
from meddling import mortal
from network_driver import addresses
from partywise.errors import PartyError
from partywise.federation.deployment.outcome import outcomes
from partywise.federation.deployment.party import run_party
from partywise.federation.deployment.session import library_digest
from partywise.federation.run import Run
from partywise.federation.transport.network import Network
from partywise.randomness import stream
from toy_rounds import program, run

FORK = multiprocessing.get_context("fork")
PATIENCE = 8.0
# Frames that a party of the toy program puts and gets, at least.
FRAMES = 25


def killed(
    fit: Callable[[Any], Any], start: Callable[[], Run], certificates: Path, seed: int, restart: bool
) -> tuple[str, dict[str, tuple[str, float]]]:
    """Who was killed; the digest of its outcome or the sentence of its error of everybody else, and how long after.

    With ``restart`` another process takes the place of the one that was killed, and says what comes of it as well.
    """
    library_digest()
    names, rng = start().names, stream(seed, "kills over a network")
    victim, count = names[rng.integers(len(names))], int(rng.integers(1, FRAMES))
    places = addresses(names)
    ends: dict[str, Connection] = {}
    workers = {}

    def started(name: str, life: int) -> None:
        ends[name], theirs = FORK.Pipe(duplex=False)
        workers[name] = FORK.Process(target=_party, args=(fit, start(), name, places, certificates, life, theirs))
        workers[name].start()
        theirs.close()

    for name in names:
        started(name, count if name == victim else 0)
    workers[victim].join()
    begin = monotonic()
    if restart:
        started(victim, 0)
    said = {}
    for name in names:
        if name != victim or restart:
            what, when = ends[name].recv()
            said[name] = what, when - begin
    for name, worker in workers.items():
        worker.join()
        ends[name].close()
    return victim, said


def _party(
    fit: Callable[[Any], Any],
    run: Run,
    name: str,
    places: dict[str, tuple[str, int]],
    certificates: Path,
    life: int,
    pipe: Connection,
) -> None:
    """One process: what comes of the run, and when."""
    network = Network(name, places, certificates)
    end = mortal(network, life) if life else network
    given = {"configuration": CONFIGURATION, "account": Notes(name), "patience": PATIENCE}
    try:
        said = run_party(fit, run, name, end, **given).digest
    except PartyError as error:
        said = str(error)
    pipe.send((said, monotonic()))


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
    ways = ("is gone", "said hello a second time", "said another hello to", "has not come within")
    sentences = [f"{victim!r} {way}" for way in ways]
    for name, (what, _) in said.items():
        assert any(sentence in what for sentence in sentences), (victim, name, what)
