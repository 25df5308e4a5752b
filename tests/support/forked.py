"""Runs a protocol with the place of every value checked, or with one process a place, each with its own block only.

Forked processes of one seed are a test of the program, not a boundary: every process could draw another's noise.
"""

from __future__ import annotations

import gc
import multiprocessing
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from deployment_driver import CONFIGURATION, Notes
from partywise.audits.contract import agree
from partywise.core.errors import PartyError
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session.outcome import Outcome, estimate_of
from partywise.deployment.session.party import Program, run_party
from partywise.deployment.session.platforms import platform_of_process
from partywise.deployment.session.session import library_digest
from partywise.deployment.wire.interface import Transport
from partywise.deployment.wire.pipes import Mesh
from partywise.federation.place_checks import PlacedRun, together
from partywise.federation.run import Run, simulate

FORK = multiprocessing.get_context("fork")
PATIENCE = 120


def preload() -> None:
    """What a party says of its code and machine, found out once: three quarters of the time of a short fork."""
    library_digest()
    platform_of_process()


def checked(fit: Callable[[Any], Any], run: Run) -> Any:
    """The estimate of a program whose values are all checked for their place."""
    return together([fit(PlacedRun(run))])


def forked(fit: Callable[[Any], Any], run: Run) -> Any:
    """The estimate of a protocol whose places are processes; ``run.channel`` has the transcript and the ledger."""
    found = apart(fit, run)
    return estimate_of(list(found.values()))


def in_all_ways(fit: Callable[[Any], Any], start: Callable[[], Run]) -> tuple[Any, Run]:
    """The estimate and the run of a program in one process, which it repeats checked and with a process a place."""
    reference = start()
    expected = simulate(fit, reference)
    for how in (checked, forked):
        run = start()
        agree(reference, expected, run, how(fit, run), how.__name__)
    return expected, reference


def apart(fit: Callable[[Any], Any], run: Run) -> dict[str, Outcome]:
    """What the process of every place returned; ``run.channel`` is the union of what they wrote down."""
    said = forks(fit, run)
    assert all(said.values()), f"{[name for name, what in said.items() if what is None]} died or had nothing to say"
    failures = {name: text for name, (what, text) in said.items() if what != "done"}
    causes = {name: text for name, text in failures.items() if said[name][0] == "error"} or failures
    assert not failures, "\n".join(f"{name} failed:\n{text}" for name, text in causes.items())
    outcomes = {name: outcome for name, (_, (outcome, _)) in said.items()}
    rows = [row for _, (_, own) in said.values() for row in own]
    run.channel = union(run.names, rows, steps=outcomes[run.names[0]].steps)
    return outcomes


def forks(
    fit: Callable[[Any], Any],
    run: Run,
    through: Mapping[str, Callable[[Transport], Transport]] | None = None,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    """What every process said: ("done", (outcome, rows)), ("ended", sentence), ("error", traceback), or None.

    ``through`` puts something between a place and its pipes.
    """
    preload()
    mesh, ends, workers = Mesh(run.names), {}, {}
    for name in run.names:
        ends[name], theirs = FORK.Pipe(duplex=False)
        given = fit, run, name, mesh, theirs, (through or {}).get(name), patience
        workers[name] = FORK.Process(target=_place, args=given, daemon=True)
        workers[name].start()
        theirs.close()
    mesh.close()
    try:
        return {name: None if name in (through or {}) else _said(end) for name, end in ends.items()}
    finally:
        for name, worker in workers.items():
            worker.kill()
            worker.join()
            ends[name].close()


def _said(end: Connection) -> tuple[str, Any] | None:
    try:
        return end.recv() if end.poll(PATIENCE) else None
    except EOFError:
        return None


def _place(
    fit: Callable[[Any], Any],
    run: Run,
    name: str,
    mesh: Mesh,
    pipe: Connection,
    through: Callable[[Transport], Transport] | None,
    patience: float,
) -> None:
    # A process of a moment: to collect garbage it would copy all that the tests have loaded.
    gc.disable()
    try:
        for party in run.parties:
            if party.name != name:
                # In the party itself, so that a closure over it reads nothing either.
                object.__setattr__(party, "block", {key: _gone(array) for key, array in party.block.items()})
        notes, end = Notes(name), mesh.end(name)
        given = {"configuration": CONFIGURATION, "account": notes, "patience": patience}
        transport = end if through is None else through(end)
        outcome = run_party([Program(fit=fit, run=run)], name, transport, **given)
        pipe.send(("done", (outcome, notes.rows)))
    except PartyError as error:
        pipe.send(("ended", str(error)))
    except BaseException:
        pipe.send(("error", traceback.format_exc()))


def _gone(array: np.ndarray) -> np.ndarray:
    """An array of that shape without the numbers: NaN where there is one."""
    return np.full(array.shape, np.nan if array.dtype.kind == "f" else 0, dtype=array.dtype)
