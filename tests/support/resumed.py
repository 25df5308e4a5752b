"""Programs that are run with kills of their parties: one with seeded noise, one with noise that nobody else knows."""

from __future__ import annotations

from every_protocol import planned
from networked_check import started
from partywise.federation.run import Run
from partywise.federation.secure_streams import SecureStreams
from toy_rounds import program, run

FIT = ("sliced_inverse_regression", "rows", "cert")


def secret_run() -> Run:
    """A run whose noise nobody else knows."""
    made = started(*FIT)
    made.rng_for, made.channel.real = SecureStreams(made.rng_for), True  # type: ignore[arg-type, assignment]
    return made


# A program, its start, how many frames its parties put or ask for, about, and how many runs of it a session has.
KINDS = {
    "experiment": (program, run, 25, 1),
    "release": (planned(FIT[0]).methods[FIT[2]].protocol.fit, secret_run, 12, 1),
    "session": (program, run, 60, 3),
}
