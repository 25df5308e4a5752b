"""What an account tells to others: its messages, of which the transcript of all is made, and its totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ...errors import AccountError
from ...privacy.ledger.event import Event
from ..apart.union import Reserved, Sent
from .chain import REMEDY, Chain, Row, read_chain

__all__ = ["messages_of", "opened_account", "paid_events", "party_of", "runs_of"]


def opened_account(path: Path | str) -> Chain:
    """The rows of an account, read without a change; AccountError if the file is none or was changed."""
    try:
        chain = read_chain(path)
    except OSError as error:
        raise AccountError(f"{path} cannot be read ({error.strerror}): name the file of an account.") from None
    if not chain.rows or chain.rows[0].kind != "account":
        raise AccountError(f"{path} is no account: its first row does not say whose it is.")
    return chain


def party_of(rows: Sequence[Row]) -> str:
    """Whose account it is."""
    return str(rows[0].fields["party"])


def runs_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Ids of all runs, in order."""
    return tuple(row.run for row in rows if row.kind == "began")


def paid_events(rows: Iterable[Row]) -> list[tuple[str, Event]]:
    """What was paid, with the run that paid it; AccountError for a row that no account wrote."""
    return [(row.run, _event_of(row)) for row in rows if row.kind == "paid"]


def _event_of(row: Row) -> Event:
    try:
        return Event.from_row(row.fields["event"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AccountError(f"row {row.number} ({row.kind}) holds no event of a ledger ({error}): {REMEDY}.") from None


def messages_of(rows: Sequence[Row], run: str) -> list[Sent | Reserved]:
    """What a party wrote down of one run, for `partywise.federation.apart.union.union`.

    Raises
    ------
    AccountError
        If the account knows no such run.
    """
    if run not in runs_of(rows):
        raise AccountError(f"run={run!r} is not in the account of {party_of(rows)!r}: it knows {runs_of(rows)}.")
    found, sender = list[Sent | Reserved](), party_of(rows)
    for row in rows:
        told = row.fields
        if row.run == run and row.kind == "sent":
            ends = told["step"], sender, told["receiver"], told["name"]
            found.append(Sent(*ends, told["payload"], tuple(told["shape"]), told["bytes"]))
        elif row.run == run and row.kind == "reserved":
            found.append(Reserved(told["step"], _event_of(row)))
    return found
