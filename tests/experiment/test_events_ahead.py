"""Events of a fit before its data: announced and released, with what ended the program early."""

from __future__ import annotations

import time

import numpy as np
import pytest

import partywise as pw
from partywise.experiment.cells import OutOfTime, at_most, events_ahead
from partywise.federation.parties import Party
from partywise.federation.run import Run

BOUND = pw.Public(1.0, because="upper limit of the assay")
NOISE = pw.Gaussian(mu=0.5)


def made_up(count: int = 2) -> Run:
    """Run of clients with ten records each."""
    parties = [Party(f"client {k}", "client", {"X": np.full((10, 2), 0.1)}, ()) for k in range(count)]
    return Run(parties, epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))


def local_sum(client, rng_for):
    terms = {"owner": client.name, "release_id": f"sum of {client.name}"}
    return NOISE(pw.record_sum(client.block["X"], BOUND), rng_for("noise", client.name), **terms)


def program(run: Run) -> object:
    return run.at("server", sum, run.gather(run.parties, "server", "sum", local_sum, run.rng_for))


def test_what_is_released_is_that_of_the_program():
    ahead = events_ahead(program, made_up())
    assert [event.release_id for event in ahead.releases] == ["sum of client 0", "sum of client 1"]
    assert ahead.error is None


def test_an_error_ends_the_program_and_leaves_what_was_seen():
    def fails(run: Run) -> object:
        program(run)
        raise ValueError("made-up records do not show this")

    ahead = events_ahead(fails, made_up())
    assert len(ahead.releases) == 2 and isinstance(ahead.error, ValueError)


def test_time_ends_the_program_and_leaves_what_was_seen():
    def lasts(run: Run) -> object:
        program(run)
        time.sleep(30.0)
        return None

    began = time.monotonic()
    with at_most(0.3):
        ahead = events_ahead(lasts, made_up())
    assert len(ahead.releases) == 2 and isinstance(ahead.error, OutOfTime)
    assert time.monotonic() - began < 20.0


def test_announced_events_are_listed_before_what_is_released():
    def announces(run: Run) -> object:
        for event in events_ahead(program, made_up()).releases:
            run.charge([event.owner], event)
        return program(run)

    ahead = events_ahead(announces, made_up())
    assert [event.owner for event in ahead.announcements] == ["client 0", "client 1"]
    assert len(ahead.releases) == 2


def test_time_is_up_outside_of_a_program_as_well():
    with pytest.raises(OutOfTime), at_most(0.1):
        time.sleep(10.0)
