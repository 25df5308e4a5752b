"""What an account tells to others: its messages, of which the transcript of all is made, and its totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...errors import AccountError
from ...privacy.ledger.event import Event
from ..apart.union import Reserved, Sent
from .chain import REMEDY, Chain, Row, read_chain

__all__ = ["messages_of", "opened_account", "paid_events", "party_of", "runs_of"]

T = TypeVar("T")


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
    return str(rows[0].fields.get("party"))


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
        If the account knows no such run, or a row was changed.
    """
    if run not in runs_of(rows):
        raise AccountError(f"run={run!r} is not in the account of {party_of(rows)!r}: it knows {runs_of(rows)}.")
    sender, kinds = party_of(rows), ("sent", "reserved")
    return [_read(row, partial(_message, sender, row.kind)) for row in rows if row.run == run and row.kind in kinds]


def _read(row: Row, read: Callable[[Mapping[str, Any]], T]) -> T:
    """What a row tells; AccountError for one that no account wrote, whose digests somebody made anew."""
    try:
        return read(row.fields)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise AccountError(f"row {row.number} ({row.kind}) is none that an account writes: it was changed.") from error


def _message(sender: str, kind: str, told: Mapping[str, Any]) -> Sent | Reserved:
    if kind == "reserved":
        return Reserved(_count(told["step"]), _event(told))
    ends = _text(told["receiver"]), _text(told["name"])
    shape = tuple(map(_count, told["shape"]))
    return Sent(_count(told["step"]), sender, *ends, dict(told["payload"]), shape, _count(told["bytes"]))


def _event(told: Mapping[str, Any]) -> Event:
    return Event.from_row(told["event"])


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("no number of anything")
    return number


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError("no text")
    return text
