"""What all parties of a run wrote down, together: the transcript, the ledger, and what it certifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from ...errors import PartyError
from ...federation.account.account import FILE
from ...federation.account.reading import messages_of, opened_account, party_of
from ...federation.apart.union import Reserved, Sent, union
from ...federation.channel import Channel
from ...privacy.ledger.total import Total
from ..cells import doubt_unknown
from .written import RECORD, Record, read_record

__all__ = ["Joined", "joined"]

# What the records of all parties say alike: on whichever is read, no total may depend.
SHARED = tuple(field.name for field in fields(Record) if field.name not in ("party", "outcome"))


@dataclass(frozen=True)
class Joined:
    """The run of some folders.

    records : of every party, by name; channel : with transcript and ledger; total : certified for the worst view
    """

    records: dict[str, Record]
    channel: Channel
    total: Total


def joined(folders: Sequence[Path]) -> Joined:
    """Read the folders of all parties of one run.

    Raises
    ------
    AccountError
        If a folder has no account, or one that was changed.
    PartyError
        If the folders are not those of all parties of one run, each once.
    """
    records: dict[str, Record] = {}
    rows: list[Sent | Reserved] = []
    where: dict[str, Path] = {}
    for folder in folders:
        record = read_record(folder)
        if record.party in where:
            raise PartyError(f"{folder} and {where[record.party]} are both of {record.party!r}: give each party once.")
        first = next(iter(records.values()), record)
        if record.run != first.run:
            raise PartyError(
                f"{folder} is of run {record.run[:12]} and {where[first.party]} of run {first.run[:12]}: give the "
                "folders of one run."
            )
        for name in SHARED:
            if getattr(record, name) != getattr(first, name):
                raise PartyError(
                    f"{folder / RECORD} has {name} {getattr(record, name)!r:.80} and {where[first.party] / RECORD} has "
                    f"{getattr(first, name)!r:.80}, of one run: one of them was changed."
                )
        account = opened_account(folder / FILE).rows
        if party_of(account) != record.party:
            raise PartyError(f"{folder / FILE} is the account of {party_of(account)!r:.80}, not of {record.party!r}.")
        rows += messages_of(account, record.run)
        records[record.party], where[record.party] = record, folder
    names = record.names
    if missing := [name for name in names if name not in records]:
        raise PartyError(f"no folder is of {', '.join(missing)}: give those of all parties, {', '.join(names)}.")
    channel = union(names, rows, steps=record.steps)
    # What an account paid as unproved is so in the union: no key of a study vouches for it here.
    channel.ledger = doubt_unknown(channel.ledger, ())
    total = channel.ledger.worst_total(names, record.unit, record.delta, rows_per_user=record.rows_per_user)
    return Joined({name: records[name] for name in names}, channel, total)
