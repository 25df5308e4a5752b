"""Runs a protocol with the place of every value checked, or with one process a place, each with its own block only.

Forked processes of one seed are a test of the program, not a boundary: every process could draw another's noise.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from apart_driver import CONFIGURATION, Notes
from partywise.errors import PartyError
from partywise.federation.apart.outcome import Outcome, estimate_of
from partywise.federation.apart.party import run_party
from partywise.federation.apart.union import union
from partywise.federation.placed import PlacedRun, together
from partywise.federation.run import Run
from partywise.federation.transport.pipes import Mesh

FORK = multiprocessing.get_context("fork")
PATIENCE = 120


def checked(fit: Callable[[Any], Any], run: Run) -> Any:
    """The estimate of a program whose values are all checked for their place."""
    return together([fit(PlacedRun(run))])


def forked(fit: Callable[[Any], Any], run: Run) -> Any:
    """The estimate of a protocol whose places are processes; ``run.channel`` has the transcript and the ledger."""
    found = apart(fit, run)
    return estimate_of(list(found.values()))


def apart(fit: Callable[[Any], Any], run: Run) -> dict[str, Outcome]:
    """What the process of every place returned; ``run.channel`` is the union of what they wrote down."""
    mesh, ends, workers = Mesh(run.names), {}, []
    for name in run.names:
        ends[name], theirs = FORK.Pipe(duplex=False)
        worker = FORK.Process(target=_place, args=(fit, run, name, mesh, theirs), daemon=True)
        worker.start()
        theirs.close()
        workers.append(worker)
    mesh.close()
    try:
        said = {name: _said(end) for name, end in ends.items()}
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    failures = {name: text for name, (what, text) in said.items() if what != "done"}
    causes = {name: text for name, text in failures.items() if said[name][0] == "error"} or failures
    assert not failures, "\n".join(f"{name} failed:\n{text}" for name, text in causes.items())
    outcomes = {name: outcome for name, (_, (outcome, _)) in said.items()}
    rows = [row for _, (_, own) in said.values() for row in own]
    run.channel = union(run.names, rows, steps=outcomes[run.names[0]].steps)
    return outcomes


def _said(end: Connection) -> tuple[str, Any]:
    assert end.poll(PATIENCE), "a place has nothing to say"
    return end.recv()


def _place(fit: Callable[[Any], Any], run: Run, name: str, mesh: Mesh, pipe: Connection) -> None:
    try:
        for party in run.parties:
            if party.name != name:
                # In the party itself, so that a closure over it reads nothing either.
                object.__setattr__(party, "block", {key: _gone(array) for key, array in party.block.items()})
        notes = Notes(name)
        given = {"configuration": CONFIGURATION, "account": notes, "patience": PATIENCE}
        outcome = run_party(fit, run, name, mesh.end(name), **given)
        pipe.send(("done", (outcome, notes.rows)))
    except PartyError:
        pipe.send(("ended", traceback.format_exc()))
    except BaseException:
        pipe.send(("error", traceback.format_exc()))


def _gone(array: np.ndarray) -> np.ndarray:
    """An array of that shape without the numbers: NaN where there is one."""
    return np.full(array.shape, np.nan if array.dtype.kind == "f" else 0, dtype=array.dtype)
