"""Runs a protocol with the place of every value checked, or with one process a place, each with its own block only.

Forked processes of one seed are a test of the program, not a boundary: every process could draw another's noise; the
parent keeps transcript and ledger.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from partywise.federation.codec import packed, unpacked
from partywise.federation.placed import PlacedRun, together
from partywise.federation.run import Run
from partywise.privacy.ledger.event import Event

FORK = multiprocessing.get_context("fork")
PATIENCE = 120


class PipeLink:
    """Messages of one process go to the parent, which hands them on."""

    def __init__(self, pipe: Connection, first: bool) -> None:
        self.pipe, self.first, self.early = pipe, first, {}

    def put(self, step: int, sender: str, receiver: str, name: str, payload: Any) -> None:
        self.pipe.send(("put", step, sender, receiver, name, packed(payload)))

    def reserve(self, step: int, row: Event) -> None:
        if self.first:
            self.pipe.send(("reserve", step, row.to_row()))

    def get(self, step: int, sender: str, receiver: str, name: str) -> Any:
        while step not in self.early:
            if not self.pipe.poll(PATIENCE):
                raise TimeoutError(f"{receiver} waits for message {step} in vain.")
            arrived, data = self.pipe.recv()
            self.early[arrived] = data
        return unpacked(self.early.pop(step))


def checked(fit: Callable[[Any], Any], run: Run) -> Any:
    """The estimate of a program whose values are all checked for their place."""
    return together([fit(PlacedRun(run))])


def forked(fit: Callable[[Any], Any], run: Run) -> Any:
    """The estimate of a protocol whose places are processes; ``run.channel`` has the transcript and the ledger."""
    pipes: dict[str, Connection] = {}
    workers = []
    for name in run.names:
        mine, theirs = FORK.Pipe()
        worker = FORK.Process(target=_place, args=(fit, run, name, theirs), daemon=True)
        worker.start()
        theirs.close()
        pipes[name] = mine
        workers.append(worker)
    try:
        results = _observed(run, pipes)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    return together(results)


def _observed(run: Run, pipes: dict[str, Connection]) -> list[Any]:
    """Accounts for every message in the order of the program and hands it on; what the places return."""
    waiting: dict[int, tuple] = {}
    results: dict[str, Any] = {}
    step = 0
    while len(results) < len(pipes):
        open_ends = [pipe for name, pipe in pipes.items() if name not in results]
        ready = wait(open_ends, PATIENCE)
        assert ready, f"no place has anything to say after {sorted(results)} have ended"
        for pipe in ready:
            name = next(other for other, end in pipes.items() if end is pipe)
            what, *rest = pipe.recv()
            if what == "error":
                raise AssertionError(f"{name} failed:\n{rest[0]}")
            if what == "done":
                results[name] = rest[0]
            else:
                waiting[rest[0]] = tuple(rest[1:])
        while step in waiting:
            what = waiting.pop(step)
            if len(what) == 1:
                run.channel.ledger.append(Event.from_row(what[0]))
            else:
                sender, receiver, name, data = what
                run.channel.send(sender, receiver, name, unpacked(data))
                pipes[receiver].send((step, data))
            step += 1
    assert not waiting, f"messages {sorted(waiting)} stand without those before them"
    return list(results.values())


def _place(fit: Callable[[Any], Any], run: Run, name: str, pipe: Connection) -> None:
    try:
        for party in run.parties:
            if party.name != name:
                # In the party itself, so that a closure over it reads nothing either.
                object.__setattr__(party, "block", {key: _gone(array) for key, array in party.block.items()})
        pipe.send(("done", fit(PlacedRun(run, [name], PipeLink(pipe, name == run.names[0])))))
    except BaseException:
        pipe.send(("error", traceback.format_exc()))


def _gone(array: np.ndarray) -> np.ndarray:
    """An array of that shape without the numbers: NaN where there is one."""
    return np.full(array.shape, np.nan if array.dtype.kind == "f" else 0, dtype=array.dtype)
