"""Entries that a party writes down of a run: the messages that it sent and received, and how accounts end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from ...privacy.ledger.event import Event


@dataclass(frozen=True)
class SentMessage:
    """A message as its sender wrote it down before it left.

    step : position in the program; sender, receiver, name : from whom, to whom, what
    payload : what it cost (`partywise.federation.codec.row_of`); shape, size : of its value on the wire
    digest : of its frame, with a salt that sender and receiver alone know
    """

    step: int
    sender: str
    receiver: str
    name: str
    payload: Mapping[str, object]
    shape: tuple[int, ...]
    size: int
    digest: str = ""


@dataclass(frozen=True)
class ReceivedMessage:
    """A message as its receiver wrote it down: as in `SentMessage`; of the payload the digest of what it cost."""

    step: int
    sender: str
    receiver: str
    name: str
    payload: str
    digest: str


@dataclass(frozen=True)
class ReservedRow:
    """A row of the ledger that is at a step, as every party recorded it."""

    step: int
    event: Event


class KnownEnd(TypedDict):
    """End of an account of a peer when a run ended: number of rows, digest of the last one, and the account's id."""

    account: str
    rows: int
    digest: str


class AccountEnd(TypedDict):
    """Length of an account when a program had ended, and its last digest, signed where parties have certificates."""

    rows: int
    digest: str
    certificate: str
    signature: str
