"""A program of rounds on small data that uses every way to compute and to move values: for tests of how it is run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fixed import fixed
from partywise.core.randomness import stream
from partywise.federation.cipher import Cipher
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import Release, derive
from partywise.privacy.statistics.moments import record_sum

SIZES = (40, 60, 50)


def parties() -> list[Party]:
    """Clients with records of three columns."""
    return [
        Party(f"client {k}", "client", {"x": stream(3, "records", k).standard_normal((n, 3))})
        for k, n in enumerate(SIZES)
    ]


def run(**options) -> Run:
    """A run of the toy protocols."""
    return Run(
        parties(),
        epsilon=1.0,
        fold=None,
        rng_for=lambda *names: stream(5, *names),
        spec=SimpleNamespace(rounds=3, radius=2.0),
        extra=("server",),
        **options,
    )


def local_sum(client, radius, t, rng_for):
    rng = rng_for("noise", client.name, t)
    bounded = record_sum(client.block["x"], fixed(radius), stratum=f"clients/{client.name}")
    return Gaussian(mu=0.5)(bounded, rng, owner=client.name, release_id=f"sum {t} of {client.name}")


def local_size(client, radius, t, rng_for):
    return Public(len(client.block["x"]), because="sizes are public under replacement")


def local_both(client, *given):
    return local_sum(client, *given), local_size(client, *given)


def local_parts(client, names):
    return tuple(Clear(client.block["x"][:, k], ("features",), client.name) for k in range(len(names(client))))


def local_scale(client, mean):
    return float(np.abs(mean).max()) * client.block["x"].shape[1]


def server_merge(state, sums, sizes):
    return [*state, np.sum(sums, axis=0) / sum(sizes)]


def server_answer(state, heard, t):
    return derive(state[-1], heard, name=f"mean {t}", owner="server")


def server_stop(state):
    return Public(len(state) >= 2, because="the number of rounds so far")


def server_report(state, columns, scales):
    return {"means": np.stack(state), "columns": [np.stack(part) for part in columns], "scales": dict(scales)}


def names_of(client):
    return ("first", "second") if client.name == "client 1" else ("first",)


def local_again(client, heard):
    assert [type(payload) for payload in heard] == [Release, Release, Public, Public]
    return derive(len(heard), heard, name=f"count of {client.name}", owner=client.name)


BUDGETS = [PrivacyFilter.of_mu(mu, unit="features", name=f"budget {mu}") for mu in (1.0, 2.0)]


def program(run):
    """Rounds of sums, a mean that goes back, a public stop, columns in the clear, and a report."""
    clients, state, mean = run.parties, [], None
    run.reserve(BUDGETS[0].row)
    for t in range(run.spec.rounds):
        given = (run.spec.radius, t, run.rng_for)
        sums, sizes = run.gather(clients, "server", ("sum", "size"), local_both, *given)
        state = run.at("server", server_merge, state, sums, sizes)
        mean = run.broadcast("server", clients, "mean", server_answer, state, run.received("server", "sum"), t)
        stop = run.broadcast("server", clients, "stop", server_stop, state)
        if run.agreed(stop):
            break
    run.reserve(BUDGETS[1].row)
    scales = run.each(clients, local_scale, mean)
    run.gather(clients, "server", "again", local_again, run.received(clients, "mean", "stop"))
    columns = run.gather(clients, "server", names_of, local_parts, names_of)
    run.send(clients[0], "server", "closed", Cipher(b"secret", key_holder="client 2"))
    return run.assemble(server_report, state, columns, scales)
