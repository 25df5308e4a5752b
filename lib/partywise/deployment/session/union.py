"""The transcript and the ledger of a run from what every party wrote down: its messages, replayed in order of steps.

Whoever received a message wrote down a salted digest of its frame and one of what it cost: senders and receivers must
agree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from ...core.errors import CertificationError, PartyError
from ...federation.account.rows import AccountEnd, ReceivedMessage, ReservedRow, SentMessage
from ...federation.channel import Channel
from ...federation.codec import payload_of
from ...federation.payloads import Payload
from ..wire.credential import signature_problem, statement


def union(
    names: Sequence[str], rows: Iterable[SentMessage | ReceivedMessage | ReservedRow], *, steps: int | None = None
) -> Channel:
    """A channel that accounts for the messages of all parties as if it had carried them.

    Parameters
    ----------
    names : sequence of str
        Everyone on the channel, in the order of the run.
    rows : iterable of Sent, Received or Reserved
        What all parties wrote down, in any order.
    steps : int, optional
        How many there must be.

    Raises
    ------
    PartyError
        If a step is missing, two parties wrote down different things for one, its receiver something else than its
        sender, or a row is not a message.
    CertificationError
        If a message could not be accounted for.
    """
    by_step: dict[int, SentMessage | ReservedRow] = {}
    received: dict[int, ReceivedMessage] = {}
    for row in rows:
        if isinstance(row, ReceivedMessage):
            if received.setdefault(row.step, row) != row:
                raise PartyError(f"step {row.step} was received in two ways: one of the accounts was changed.")
            continue
        if by_step.setdefault(row.step, row) != row:
            raise PartyError(f"step {row.step} stands in the accounts in two ways: one of them was changed.")
    count = len(by_step) if steps is None else steps
    lacking = next((step for step in range(count) if step not in by_step), None)
    if lacking is not None or len(by_step) > count:
        step = min(step for step in by_step if step >= count) if lacking is None else lacking
        raise PartyError(f"step {step} of {count} is in no account or beyond the last: give those of all parties.")
    channel = Channel((), tuple(names))
    for step in range(count):
        row = by_step[step]
        if isinstance(row, ReservedRow):
            channel.ledger.append(row.event)
        else:
            _check_received(row, received.pop(step, None))
            _enter(channel, row, _payload(row))
    if received:
        raise PartyError(f"step {min(received)} was received and not sent: one of the accounts was changed.")
    return channel


def _check_received(sent: SentMessage, received: ReceivedMessage | None) -> None:
    """PartyError unless whoever received a message wrote down what its sender did."""
    if received is None:
        raise PartyError(
            f"step {sent.step} of {sent.sender!r} is not in the account of its receiver {sent.receiver!r}."
        )
    cost = hashlib.sha256(json.dumps(sent.payload, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    found = ReceivedMessage(sent.step, sent.sender, sent.receiver, sent.name, cost, sent.digest)
    for field in fields(ReceivedMessage):
        if getattr(found, field.name) != getattr(received, field.name):
            raise PartyError(
                f"step {sent.step}: {sent.sender!r} wrote down another {field.name} of {sent.name!r:.80} than "
                f"{sent.receiver!r}, who received it: one of the accounts was changed."
            )


def check_heads(
    heads: Mapping[str, Mapping[str, AccountEnd]],
    digests: Mapping[str, Mapping[int, str]],
    run: str,
    hosts: Mapping[str, str],
    authority: str = "",
) -> frozenset[str]:
    """Compare what all parties wrote down of the ends of each other's accounts when the program had ended.

    hosts : of the parties, by name, by which certificates may name them
    """
    certificates: dict[str, str] = {}
    for teller, told in heads.items():
        if set(told) != set(heads):
            raise PartyError(f"the account of {teller!r} has not the ends of the accounts of all parties of the run.")
        for name, head in told.items():
            signed = bool(head["certificate"])
            if certificates.setdefault(name, head["certificate"]) != head["certificate"]:
                raise PartyError(f"{name!r} has two certificates in the accounts: one of them was changed.")
            if signed and (problem := signature_problem(name, statement(run, name, head), head, hosts, authority)):
                raise PartyError(f"the account of {teller!r} was changed: the end of {name!r} that it has {problem}.")
            if digests[name].get(head["rows"] - 1) != head["digest"]:
                who = "signed by its certificate" if signed else "not signed: this run had no certificates"
                raise PartyError(
                    f"the account of {name!r} is not the one whose end {teller!r} saw (digest {head['digest'][:12]}, "
                    f"{who}): {f'that of {name!r}' if signed else 'one of them'} was changed."
                )
    return frozenset(hashlib.sha256(text.encode()).hexdigest() for text in certificates.values() if text)


def _enter(channel: Channel, row: SentMessage, payload: Payload) -> None:
    try:
        channel.enter(row.sender, row.receiver, row.name, payload, row.shape, row.size)
    except CertificationError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise PartyError(
            f"step {row.step} of {row.sender!r} is not a message ({error}): its row was changed."
        ) from error


def _payload(row: SentMessage) -> Payload:
    try:
        return payload_of(row.payload)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise PartyError(
            f"step {row.step} of {row.sender!r} is not a message ({error}): its row was changed."
        ) from error
