"""Parties apart do what the simulation does: transcript, ledger, what every place holds, and the estimate."""

from __future__ import annotations

from deployment_driver import Notes, threads
from memory_transport import connected
from partywise.federation.codec import encode
from partywise.federation.deployment.outcome import Outcome, estimate_of, outcomes
from partywise.federation.deployment.union import union
from partywise.federation.run import simulate
from toy_rounds import program, run


def test_parties_apart_are_the_simulation():
    plain = run()
    expected = simulate(program, plain)
    names = plain.names
    notes = {name: Notes(name) for name in names}
    found = threads(program, {name: run() for name in names}, connected(names), account=notes)
    assert all(isinstance(outcome, Outcome) for outcome in found.values()), found
    assert encode(estimate_of([found[name] for name in names])) == encode(expected)
    whole = union(names, [row for name in names for row in notes[name].rows])
    assert whole.transcript() == plain.channel.transcript()
    assert whole.ledger.digest == plain.channel.ledger.digest
    placed = outcomes(program, run())
    assert {name: outcome.digest for name, outcome in found.items()} == {n: o.digest for n, o in placed.items()}
    assert len({outcome.digest for outcome in found.values()}) == len(names)
    assert {outcome.run for outcome in found.values()} == {notes["server"].runs[0]}


def test_every_party_pays_for_what_it_draws_and_for_what_it_sends_in_the_clear_and_for_nothing_else():
    names = run().names
    notes = {name: Notes(name) for name in names}
    threads(program, {name: run() for name in names}, connected(names), account=notes)
    plain = run()
    simulate(program, plain)
    costly = [row for row in plain.channel.ledger.rows if row.mechanism not in ("budget", "cipher", "post_processing")]
    assert {row.mechanism for row in costly} == {"gaussian", "none"}
    for name, own in notes.items():
        assert sorted(row.release_id for row in own.paid) == sorted(
            row.release_id for row in costly if row.owner == name
        )
    assert notes["server"].paid == []
