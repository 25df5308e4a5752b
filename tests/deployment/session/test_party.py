"""Parties apart do what the simulation does: transcript, ledger, what every place holds, and the estimate."""

from __future__ import annotations

import json
from hashlib import sha256

from deployment_driver import Notes, threads
from memory_transport import connected
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session.outcome import Outcome, estimate_of, outcomes
from partywise.deployment.session.session import frame_digest
from partywise.federation.account.rows import ReservedRow
from partywise.federation.codec import encode
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


class Tapped:
    """An end of a transport that keeps what it puts."""

    def __init__(self, end, put):
        self.end, self.me, self.peers, self.credential = end, end.me, end.peers, end.credential
        self.get, self.is_there, self.close, self.seen = end.get, end.is_there, end.close, put

    def put(self, receiver, tag, data):
        self.seen[self.me, receiver, tag] = data
        self.end.put(receiver, tag, data)


def test_whoever_tries_all_values_of_a_message_finds_none_in_the_accounts():
    """A frame follows from what is handed over and its value: a plain digest would confirm which value it was."""
    names, put = run().names, {}
    notes = {name: Notes(name) for name in names}
    ends = {name: Tapped(end, put) for name, end in connected(names).items()}
    threads(program, {name: run() for name in names}, ends, account=notes)
    frames = {key: data for key, data in put.items() if key[2].startswith("message/")}
    rows = [row for own in notes.values() for row in own.rows if not isinstance(row, ReservedRow)]
    assert len(rows) == 2 * len(frames) > 20
    told = {(sender, receiver): json.loads(data).get("salt") for (sender, receiver, tag), data in put.items()
            if tag == "ready"}  # fmt: skip
    digests = {row.digest for row in rows}
    assert not digests & {sha256(data).hexdigest() for data in frames.values()}
    # Nor does what a third party was told help: each receiver has a salt of its own.
    assert len(set(told.values())) == len(told) == len(names) * (len(names) - 1)
    for row in rows:
        frame = frames[row.sender, row.receiver, f"message/{row.step}"]
        fit = [pair for pair, salt in told.items() if frame_digest(salt, frame) == row.digest]
        assert fit == [(row.sender, row.receiver)]
        # A network hands its receiver a bytearray.
        assert frame_digest(told[fit[0]], bytearray(frame)) == row.digest
