"""Reading of the rows of an account: its state, its messages (the transcript is made of them) and its payments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

# Any: rows of an account, JSON that another process wrote.
from typing import Any, TypeVar

from ...core.errors import AccountError
from ...privacy.ledger.event import Event
from .agreement import Agreement
from .chain import REMEDY, Chain, Row, read_chain
from .interface import EXPERIMENT, RELEASE
from .rows import AccountEnd, KnownEnd, ReceivedMessage, ReservedRow, SentMessage

T = TypeVar("T")


def opened_account(path: Path | str) -> Chain:
    """The rows of an account, read without a change; AccountError if the file is none, or rows changed or disagree."""
    chain = _open_chain(path)
    if not chain.rows or chain.rows[0].kind != "account":
        raise AccountError(f"{path} is not an account: its first row does not name its party.")
    return _check_agreement(path, chain)


def opened_extract(path: Path | str) -> Chain:
    """The rows of one run out of an account (`Account.rows_of_run`); errors as of `opened_account`."""
    chain = _open_chain(path, part=True)
    # What the account says of itself while a run goes on, such as a torn row, is of no run.
    runs = {row.run for row in chain.rows if row.run}
    if not chain.rows or chain.rows[0].kind != "began" or len(runs) != 1:
        raise AccountError(f"{path} does not hold the rows of one run: name what the verb network party wrote.")
    return _check_agreement(path, chain)


def _open_chain(path: Path | str, *, part: bool = False) -> Chain:
    try:
        return read_chain(path, part=part)
    except OSError as error:
        raise AccountError(f"{path} cannot be read ({error.strerror}): name the file of an account.") from None


def _check_agreement(path: Path | str, chain: Chain) -> Chain:
    agreement = Agreement(path, party_of(chain.rows))
    for row in chain.rows:
        agreement.add(row)
    return chain


def party_of(rows: Sequence[Row]) -> str:
    """Name of the party whose account it is."""
    return str(rows[0].fields.get("party"))


def require_owner(path: Path | str, head: Row, party: str) -> None:
    """AccountError unless an account is that of a party, by its first row."""
    if head.fields.get("party") != party:
        raise AccountError(
            f"party={party!r}: {path} is the account of {head.fields.get('party')!r}; each has its own file, and one "
            "name for all runs on the same data."
        )


def mode_of(began: Row) -> str:
    """Mode of a run, of its first row; a row of format 1, which does not have it, is one of an experiment."""
    return str(began.fields.get("mode", EXPERIMENT))


def charged_event(event: Event, mode: str) -> Event:
    """A payment as it counts: of an experiment nothing is proved, since others know the seeds of its noise."""
    return event if mode == RELEASE else event.without_proof


def heads_of(rows: Sequence[Row], run: str) -> Mapping[str, AccountEnd]:
    """Ends of all accounts as a party wrote them down; empty where a run did not come so far."""
    head_rows = [row for row in rows if row.run == run and row.kind == "heads"]
    return _read(head_rows[0], _heads) if head_rows else {}


def _heads(fields: Mapping[str, Any]) -> dict[str, AccountEnd]:
    return {
        _text(name): AccountEnd(
            rows=_count(head["rows"]),
            digest=_text(head.get("digest", "")),
            certificate=_text(head.get("certificate", "")),
            signature=_text(head.get("signature", "")),
        )
        for name, head in fields["heads"].items()
    }


def cost_digest(payload: Mapping[str, object]) -> str:
    """SHA-256 of what a payload cost: what its sender and its receivers write down alike."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def runs_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Ids of all runs, in order."""
    return tuple(row.run for row in rows if row.kind == "began")


def paid_events(rows: Iterable[Row]) -> list[tuple[str, Event]]:
    """Payments as they count, each with the run that paid it; AccountError for a row that no account wrote."""
    events, mode = list[tuple[str, Event]](), EXPERIMENT
    for row in rows:
        if row.kind == "began":
            mode = mode_of(row)
        elif row.kind == "paid":
            events.append((row.run, charged_event(event_of(row), mode)))
    return events


def event_of(row: Row) -> Event:
    """The event of a payment; AccountError for a row that no account wrote."""
    try:
        return Event.from_row(row.fields["event"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AccountError(f"row {row.number} ({row.kind}) holds no event of a ledger ({error}): {REMEDY}.") from None


def messages_of(rows: Sequence[Row], run: str) -> list[SentMessage | ReceivedMessage | ReservedRow]:
    """Messages and rows that a party wrote down of a run, for `partywise.deployment.outcomes.joint_results.union`."""
    if run not in runs_of(rows):
        raise AccountError(f"run={run!r} is not in the account of {party_of(rows)!r}: it knows {runs_of(rows)}.")
    sender, kinds = party_of(rows), ("sent", "received", "reserved")
    return [_read(row, partial(_message, sender, row.kind)) for row in rows if row.run == run and row.kind in kinds]


def _read(row: Row, read: Callable[[Mapping[str, object]], T]) -> T:
    """Read a row; AccountError for one that no account wrote and whose digests were made anew."""
    try:
        return read(row.fields)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise AccountError(f"row {row.number} ({row.kind}) is none that an account writes: it was changed.") from error


def _message(me: str, kind: str, fields: Mapping[str, Any]) -> SentMessage | ReceivedMessage | ReservedRow:
    if kind == "reserved":
        return ReservedRow(_count(fields["step"]), _event(fields))
    digest = _text(fields.get("digest", ""))
    if kind == "received":
        names = _text(fields["sender"]), me, _text(fields["name"])
        return ReceivedMessage(_count(fields["step"]), *names, _text(fields["payload"]), digest)
    ends = _text(fields["receiver"]), _text(fields["name"])
    shape = tuple(map(_count, fields["shape"]))
    return SentMessage(
        _count(fields["step"]), me, *ends, dict(fields["payload"]), shape, _count(fields["bytes"]), digest
    )


def _event(fields: Mapping[str, Any]) -> Event:
    return Event.from_row(fields["event"])


def _count(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("no number of anything")
    return number


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError("no text")
    return text


@dataclass
class AccountState:
    """State of an account, from its rows.

    head : the first row; runs : ids of all; last : that of the last one; open : the same, if it never ended
    mode : of the last one
    budget, first_budget : as it was stated last, and first
    ends : of accounts of peers that were written down last, by name and id of the account
    """

    head: Row | None = None
    runs: set[str] = field(default_factory=set)
    last: str = ""
    open: str = ""
    mode: str = ""
    budget: Mapping[str, Any] | None = None
    first_budget: Mapping[str, Any] | None = None
    ends: dict[tuple[str, str], KnownEnd] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """One row more."""
        self.head = self.head or row
        if row.kind == "began":
            self.runs.add(row.run)
            self.last, self.open, self.mode = row.run, row.run, mode_of(row)
        elif row.kind == "ended":
            self.open = ""
        elif row.kind == "budget":
            self.budget = row.fields["budget"]
            self.first_budget = self.first_budget or self.budget
        elif row.kind == "heads":
            for name, end in row.fields["heads"].items():
                # Of an account without an id nobody can say whether it is the same one.
                if account := end.get("account"):
                    self.ends[name, account] = KnownEnd(account=account, rows=end["rows"], digest=end["digest"])
