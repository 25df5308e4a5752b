"""The accounts of all parties together are the run; one that lacks a row, or tells another story, is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deployment_driver import Notes, threads
from memory_transport import connected
from partywise.core.errors import CertificationError, PartyError
from partywise.deployment.outcomes.joint_results import union
from partywise.federation.account.reading import cost_digest
from partywise.federation.account.rows import ReceivedMessage, ReservedRow, SentMessage
from partywise.federation.run import simulate
from toy_rounds import program, run

NAMES = run().names


@pytest.fixture(scope="module")
def rows():
    notes = {name: Notes(name) for name in NAMES}
    threads(program, {name: run() for name in NAMES}, connected(NAMES), account=notes)
    return [row for name in NAMES for row in notes[name].rows]


@pytest.fixture(scope="module")
def digest():
    plain = run()
    simulate(program, plain)
    return plain.channel.ledger.digest


def told_by_both(rows, first, changed):
    """The rows with another one in place of the first, to which its receiver agrees."""
    again = {first.step: ReceivedMessage(changed.step, changed.sender, changed.receiver, changed.name,
                                  cost_digest(changed.payload), changed.digest)}  # fmt: skip
    swapped = [changed if row is first else row for row in rows]
    return [again.get(row.step, row) if isinstance(row, ReceivedMessage) else row for row in swapped]


def test_rows_may_come_in_any_order(rows, digest):
    assert union(NAMES, reversed(rows), steps=34).ledger.digest == digest
    assert {row.step for row in rows} == set(range(34))


@pytest.mark.parametrize("step", [0, 9, 33])
def test_a_missing_step_is_named(rows, step):
    left = [row for row in rows if row.step != step]
    with pytest.raises(PartyError, match=f"step {step} of 34 is in no account or beyond the last"):
        union(NAMES, left, steps=34)


def test_a_step_too_many_is_named(rows):
    with pytest.raises(PartyError, match="step 33 of 33 is in no account or beyond the last"):
        union(NAMES, rows, steps=33)


def test_a_public_row_stands_in_every_account_alike(rows):
    reserved = [row for row in rows if isinstance(row, ReservedRow) and row.step == 0]
    assert len(reserved) == len(NAMES)
    changed = replace(reserved[1], event=replace(reserved[1].event, mu=0.001))
    with pytest.raises(PartyError, match="step 0 is in the accounts in two ways: one of them was changed"):
        union(NAMES, [changed if row is reserved[1] else row for row in rows])


def test_a_cheaper_release_is_seen_by_the_digest_and_one_that_nobody_paid_is_refused(rows, digest):
    first = next(row for row in rows if isinstance(row, SentMessage) and row.name == "sum")
    cheap = replace(first, payload=first.payload | {"event": first.payload["event"] | {"mu": 0.001}})
    with pytest.raises(PartyError, match="step 1: 'client 0' wrote down another payload of 'sum' than 'server'"):
        union(NAMES, [cheap if row is first else row for row in rows])
    try:
        told = union(NAMES, told_by_both(rows, first, cheap)).ledger.digest
    except CertificationError as error:
        told = str(error)
    assert told != digest
    public = {"kind": "Public", "value": None, "made_of": [], "because": "so it is"}
    with pytest.raises(CertificationError, match="send it first"):
        union(NAMES, told_by_both(rows, first, replace(first, payload=public)))


@pytest.mark.parametrize("field", ["name", "digest", "receiver"])
def test_what_a_receiver_wrote_down_is_what_its_sender_did(rows, field):
    first = next(row for row in rows if isinstance(row, ReceivedMessage))
    other = next(name for name in NAMES if name not in (first.sender, first.receiver))
    changed = replace(first, **{field: other if field == "receiver" else "other"})
    with pytest.raises(PartyError, match=f"{first.sender!r} wrote down another {field} of {first.name!r} than"):
        union(NAMES, [changed if row is first else row for row in rows])


def test_a_message_that_one_end_does_not_know_is_seen(rows):
    first = next(row for row in rows if isinstance(row, ReceivedMessage))
    with pytest.raises(
        PartyError, match=f"step {first.step} of {first.sender!r} is not in the account of its receiver"
    ):
        union(NAMES, [row for row in rows if row is not first])
    with pytest.raises(PartyError, match="step 99 was received and not sent"):
        union(NAMES, [*rows, replace(first, step=99)])


def test_rows_that_tell_two_stories_of_a_message_are_seen(rows):
    first = next(row for row in rows if isinstance(row, SentMessage))
    with pytest.raises(PartyError, match=f"step {first.step} is in the accounts in two ways"):
        union(NAMES, [*rows, replace(first, size=first.size + 8)])


def test_a_row_that_is_no_message_is_named(rows):
    first = next(row for row in rows if isinstance(row, SentMessage))
    broken = replace(first, payload={"kind": "Popen"})
    with pytest.raises(PartyError, match=f"step {first.step} of {first.sender!r} is not a message"):
        union(NAMES, told_by_both(rows, first, broken))
